/**
 * A long text as a response body: pieces of a source, written no faster than their client takes them.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { Held } from "../base/memory-budget.ts";
import { slicesOf } from "./json.ts";
import type { EventPiece, EventStream } from "./sse.ts";

/** What a {@link TextStream} needs. */
export interface TextStreamOptions {
  /** Well-formed pieces, none of them empty. The next one is only asked for once the one before has been read. */
  readonly pieces: AsyncIterator<string>;
  readonly clock: Clock;
  /** Called if the source fails. The client is then disconnected, or it would take a part for the whole. */
  readonly failed: (error: unknown) => void;
  readonly memory: Held;
}

/** For how long pieces may follow each other in a turn of the event loop, in milliseconds. */
const turnMs = 10;

/** Texts in pieces, none of which ends inside a surrogate pair: the first text, then those that are to be made. */
export async function* piecesOf(first: string, rest: Iterator<string>): AsyncGenerator<string> {
  for (let text: string | undefined = first; text !== undefined; text = rest.next().value)
    yield* slicesOf(text);
}

/** The body of an answer in pieces: at most two are in memory, so that the last one is known as the last. */
export class TextStream implements EventStream {
  readonly clock: Clock;
  readonly heartbeatMs: undefined;
  readonly memory: Held;
  readonly #options: TextStreamOptions;
  readonly #ready: string[] = [];
  #isWhole = false;
  #isSent = false;
  #turnBegan = performance.now();
  #failed = false;
  #closed = false;
  #wake: (urgent: boolean) => void = () => {};

  constructor(options: TextStreamOptions) {
    this.clock = options.clock;
    this.memory = options.memory;
    this.#options = options;
  }

  wake(callback: (urgent: boolean) => void): void {
    this.#wake = callback;
    void this.#fetch();
  }

  next(): EventPiece | undefined {
    if (this.#failed) throw new Error("The source of the text failed.");
    if (this.#isSent || (!this.#isWhole && this.#ready.length < 2)) return undefined;
    const text = this.#ready.shift() ?? "";
    this.memory.count(-2 * text.length);
    this.#isSent = this.#isWhole && this.#ready.length === 0;
    if (!this.#isSent) void this.#fetch();
    return { text, last: this.#isSent };
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#options.pieces.return?.().catch(this.#options.failed);
  }

  async #fetch(): Promise<void> {
    const { pieces, failed, memory } = this.#options;
    try {
      while (!this.#isWhole && this.#ready.length < 2) {
        // Where the source has all at hand and the client takes all at once, nothing else would have its turn.
        if (performance.now() - this.#turnBegan > turnMs) {
          await new Promise((resolve) => setTimeout(resolve));
          this.#turnBegan = performance.now();
        }
        const { done, value } = await pieces.next();
        if (this.#closed) return;
        if (done) {
          this.#isWhole = true;
          break;
        }
        this.#ready.push(value);
        memory.count(2 * value.length);
      }
    } catch (error) {
      failed(error);
      this.#failed = true;
    }
    if (!this.#closed) this.#wake(true);
  }
}
