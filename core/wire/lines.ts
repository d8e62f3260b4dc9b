/**
 * Newline-delimited JSON as a response body: lines of a source, written no faster than their client takes them.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { EventPiece, EventStream } from "./sse.ts";

/** What a {@link LineStream} needs. */
export interface LineStreamOptions {
  /** Pieces of whole lines. The next one is only asked for once the one before has been read. */
  readonly pieces: AsyncIterator<string>;
  readonly clock: Clock;
  /** Called if the source fails. The client is then disconnected, or it would take a part for the whole. */
  readonly failed: (error: unknown) => void;
}

/** The body of an answer in lines: at most one piece is in memory. */
export class LineStream implements EventStream {
  readonly clock: Clock;
  readonly heartbeatMs: undefined;
  readonly #options: LineStreamOptions;
  #fetched: IteratorResult<string, unknown> | undefined;
  #failed = false;
  #closed = false;
  #wake: (urgent: boolean) => void = () => {};

  constructor(options: LineStreamOptions) {
    this.clock = options.clock;
    this.#options = options;
  }

  wake(callback: (urgent: boolean) => void): void {
    this.#wake = callback;
    void this.#fetch();
  }

  next(): EventPiece | undefined {
    if (this.#failed) throw new Error("The source of the lines failed.");
    const fetched = this.#fetched;
    if (!fetched) return undefined;
    this.#fetched = undefined;
    if (fetched.done) return { text: "", last: true };
    void this.#fetch();
    return { text: fetched.value, last: false };
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#options.pieces.return?.().catch(this.#options.failed);
  }

  async #fetch(): Promise<void> {
    const { pieces, failed } = this.#options;
    try {
      this.#fetched = await pieces.next();
    } catch (error) {
      failed(error);
      this.#failed = true;
    }
    if (!this.#closed) this.#wake(true);
  }
}
