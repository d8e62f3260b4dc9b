/**
 * Writes texts of known length to `node:http` responses, without keeping more than a piece waiting for a slow client.
 *
 * @module
 */

import type { ServerResponse } from "node:http";
import type { Answer } from "../../core/wire/request.ts";
import { stallMs } from "../../core/wire/sse.ts";

/**
 * The largest piece of a text that is written at once, in bytes. A client that does not take one within {@link stallMs}
 * is disconnected.
 */
export const pieceBytes = 64 * 1024;

/** Writes an answer whose body is a text, or absent. */
export function writeText(
  { status, headers }: Omit<Answer, "body">,
  body: string | null,
  response: ServerResponse,
): void {
  if (response.destroyed) return; // its client has left, and no event would release the text
  if (body !== null) headers["Content-Length"] = String(Buffer.byteLength(body));
  response.writeHead(status, headers); // may be a middleware's, and return nothing
  if (body === null) response.end();
  else endWith(body, response);
  cutIfStalled(response);
}

/** Writes the last text of a body. */
export function endWith(text: string, response: ServerResponse): void {
  const length = Buffer.byteLength(text);
  if (length > pieceBytes) writePieces(Buffer.from(text), response);
  else if (length === text.length)
    response.end(text, "latin1"); // ASCII, as most texts are: this is faster
  else response.end(Buffer.from(text)); // a head that is sent with a text in UTF-8 would be in UTF-8, too
}

/** Writes bytes piece by piece, as the client takes them, and ends the response. */
function writePieces(bytes: Buffer, response: ServerResponse): void {
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

/** Cuts a client that takes nothing of what is written. */
export function cutIfStalled(response: ServerResponse): void {
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

/** How much may wait in all, in bytes. One key may ask for pages of megabytes hundreds of times an hour. */
const mostUnread = 256 * 1024 * 1024;

/** The length of each, those that have waited longest first. */
const unread = new Map<ServerResponse, number>();
let unreadBytes = 0;

/**
 * Counts an answer until all of it is sent. If too much is waiting, disconnects the clients that have let it wait
 * longest.
 */
function awaitReader(response: ServerResponse, bytes: number): void {
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

function forget(response: ServerResponse): void {
  unreadBytes -= unread.get(response) ?? 0;
  unread.delete(response);
}
