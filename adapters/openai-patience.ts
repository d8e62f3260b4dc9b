/**
 * How long the engine waits for a model: for each step a while, for all of them while the reply is wanted.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { ModelError } from "../core/engine.ts";

/** What limits an engine's waiting. */
export interface PatienceOptions {
  readonly clock: Clock;
  /** Ends all waiting when it aborts, with its reason. It has not aborted yet. */
  readonly signal: AbortSignal;
  /** Ends all waiting after this many milliseconds. Default: no limit. */
  readonly totalMs?: number | undefined;
}

/** Who waits. */
export interface Waiter {
  /** It has waited as long as it wanted to. */
  late(): void;
  /** All waiting has ended before. */
  interrupted(reason: unknown): void;
}

const nobody: Waiter = { late() {}, interrupted() {} };
const nothing = () => {};

/** Waits, for one thing at a time. */
export class Patience {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #callOffTotal: () => void;
  #waiter: Waiter = nobody;
  #callOff: () => void = nothing;
  #end: { readonly reason: unknown } | undefined;

  /** Begins to be patient: the total limit runs from now. */
  constructor({ clock, signal, totalMs }: PatienceOptions) {
    this.#clock = clock;
    this.#signal = signal;
    signal.addEventListener("abort", this.#aborted, { once: true });
    this.#callOffTotal =
      totalMs === undefined
        ? nothing
        : clock.after(totalMs, () => this.#endWith(timeout("The model's whole reply", totalMs)));
  }

  /** Lets `waiter` wait for so long, from now, and no longer what or who waited before. */
  wait(milliseconds: number, waiter: Waiter): void {
    this.#callOff();
    this.#waiter = waiter;
    if (this.#end) waiter.interrupted(this.#end.reason);
    else this.#callOff = this.#clock.after(milliseconds, () => waiter.late());
  }

  /** Resolves `milliseconds` from now. Rejects if all waiting has ended before. */
  pause(milliseconds: number): Promise<void> {
    return new Promise((late, interrupted) => this.wait(milliseconds, { late, interrupted }));
  }

  /** Lets go of the signal and the clock. */
  stop(): void {
    this.#signal.removeEventListener("abort", this.#aborted);
    this.#callOffTotal();
    this.#callOff();
  }

  readonly #aborted = (): void => this.#endWith(this.#signal.reason);

  #endWith(reason: unknown): void {
    this.#end ??= { reason };
    this.#callOff();
    this.#waiter.interrupted(this.#end.reason);
  }
}

/** A limit was exceeded. `what` begins the sentence that says so. */
export function timeout(what: string, milliseconds: number): ModelError {
  return new ModelError("model_timeout", `${what} took more than ${milliseconds / 1_000} s.`);
}
