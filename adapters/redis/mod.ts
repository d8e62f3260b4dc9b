/**
 * Limits in Redis, on a connection that reconnects by itself and never makes a request wait.
 *
 * @module
 */

import { systemClock, within } from "../../core/base/clock.ts";
import { type Log, noLog } from "../../core/base/log.ts";
import { logRule, optional, type RulesFor, requireAddress, requireOptions } from "../../core/base/rules.ts";
import { createFallbackLimiter, type FallbackLimiter } from "../../core/limits/fallback-limiter.ts";
import type { RateLimiter } from "../../core/limits/token-bucket.ts";
import { createRedisLimiter, limiterRules, type RedisLimiterOptions } from "./limiter.ts";

export { createRedisLimiter, type RedisLimiterOptions, type RedisScriptClient } from "./limiter.ts";

/** What {@link openRedis} opens. */
export interface Redis {
  /** The same buckets for all processes; while Redis is down, buckets of this process. Only `forget` rejects then. */
  readonly limiter: RateLimiter & Pick<FallbackLimiter, "isShared">;
  close(): void;
}

/** Options of {@link openRedis}. */
export interface RedisOptions extends RedisLimiterOptions {
  /** Default: silence. */
  readonly log?: Log | undefined;
}

const rules: RulesFor<RedisOptions> = { ...limiterRules, log: optional(logRule) };

/**
 * Connects to Redis. If it is down at the start, this process limits alone until it comes up. Rejects if the package
 * `redis` is not installed, the address is empty or invalid, or an option is unknown or cannot be used.
 *
 * @example
 * ```ts
 * import { openRedis } from "twin-service/redis";
 *
 * const { limiter, close } = await openRedis("redis://127.0.0.1:6379");
 * ```
 */
export async function openRedis(url: string, options: RedisOptions = {}): Promise<Redis> {
  requireAddress("openRedis", "redis://127.0.0.1:6379", url);
  requireOptions("openRedis", options, rules);
  const { log = noLog, ...limiterOptions } = options;
  const { client, leave } = await connect(url, log);
  const writable = leavingReplicas(createRedisLimiter(client, limiterOptions), leave);
  const shared = quietAfterFailure(writable, () => client.ping());
  const limiter = createFallbackLimiter({ shared, log });
  return {
    limiter,
    close() {
      limiter.close();
      client.destroy();
    },
  };
}

/**
 * Leaves a Redis that accepts no writes: after a failover, its address may lead to one that does, but the connection
 * would stay with the first, which still answers pings.
 */
function leavingReplicas(limiter: RateLimiter, leave: () => void): RateLimiter {
  return watchTakes(limiter, async (take) => {
    try {
      return await take();
    } catch (error) {
      if (error instanceof Error && error.message.startsWith("READONLY")) leave();
      throw error;
    }
  });
}

/**
 * Sends nothing after a failure but one ping, until that is answered or its connection has ended. Node counts what is
 * written as a sign of life: the looks whether Redis is back would keep a connection that is dead from being replaced.
 */
function quietAfterFailure(limiter: RateLimiter, ping: () => Promise<unknown>): RateLimiter {
  let quiet = false;

  function listen(): void {
    quiet = true;
    const speak = () => {
      quiet = false;
    };
    ping().then(speak, speak);
  }

  return watchTakes(limiter, async (take) => {
    if (quiet) throw new Error("Redis has not answered since a request failed.");
    try {
      return await take();
    } catch (error) {
      if (!quiet) listen();
      throw error;
    }
  });
}

/** A limiter whose takes run through `watch`. */
function watchTakes(
  limiter: RateLimiter,
  watch: <Result>(take: () => Promise<Result>) => Promise<Result>,
): RateLimiter {
  return {
    ...limiter,
    take: (id, policy) => watch(() => limiter.take(id, policy)),
    takeBoth: (first, second) => watch(() => limiter.takeBoth(first, second)),
  };
}

/**
 * Pause between two attempts to connect, in milliseconds. It does not grow, so that a Redis that returns is used soon.
 */
const reconnectMs = 500;

/** The time limit of an attempt to connect, and how long the start waits for the first one, in milliseconds. */
const connectMs = 2000;

/** Pause between a ping's answer and the next ping, in milliseconds: well below {@link deadMs}. */
const pingMs = 2000;

/** A connection is dead if nothing was sent or received for so long despite the pings, in milliseconds. */
const deadMs = 5000;

/** All errors of a connection but those that Redis answers. */
const noAnswer = "no answer";

async function connect(url: string, log: Log) {
  const { createClient, ErrorReply } = await importRedis();
  const client = createClient({
    url,
    disableOfflineQueue: true, // limiting a request locally is better than making it wait
    pingInterval: pingMs,
    socket: { connectTimeout: connectMs, socketTimeout: deadMs, reconnectStrategy: () => reconnectMs },
  });
  // There is one error for each failed attempt. Of those without an answer the first says everything, but an answer,
  // such as that the password has changed, says more.
  const reported = new Set<string>();
  client.on("error", (error: unknown) => {
    const problem = error instanceof ErrorReply ? error.message : noAnswer;
    const address = new URL(url).host;
    log(reported.has(problem) ? "debug" : "warn", "the connection to Redis failed", { address, error });
    reported.add(problem);
  });
  client.on("ready", () => {
    reported.clear();
    client.info("memory").then(
      (info) => warnOfEviction(info, log),
      (error: unknown) => log("debug", "Redis did not report its maxmemory-policy", { error }),
    );
  });
  const firstAnswer = new Promise<void>((resolve) => {
    client.once("ready", () => resolve());
    client.once("error", () => resolve());
  });
  client.connect().catch((error: unknown) => log("debug", "Redis was not reached before the end", { error }));
  await within(systemClock, connectMs, firstAnswer);
  return {
    client,
    /** Ends the connection, and makes another one. */
    leave() {
      reported.add(noAnswer); // this is no failure of the connection
      client
        .sendCommand(["QUIT"])
        .catch((error: unknown) => log("debug", "Redis did not answer QUIT", { error }));
    },
  };
}

async function importRedis() {
  try {
    return await import("redis");
  } catch (error) {
    throw new Error("Redis needs the package redis: npm install redis", { cause: error });
  }
}

/** All keys expire, so every policy but one may evict them, and a bucket would be full again. */
function warnOfEviction(info: string, log: Log): void {
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  if (policy === undefined || policy === "noeviction") return;
  log("warn", "Redis may evict rate limits when its memory is full; set maxmemory-policy noeviction", {
    policy,
  });
}
