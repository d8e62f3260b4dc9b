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
  /** Ends all waiting when it aborts, with its reason. */
  readonly signal: AbortSignal;
  /** Ends all waiting after this many milliseconds. Default: no limit. */
  readonly totalMs?: number | undefined;
}

/** Waits, one thing at a time. */
export interface Patience {
  /** A promise's outcome, or a `model_timeout` that begins with `what` if it takes too long. */
  wait<Value>(promise: Promise<Value>, milliseconds: number, what: string): Promise<Value>;
  /** Resolves `milliseconds` from now. */
  pause(milliseconds: number): Promise<void>;
  /** Whether all waiting has ended, by the signal or the total limit. */
  readonly over: boolean;
  /** Lets go of the signal and the clock. */
  stop(): void;
}

/** Begins to be patient: the total limit runs from now. */
export function createPatience({ clock, signal, totalMs }: PatienceOptions): Patience {
  let end: { readonly reason: unknown } | undefined;
  let interrupt: (reason: unknown) => void = () => {};

  const endWith = (reason: unknown) => {
    end ??= { reason };
    interrupt(end.reason);
  };
  const onAbort = () => endWith(signal.reason);

  // Calls `onLimit` in due time, unless all waiting ends before: then `reject`. Returns what calls both off.
  const limit = (milliseconds: number, onLimit: () => void, reject: (reason: unknown) => void) => {
    if (end) {
      reject(end.reason);
      return () => {};
    }
    const callOff = clock.after(milliseconds, onLimit);
    interrupt = (reason) => {
      callOff();
      reject(reason);
    };
    return callOff;
  };

  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  const callOffTotal =
    totalMs === undefined
      ? () => {}
      : clock.after(totalMs, () => endWith(timeout("The model's whole reply", totalMs)));

  return {
    wait: (promise, milliseconds, what) =>
      new Promise((resolve, reject) => {
        const callOff = limit(milliseconds, () => reject(timeout(what, milliseconds)), reject);
        // Even if waiting is over: a rejection that nobody listens to would end the process.
        promise.then(resolve, reject).then(callOff);
      }),
    pause: (milliseconds) =>
      new Promise((resolve, reject) => {
        limit(milliseconds, resolve, reject);
      }),
    get over() {
      return end !== undefined;
    },
    stop() {
      signal.removeEventListener("abort", onAbort);
      callOffTotal();
    },
  };
}

function timeout(what: string, milliseconds: number): ModelError {
  return new ModelError("model_timeout", `${what} took more than ${milliseconds / 1_000} s.`);
}
