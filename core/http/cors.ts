/**
 * Cross-origin requests (the Fetch standard's CORS protocol), for the origins that the operator lists.
 *
 * @module
 */

import type { RequestHeaders } from "../wire/request.ts";

const exposed = [
  "Idempotency-Replayed",
  "Location",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-Request-Id",
].join(", ");

const allowed = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-API-Key";

/** The CORS header fields of every answer. None if no origin is listed. */
export function corsHeaders(request: RequestHeaders, origins: readonly string[]): Record<string, string> {
  if (origins.length === 0) return {};
  const origin = request.get("origin");
  if (origin === null || !origins.includes(origin)) return { Vary: "Origin" };
  return { Vary: "Origin", "Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": exposed };
}

/** Further header fields of the answer to a preflight request. `methods`: those of the path. */
export function preflightHeaders(
  request: RequestHeaders,
  methods: string,
  origins: readonly string[],
): Record<string, string> {
  const origin = request.get("origin");
  if (origin === null || !origins.includes(origin)) return {};
  return {
    "Access-Control-Allow-Methods": methods,
    "Access-Control-Allow-Headers": allowed,
    "Access-Control-Max-Age": "600",
  };
}
