/**
 * Hourly limits: the token bucket, and the port to whatever keeps the buckets.
 *
 * A bucket holds `capacity` tokens and refills evenly over its window. It is kept as its *debt*, the time
 * until it is full again: taking a token adds one refill interval, time takes it away. All arithmetic is in
 * whole microseconds, so nothing is lost to rounding.
 *
 * @module
 */

import { type Clock, systemClock } from "./clock.ts";

/** A bucket's size: `capacity` tokens, refilled evenly over an hour. */
export interface RatePolicy {
  /** Tokens in a full bucket. Must divide 3,600,000,000 (microseconds in the window). */
  readonly capacity: number;
}

/** The window over which an empty bucket refills, in seconds. */
export const windowSeconds = 3600;

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

/** Keeps buckets, one for each id. A bucket that is not full is never forgotten. */
export interface RateLimiter {
  /** Takes a token if there is one. Rejects if the limiter's store cannot be reached. */
  take(id: string, policy: RatePolicy): Promise<RateDecision>;
  /** Looks, takes nothing. */
  peek(id: string, policy: RatePolicy): Promise<RateDecision>;
}

/** Microseconds between two tokens. */
export function refillInterval(policy: RatePolicy): number {
  return (windowSeconds * 1_000_000) / policy.capacity;
}

/**
 * What a bucket's debt is now. A clock that stepped back neither refills nor locks out: the debt stays, and
 * counts down again from the new time.
 */
export function debtAt(bucket: Bucket | undefined, now: number): number {
  if (!bucket) return 0;
  return Math.max(0, bucket.debt - Math.max(0, now - bucket.at));
}

/** Decides on a request: the one place that knows when a token is there. */
export function takeToken(debt: number, policy: RatePolicy): RateDecision {
  const taken = debt + refillInterval(policy);
  const allowed = taken <= windowSeconds * 1_000_000;
  return { allowed, debt: allowed ? taken : debt };
}

/** Whole tokens in the bucket. */
export function remainingTokens(debt: number, policy: RatePolicy): number {
  return Math.floor((windowSeconds * 1_000_000 - debt) / refillInterval(policy));
}

/** Seconds, rounded up, until the bucket gains its next token. 0: it is full. */
export function secondsToNextToken(debt: number, policy: RatePolicy): number {
  if (debt === 0) return 0;
  const interval = refillInterval(policy);
  return Math.ceil((debt % interval || interval) / 1_000_000);
}

/** Options of {@link createMemoryLimiter}. */
export interface MemoryLimiterOptions {
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** Keeps buckets in memory: for one process, and as long as it lives. */
export function createMemoryLimiter(options: MemoryLimiterOptions = {}): RateLimiter {
  const { clock = systemClock } = options;
  const buckets = new Map<string, Bucket>();
  const debtNow = (id: string, at: number) => debtAt(buckets.get(id), at);

  return {
    async take(id, policy) {
      const at = clock.now() * 1000;
      const decision = takeToken(debtNow(id, at), policy);
      buckets.set(id, { debt: decision.debt, at });
      return decision;
    },
    async peek(id, policy) {
      const debt = debtNow(id, clock.now() * 1000);
      return { allowed: takeToken(debt, policy).allowed, debt };
    },
  };
}
