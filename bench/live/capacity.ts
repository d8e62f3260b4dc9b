/**
 * How many streams one core carries.
 *
 * @module
 */

/** A server that delays one token in a hundred by more than this, in milliseconds, does not keep up. */
export const limitMs = 50;

/** Numbers of streams that were carried, and that were too many. */
export interface Bounds {
  readonly carried: number;
  /** Infinity: none was found. */
  readonly tooMany: number;
}

/** The search ends when the bounds are this close. */
const closeEnough = 1.1;

/**
 * Narrows the bounds until they are close. Beyond the highest number that was tried, it goes up by half each time, up
 * to `most`.
 */
export async function narrow(
  bounds: Bounds,
  most: number,
  carries: (streams: number) => Promise<boolean>,
): Promise<Bounds> {
  let { carried, tooMany } = bounds;
  while (carried < most && tooMany > Math.max(carried * closeEnough, carried + 5)) {
    const beyond = Math.min(most, Math.ceil(carried * 1.5));
    const next = tooMany === Number.POSITIVE_INFINITY ? beyond : Math.round((carried + tooMany) / 2);
    if (await carries(next)) carried = next;
    else tooMany = next;
  }
  return { carried, tooMany };
}
