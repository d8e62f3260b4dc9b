/**
 * The token bucket as arithmetic, and the port of limiters, which store buckets.
 *
 * @module
 */

/** A bucket's size: `capacity` tokens, refilled evenly over an hour. */
export interface RatePolicy {
  /** Tokens in a full bucket: a whole number from 1 to 1,000,000. */
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
  /** Its capacity then. Absent: the same as now. */
  readonly capacity?: number | undefined;
}

/** A bucket by name. */
export interface NamedBucket {
  readonly id: string;
  readonly policy: RatePolicy;
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
  /**
   * Takes a token from each of two buckets in one step, or from neither if one of them is empty. Resolves with a decision
   * on each. The id of `first` begins with that of `second` and a slash, so that a cluster keeps both in one place.
   */
  takeBoth(
    first: NamedBucket,
    second: NamedBucket,
  ): Promise<readonly [first: RateDecision, second: RateDecision]>;
  /** Looks without taking a token. If the clock was set back, the bucket is stored again, to count down from now. */
  peek(id: string, policy: RatePolicy): Promise<RateDecision>;
  /** Removes buckets. A removed bucket is full. */
  forget(ids: readonly string[]): Promise<void>;
}

/** Microseconds between two tokens, rounded up. */
export function refillInterval({ capacity }: RatePolicy): number {
  return Math.ceil(windowMicroseconds / capacity);
}

/** The debt of an empty bucket. */
export function fullDebt(policy: RatePolicy): number {
  return policy.capacity * refillInterval(policy);
}

/**
 * A bucket's current debt. A clock that was set back neither refills the bucket nor locks anyone out: the debt stays,
 * and counts down again from the new time. With another capacity than before, what is left is at most the new one, and
 * a full bucket stays full.
 *
 * @example
 * ```ts
 * import { debtAt } from "twin-service";
 *
 * debtAt({ debt: 18_000_000, at: 0 }, 10_000_000, { capacity: 200 }); // 8,000,000
 * ```
 */
export function debtAt(bucket: Bucket | undefined, now: number, policy: RatePolicy): number {
  if (!bucket) return 0;
  const debt = Math.max(0, bucket.debt - Math.max(0, now - bucket.at));
  const { capacity = policy.capacity } = bucket;
  if (debt === 0 || capacity === policy.capacity) return debt;
  const left = (fullDebt({ capacity }) - debt) / refillInterval({ capacity });
  return Math.max(0, fullDebt(policy) - Math.floor(left * refillInterval(policy)));
}

/**
 * Decides on a request: the one place that knows whether there is a token.
 *
 * @example
 * ```ts
 * import { debtAt, takeToken } from "twin-service";
 *
 * const now = Date.now() * 1000;
 * const policy = { capacity: 200 };
 * const { allowed, debt } = takeToken(debtAt(undefined, now, policy), policy); // true, 18,000,000
 * ```
 */
export function takeToken(debt: number, policy: RatePolicy): RateDecision {
  const taken = debt + refillInterval(policy);
  const allowed = taken <= fullDebt(policy);
  return { allowed, debt: allowed ? taken : debt };
}

/** Takes a token from each of some buckets, whose debts these are, or from none. */
export function takeTokens(debts: readonly number[], policies: readonly RatePolicy[]): RateDecision[] {
  const decisions = policies.map((policy, index) => takeToken(debts[index] ?? 0, policy));
  if (decisions.every(({ allowed }) => allowed)) return decisions;
  return decisions.map(({ allowed }, index) => ({ allowed, debt: debts[index] ?? 0 }));
}

/** The tokens that a bucket gave to requests that asked together. */
export interface Grant {
  /** How many of them may pass. */
  readonly admitted: number;
  /** Microseconds until the bucket is full, after all of them. */
  readonly debt: number;
}

/**
 * The decisions on one of these requests, on each of its buckets: the first request has place 0. One that gets no token
 * because another bucket has none is told whether this one has any.
 */
export function decisionsAt(
  place: number,
  grants: readonly Grant[],
  policies: readonly RatePolicy[],
): RateDecision[] {
  return grants.map(({ admitted, debt }, index) => {
    const policy = policies[index] ?? { capacity: 1 };
    const admittedLater = Math.max(0, admitted - 1 - place);
    const hasAnother = grants.length > 1 && takeToken(debt, policy).allowed;
    return {
      allowed: place < admitted || hasAnother,
      debt: debt - admittedLater * refillInterval(policy),
    };
  });
}

/** Whole tokens in the bucket. */
export function remainingTokens(debt: number, policy: RatePolicy): number {
  return Math.floor((fullDebt(policy) - debt) / refillInterval(policy));
}

/** Seconds, rounded up, until the bucket gains its next token. 0: it is full. */
export function secondsToNextToken(debt: number, policy: RatePolicy): number {
  if (debt === 0) return 0;
  const interval = refillInterval(policy);
  return Math.ceil((debt % interval || interval) / 1_000_000);
}
