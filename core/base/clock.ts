/**
 * Time as the core sees it: a port, so that tests run on a clock of their own.
 *
 * @module
 */

/** Wall-clock time and one-shot timers. */
export interface Clock {
  /** Milliseconds since the epoch, whole. May step back when the machine's clock is set. */
  now(): number;
  /** Calls `callback` once, `milliseconds` from now. Returns a function that cancels this (idempotent). */
  after(milliseconds: number, callback: () => void): () => void;
}

/** The longest time that a timer can run, about 24 days: a longer one would fire immediately. */
export const longestTimerMs: number = 2 ** 31 - 1;

/** The runtime's own clock and timers. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(milliseconds, callback) {
    const timer = setTimeout(callback, Math.min(milliseconds, longestTimerMs));
    return () => clearTimeout(timer);
  },
};

/** Whether less than `milliseconds` have passed. False if the clock was set back: then it is unknown. */
export function isWithin(milliseconds: number, since: number, now: number): boolean {
  return now >= since && now - since < milliseconds;
}

/** The result of `work`, or undefined if it takes longer than `milliseconds`. */
export async function within<Result>(
  clock: Clock,
  milliseconds: number,
  work: Promise<Result>,
): Promise<Result | undefined> {
  let callOff = () => {};
  const late = new Promise<undefined>((resolve) => {
    callOff = clock.after(milliseconds, () => resolve(undefined));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    callOff();
  }
}

/** Resolves `milliseconds` from now. */
export function sleep(clock: Clock, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(milliseconds, resolve);
  });
}
