/**
 * A clock that only moves when a test says so.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";

/** A {@link Clock} whose time a test advances. */
export interface ManualClock extends Clock {
  /**
   * Moves time on, calling what falls due in the order of its time, each with `now()` at its moment. Lets
   * promises settle before the first, after each, and at the end, so that chains of timers run too.
   */
  advance(milliseconds: number): Promise<void>;
  /** Sets the time without calling anything, as an operator sets a clock. Timers keep their distance. */
  step(milliseconds: number): void;
  /** How many callbacks still wait for their time. */
  readonly pending: number;
}

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

// A few macrotasks, each of which lets every microtask before it run: enough for what awaits in a row.
const settlingTurns = 4;

/**
 * Makes a clock that stands still at `startMs`.
 *
 * @example
 * ```ts
 * import { createManualClock } from "twin-service/testing";
 *
 * const clock = createManualClock();
 * await clock.advance(18_000); // 18 seconds
 * ```
 */
export function createManualClock(startMs = 1_750_000_000_000): ManualClock {
  const timers = new Set<Timer>();
  // Timers count elapsed time, which a step does not move.
  let elapsed = 0;
  let epoch = startMs;

  // The earliest timer; of equal ones the oldest, since a set iterates in the order of insertion.
  const nextDue = (until: number): Timer | undefined => {
    let due: Timer | undefined;
    for (const timer of timers) {
      if (timer.at <= until && (due === undefined || timer.at < due.at)) due = timer;
    }
    return due;
  };

  return {
    now: () => epoch + elapsed,
    after(milliseconds, callback) {
      const timer = { at: elapsed + Math.max(0, milliseconds), callback };
      timers.add(timer);
      return () => {
        timers.delete(timer);
      };
    },
    async advance(milliseconds) {
      const until = elapsed + milliseconds;
      await settle();
      for (let timer = nextDue(until); timer !== undefined; timer = nextDue(until)) {
        timers.delete(timer);
        elapsed = Math.max(elapsed, timer.at);
        timer.callback();
        await settle();
      }
      elapsed = until;
    },
    step(milliseconds) {
      epoch += milliseconds;
    },
    get pending() {
      return timers.size;
    },
  };
}

/** Lets promises and I/O that are ready settle. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < settlingTurns; turn++) await new Promise((resolve) => setImmediate(resolve));
}
