/**
 * Limits in Redis, on a connection that reconnects by itself and never makes a request wait.
 *
 * @module
 */

import { setTimeout } from "node:timers";
import { systemClock, within } from "../../core/base/clock.ts";
import { type Log, noLog } from "../../core/base/log.ts";
import { logRule, optional, type RulesFor, requireAddress, requireOptions } from "../../core/base/rules.ts";
import { createFallbackLimiter, type FallbackLimiter } from "../../core/limits/fallback-limiter.ts";
import type { RateLimiter } from "../../core/limits/token-bucket.ts";
import { hostsOf, parseRedisAddress, type RedisAddress, redisAddresses } from "./address.ts";
import {
  createRedisLimiter,
  limiterRules,
  type RedisLimiterOptions,
  type RedisScriptClient,
} from "./limiter.ts";

export { createRedisLimiter, type RedisLimiterOptions, type RedisScriptClient } from "./limiter.ts";

/** What {@link openRedis} opens. `using` closes it. */
export interface Redis extends Disposable {
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
 * Connects to Redis: one server, `redis+cluster://a:6379,b:6379`, or `redis+sentinel://a:26379,b:26379/name`. If it is down
 * at the start, this process limits alone until it comes up. Rejects if the package `redis` is not installed, if the
 * address is empty or invalid, or its user or password refused, or if an option is unknown or cannot be used.
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
  const address = parseRedisAddress(url);
  if (!address) throw new Error(`Invalid URL: it must be ${redisAddresses}.`);
  const { shared, destroy } = await connectTo(address, log, limiterOptions);
  const limiter = createFallbackLimiter({ shared, log });
  const close = () => {
    limiter.close();
    destroy();
  };
  return { limiter, close, [Symbol.dispose]: close };
}

/** A limiter that rejects while Redis is away, and what ends its connections. */
interface Opened {
  readonly shared: RateLimiter;
  destroy(): void;
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

const socket = { connectTimeout: connectMs, socketTimeout: deadMs, reconnectStrategy: () => reconnectMs };

/** Limiting a request locally is better than making it wait. */
const impatient = { disableOfflineQueue: true, pingInterval: pingMs };

/** Logs a problem with its first error; further ones say less. */
async function createReport(address: RedisAddress, log: Log) {
  const { ErrorReply } = await importRedis();
  // There is one error for each failed attempt. Of those without an answer the first says everything, but an answer,
  // such as that the password has changed, says more.
  const reported = new Set<string>();
  return {
    failed(error: unknown): void {
      const problem = error instanceof ErrorReply ? error.message : noAnswer;
      const where = hostsOf(address);
      log(reported.has(problem) ? "debug" : "warn", "the connection to Redis failed", {
        address: where,
        error,
      });
      reported.add(problem);
    },
    connected: () => reported.clear(),
  };
}

/** Whether Redis answered that it does not take the login, which no waiting mends. */
function isRefusal(error: unknown): error is Error {
  return error instanceof Error && /^(WRONGPASS|NOAUTH)\b/.test(error.message);
}

function requireLogin(error: unknown): void {
  if (!isRefusal(error)) return;
  const [code] = error.message.split(" ");
  throw new Error(`Redis refuses the user and password of the address, or that it has none (${code}).`);
}

/** What there is of the package's clients. */
interface Client extends RedisScriptClient {
  connect(): Promise<unknown>;
  destroy(): unknown;
  on(event: "error", listener: (error: unknown) => void): unknown;
}

/**
 * Another client is made after a failure, and used once it is connected. A client may stay with a server that has failed,
 * or that became a replica and still answers pings, while its address leads to another one; and those of several servers
 * give up if none answers at first.
 */
async function connectTo(address: RedisAddress, log: Log, options: RedisLimiterOptions): Promise<Opened> {
  const create = await importClient(address, log);
  const report = await createReport(address, log);
  let current: Client | undefined;
  let next: Client | undefined; // while it connects, for which sentinels may take many seconds
  let isConnecting = false;
  let isNeeded = true; // another client
  let closed = false;

  /** Resolves with what failed, if anything did; then there is another attempt after a pause. */
  async function connect(): Promise<unknown> {
    isConnecting = true;
    const client = create();
    next = client;
    let answer: unknown; // a cluster's own error only says that no node can be used
    client.on("error", (error) => {
      if (isRefusal(error)) answer = error;
      if (!closed) report.failed(error);
      if (client === current) renew();
    });
    const problem = await client.connect().then(
      () => undefined,
      (error: unknown) => answer ?? error,
    );
    next = undefined;
    if (closed) return problem;
    if (problem !== undefined) report.failed(problem);
    else {
      current?.destroy();
      current = client;
      isNeeded = false;
      report.connected();
    }
    setTimeout(() => {
      isConnecting = false;
      if (isNeeded) renew();
    }, reconnectMs).unref();
    return problem;
  }

  function renew(): void {
    isNeeded = true;
    if (!isConnecting && !closed) void connect();
  }

  try {
    requireLogin(await within(systemClock, connectMs, connect()));
  } catch (error) {
    closed = true;
    throw error;
  }

  const away = () => Promise.reject(new Error("Redis is not connected."));
  const limiter = createRedisLimiter(
    {
      eval: (script, given) => current?.eval(script, given) ?? away(),
      evalSha: (sha, given) => current?.evalSha(sha, given) ?? away(),
    },
    options,
  );
  const renewAfterFailure = async <Result>(take: Promise<Result>): Promise<Result> => {
    try {
      return await take;
    } catch (error) {
      renew();
      throw error;
    }
  };
  return {
    shared: {
      ...limiter,
      take: (id, policy) => renewAfterFailure(limiter.take(id, policy)),
      takeBoth: (first, second) => renewAfterFailure(limiter.takeBoth(first, second)),
    },
    destroy() {
      closed = true;
      current?.destroy();
      next?.destroy();
    },
  };
}

async function importClient(address: RedisAddress, log: Log): Promise<() => Client> {
  const { createClient, createCluster, createSentinel } = await importRedis();
  if (address.kind === "single") {
    return () => {
      const options = { ...impatient, socket: { ...socket, reconnectStrategy: false as const } };
      const client = createClient({ url: address.url, ...options });
      client.on("ready", () => checkSettings(client, log));
      return client;
    };
  }
  const { hosts, tls, username, password } = address;
  const own = tls ? { ...socket, tls: true as const } : socket;
  const nodes = { ...impatient, ...(username && { username }), ...(password && { password }), socket: own };
  if (address.kind === "cluster") {
    const rootNodes = hosts.map((host) => ({ socket: host }));
    return () => createCluster({ rootNodes, defaults: nodes }) as unknown as Client;
  }
  return () =>
    createSentinel({
      name: address.name,
      sentinelRootNodes: [...hosts],
      sentinelClientOptions: { socket: own },
      nodeClientOptions: { ...nodes, database: address.database },
      scanInterval: pingMs,
    }) as unknown as Client;
}

/** Warns of settings with which limits would not hold. */
async function checkSettings(client: { info(section: string): Promise<string> }, log: Log): Promise<void> {
  try {
    const [memory, cluster] = await Promise.all([client.info("memory"), client.info("cluster")]);
    // All keys expire, so every policy but one may evict them, and a bucket would be full again.
    const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? "noeviction";
    const settings = "Redis may evict rate limits when its memory is full; set maxmemory-policy noeviction";
    if (policy !== "noeviction") log("warn", settings, { policy });
    // A cluster sends most keys elsewhere, so that each process would limit alone.
    const nodes =
      "this Redis is a node of a cluster: its address must begin with redis+cluster:// and name its nodes";
    if (/^cluster_enabled:1/m.test(cluster)) log("warn", nodes);
  } catch (error) {
    log("debug", "Redis did not report its settings", { error });
  }
}

async function importRedis() {
  try {
    return await import("redis");
  } catch (error) {
    throw new Error("Redis needs the package redis: npm install redis", { cause: error });
  }
}
