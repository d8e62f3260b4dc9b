/**
 * Newline-delimited JSON as a response body: lines of a source, written no faster than their client takes them.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { type EventStream, stallMs } from "./sse.ts";

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
  readonly urgent = true;
  readonly #options: LineStreamOptions;
  #piece = "";
  #ended = false;
  #detached = false;
  #ready = () => {};
  #cut = () => {};
  #cancelStall = () => {};

  constructor(options: LineStreamOptions) {
    this.#options = options;
  }

  get ended(): boolean {
    return this.#ended && this.#piece === "";
  }

  attach(ready: () => void, cut: () => void): void {
    this.#ready = ready;
    this.#cut = cut;
    void this.#fetch();
  }

  read(): string {
    const piece = this.#piece;
    if (piece === "") return "";
    this.#piece = "";
    this.#cancelStall();
    if (!this.#ended) void this.#fetch();
    return piece;
  }

  detach(): void {
    if (this.#detached) return;
    this.#detached = true;
    this.#cancelStall();
    this.#options.pieces.return?.().catch(this.#options.failed);
  }

  /** Fetches the next piece. The client has a minute to take it. */
  async #fetch(): Promise<void> {
    const { pieces, clock, failed } = this.#options;
    try {
      const { value, done } = await pieces.next();
      if (this.#detached) return;
      if (done) this.#ended = true;
      else this.#piece = value;
    } catch (error) {
      failed(error);
      this.#cut();
      return;
    }
    if (!this.#ended) this.#cancelStall = clock.after(stallMs, this.#cut);
    this.#ready();
  }
}
