/**
 * A request of `node:http` whose body takes about as much memory as it has bytes, in whatever chunks it comes. For each chunk,
 * Node makes objects of some hundred bytes: with chunks of a single byte, 64 KiB from a connection would become 4 MB, which
 * are there before anything is known of the request.
 *
 * @module
 */

import { IncomingMessage } from "node:http";

/** Shorter chunks are joined, in blocks of so many bytes. */
const shortChunk = 1024;
const blockBytes = 4096;

/** A request that joins the short chunks of its body as they arrive. */
export class JoinedMessage extends IncomingMessage {
  /** How many short chunks have arrived, and how long they are together, in bytes. */
  shortChunks = 0;
  shortLength = 0;
  #block = Buffer.alloc(0);
  #length = 0;

  /** Node calls this with each chunk, and with null at the end. */
  override push(chunk: Buffer | null): boolean {
    if (chunk && chunk.length < shortChunk && this.headers["transfer-encoding"] !== undefined) {
      return this.#join(chunk);
    }
    this.#pass();
    return super.push(chunk);
  }

  #join(chunk: Buffer): boolean {
    this.shortChunks++;
    this.shortLength += chunk.length;
    if (this.#length + chunk.length > blockBytes) this.#pass();
    if (this.#length === 0) {
      this.#block = Buffer.allocUnsafe(blockBytes);
      setImmediate(this.#pass); // what came with it from the connection is there then
    }
    this.#length += chunk.copy(this.#block, this.#length);
    return this.readableLength + this.#length < this.readableHighWaterMark;
  }

  readonly #pass = (): void => {
    if (this.#length === 0) return;
    const joined = this.#block.subarray(0, this.#length);
    this.#length = 0;
    super.push(joined);
  };
}
