/**
 * Doing something again and again, and at once when it is urgent.
 *
 * @module
 */

import type { Clock } from "./clock.ts";

/** Something that is done again and again, never twice at a time. */
export interface Repetition {
  /** Does it at once; if it is being done, once more behind that. */
  hurry(): void;
  /** Does it no more. */
  stop(): void;
}

/** Waits for `pause()` milliseconds, acts, and so on. `act` must not reject. */
export function repeat(clock: Clock, pause: () => number, act: () => Promise<void>): Repetition {
  let cancelTimer = () => {};
  let acting = false;
  let urgent = false;
  let stopped = false;

  function schedule(): void {
    cancelTimer = clock.after(pause(), actOnce);
  }

  async function actOnce(): Promise<void> {
    acting = true;
    urgent = false;
    await act();
    acting = false;
    if (stopped) return;
    if (urgent) void actOnce();
    else schedule();
  }

  schedule();
  return {
    hurry() {
      urgent = acting;
      if (stopped || acting) return;
      cancelTimer();
      void actOnce();
    },
    stop() {
      stopped = true;
      cancelTimer();
    },
  };
}
