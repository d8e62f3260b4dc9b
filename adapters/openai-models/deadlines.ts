/**
 * How long the engine waits for a model: a limit for each step, and one for the whole reply, which also ends when
 * it is not wanted any more.
 *
 * @module
 */

import type { Clock } from "../../core/base/clock.ts";
import { ModelError } from "../../core/twins/engine.ts";

/** What limits an engine's waits. */
export interface DeadlinesOptions {
  readonly clock: Clock;
  /** Ends all waiting when it aborts, with its reason. It has not aborted yet. */
  readonly signal: AbortSignal;
  /** Ends all waiting after this many milliseconds. Default: no limit. */
  readonly totalMs?: number | undefined;
}

/** Learns how a wait ended. */
export interface Waiter {
  /** The time is over. */
  late(): void;
  /** All waiting was ended before that. */
  interrupted(reason: unknown): void;
}

const noWaiter: Waiter = { late() {}, interrupted() {} };
const nothing = () => {};

/** The time limits of one reply. Runs one wait at a time. */
export class Deadlines {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #cancelTotal: () => void;
  #waiter: Waiter = noWaiter;
  #cancel: () => void = nothing;
  #end: { readonly reason: unknown } | undefined;

  /** The total limit runs from now. */
  constructor({ clock, signal, totalMs }: DeadlinesOptions) {
    this.#clock = clock;
    this.#signal = signal;
    signal.addEventListener("abort", this.#aborted, { once: true });
    this.#cancelTotal =
      totalMs === undefined ? nothing : clock.after(totalMs, () => this.#endWith(timeout(totalMs)));
  }

  /** Begins a wait of `milliseconds`, or without a limit of its own, for `waiter`, in place of the wait before. */
  wait(milliseconds: number | undefined, waiter: Waiter): void {
    this.#cancel();
    this.#cancel = nothing;
    this.#waiter = waiter;
    if (this.#end) waiter.interrupted(this.#end.reason);
    else if (milliseconds !== undefined) this.#cancel = this.#clock.after(milliseconds, () => waiter.late());
  }

  /** Resolves `milliseconds` from now. Rejects if all waiting is ended before that. */
  pause(milliseconds: number): Promise<void> {
    return new Promise((late, interrupted) => this.wait(milliseconds, { late, interrupted }));
  }

  /** Releases the signal and the clock. */
  stop(): void {
    this.#signal.removeEventListener("abort", this.#aborted);
    this.#cancelTotal();
    this.#cancel();
  }

  readonly #aborted = (): void => this.#endWith(this.#signal.reason);

  #endWith(reason: unknown): void {
    this.#end ??= { reason };
    this.#cancel();
    this.#waiter.interrupted(this.#end.reason);
  }
}

function timeout(milliseconds: number): ModelError {
  return new ModelError("model_timeout", `The model's whole reply took more than ${milliseconds / 1_000} s.`);
}
