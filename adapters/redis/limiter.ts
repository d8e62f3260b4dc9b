/**
 * Hourly limits in Redis: the same buckets for all processes that share it.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { setImmediate } from "node:timers";
import { longestTimerMs } from "../../core/base/clock.ts";
import { isCount } from "../../core/base/json.ts";
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
  decisionsAt,
  type Grant,
  type NamedBucket,
  type RateDecision,
  type RateLimiter,
  takeToken,
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
 * The token bucket of `core/limits`, for one bucket or two in one step, on Redis' own clock, so that neither the clocks
 * nor the number of processes matter. A bucket is one key, which expires when it is full, as a full bucket is the same as
 * none. It is also saved on refusals, and when a mere look finds it in the future, or a clock that was set back would
 * lock it. Returns how many tokens were taken, of as many as were asked for, and the debts after that.
 */
const script = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local asked = tonumber(ARGV[1])
local granted, isAhead, stands = asked, false, {}
for n, key in ipairs(KEYS) do
  local capacity = tonumber(ARGV[1 + n])
  local price = math.ceil(${windowMicroseconds} / capacity)
  local bucket = redis.call('HMGET', key, 'debt', 'at', 'capacity')
  local at, before = tonumber(bucket[2] or '0'), tonumber(bucket[3] or capacity)
  local debt = math.max(0, tonumber(bucket[1] or '0') - math.max(0, now - at))
  if debt > 0 and before ~= capacity then
    local priceBefore = math.ceil(${windowMicroseconds} / before)
    local left = (before * priceBefore - debt) / priceBefore
    debt = math.max(0, capacity * price - math.floor(left * price))
  end
  granted = math.min(granted, math.floor((capacity * price - debt) / price))
  isAhead = isAhead or at > now
  stands[n] = { capacity, price, debt }
end
granted = math.max(granted, 0)
local answer = { granted }
for n, key in ipairs(KEYS) do
  local capacity, price, debt = unpack(stands[n])
  debt = debt + granted * price
  if asked > 0 or isAhead then
    redis.call('HSET', key, 'debt', string.format('%.0f', debt), 'at', string.format('%.0f', now), 'capacity', capacity)
    redis.call('PEXPIRE', key, math.ceil(debt / 1000) + 1)
  end
  answer[1 + n] = debt
end
return answer
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
  const ask = createAsk(client, prefix, timeoutMs);
  const take = createTakes(ask);
  return {
    async take(id, policy) {
      const [decision = refused] = await take([{ id, policy }]);
      return decision;
    },
    async takeBoth(first, second) {
      const [one = refused, two = refused] = await take([first, second]);
      return [one, two];
    },
    async peek(id, policy) {
      const [{ debt } = nothing] = await ask([{ id, policy }], 0);
      return { allowed: takeToken(debt, policy).allowed, debt };
    },
    forget: createForget(client, prefix, timeoutMs),
  };
}

/** Asks Redis for a number of tokens of each of some buckets, which may be none. */
type Ask = (buckets: readonly NamedBucket[], asked: number) => Promise<readonly Grant[]>;

function createAsk(client: RedisScriptClient, prefix: string, timeoutMs: number): Ask {
  let answers = 0;
  return async (buckets, asked) => {
    const parameters = [asked, ...buckets.map(({ policy }) => policy.capacity)].map(String);
    const keys = buckets.map(({ id }) => keyOf(prefix, id));
    const answer = run(client, { keys, arguments: parameters }).finally(() => {
      answers++;
    });
    return readReply(await rejectIfStalled(timeoutMs, answer, () => answers), buckets.length);
  };
}

/** Removes buckets one by one, because a cluster has them in different places. */
function createForget(client: RedisScriptClient, prefix: string, timeoutMs: number) {
  return async (ids: readonly string[]): Promise<void> => {
    let answers = 0;
    const removals = ids.map(async (id) => {
      await client.eval("return redis.call('DEL', KEYS[1])", { keys: [keyOf(prefix, id)], arguments: [] });
      answers++;
    });
    await rejectIfStalled(timeoutMs, Promise.all(removals), () => answers);
  };
}

/** Takes a token from each of some buckets, together with other requests for the same ones. */
function createTakes(ask: Ask) {
  const batchers = new Map<string, Batcher<readonly NamedBucket[], readonly RateDecision[]>>();

  async function takeTogether(takes: readonly (readonly NamedBucket[])[]): Promise<RateDecision[][]> {
    const grants = await ask(takes[0] ?? [], takes.length);
    return takes.map((buckets, place) =>
      decisionsAt(
        place,
        grants,
        buckets.map(({ policy }) => policy),
      ),
    );
  }

  return async (buckets: readonly NamedBucket[]): Promise<readonly RateDecision[]> => {
    const name = JSON.stringify(buckets.map(({ id }) => id));
    const batcher = batchers.get(name) ?? createBatcher(takeTogether);
    batchers.set(name, batcher);
    try {
      return await batcher.add(buckets);
    } finally {
      if (batcher.idle) batchers.delete(name);
    }
  };
}

/** What is granted, and decided, if Redis says nothing of a bucket. */
const nothing: Grant = { admitted: 0, debt: 2 * windowMicroseconds };
const refused: RateDecision = { allowed: false, debt: nothing.debt };

/**
 * The key of a bucket. A bucket whose id is another one's, a slash, and more is in the same slot of a cluster as that
 * one, because its hash tag is that one's key, or the prefix has a tag.
 */
function keyOf(prefix: string, id: string): string {
  const slash = id.indexOf("/");
  if (slash === -1 || /\{[^}]+\}/.test(prefix)) return prefix + id;
  return `{${prefix}${id.slice(0, slash)}}${id.slice(slash)}`;
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

/** What each bucket granted. */
function readReply(reply: unknown, buckets: number): Grant[] {
  if (Array.isArray(reply) && reply.length === buckets + 1 && reply.every(isCount)) {
    const [admitted, ...debts]: number[] = reply;
    return debts.map((debt) => ({ admitted: admitted ?? 0, debt }));
  }
  throw new Error(`Redis answered a limit's script with something other than ${buckets + 1} counts.`);
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
