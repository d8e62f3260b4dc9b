/**
 * Gives tokens to streams at a steady rate.
 *
 * @module
 */

const tickMs = 1;

/** A rate that can be stopped. */
export interface Pace {
  stop(): void;
}

/**
 * Calls each of `takers` `perSecond` times a second until it is stopped. Their turns are spread evenly, so that each
 * comes alone if there are fewer than one for each millisecond. A turn that is missed is made up for at once.
 */
export function pace(takers: readonly (() => void)[], perSecond: number): Pace {
  const perMs = (takers.length * perSecond) / 1000;
  const startedAt = performance.now();
  let turns = 0;
  let isStopped = false;
  const timer = setInterval(() => {
    const due = Math.floor((performance.now() - startedAt) * perMs);
    for (; turns < due && !isStopped; turns++) takers[turns % takers.length]?.();
  }, tickMs);
  return {
    stop() {
      isStopped = true;
      clearInterval(timer);
    },
  };
}
