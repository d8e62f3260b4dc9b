/**
 * One attempt to get a reply from a model: receives the response, and reports how it went. And how long that may take.
 *
 * @module
 */

import type { Clock } from "../../core/base/clock.ts";
import { unusable } from "../../core/base/rules.ts";
import { ModelError } from "../../core/twins/engine.ts";
import type { Completion } from "./chunk.ts";
import type { CompletionReader, Ending } from "./completion.ts";
import { type ErrorResponse, errorResponseOf, type Failure, noRemedy, sameAgain } from "./failure.ts";
import type { ModelHeaders, ModelListener } from "./transport.ts";

/** How an attempt went. */
export type AttemptResult = { readonly result: Completion } | Failure;

/**
 * How long to wait for more of the body, in milliseconds. While the model writes, there is no limit but that of the
 * whole reply: models think for minutes.
 */
const waits: Readonly<Record<Ending, number | undefined>> = {
  open: undefined,
  // A server that puts a finish reason into every chunk may still be writing.
  reason: 60_000,
  followed: 60_000,
  // For the end marker.
  counted: 5_000,
  // For the body's end, so that the connection can be used again.
  done: 100,
};
/** How long to wait for the body of a response without a reply, in milliseconds: it may say why. */
const reasonMs = 1_000;
const nothing = () => {};
const closing = "a function that closes the connection";

/** Learns how a wait ended. */
interface Waiter {
  /** The time is over. */
  late(): void;
  /** All waiting was ended before that. */
  interrupted(reason: unknown): void;
}

const noWaiter: Waiter = { late() {}, interrupted() {} };

/** The waits of one reply, one at a time. */
export class Deadlines {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #waiter: Waiter = noWaiter;
  #cancel: () => void = nothing;

  /** `signal` ends all waiting when it aborts, with its reason. It has not aborted yet. */
  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    signal.addEventListener("abort", this.#aborted, { once: true });
  }

  /** Begins a wait of `milliseconds`, or without a limit of its own, for `waiter`, in place of the wait before. */
  wait(milliseconds: number | undefined, waiter: Waiter): void {
    this.#cancel();
    this.#cancel = nothing;
    this.#waiter = waiter;
    if (this.#signal.aborted) waiter.interrupted(this.#signal.reason);
    else if (milliseconds !== undefined) this.#cancel = this.#clock.after(milliseconds, () => waiter.late());
  }

  /** Resolves `milliseconds` from now. Rejects if all waiting is ended before that. */
  pause(milliseconds: number): Promise<void> {
    return new Promise((late, interrupted) => this.wait(milliseconds, { late, interrupted }));
  }

  /** Releases the signal and the clock. */
  stop(): void {
    this.#signal.removeEventListener("abort", this.#aborted);
    this.#cancel();
  }

  readonly #aborted = (): void => {
    this.#cancel();
    this.#waiter.interrupted(this.#signal.reason);
  };
}

/** An attempt. However it ends, it releases its connection. */
export class Attempt implements ModelListener, Waiter {
  readonly #reader: CompletionReader;
  readonly #deadlines: Deadlines;
  readonly #clock: Clock;
  readonly #resolve: (result: AttemptResult) => void;
  #close: () => void = nothing;
  #errorResponse: ErrorResponse | undefined;
  #over = false;

  /** Passes the model's text to `reader`. `resolve` is called once. */
  constructor(
    reader: CompletionReader,
    deadlines: Deadlines,
    clock: Clock,
    resolve: (result: AttemptResult) => void,
  ) {
    this.#reader = reader;
    this.#deadlines = deadlines;
    this.#clock = clock;
    this.#resolve = resolve;
  }

  /** Begins. `send` sends the request, and returns a function that closes the connection. */
  start(send: (listener: ModelListener) => () => void): void {
    this.#deadlines.wait(undefined, this);
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
    this.#errorResponse = errorResponseOf(status, headers, this.#clock);
    if (this.#errorResponse?.isWhole) this.#settle(this.#errorResponse.result());
    else if (this.#errorResponse) this.#deadlines.wait(reasonMs, this);
  }

  read(bytes: Uint8Array): void {
    // After the end marker only the body's end matters, which lets the next reply use the connection.
    if (this.#over || this.#reader.ending === "done") return;
    if (this.#errorResponse) {
      this.#errorResponse.read(bytes);
      if (this.#errorResponse.isWhole) this.#settle(this.#errorResponse.result());
      return;
    }
    try {
      this.#reader.read(bytes);
      this.#deadlines.wait(waits[this.#reader.ending], this);
    } catch (error) {
      this.#settle({ failure: error, ...this.#reader.remedy });
    }
  }

  end(): void {
    if (this.#over) return;
    try {
      if (!this.#errorResponse && this.#reader.ending !== "done") this.#reader.end();
      this.#finish(new ModelError("model_error", "The model's answer ended before the reply did."));
    } catch (error) {
      this.#settle({ failure: error, ...this.#reader.remedy });
    }
  }

  fail(cause: unknown): void {
    if (this.#over) return;
    const failure = brokenConnection(cause, this.#reader.hasText);
    const { ending } = this.#reader;
    // More text could have come after the finish reason.
    if (ending !== "reason") this.#finish(failure);
    else this.#settle({ failure, ...noRemedy });
  }

  late(): void {
    this.#finish(new ModelError("model_error", "The model's answer never ended."));
  }

  interrupted(reason: unknown): void {
    if (this.#reader.ending === "done") this.#finish(reason);
    else this.#settle({ failure: reason, ...noRemedy });
  }

  /**
   * Nothing more will arrive, because of `failure`. At the end of a reply that is no failure. A connection that was lost
   * before any text may work the next time, unless it could not be made for 10 s.
   */
  #finish(failure: unknown): void {
    try {
      const result = this.#errorResponse ? undefined : this.#reader.result();
      const mayWork =
        !this.#reader.hasText && failure instanceof ModelError && failure.code === "model_error";
      const failed = this.#errorResponse?.result() ?? { failure, ...(mayWork ? sameAgain : noRemedy) };
      this.#settle(result ? { result } : failed);
    } catch (error) {
      this.#settle({ failure: error, ...noRemedy });
    }
  }

  #settle(result: AttemptResult): void {
    if (this.#over) return;
    this.#over = true;
    this.#resolve(result);
    try {
      this.#close();
    } catch {
      // The transport may be the host's own. Thrown in a timer, its exception would end the process.
    }
  }
}

/** undici's code, which is also that of Node's `fetch`, for a connection that was not made in time. */
const connectTimeout = "UND_ERR_CONNECT_TIMEOUT";

function brokenConnection(cause: unknown, hasText: boolean): ModelError {
  if (hasText)
    return new ModelError("model_error", "The model's connection broke during a reply.", { cause });
  if (isConnectTimeout(cause)) {
    return new ModelError("model_timeout", "Connecting to the model took more than 10 s.", { cause });
  }
  return new ModelError("model_error", "The model's connection failed.", { cause });
}

function isConnectTimeout(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ("code" in error && error.code === connectTimeout) || isConnectTimeout(error.cause);
}
