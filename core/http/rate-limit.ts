/**
 * A key's hourly budget: its size, and how the client learns about it.
 *
 * @module
 */

import {
  type RateDecision,
  type RatePolicy,
  refillInterval,
  remainingTokens,
  secondsToNextToken,
  windowMicroseconds,
  windowSeconds,
} from "../limits/token-bucket.ts";
import type { Scope } from "../store/records.ts";
import { ApiError } from "../wire/errors.ts";

const policies: Record<Scope, RatePolicy> = {
  read_only: { capacity: 200 },
  full_access: { capacity: 500 },
};

/** The bucket of a key with this scope. */
export function policyOf(scope: Scope): RatePolicy {
  return policies[scope];
}

/**
 * The budget as header fields: `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers), and
 * the older `X-RateLimit-*`, whose reset is the epoch second at which the bucket is full. `now`: milliseconds.
 */
export function rateHeaders({ debt }: RateDecision, policy: RatePolicy, now: number): Record<string, string> {
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
export function rateLimited({ debt }: RateDecision, policy: RatePolicy): ApiError {
  const missing = debt + refillInterval(policy) - windowMicroseconds;
  const retryAfterSeconds = Math.max(1, Math.ceil(missing / 1_000_000));
  return new ApiError("rate_limited", `The hourly limit of ${policy.capacity} requests is used up for now.`, {
    details: { retryAfterSeconds, limit: policy.capacity },
    headers: { "Retry-After": String(retryAfterSeconds) },
  });
}
