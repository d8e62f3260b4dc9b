/**
 * How many replies the key's hourly limit allows.
 *
 * @module
 */

import type { Caller } from "./api.ts";
import type { VisitOptions } from "./options.ts";

/** How many requests of the key's hourly limit a visit does not touch. */
const requestsToLeave = 20;

/** A key's bucket, as `GET /usage` returns it. */
interface Usage {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: string;
}

function tooFewRequests({ limit, remaining, resetAt }: Usage, missing: number): string {
  const needed = `The key has ${remaining} requests left, and ${remaining + missing} are needed`;
  if (remaining + missing > limit)
    return `${needed}, more than its ${limit} an hour: ask for fewer --streams.`;
  const secondsEach = (Date.parse(resetAt) - Date.now()) / 1000 / (limit - remaining);
  return `${needed}: wait ${Math.max(1, Math.ceil(missing * secondsEach))} s, or use another key.`;
}

/**
 * How many replies the key allows now. `say` is told at which rate the limit ends the visit, and how to raise it.
 *
 * @throws {Error} if it allows none.
 */
export async function readLimit(
  call: Caller,
  { streams, seconds, stop }: VisitOptions,
  say: (line: string) => void,
): Promise<number> {
  const usage = await call<Usage>("GET", "/usage", { signal: stop }); // costs nothing
  const replies = usage.remaining - requestsToLeave - 2 * streams - 1;
  if (replies < 1) throw new Error(tooFewRequests(usage, 1 - replies));
  say(
    `The key's hourly limit of ${usage.limit} requests allows ${replies} replies now: above ` +
      `${Math.floor(replies / seconds)} a second, the run ends before its ${seconds} s. ` +
      "FULL_ACCESS_PER_HOUR, a setting of the server, raises that limit.",
  );
  return replies;
}
