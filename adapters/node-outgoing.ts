/**
 * Where answers are written on Node.
 *
 * @module
 */

import type { OutgoingHttpHeaders } from "node:http";
import type { Socket } from "node:net";

/** The part of a `node:http` response that answers are written to. Our own server's responses have it, too. */
export interface Outgoing {
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  /** Whether the connection or the response is closed. */
  readonly destroyed: boolean;
  readonly socket: Socket | null;
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown;
  flushHeaders(): void;
  /** False: the reader is slow; `drain` follows. Hosts that simulate a response may return nothing. */
  write(piece: string | Uint8Array): boolean;
  end(text?: string, encoding?: BufferEncoding): unknown;
  destroy(): unknown;
  /** `finish`: the system has taken everything. `close`: after that, or when the connection breaks. */
  on(event: OutgoingEvent, listener: () => void): unknown;
  once(event: OutgoingEvent, listener: () => void): unknown;
  off(event: OutgoingEvent, listener: () => void): unknown;
}

/** What happens to a response. */
export type OutgoingEvent = "drain" | "finish" | "close";

/** A piece of a body in HTTP/1.1's chunked coding (RFC 9112, section 7.1), given its length in bytes. */
export function asChunk(text: string, length: number): string {
  return `${length.toString(16)}\r\n${text}\r\n`;
}
