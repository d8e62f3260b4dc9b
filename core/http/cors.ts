/**
 * Cross-origin requests (the Fetch standard's CORS protocol), for the origins that the operator lists.
 *
 * @module
 */

import type { Answer, HeaderFields, IncomingRequest } from "../wire/request.ts";

const exposed = [
  "ETag",
  "Idempotency-Replayed",
  "Location",
  "Preference-Applied",
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

/** What the answer to OPTIONS depends on. */
interface OptionsAnswerOptions {
  /** Those of the path. */
  readonly methods: string;
  readonly origins: readonly string[];
}

/** The answer to OPTIONS: a browser's preflight request. */
export function optionsAnswer(
  { headers }: Pick<IncomingRequest, "headers">,
  { origin }: Pick<HeaderFields, "origin">,
  { methods, origins }: OptionsAnswerOptions,
): Answer {
  const isListed = origin !== null && origins.includes(origin);
  if (!isListed) return { status: 204, headers: { Allow: methods }, body: null };
  const asked = headers.get("Access-Control-Request-Headers")?.split(",") ?? [];
  const further = asked.map((name) => name.trim()).filter((name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name));
  const permitted = {
    "Access-Control-Allow-Methods": methods,
    "Access-Control-Allow-Headers": [allowed, ...further].join(", "),
    "Access-Control-Max-Age": "600",
  };
  return { status: 204, headers: { Allow: methods, ...permitted }, body: null };
}
