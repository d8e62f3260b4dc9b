/**
 * A reply as its engine writes it.
 *
 * @module
 */

import { isString } from "../base/json.ts";
import type { EngineProgress, ReplyOutput } from "../twins/engine.ts";
import { encodeJson } from "../wire/sse.ts";
import { ReplyText } from "./text.ts";

/** What an engine has written so far, and the output for it to write to. */
export class Draft {
  readonly text = new ReplyText();
  /** The engine's progress events, each as JSON. */
  readonly progress: string[] = [];
  readonly #changed: () => void;
  /** Created when an engine reads its signal: many never do. */
  #abort: AbortController | undefined;
  #closed = false;

  /** `changed` is called after each addition. */
  constructor(changed: () => void = () => {}) {
    this.#changed = changed;
  }

  /** Whether the reply's ending is decided: whatever the engine still writes is ignored. */
  get closed(): boolean {
    return this.#closed;
  }

  /** The ending is decided, and the text complete. */
  end(): void {
    this.#closed = true;
    this.text.end();
  }

  /** The ending is decided, and the engine is to stop: its signal aborts immediately. */
  abort(): void {
    this.#closed = true;
    this.#abort?.abort();
  }

  output(): ReplyOutput {
    return new EngineOutput({
      write: (text) => this.#write(text),
      progress: (progress) => this.#addProgress(progress),
      signal: () => this.#signal(),
    });
  }

  #write(text: string): void {
    if (!isString(text)) throw new TypeError(`An engine's write() takes a string, not ${typeof text}.`);
    if (this.#closed || text === "") return;
    this.text.append(text);
    this.#changed();
  }

  #addProgress(progress: EngineProgress): void {
    if (!isString(progress?.stage)) throw new TypeError("An engine's progress() takes { stage: string, … }.");
    if (this.#closed) return;
    this.progress.push(encodeJson(progress)); // here, so that the engine gets the error for what JSON cannot represent
    this.#changed();
  }

  #signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#closed) this.#abort.abort();
    }
    return this.#abort.signal;
  }
}

/**
 * What an engine writes to. A class, because V8 puts object literals with a getter into the old generation, and they
 * would keep the whole reply until a full garbage collection.
 */
class EngineOutput implements ReplyOutput {
  readonly write: ReplyOutput["write"];
  readonly progress: ReplyOutput["progress"];
  readonly #signal: () => AbortSignal;

  constructor({ write, progress, signal }: Omit<ReplyOutput, "signal"> & { signal(): AbortSignal }) {
    this.write = write;
    this.progress = progress;
    this.#signal = signal;
  }

  get signal(): AbortSignal {
    return this.#signal();
  }
}
