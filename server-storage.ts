/**
 * Opens what the reference server keeps its records and limits in. Only what is chosen is loaded.
 *
 * @module
 */

import { createFallbackLimiter } from "./core/fallback-limiter.ts";
import { createMemoryLimiter, type RateLimiter } from "./core/limit.ts";
import type { Log } from "./core/log.ts";
import { createMemoryStore } from "./core/memory-store.ts";
import {
  ConfigError,
  type Database,
  nameOf,
  type Setting,
  type Settings,
  settings,
} from "./core/settings.ts";
import type { Store } from "./core/store.ts";

/** What the settings say to keep things in. */
export interface Storage {
  readonly store: Store;
  readonly limiter: RateLimiter;
  close(): Promise<void>;
}

/** What storage is opened with. */
export interface StorageOptions {
  readonly log: Log;
  /** Calls the opening off. */
  readonly signal: AbortSignal;
}

/**
 * Opens the database, and Redis where one is given. Rejects with an error of one line if the database cannot be
 * used; a Redis, and a limiter's store, may be down.
 */
export async function openStorage(values: Settings, options: StorageOptions): Promise<Storage> {
  const { redisUrl } = values;
  const { log } = options;
  const storage = await openDatabase(values, options);
  if (redisUrl === undefined) return storage;
  const { openRedis } = await import("./adapters/redis-client.ts");
  const redis = await openRedis(redisUrl, { log }).catch(blame(settings.redisUrl));
  return {
    store: storage.store,
    limiter: redis.limiter,
    async close() {
      try {
        redis.close();
      } finally {
        await storage.close();
      }
    },
  };
}

async function openDatabase(
  { database, databasePoolSize: maxConnections }: Settings,
  { log, signal }: StorageOptions,
): Promise<Storage> {
  switch (database.kind) {
    case "memory": {
      const store = createMemoryStore();
      return { store, limiter: createMemoryLimiter(), close: () => store.close() };
    }
    case "sqlite": {
      const { openSqlite } = await import("./adapters/sqlite.ts");
      const sqlite = await openSqlite(database.path, { log }).catch(blame(settings.database));
      const limiter = createFallbackLimiter({
        shared: createMemoryLimiter({ buckets: sqlite.buckets }),
        log,
      });
      return {
        store: sqlite.store,
        limiter,
        async close() {
          limiter.close();
          await sqlite.close();
        },
      };
    }
    case "postgres": {
      const { openPostgres } = await import("./adapters/postgres.ts");
      const options = { maxConnections, log, signal };
      const postgres = await openPostgres(database.url, options).catch(blame(settings.database));
      const limiter = createFallbackLimiter({ shared: postgres.limiter, log });
      return {
        store: postgres.store,
        limiter,
        async close() {
          limiter.close();
          await postgres.close();
        },
      };
    }
  }
}

/** Tells what a start failed at whose database was opened, and then did not do its work. */
export function blameDatabase({ database }: Settings): (error: unknown) => never {
  return (error) => {
    const problem = `${placeOf(database)} cannot be read or written (${innermost(error)})`;
    throw new ConfigError(`${nameOf(settings.database)}: ${problem}.`, { cause: error });
  };
}

/** Where it is, without who may use it. */
function placeOf(database: Database): string {
  switch (database.kind) {
    case "memory":
      return "the memory";
    case "sqlite":
      return database.path;
    case "postgres": {
      const { protocol, host, pathname } = new URL(database.url);
      return `${protocol}//${host}${pathname}`;
    }
  }
}

/** What was at the bottom of an error. */
function innermost(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return innermost(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : innermost(error.cause);
}

/** Tells which setting an error of one line comes from. */
function blame(setting: Setting<unknown>): (error: unknown) => never {
  return (error) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`${nameOf(setting)}: ${reason}`, { cause: error });
  };
}
