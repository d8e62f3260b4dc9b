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
  const { shared, destroy } = await (address.kind === "single"
    ? openServer(address, log, limiterOptions)
    : openServers(address, log, limiterOptions));
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
    expected: () => void reported.add(noAnswer),
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

async function openServer(
  address: Extract<RedisAddress, { kind: "single" }>,
  log: Log,
  options: RedisLimiterOptions,
): Promise<Opened> {
  const { createClient } = await importRedis();
  const client = createClient({ url: address.url, ...impatient, socket });
  const report = await createReport(address, log);
  client.on("error", report.failed);
  client.on("ready", () => {
    report.connected();
    Promise.all([client.info("memory"), client.info("cluster")]).then(
      ([memory, cluster]) => {
        // All keys expire, so every policy but one may evict them, and a bucket would be full again.
        const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? "noeviction";
        const settings =
          "Redis may evict rate limits when its memory is full; set maxmemory-policy noeviction";
        if (policy !== "noeviction") log("warn", settings, { policy });
        // A cluster sends most keys elsewhere, so that each process would limit alone.
        const nodes =
          "this Redis is a node of a cluster: its address must begin with redis+cluster:// and name its nodes";
        if (/^cluster_enabled:1/m.test(cluster)) log("warn", nodes);
      },
      (error: unknown) => log("debug", "Redis did not report its settings", { error }),
    );
  });
  const firstAnswer = new Promise<unknown>((resolve) => {
    client.once("ready", () => resolve(undefined));
    client.once("error", resolve);
  });
  client.connect().catch((error: unknown) => log("debug", "Redis was not reached before the end", { error }));
  try {
    requireLogin(await within(systemClock, connectMs, firstAnswer));
  } catch (error) {
    client.destroy();
    throw error;
  }

  /** Ends the connection, and makes another one. */
  function leave(): void {
    report.expected(); // this is no failure of the connection
    client
      .sendCommand(["QUIT"])
      .catch((error: unknown) => log("debug", "Redis did not answer QUIT", { error }));
  }
  const writable = leavingReplicas(createRedisLimiter(client, options), leave);
  return {
    shared: quietAfterFailure(writable, () => client.ping()),
    destroy: () => client.destroy(),
  };
}

/** What there is of the clients of several servers. */
interface ServersClient extends RedisScriptClient {
  connect(): Promise<unknown>;
  destroy(): unknown;
  on(event: "error", listener: (error: unknown) => void): unknown;
}

/**
 * The package's clients of several servers find the others by themselves, but give up if none answers at first, and may
 * stay with servers that have failed: so another one is made after a failure, and used once it is connected.
 */
async function openServers(
  address: Exclude<RedisAddress, { kind: "single" }>,
  log: Log,
  options: RedisLimiterOptions,
): Promise<Opened> {
  const create = await importServers(address);
  const report = await createReport(address, log);
  let current: ServersClient | undefined;
  let isConnecting = false;
  let closed = false;

  /** Resolves with what failed, if anything did; then there is another attempt after a pause. */
  async function connect(): Promise<unknown> {
    isConnecting = true;
    const client = create();
    let answer: unknown; // a cluster's own error only says that no node can be used
    client.on("error", (error) => {
      if (isRefusal(error)) answer = error;
      report.failed(error);
    });
    const problem = await client.connect().then(
      () => undefined,
      (error: unknown) => answer ?? error,
    );
    if (problem !== undefined) report.failed(problem);
    else if (closed) client.destroy();
    else {
      current?.destroy();
      current = client;
      report.connected();
    }
    setTimeout(() => {
      isConnecting = false;
      if (problem !== undefined) renew();
    }, reconnectMs).unref();
    return problem;
  }

  function renew(): void {
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
  return {
    shared: watchTakes(limiter, async (take) => {
      try {
        return await take();
      } catch (error) {
        renew();
        throw error;
      }
    }),
    destroy() {
      closed = true;
      current?.destroy();
    },
  };
}

async function importServers(
  address: Exclude<RedisAddress, { kind: "single" }>,
): Promise<() => ServersClient> {
  const { createCluster, createSentinel } = await importRedis();
  const { hosts, tls, username, password } = address;
  const own = tls ? { ...socket, tls: true as const } : socket;
  const nodes = { ...impatient, ...(username && { username }), ...(password && { password }), socket: own };
  if (address.kind === "cluster") {
    const rootNodes = hosts.map((host) => ({ socket: host }));
    return () => createCluster({ rootNodes, defaults: nodes }) as unknown as ServersClient;
  }
  return () =>
    createSentinel({
      name: address.name,
      sentinelRootNodes: [...hosts],
      sentinelClientOptions: { socket: own },
      nodeClientOptions: { ...nodes, database: address.database },
      scanInterval: pingMs,
    }) as unknown as ServersClient;
}

async function importRedis() {
  try {
    return await import("redis");
  } catch (error) {
    throw new Error("Redis needs the package redis: npm install redis", { cause: error });
  }
}
