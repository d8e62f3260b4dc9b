/**
 * The hourly limit: the size of a key's bucket, the token that a request takes, and how the client learns about it. The
 * other limits that may refuse a reply are in `core/replies/limits.ts`.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { counted } from "../base/counted.ts";
import {
  fullDebt,
  type RateDecision,
  type RateLimiter,
  type RatePolicy,
  refillInterval,
  remainingTokens,
  secondsToNextToken,
  windowSeconds,
} from "../limits/token-bucket.ts";
import type { Scope } from "../store/records.ts";
import { ApiError } from "../wire/errors.ts";
import type { Caller, Route } from "./route.ts";

/** How many requests a key has in an hour, by its scope. */
export type RequestsPerHour = Readonly<Record<Scope, number>>;

/** What keys have unless the service says otherwise. */
export const defaultRequestsPerHour: RequestsPerHour = { read_only: 200, full_access: 500 };

/** A bucket after a request. */
export interface Limited {
  readonly rate: RateDecision | undefined;
  /** The header fields that tell it. Undefined for a JWT: it has no scope. */
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/**
 * Takes the token that a request costs, of each bucket, or only looks, where it is free. The header fields tell the bucket
 * with less left; the caller's own if both have as many.
 *
 * @throws {ApiError} `rate_limited` if a bucket is empty.
 */
export async function chargeRequest(
  limiter: RateLimiter,
  { free }: Pick<Route, "free">,
  { scope, bucket, keyBucket }: Caller,
  clock: Clock,
): Promise<Limited> {
  if (!bucket) return unlimited;
  const buckets = keyBucket ? [bucket, keyBucket] : [bucket];
  const rates = free
    ? await Promise.all(buckets.map(({ id, policy }) => limiter.peek(id, policy)))
    : keyBucket
      ? await limiter.takeBoth(bucket, keyBucket)
      : [await limiter.take(bucket.id, bucket.policy)];
  const states = buckets.flatMap(({ policy }, index) => {
    const rate = rates[index];
    return rate ? { policy, rate } : [];
  });
  const left = ({ rate, policy }: BucketState) => remainingTokens(rate.debt, policy);
  const least = states.reduce((one, other) => (left(other) < left(one) ? other : one));
  const headers = scope && rateHeaders(states, least, clock.now());
  if (!free && states.some(({ rate }) => !rate.allowed)) throw rateLimited(states, headers);
  return { rate: rates[0], headers };
}

/** A bucket after a decision. */
interface BucketState {
  readonly policy: RatePolicy;
  readonly rate: RateDecision;
}

const unlimited: Limited = { rate: undefined, headers: undefined };

/**
 * The buckets as header fields: `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers), which list a
 * client token's own bucket and its key's; and of the one with less left the older `X-RateLimit-*`; its reset is the epoch second at which the bucket is full. `now`: milliseconds.
 */
function rateHeaders(
  states: readonly BucketState[],
  { rate: { debt }, policy }: BucketState,
  now: number,
): Record<string, string> {
  const { capacity } = policy;
  const remaining = remainingTokens(debt, policy);
  const names = states.length > 1 ? ["client", "hourly"] : ["hourly"];
  const list = (parameters: (state: BucketState) => string) =>
    states.map((state, index) => `"${names[index]}";${parameters(state)}`).join(", ");
  return {
    "RateLimit-Policy": list(({ policy }) => `q=${policy.capacity};w=${windowSeconds}`),
    RateLimit: list(
      ({ rate, policy }) =>
        `r=${remainingTokens(rate.debt, policy)};t=${secondsToNextToken(rate.debt, policy)}`,
    ),
    "X-RateLimit-Limit": String(capacity),
    "X-RateLimit-Remaining": String(remaining),
    "X-RateLimit-Reset": String(Math.ceil((now * 1000 + debt) / 1_000_000)),
  };
}

/** 429, with the time until a request passes: the longer one of the two buckets. */
function rateLimited(states: readonly BucketState[], headers: Limited["headers"]): ApiError {
  const waits = states.map(({ rate, policy }) => ({
    policy,
    seconds: Math.ceil((rate.debt + refillInterval(policy) - fullDebt(policy)) / 1_000_000),
  }));
  const longest = waits.reduce((one, other) => (other.seconds > one.seconds ? other : one));
  const retryAfterSeconds = Math.max(1, longest.seconds);
  const { capacity } = longest.policy;
  return new ApiError(
    "rate_limited",
    `The hourly limit of ${counted(capacity, "request")} is used up for now.`,
    {
      details: { retryAfterSeconds, limit: capacity },
      headers: { ...headers, "Retry-After": String(retryAfterSeconds) },
    },
  );
}
