/**
 * Repeating an action, with a pause in between.
 *
 * @module
 */

import type { Clock } from "./clock.ts";

/** An action that is repeated, never twice at the same time. */
export interface Repetition {
  /** Acts immediately or, if the action is running, again right after it. */
  hurry(): void;
  /** Stops the repetition. */
  stop(): void;
}

/** Waits for `pause()` milliseconds, acts, and starts over. `act` must not reject. */
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
