/**
 * Hourly limits in Redis: one budget for all processes that share it.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { setImmediate } from "node:timers";
import {
  type RateDecision,
  type RateLimiter,
  type RatePolicy,
  refillInterval,
  windowSeconds,
} from "../core/limit.ts";

/** What the limiter needs of a client of the `redis` package (version 5 or newer), single or cluster. */
export interface RedisScriptClient {
  eval(script: string, options: ScriptArguments): Promise<unknown>;
  evalSha(sha: string, options: ScriptArguments): Promise<unknown>;
}

interface ScriptArguments {
  readonly keys: string[];
  readonly arguments: string[];
}

/** Options of {@link createRedisLimiter}. */
export interface RedisLimiterOptions {
  /** What the keys in Redis begin with. Default `twins:limit:`. */
  readonly prefix?: string;
  /** How long Redis may take to decide, in milliseconds. Default 100. */
  readonly timeoutMs?: number;
}

/**
 * The token bucket of `core/limit.ts`, decided in one step on Redis' own clock, so that neither the clocks nor
 * the number of the processes matter. A bucket is one key, which expires when it is full: a full bucket and
 * none are the same. It is saved on refusals too, or a clock that stepped back would lock it.
 */
const script = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, window, take = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1'
local bucket = redis.call('HMGET', KEYS[1], 'debt', 'at')
local debt, at = tonumber(bucket[1] or '0'), tonumber(bucket[2] or '0')
debt = math.max(0, debt - math.max(0, now - at))
local allowed = debt + interval <= window
if take then
  if allowed then debt = debt + interval end
  redis.call('HSET', KEYS[1], 'debt', string.format('%.0f', debt), 'at', string.format('%.0f', now))
  redis.call('PEXPIRE', KEYS[1], math.ceil(debt / 1000) + 1)
end
return { allowed and 1 or 0, debt }
`;

const scriptSha = createHash("sha1").update(script).digest("hex");

/** Keeps buckets in Redis. Rejects when Redis does not answer in time: put `createFallbackLimiter` around it. */
export function createRedisLimiter(
  client: RedisScriptClient,
  options: RedisLimiterOptions = {},
): RateLimiter {
  const { prefix = "twins:limit:", timeoutMs = 100 } = options;

  async function decide(id: string, policy: RatePolicy, take: "0" | "1"): Promise<RateDecision> {
    const interval = String(refillInterval(policy));
    const call = { keys: [prefix + id], arguments: [interval, String(windowSeconds * 1_000_000), take] };
    const [allowed, debt] = readReply(await within(timeoutMs, run(client, call)));
    return { allowed: allowed === 1, debt };
  }

  return {
    take: (id, policy) => decide(id, policy, "1"),
    peek: (id, policy) => decide(id, policy, "0"),
  };
}

/** Redis forgets scripts when it restarts; then the whole text is sent once. */
async function run(client: RedisScriptClient, call: ScriptArguments): Promise<unknown> {
  try {
    return await client.evalSha(scriptSha, call);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("NOSCRIPT")) return client.eval(script, call);
    throw error;
  }
}

function readReply(reply: unknown): [allowed: number, debt: number] {
  if (Array.isArray(reply)) {
    const [allowed, debt] = reply;
    if (typeof allowed === "number" && typeof debt === "number") return [allowed, debt];
  }
  throw new Error("Redis answered a limit's script with something else than two numbers.");
}

/** In how many parts the time-out is waited for. */
const slices = 4;

/**
 * Rejects when work takes too long. Waited for in slices, because a process that was busy for long finds its
 * timers due before it has even sent its command, or read the answer: that is one slice, and not Redis' fault.
 */
function within<Value>(milliseconds: number, work: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    let left = slices;
    let timer = setTimeout(wait, milliseconds / slices);
    function wait(): void {
      left--;
      if (left > 0) timer = setTimeout(wait, milliseconds / slices);
      else setImmediate(() => reject(new Error(`Redis did not answer within ${milliseconds} ms.`)));
    }
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
