/**
 * Hourly limits in Redis: the same buckets for all processes that share it.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { setImmediate } from "node:timers";
import { longestTimerMs } from "../../core/base/clock.ts";
import {
  hasMethods,
  optional,
  type RulesFor,
  requireOptions,
  textRule,
  unusable,
} from "../../core/base/rules.ts";
import { type Batcher, createBatcher } from "../../core/limits/batch.ts";
import {
  decisionAt,
  type RateDecision,
  type RateLimiter,
  type RatePolicy,
  refillInterval,
  windowMicroseconds,
} from "../../core/limits/token-bucket.ts";

/** The part of a client of the `redis` package (version 5 or newer) that the limiter needs, single or cluster. */
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
  /** The prefix of the keys in Redis. Default `twins:limit:`. */
  readonly prefix?: string | undefined;
  /**
   * How long Redis may take to answer, in milliseconds. Default 500: requests wait so long for a Redis that hangs, but on
   * a machine that is too busy, giving up earlier would double the limit, as each process then limits alone.
   */
  readonly timeoutMs?: number | undefined;
}

/** What the options must be. */
export const limiterRules: RulesFor<RedisLimiterOptions> = {
  prefix: optional(textRule),
  timeoutMs: optional({
    expected: `milliseconds, more than 0 and up to ${longestTimerMs}`,
    accepts: (value) => typeof value === "number" && value > 0 && value <= longestTimerMs,
  }),
};

/**
 * The token bucket of `core/limits/token-bucket.ts`, decided in one step on Redis' own clock, so that neither the clocks
 * nor the number of processes matter. A bucket is one key, which expires when full, as a full bucket is the same as none.
 * It is also saved on refusals, and when a mere look finds it in the future, or a clock that was set back would lock it.
 * Returns how many tokens there were, and the debt after taking as many of them as were asked for.
 */
const script = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, window, asked = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local bucket = redis.call('HMGET', KEYS[1], 'debt', 'at')
local debt, at = tonumber(bucket[1] or '0'), tonumber(bucket[2] or '0')
debt = math.max(0, debt - math.max(0, now - at))
local tokens = math.floor((window - debt) / interval)
if asked > 0 or at > now then
  debt = debt + math.min(asked, tokens) * interval
  redis.call('HSET', KEYS[1], 'debt', string.format('%.0f', debt), 'at', string.format('%.0f', now))
  redis.call('PEXPIRE', KEYS[1], math.ceil(debt / 1000) + 1)
end
return { tokens, debt }
`;

const scriptSha = createHash("sha1").update(script).digest("hex");

/**
 * Creates a limiter that stores its buckets in Redis. Requests for a bucket that arrive while it is being asked about
 * are decided together by the next call. Rejects if Redis does not answer in time: wrap it in `createFallbackLimiter`.
 *
 * @example
 * ```ts
 * import { createFallbackLimiter } from "twin-service";
 * import { createRedisLimiter } from "twin-service/redis";
 *
 * const shared = createRedisLimiter(redisClient, { prefix: "my-app:limit:" });
 * const limiter = createFallbackLimiter({ shared });
 * ```
 *
 * @throws {TypeError} for anything but a client, and for an option that is unknown or cannot be used.
 */
export function createRedisLimiter(
  client: RedisScriptClient,
  options: RedisLimiterOptions = {},
): RateLimiter {
  if (!hasMethods(client, ["eval", "evalSha"])) {
    throw unusable("createRedisLimiter: client", "a client of the package redis", client);
  }
  requireOptions("createRedisLimiter", options, limiterRules);
  const { prefix = "twins:limit:", timeoutMs = 500 } = options;
  const batchers = new Map<string, Batcher<RatePolicy, RateDecision>>();
  let answers = 0;

  async function ask(id: string, policy: RatePolicy, asked: number): Promise<[tokens: number, debt: number]> {
    const parameters = [refillInterval(policy), windowMicroseconds, asked].map(String);
    const answer = run(client, { keys: [prefix + id], arguments: parameters }).finally(() => {
      answers++;
    });
    return readReply(await rejectIfStalled(timeoutMs, answer, () => answers));
  }

  function batcherOf(id: string, policy: RatePolicy): Batcher<RatePolicy, RateDecision> {
    const batcher =
      batchers.get(id) ??
      createBatcher(async (policies: readonly RatePolicy[]) => {
        const [tokens, debt] = await ask(id, policy, policies.length);
        const grant = { admitted: Math.min(policies.length, tokens), debt };
        return policies.map((each, place) => decisionAt(place, grant, each));
      });
    batchers.set(id, batcher);
    return batcher;
  }

  return {
    async take(id, policy) {
      const batcher = batcherOf(id, policy);
      try {
        return await batcher.add(policy);
      } finally {
        if (batcher.idle) batchers.delete(id);
      }
    },
    async peek(id, policy) {
      const [tokens, debt] = await ask(id, policy, 0);
      return { allowed: tokens > 0, debt };
    },
  };
}

/** Redis forgets scripts when it restarts; then the full text is sent once. */
async function run(client: RedisScriptClient, call: ScriptArguments): Promise<unknown> {
  try {
    return await client.evalSha(scriptSha, call);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("NOSCRIPT")) return client.eval(script, call);
    throw error;
  }
}

function readReply(reply: unknown): [tokens: number, debt: number] {
  if (Array.isArray(reply)) {
    const [tokens, debt] = reply;
    if (typeof tokens === "number" && typeof debt === "number") return [tokens, debt];
  }
  throw new Error("Redis answered a limit's script with something other than two numbers.");
}

/** The number of slices that a timeout is divided into. */
const slices = 4;

/**
 * Rejects if work takes too long and nothing else makes progress either: work that waits while others are answered is
 * queued, not lost. Waits in slices, because a process that was busy for long finds its timers due before it has even
 * sent its command or read the answer: that costs one slice, and is not Redis' fault.
 */
function rejectIfStalled<Value>(
  milliseconds: number,
  work: Promise<Value>,
  progress: () => number,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    let left = slices;
    let seen = progress();
    let timer = setTimeout(wait, milliseconds / slices);
    function wait(): void {
      left = progress() === seen ? left - 1 : slices;
      seen = progress();
      if (left > 0) timer = setTimeout(wait, milliseconds / slices);
      else setImmediate(() => reject(new Error(`Redis did not answer within ${milliseconds} ms.`)));
    }
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
