/**
 * Time as the core sees it: a port, so that tests run on a clock of their own.
 *
 * @module
 */

/** Wall-clock time and one-shot timers. */
export interface Clock {
  /** Milliseconds since the epoch, whole. May step back when the machine's clock is set. */
  now(): number;
  /** Calls `callback` once, `milliseconds` from now. Returns a function that calls it off (idempotent). */
  after(milliseconds: number, callback: () => void): () => void;
}

/** The runtime's own clock and timers. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** What work comes to within some milliseconds. Undefined: it takes longer. */
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
