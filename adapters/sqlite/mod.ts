/**
 * The store, and the limiter's buckets, in a SQLite file that belongs to one process.
 *
 * @module
 */

import { isString } from "../../core/base/json.ts";
import type { Log } from "../../core/base/log.ts";
import { logRule, optional, type RulesFor, requireOptions, unusable } from "../../core/base/rules.ts";
import type { BucketStore } from "../../core/limits/memory-limiter.ts";
import type { Store } from "../../core/store/store.ts";
import { readLongTextsInTurn } from "../sql/fair-reads.ts";
import { createSqlStore } from "../sql/store.ts";
import type { BackupOptions } from "./backup.ts";
import { createSqliteBuckets } from "./buckets.ts";
import { openSqliteDatabase } from "./file.ts";

export type { BackupOptions, BackupProgress } from "./backup.ts";

/** What {@link openSqlite} opens. `await using` closes it. */
export interface Sqlite extends AsyncDisposable {
  /** Durable when its promises resolve, even against a power failure. Closing it closes the file. */
  readonly store: Store & AsyncDisposable;
  /** The bucket store for `createMemoryLimiter`. Buckets survive `kill -9`. */
  readonly buckets: BucketStore;
  /**
   * Copies the database, as it is at one instant, into a new file that only its owner can read, while reads and writes go
   * on. Rejects with a one-line error if the file exists or cannot be written; nothing is left of it then.
   */
  backup(file: string, options?: BackupOptions): Promise<void>;
  /** Waits for running operations, then closes the file. */
  close(): Promise<void>;
}

/** Options of {@link openSqlite}. */
export interface SqliteOptions {
  /** Default: silence. */
  readonly log?: Log | undefined;
}

const rules: RulesFor<SqliteOptions> = { log: optional(logRule) };

/**
 * Opens or creates a SQLite file, which no other process can open until it is closed. It holds everything.
 *
 * Rejects with a one-line error if the file is in use, is not a database of this program, is damaged, was created by a
 * newer version, or cannot be written, and with a `TypeError` for an unknown option and for a path that SQLite would not
 * take for one, such as `:memory:`.
 *
 * @example
 * ```ts
 * import { createMemoryLimiter } from "twin-service";
 * import { openSqlite } from "twin-service/sqlite";
 *
 * const { store, buckets, close } = await openSqlite("./data/twins.db");
 * const limiter = createMemoryLimiter({ buckets });
 * ```
 */
export async function openSqlite(path: string, options: SqliteOptions = {}): Promise<Sqlite> {
  if (!isString(path) || /^(?:$|:memory:|file:)/i.test(path)) {
    throw unusable("openSqlite: path", "the path of a file", path);
  }
  requireOptions("openSqlite", options, rules);
  const { log } = options;
  const driver = await openSqliteDatabase(path, log);
  const store = createSqlStore(driver, { exclusive: true });
  return {
    store: {
      ...readLongTextsInTurn(store),
      async ping() {
        await driver.requireWritable();
        await store.ping();
      },
    },
    buckets: createSqliteBuckets(driver.unsynced),
    backup: (file, options) => driver.backup(file, options),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  };
}
