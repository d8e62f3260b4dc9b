/**
 * A connection to Redis that limits can rely on: it comes back by itself, and never makes a request wait.
 *
 * @module
 */

import type { Log } from "../core/log.ts";
import type { RedisScriptClient } from "./redis.ts";

/** A connection that may be up or down. Commands reject at once while it is down. */
export interface RedisConnection {
  readonly client: RedisScriptClient;
  close(): void;
}

/** Pause between two attempts to connect, in milliseconds. */
const reconnectMs = 500;
/** How long one attempt may take, in milliseconds. */
const connectMs = 2_000;

/**
 * Connects to Redis, waiting for its first answer for at most 2 seconds: a Redis that is down at the start
 * is connected to when it comes up. Rejects if the package `redis` is not installed or the address is wrong.
 */
export async function connectRedis(url: string, log: Log): Promise<RedisConnection> {
  const { createClient } = await importRedis();
  const client = createClient({
    url,
    disableOfflineQueue: true,
    socket: { connectTimeout: connectMs, reconnectStrategy: () => reconnectMs },
  });
  let reported = false;
  client.on("error", (error: unknown) => {
    // One for each failed attempt to connect: the limiter logs what an outage means.
    log(reported ? "debug" : "warn", "the connection to Redis failed", { error });
    reported = true;
  });
  client.on("ready", () => {
    reported = false;
  });
  const connected = client.connect().catch((error: unknown) => {
    log("debug", "connecting to Redis was given up", { error });
  });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, connectMs);
  });
  const failed = new Promise<void>((resolve) => client.once("error", () => resolve()));
  await Promise.race([connected, failed, late]);
  clearTimeout(timer);
  return { client, close: () => client.destroy() };
}

async function importRedis() {
  try {
    return await import("redis");
  } catch (error) {
    throw new Error("REDIS_URL needs the package redis: npm install redis", { cause: error });
  }
}
