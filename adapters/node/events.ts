/**
 * Writes event streams to `node:http` responses.
 *
 * @module
 */

import { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Answer } from "../../core/wire/request.ts";
import { EventReader, type EventStream, sharedTimer } from "../../core/wire/sse.ts";
import type { NodeRequest } from "./request.ts";
import { cutIfStalled, endWith, pieceBytes, writeText } from "./text.ts";

/**
 * Writes an answer whose body is an event stream, no faster than its client takes it. A stream whose first part is all
 * of it is written as a text of known length, which needs no chunks.
 */
export async function writeEvents(
  answer: Answer,
  events: EventStream,
  { signal, response }: NodeRequest,
): Promise<void> {
  const reader = new EventReader(events, () => response.destroy(), sharedTimer);
  signal.addEventListener("abort", () => reader.leave());
  if (response.destroyed) reader.leave();
  const first = await reader.first();
  if (response.headersSent) reader.leave(); // the host has answered in the meantime
  if (reader.left) return;
  if (reader.ended) writeText(answer, first, response);
  else await new EventWriter(response).write(answer, first, reader);
}

/** Something to write to. */
type Writable = ServerResponse | Socket;

/** Writes the parts of an event stream. */
class EventWriter {
  readonly #response: ServerResponse;
  /** A part went through the response, and the head with it: later ones may bypass the response. */
  #headSent = false;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  async write(answer: Answer, first: string, reader: EventReader): Promise<void> {
    let full = this.#writeHead(answer, first);
    for (;;) {
      if (full) await drained(full);
      const text = await reader.next();
      if (this.#response.writableEnded) reader.leave(); // the host has ended the body
      if (reader.left) return;
      if (reader.ended) {
        this.#end(text);
        return;
      }
      full = this.#write(text);
    }
  }

  /** Sends the head together with the first part. */
  #writeHead({ status, headers }: Answer, first: string): Writable | undefined {
    const response = this.#response;
    const { socket } = response;
    socket?.cork();
    response.writeHead(status, headers); // may be a middleware's, and hold the head back: then flushing would send another
    if (response.headersSent) response.flushHeaders(); // or the response would keep a text that is joined to it in memory
    const full = first === "" ? undefined : this.#write(first);
    socket?.uncork();
    return full;
  }

  /** Returns what was written to if that is full. Hosts that simulate a request may return nothing. */
  #write(text: string): Writable | undefined {
    const socket = this.#plainSocket();
    if (socket) return writeChunk(socket, text) ? undefined : socket;
    this.#headSent = true;
    return this.#response.write(text) === false ? this.#response : undefined;
  }

  #end(text: string): void {
    const response = this.#response;
    const socket = this.#plainSocket();
    if (socket && text !== "" && Buffer.byteLength(text) <= pieceBytes) {
      socket.cork(); // `end` uncorks it: the last events leave together with the body's end
      writeChunk(socket, text);
      response.end();
    } else {
      endWith(text, response);
    }
    cutIfStalled(response);
  }

  /**
   * The socket, if a chunk can be written to it directly, in one piece: `response.write` makes three, which is a third
   * of what a token costs. The head must be sent, the body be chunked, and no middleware replace `write` or hold pieces
   * back.
   */
  #plainSocket(): Socket | null {
    const response = this.#response;
    const plain =
      this.#headSent &&
      response instanceof ServerResponse &&
      response.chunkedEncoding &&
      response.write === ServerResponse.prototype.write &&
      response.writableCorked === 0;
    return plain ? response.socket : null;
  }
}

/** Writes a part of a body as a chunk (RFC 9112, section 7.1). False: the socket is full. */
function writeChunk(socket: Socket, text: string): boolean {
  const length = Buffer.byteLength(text);
  const encoding = length === text.length ? "latin1" : "utf8"; // the same for ASCII, and faster
  return socket.write(`${length.toString(16)}\r\n${text}\r\n`, encoding);
}

/** Resolves when there is room again. Never if the connection closes: then nothing is left to write. */
function drained(full: Writable): Promise<void> {
  return new Promise((resolve) => {
    full.once("drain", resolve);
  });
}
