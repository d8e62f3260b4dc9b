/**
 * The header fields of answers, as the OpenAPI document describes them.
 *
 * @module
 */

import type { Route } from "../../http/route.ts";
import type { ErrorCode } from "../../wire/errors.ts";

/** Each header field's description, once. */
export const responseHeaders = {
  "X-Request-Id": {
    description: "Identifies this response in the service's log.",
    schema: { type: "string" },
  },
  RateLimit: {
    description: "Tokens left (`r`), and seconds until the next one is added (`t`).",
    schema: { type: "string" },
  },
  "RateLimit-Policy": {
    description: "The bucket's size (`q`) and the seconds in which an empty one is refilled (`w`).",
    schema: { type: "string" },
  },
  "X-RateLimit-Limit": { description: "The bucket's size.", schema: { type: "integer" } },
  "X-RateLimit-Remaining": { description: "Tokens left.", schema: { type: "integer", minimum: 0 } },
  "X-RateLimit-Reset": {
    description: "When the bucket is full, in seconds since 1970.",
    schema: { type: "integer" },
  },
  "Retry-After": { description: "Seconds to wait.", schema: { type: "integer", minimum: 1 } },
  "WWW-Authenticate": { description: "The required credential.", schema: { type: "string" } },
  "Idempotency-Replayed": {
    description: "Present if an earlier request with this Idempotency-Key had this effect.",
    schema: { const: "true" },
  },
  ETag: { description: "Changes with the answer.", schema: { type: "string" } },
  "Preference-Applied": { description: "The preference that was followed.", schema: { type: "string" } },
  Location: { description: "The path of the new object.", schema: { type: "string" } },
};

type HeaderName = keyof typeof responseHeaders;

const rateLimitHeaders = [
  "RateLimit",
  "RateLimit-Policy",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
] as const satisfies readonly HeaderName[];

function headersOf(names: readonly HeaderName[]): Record<string, unknown> {
  const all = ["X-Request-Id", ...names];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** The header fields of a route's success, as references. */
export function successHeaders(
  { credential, idempotency, success }: Route,
  status: number = success.status,
): Record<string, unknown> {
  const names: HeaderName[] = [];
  if (credential === "api_key") names.push(...rateLimitHeaders);
  if (idempotency === "supported") names.push("Idempotency-Replayed");
  if (success.etag) names.push("ETag");
  if (success.location) names.push("Location");
  if (success.async && status === 202) names.push("Location", "Preference-Applied");
  return headersOf(names);
}

/** Errors before the key is known do not say how full its bucket is. */
const statusesBeforeKey: readonly number[] = [401, 414, 431];

/** Errors that go away by themselves. */
const passing: readonly ErrorCode[] = [
  "conversation_busy",
  "rate_limited",
  "too_many_running",
  "unavailable",
  "shutting_down",
];

/** The header fields of a status' errors, as references. */
export function errorHeaders(
  route: Route,
  status: number,
  codes: readonly ErrorCode[],
): Record<string, unknown> {
  const names: HeaderName[] = [];
  const isBeforeKey = statusesBeforeKey.includes(status) || codes.join() === "invalid_request";
  if (route.credential === "api_key" && !isBeforeKey) names.push(...rateLimitHeaders);
  if (status === 401 || status === 403) names.push("WWW-Authenticate");
  if (codes.some((code) => passing.includes(code))) names.push("Retry-After");
  // An equal request gets a failed reply again; only a normal send answers with its failure.
  if (status > 500 && route.errors?.includes("model_error")) names.push("Idempotency-Replayed");
  return headersOf(names);
}
