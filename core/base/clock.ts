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

/** Whether less than `milliseconds` have passed. False if the clock was set back, as nobody knows then. */
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

const dayMs = 86_400_000;

/** 00 to 59. */
const twoDigits: readonly string[] = Array.from({ length: 60 }, (_, number) =>
  String(number).padStart(2, "0"),
);

/** Days since the epoch, and their dates, such as `2026-01-31T`. */
const dates = new Map<number, string>();

/** How many dates are cached. */
const maxDates = 1000;

/**
 * Milliseconds since the epoch as UTC with milliseconds, such as `2026-01-31T12:00:00.000Z`. The same as
 * `Date.prototype.toISOString`, which takes several times as long, and a page of 20 conversations has 60 times. Throws
 * a `RangeError` for an invalid time.
 */
export function isoTime(milliseconds: number): string {
  const whole = Math.trunc(milliseconds);
  const day = Math.floor(whole / dayMs);
  const ofDay = whole - day * dayMs;
  const seconds = Math.floor(ofDay / 1000);
  const minutes = Math.floor(seconds / 60);
  const time = `${twoDigits[Math.floor(minutes / 60)]}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}`;
  return `${dates.get(day) ?? dateOf(day)}${time}.${String(ofDay % 1000).padStart(3, "0")}Z`;
}

function dateOf(day: number): string {
  const date = new Date(day * dayMs).toISOString().replace(/T.*/, "T");
  if (dates.size === maxDates) dates.clear();
  dates.set(day, date);
  return date;
}
