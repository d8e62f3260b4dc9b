/**
 * Writes texts of known length to `node:http` responses, without keeping more than a piece waiting for a slow reader.
 *
 * @module
 */

import type { Answer } from "../core/wire/request.ts";
import { stallMs } from "../core/wire/sse.ts";
import type { Outgoing } from "./node-outgoing.ts";
import { awaitReader } from "./node-unread.ts";

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
