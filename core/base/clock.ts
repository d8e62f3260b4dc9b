/**
 * Time as the core sees it, a port, so that tests run on a clock of their own; and waiting: for a moment, again and
 * again, or until work is done.
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

/**
 * Counts work without holding references to it. (A Set with constant additions and deletions outgrows one table after
 * another. In V8, each of these keeps the next one and its contents alive until a full garbage collection.)
 */
export class InFlight {
  #count = 0;
  #idle: (() => void)[] = [];

  /** Counts work until it settles. A failure is left to the caller that asked for the work. */
  track(work: Promise<unknown>): void {
    this.#count++;
    work.then(this.#settled, this.#settled);
  }

  /** Resolves once nothing is in progress. Also waits for work that begins in the meantime. */
  async idle(): Promise<void> {
    while (this.#count > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  readonly #settled = (): void => {
    this.#count--;
    if (this.#count > 0) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  };
}
