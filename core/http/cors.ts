/**
 * Cross-origin requests (the Fetch standard's CORS protocol), for the origins that the operator lists.
 *
 * @module
 */

import type { Answer, HeaderFields } from "../wire/request.ts";

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

/** The CORS header fields of every answer, where origins are listed. */
export function corsHeaders(
  { origin }: Pick<HeaderFields, "origin">,
  origins: readonly string[],
): Record<string, string> {
  if (origin === null || !origins.includes(origin)) return { Vary: "Origin" };
  return { Vary: "Origin", "Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": exposed };
}

/** The answer to OPTIONS, which a browser's preflight request is. `methods`: those of the path. */
export function optionsAnswer(
  { origin }: Pick<HeaderFields, "origin">,
  methods: string,
  origins: readonly string[],
): Answer {
  const isListed = origin !== null && origins.includes(origin);
  return { status: 204, headers: { Allow: methods, ...(isListed && preflightHeaders(methods)) }, body: null };
}

function preflightHeaders(methods: string): Record<string, string> {
  return {
    "Access-Control-Allow-Methods": methods,
    "Access-Control-Allow-Headers": allowed,
    "Access-Control-Max-Age": "600",
  };
}
