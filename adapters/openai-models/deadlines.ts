/**
 * How long the engine waits for a model: a limit for each step, until the reply is not wanted any more.
 *
 * @module
 */

import type { Clock } from "../../core/base/clock.ts";

/** Learns how a wait ended. */
export interface Waiter {
  /** The time is over. */
  late(): void;
  /** All waiting was ended before that. */
  interrupted(reason: unknown): void;
}

const noWaiter: Waiter = { late() {}, interrupted() {} };
const nothing = () => {};

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
