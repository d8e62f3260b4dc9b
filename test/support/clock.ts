/**
 * A clock that only moves when a test says so.
 *
 * @module
 */

import type { Clock } from "../../core/base/clock.ts";
import { joinMs } from "../../core/wire/event-sender.ts";

/** A {@link Clock} whose time a test advances. */
export interface ManualClock extends Clock {
  /**
   * Moves time forward and runs the timers that fall due, in order, each with `now()` at its due time. Lets
   * promises settle before the first, after each, and at the end, so that chains of timers run too.
   */
  advance(milliseconds: number): Promise<void>;
  /** Changes the time without running anything, as an operator sets a clock. Timers keep their remaining time. */
  step(milliseconds: number): void;
  /** How many timers are pending. */
  readonly pending: number;
}

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

// A few macrotasks, each of which lets every microtask before it run: enough for a chain of awaits.
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
  // Timers count elapsed time, which a step does not change.
  let elapsed = 0;
  let epoch = startMs;

  // The earliest timer; of equal ones the oldest, since a set iterates in insertion order.
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

/** Lets text be sent that waits for more: how long it does is measured by the system's time. */
export async function joined(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, joinMs + 1));
  await settle();
}
