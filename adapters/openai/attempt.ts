/**
 * One attempt to get a reply from a model: receives the response, and reports the outcome.
 *
 * @module
 */

import type { Clock } from "../../core/base/clock.ts";
import { unusable } from "../../core/base/rules.ts";
import { type EngineResult, ModelError } from "../../core/twins/engine.ts";
import type { CompletionReader } from "./completion.ts";
import { type Deadlines, timeout, type Waiter } from "./deadlines.ts";
import { type Failure, never, type Refusal, refusalOf } from "./failure.ts";
import type { ModelHeaders, ModelListener } from "./transport.ts";

/** The outcome of an attempt. */
export type Outcome = { readonly result: EngineResult } | Failure;

/** What all attempts of an engine share. */
export interface AttemptOptions {
  /** Longest wait for the response headers, in milliseconds. */
  readonly headersMs: number;
  /** Longest wait for the next piece of its body, in milliseconds. */
  readonly idleMs: number;
  readonly clock: Clock;
}

/** How long to wait for token counts and the end marker after the finish reason, in milliseconds. */
const trailerMs = 5_000;
/** How long to wait for the body's end after the end marker, so that the connection can be reused, in milliseconds. */
const bodyEndMs = 100;
/** How long to wait for the body of a response without a reply, in milliseconds: it may say why. */
const reasonMs = 1_000;
const nothing = () => {};
const closing = "a function that closes the connection";

/** An attempt. However it ends, it releases its connection. */
export class Attempt implements ModelListener, Waiter {
  readonly #reader: CompletionReader;
  readonly #deadlines: Deadlines;
  readonly #options: AttemptOptions;
  readonly #resolve: (outcome: Outcome) => void;
  #close: () => void = nothing;
  #refusal: Refusal | undefined;
  #answered = false;
  #over = false;

  /** Passes the model's text to `reader`. `resolve` is called once, with the outcome. */
  constructor(
    reader: CompletionReader,
    deadlines: Deadlines,
    options: AttemptOptions,
    resolve: (outcome: Outcome) => void,
  ) {
    this.#reader = reader;
    this.#deadlines = deadlines;
    this.#options = options;
    this.#resolve = resolve;
  }

  /** Begins. `send` sends the request, and returns a function that closes the connection. */
  start(send: (listener: ModelListener) => () => void): void {
    this.#deadlines.wait(this.#options.headersMs, this);
    if (this.#over) return;
    try {
      const close: unknown = send(this);
      if (typeof close !== "function") throw unusable("What a transport returns", closing, close);
      this.#close = close as () => void;
    } catch (error) {
      this.fail(error);
    }
  }

  begin(status: number, headers: ModelHeaders): void {
    if (this.#over) return;
    this.#answered = true;
    this.#refusal = refusalOf(status, headers, this.#options.clock);
    if (!this.#refusal) this.#deadlines.wait(this.#options.idleMs, this);
    else if (this.#refusal.isWhole) this.#settle(this.#refusal.tell());
    else this.#deadlines.wait(reasonMs, this);
  }

  read(bytes: Uint8Array): void {
    // After the end marker only the body's end matters, which lets the next reply use the connection.
    if (this.#over || this.#reader.done) return;
    if (this.#refusal) {
      this.#refusal.read(bytes);
      if (this.#refusal.isWhole) this.#settle(this.#refusal.tell());
      return;
    }
    try {
      this.#reader.read(bytes);
      this.#deadlines.wait(this.#nextMs(), this);
    } catch (error) {
      this.#giveUp(error);
    }
  }

  end(): void {
    if (this.#over) return;
    try {
      if (!this.#reader.result) this.#reader.end();
      this.#endWithout(new ModelError("model_error", "The model's answer ended before the reply did."));
    } catch (error) {
      this.#giveUp(error);
    }
  }

  fail(cause: unknown): void {
    if (this.#reader.begun || this.#refusal) {
      this.#endWithout(
        new ModelError("model_error", "The model's connection broke during a reply.", { cause }),
      );
    } else {
      const failure = new ModelError("model_error", "The model's connection failed.", { cause });
      this.#settle({ failure, retryAfterMs: 0 });
    }
  }

  late(): void {
    const { headersMs, idleMs } = this.#options;
    this.#endWithout(
      this.#answered
        ? timeout("The next piece of the model's answer", idleMs)
        : timeout("The model's answer", headersMs),
    );
  }

  interrupted(reason: unknown): void {
    if (this.#reader.done) this.#endWithout(reason);
    else this.#giveUp(reason);
  }

  #nextMs(): number {
    if (this.#reader.done) return bodyEndMs;
    const { idleMs } = this.#options;
    return this.#reader.result ? Math.min(idleMs, trailerMs) : idleMs;
  }

  /**
   * Nothing more will arrive, because of `failure`. After the finish reason that is no failure: the text is complete,
   * and only token counts and the end marker are missing.
   */
  #endWithout(failure: unknown): void {
    const { result } = this.#reader;
    if (this.#refusal) this.#settle(this.#refusal.tell());
    else if (result) this.#settle({ result });
    else this.#giveUp(failure);
  }

  #giveUp(failure: unknown): void {
    this.#settle({ failure, retryAfterMs: never, tooLong: this.#reader.tooLong });
  }

  #settle(outcome: Outcome): void {
    if (this.#over) return;
    this.#over = true;
    this.#resolve(outcome);
    try {
      this.#close();
    } catch {
      // The transport may be the host's own. Thrown in a timer, its exception would end the process.
    }
  }
}
