/**
 * The token bucket as arithmetic, and the port of limiters, which store buckets.
 *
 * @module
 */

/** A bucket's size: `capacity` tokens, refilled evenly over an hour. */
export interface RatePolicy {
  /** Tokens in a full bucket. Must divide 3,600,000,000 (microseconds in the window). */
  readonly capacity: number;
}

/** The window over which an empty bucket refills, in seconds. */
export const windowSeconds = 3600;

/** The same in microseconds, the unit of debts. */
export const windowMicroseconds: number = windowSeconds * 1_000_000;

/** A bucket at a moment. Microseconds, whole. */
export interface Bucket {
  /** Time until it is full. */
  readonly debt: number;
  /** When that was so, since the epoch. */
  readonly at: number;
}

/** Whether a request may pass, and the bucket after the decision. */
export interface RateDecision {
  readonly allowed: boolean;
  /** Microseconds until the bucket is full. */
  readonly debt: number;
}

/** Stores buckets, one for each id. A bucket that is not full is never forgotten. */
export interface RateLimiter {
  /** Takes a token if there is one. Rejects if the limiter's store cannot be reached. */
  take(id: string, policy: RatePolicy): Promise<RateDecision>;
  /** Looks without taking a token. If the clock was set back, the bucket is stored again, to count down from now. */
  peek(id: string, policy: RatePolicy): Promise<RateDecision>;
}

/** Microseconds between two tokens. */
export function refillInterval(policy: RatePolicy): number {
  return windowMicroseconds / policy.capacity;
}

/**
 * A bucket's current debt. A clock that was set back neither refills the bucket nor locks anyone out: the debt stays,
 * and counts down again from the new time.
 *
 * @example
 * ```ts
 * import { debtAt } from "twin-service";
 *
 * debtAt({ debt: 18_000_000, at: 0 }, 10_000_000); // 8,000,000
 * ```
 */
export function debtAt(bucket: Bucket | undefined, now: number): number {
  if (!bucket) return 0;
  return Math.max(0, bucket.debt - Math.max(0, now - bucket.at));
}

/**
 * Decides on a request: the one place that knows whether there is a token.
 *
 * @example
 * ```ts
 * import { debtAt, takeToken } from "twin-service";
 *
 * const now = Date.now() * 1000;
 * const { allowed, debt } = takeToken(debtAt(undefined, now), { capacity: 200 }); // true, 18,000,000
 * ```
 */
export function takeToken(debt: number, policy: RatePolicy): RateDecision {
  const taken = debt + refillInterval(policy);
  const allowed = taken <= windowMicroseconds;
  return { allowed, debt: allowed ? taken : debt };
}

/** The tokens that a bucket gave to requests that asked together. */
export interface Grant {
  /** How many of them may pass. */
  readonly admitted: number;
  /** Microseconds until the bucket is full, after all of them. */
  readonly debt: number;
}

/** The decision on one of these requests: the first one has place 0. */
export function decisionAt(place: number, { admitted, debt }: Grant, policy: RatePolicy): RateDecision {
  const admittedLater = Math.max(0, admitted - 1 - place);
  return { allowed: place < admitted, debt: debt - admittedLater * refillInterval(policy) };
}

/** Whole tokens in the bucket. */
export function remainingTokens(debt: number, policy: RatePolicy): number {
  return Math.floor((windowMicroseconds - debt) / refillInterval(policy));
}

/** Seconds, rounded up, until the bucket gains its next token. 0: it is full. */
export function secondsToNextToken(debt: number, policy: RatePolicy): number {
  if (debt === 0) return 0;
  const interval = refillInterval(policy);
  return Math.ceil((debt % interval || interval) / 1_000_000);
}
