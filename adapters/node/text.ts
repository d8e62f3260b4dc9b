/**
 * Writes texts of known length to `node:http` responses, without keeping more than a piece waiting for a slow reader.
 *
 * @module
 */

import type { OutgoingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { Answer } from "../../core/wire/request.ts";
import { stallMs } from "../../core/wire/sse.ts";

/**
 * The largest piece of a text that is written at once, in bytes. A reader that does not take one within {@link stallMs}
 * is disconnected.
 */
export const pieceBytes = 64 * 1024;

/** Writes an answer whose body is a text, or absent. */
export function writeText({ status, headers }: Answer, body: string | null, response: Outgoing): void {
  if (response.destroyed) return; // nobody is left to read it, and no event would release it
  const length = body === null ? 0 : Buffer.byteLength(body);
  if (body !== null) headers["Content-Length"] = String(length);
  response.writeHead(status, headers); // may be a middleware's, and return nothing
  if (body === null) response.end();
  else if (length <= pieceBytes) response.end(body, encodingFor(body, length));
  else writePieces(Buffer.from(body), response);
  cutIfStalled(response);
}

/**
 * The encoding of a text, given its length in UTF-8: pure ASCII, which most texts are, is the same in Latin-1, and
 * faster to write.
 */
export function encodingFor(text: string, bytes: number): "latin1" | "utf8" {
  return text.length === bytes ? "latin1" : "utf8";
}

/** Writes bytes piece by piece, as the reader takes them, and ends the response. */
export function writePieces(bytes: Buffer, response: Outgoing): void {
  let written = 0;
  awaitReader(response, bytes.length);
  function writeOn(): void {
    while (written < bytes.length) {
      const piece = bytes.subarray(written, written + pieceBytes);
      written += piece.length;
      if (response.write(piece) === false) return; // to go on when it drains
    }
    response.off("drain", writeOn);
    response.end();
  }
  response.on("drain", writeOn);
  writeOn();
}

/** Cuts a reader that takes nothing of what is written. */
export function cutIfStalled(response: Outgoing): void {
  if (response.writableEnded && !response.socket?.writableLength) return; // usually, the system has taken all of it
  let timer: NodeJS.Timeout;
  function wait(): void {
    clearTimeout(timer);
    timer = setTimeout(() => response.destroy(), stallMs).unref();
  }
  response.on("drain", wait);
  response.once("close", () => clearTimeout(timer));
  wait();
}

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

/** How much may wait in all, in bytes. One key may ask for pages of megabytes hundreds of times an hour. */
const mostUnread = 256 * 1024 * 1024;

/** The length of each, those that have waited longest first. */
const unread = new Map<Outgoing, number>();
let unreadBytes = 0;

/**
 * Counts an answer until all of it is sent. If too much is waiting, disconnects the readers that have let it wait
 * longest.
 */
export function awaitReader(response: Outgoing, bytes: number): void {
  if (response.destroyed) return; // no event would end the count
  unread.set(response, bytes);
  unreadBytes += bytes;
  for (const over of ["finish", "close"] as const) response.once(over, () => forget(response));
  for (const oldest of unread.keys()) {
    if (unreadBytes <= mostUnread || oldest === response) return;
    forget(oldest);
    oldest.destroy();
  }
}

function forget(response: Outgoing): void {
  unreadBytes -= unread.get(response) ?? 0;
  unread.delete(response);
}
