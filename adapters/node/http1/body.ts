/**
 * The body of an HTTP/1.1 request (RFC 9112, sections 6 and 7), read from the bytes of its connection.
 *
 * @module
 */

import { maxHeaderBytes } from "../../http/header-section.ts";

/** Reads one body. */
export interface BodyDecoder {
  readonly ended: boolean;
  /** How much is still to come, in bytes. Infinite while it is unknown. */
  readonly left: number;
  /**
   * Takes the body's next part from the beginning of some bytes, and passes on what of it is content. Returns how many
   * bytes that part has; 0: not all of it is there. Throws if they cannot be part of a body.
   */
  take(bytes: Buffer, deliver: (piece: Buffer) => void): number;
}

/** A decoder for the body that a head announces. */
export function createBodyDecoder(announced: number | "chunked"): BodyDecoder {
  return announced === "chunked" ? new ChunkedDecoder() : new LengthDecoder(announced);
}

class LengthDecoder implements BodyDecoder {
  left: number;

  constructor(length: number) {
    this.left = length;
  }

  get ended(): boolean {
    return this.left === 0;
  }

  take(bytes: Buffer, deliver: (piece: Buffer) => void): number {
    const length = Math.min(this.left, bytes.length);
    this.left -= length;
    if (length > 0) deliver(bytes.subarray(0, length));
    return length;
  }
}

/** The longest line before a chunk, in bytes: its size, and extensions, which nobody uses. */
const longestSizeLine = 256;

/** A chunk's size, and its extensions, which are ignored (RFC 9112, section 7.1.1). */
const sizeLine = /^([\da-fA-F]{1,12})(?:[\t ]*;[\t\x20-\x7e\x80-\xff]*)?$/;

/** A trailer field, which is ignored: nothing that matters here may be in a trailer. */
const trailerLine = /^[\w!#$%&'*+.^`|~-]+:[\t\x20-\x7e\x80-\xff]*$/;

type ChunkedPart = "size" | "data" | "data-end" | "trailer" | "nothing";

class ChunkedDecoder implements BodyDecoder {
  #next: ChunkedPart = "size";
  #leftOfChunk = 0;
  #leftForTrailers = maxHeaderBytes;

  get ended(): boolean {
    return this.#next === "nothing";
  }

  get left(): number {
    return this.ended ? 0 : Number.POSITIVE_INFINITY;
  }

  take(bytes: Buffer, deliver: (piece: Buffer) => void): number {
    switch (this.#next) {
      case "size":
        return this.#takeSize(bytes);
      case "data":
        return this.#takeData(bytes, deliver);
      case "data-end":
        return this.#takeDataEnd(bytes);
      case "trailer":
        return this.#takeTrailer(bytes);
      case "nothing":
        return 0;
    }
  }

  #takeSize(bytes: Buffer): number {
    const line = readLine(bytes, longestSizeLine);
    if (line === undefined) return 0;
    const size = sizeLine.exec(line)?.[1];
    if (size === undefined) throw new Error("A chunk does not begin with its size.");
    this.#leftOfChunk = Number.parseInt(size, 16);
    this.#next = this.#leftOfChunk === 0 ? "trailer" : "data";
    return line.length + 2;
  }

  #takeData(bytes: Buffer, deliver: (piece: Buffer) => void): number {
    const length = Math.min(this.#leftOfChunk, bytes.length);
    this.#leftOfChunk -= length;
    if (this.#leftOfChunk === 0) this.#next = "data-end";
    if (length > 0) deliver(bytes.subarray(0, length));
    return length;
  }

  #takeDataEnd(bytes: Buffer): number {
    const line = readLine(bytes, 0);
    if (line === undefined) return 0;
    this.#next = "size";
    return 2;
  }

  #takeTrailer(bytes: Buffer): number {
    const line = readLine(bytes, this.#leftForTrailers);
    if (line === undefined) return 0;
    this.#leftForTrailers -= line.length;
    if (line === "") this.#next = "nothing";
    else if (!trailerLine.test(line)) throw new Error("What follows the last chunk is not a header field.");
    return line.length + 2;
  }
}

const lineFeed = 10;

/** The line at the beginning of some bytes, without its CR LF. Undefined: its end is not there. */
function readLine(bytes: Buffer, longest: number): string | undefined {
  const end = bytes.indexOf(lineFeed);
  const line = bytes.toString("latin1", 0, end < 0 ? Math.min(bytes.length, longest + 2) : end);
  const text = line.endsWith("\r") ? line.slice(0, -1) : line;
  if (text.length > longest || text.includes("\r") || (end >= 0 && text === line)) {
    throw new Error("A line in a chunked body is too long, or does not end with CR LF.");
  }
  return end < 0 ? undefined : text;
}
