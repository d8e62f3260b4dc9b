/**
 * Opens the reference server's database and limits. Only the chosen drivers are loaded.
 *
 * @module
 */

import { existsSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { addressesOf } from "../adapters/postgres/hosts.ts";
import { readLongTextsInTurn } from "../adapters/sql/fair-reads.ts";
import type { Sqlite } from "../adapters/sqlite/mod.ts";
import type { Log } from "../core/base/log.ts";
import { createFallbackLimiter } from "../core/limits/fallback-limiter.ts";
import { createMemoryLimiter } from "../core/limits/memory-limiter.ts";
import type { RateLimiter } from "../core/limits/token-bucket.ts";
import { createMemoryStore } from "../core/store/memory.ts";
import type { Store } from "../core/store/store.ts";
import { ConfigError, type DatabaseChoice, nameOf, type Settings } from "./settings.ts";

/** The storage that the settings choose. */
export interface Storage {
  readonly store: Store;
  readonly limiter: RateLimiter;
  /** Whether the limits are those of all processes. False: what they share is away, and this process limits alone. */
  limitsAreShared(): boolean;
  /** The path of a SQLite file that was made. */
  readonly newFile?: string;
  /** Copies SQLite's file. Absent: the database is another. */
  readonly backup?: Sqlite["backup"];
  close(): Promise<void>;
}

/** Options of {@link openStorage}. */
export interface StorageOptions {
  readonly log: Log;
  /** Cancels the opening. */
  readonly signal: AbortSignal;
}

/**
 * Opens the database, and Redis if one is given. Rejects with a one-line error if the database cannot be used; Redis,
 * and a limiter's store, may be down.
 */
export async function openStorage(values: Settings, options: StorageOptions): Promise<Storage> {
  const { redisUrl } = values;
  const { log } = options;
  const storage = await openDatabase(values, options);
  if (redisUrl === undefined) return storage;
  const { openRedis } = await import("../adapters/redis/mod.ts");
  const redis = await openRedis(redisUrl, { log }).catch(blame(nameOf("redisUrl")));
  return {
    ...storage,
    limiter: redis.limiter,
    limitsAreShared: redis.limiter.isShared,
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
      const store = readLongTextsInTurn(createMemoryStore());
      const limiter = createMemoryLimiter();
      return { store, limiter, limitsAreShared: () => true, close: () => store.close() };
    }
    case "sqlite": {
      const { openSqlite } = await import("../adapters/sqlite/mod.ts");
      const isNew = !existsSync(database.path);
      const opening = openSqlite(database.path, { log });
      const { store, buckets, backup, close } = await opening.catch(blame(nameOf("database")));
      const limited = withFallback({ store, limiter: createMemoryLimiter({ buckets }), close }, log);
      const storage = { ...limited, backup };
      return isNew ? { ...storage, newFile: resolve(database.path) } : storage;
    }
    case "postgres": {
      const { openPostgres } = await import("../adapters/postgres/mod.ts");
      const opening = openPostgres(database.url, { maxConnections, log, signal });
      return withFallback(await opening.catch(blame(nameOf("database"))), log);
    }
  }
}

/** Says that a file was made, and warns where other databases are near: a wrong path or folder is noticed too late. */
export function logNewFile({ newFile: file }: Storage, log: Log): void {
  if (file === undefined) return;
  const near = [dirname(file), join(dirname(file), "data"), resolve("data")];
  const others = [...new Set(near)].flatMap(databasesIn).filter((other) => other !== file);
  const found = others.length > 0;
  log(found ? "warn" : "info", `new database at ${file}`, found ? { near: others } : {});
}

function databasesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => /\.(db|sqlite3?)$/.test(name));
  return names.map((name) => join(folder, name));
}

/** A database, with limits that go on in memory while its own are down. */
function withFallback(
  { store, limiter: shared, close }: Pick<Storage, "store" | "limiter" | "close">,
  log: Log,
): Storage {
  const limiter = createFallbackLimiter({ shared, log });
  return {
    store,
    limiter,
    limitsAreShared: limiter.isShared,
    async close() {
      limiter.close();
      await close();
    },
  };
}

/** Names the database in the error of a start that failed after opening it. */
export function blameDatabase({ database }: Settings): (error: unknown) => never {
  return (error) => {
    const problem = `${placeOf(database)} cannot be read or written (${innermost(error)})`;
    throw new ConfigError(`${nameOf("database")}: ${problem}.`, { cause: error });
  };
}

/** The database's location, without credentials. */
function placeOf(database: DatabaseChoice): string {
  switch (database.kind) {
    case "memory":
      return "the memory";
    case "sqlite":
      return database.path;
    case "postgres":
      return withoutCredentials(database.url);
  }
}

/** The location in a database's address. */
export function withoutCredentials(url: string): string {
  const places = (addressesOf(url) ?? [url]).map((address) => new URL(address));
  const [{ protocol = "", pathname = "" } = {}] = places;
  return `${protocol}//${places.map(({ host }) => host).join(",")}${pathname}`;
}

/** The message of an error's root cause. */
export function innermost(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return innermost(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : innermost(error.cause);
}

/** Names the setting or flag that a one-line error comes from. */
export function blame(name: string): (error: unknown) => never {
  return (error) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`${name}: ${reason}`, { cause: error });
  };
}
