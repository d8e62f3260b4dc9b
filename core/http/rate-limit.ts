/**
 * The hourly limit: the size of a key's bucket, the token that a request takes, and how the client learns about it.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
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
  /** What the answer says of it, to a key. */
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/**
 * Takes the token that a request costs, or only looks, where it is free.
 *
 * @throws {ApiError} `rate_limited` if the bucket is empty.
 */
export async function takeToken(
  limiter: RateLimiter,
  { free }: Pick<Route, "free">,
  { key, bucket }: Caller,
  clock: Clock,
): Promise<Limited> {
  if (!bucket) return unlimited;
  const { id, policy } = bucket;
  const rate = await (free ? limiter.peek(id, policy) : limiter.take(id, policy));
  const headers = key && rateHeaders(rate, policy, clock.now());
  if (!rate.allowed && !free) throw rateLimited(rate, policy, headers);
  return { rate, headers };
}

const unlimited: Limited = { rate: undefined, headers: undefined };

/**
 * The bucket as header fields: `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers), and
 * the older `X-RateLimit-*`, whose reset is the epoch second at which the bucket is full. `now`: milliseconds.
 */
function rateHeaders({ debt }: RateDecision, policy: RatePolicy, now: number): Record<string, string> {
  const { capacity } = policy;
  const remaining = remainingTokens(debt, policy);
  return {
    "RateLimit-Policy": `"hourly";q=${capacity};w=${windowSeconds}`,
    RateLimit: `"hourly";r=${remaining};t=${secondsToNextToken(debt, policy)}`,
    "X-RateLimit-Limit": String(capacity),
    "X-RateLimit-Remaining": String(remaining),
    "X-RateLimit-Reset": String(Math.ceil((now * 1000 + debt) / 1_000_000)),
  };
}

/** 429, with the time after which a request will pass. */
function rateLimited({ debt }: RateDecision, policy: RatePolicy, headers: Limited["headers"]): ApiError {
  const missing = debt + refillInterval(policy) - fullDebt(policy);
  const retryAfterSeconds = Math.max(1, Math.ceil(missing / 1_000_000));
  return new ApiError("rate_limited", `The hourly limit of ${policy.capacity} requests is used up for now.`, {
    details: { retryAfterSeconds, limit: policy.capacity },
    headers: { ...headers, "Retry-After": String(retryAfterSeconds) },
  });
}
