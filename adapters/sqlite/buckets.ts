/**
 * The limiter's buckets in a SQLite file of their own.
 *
 * They have their own file because they need less than the store does. A bucket changes with every request, and must
 * survive `kill -9` but not a power failure, so a commit only hands the write-ahead log to the operating system, and
 * nobody waits for the disk. In the store's file, each request would.
 *
 * The changes of one turn of the event loop are one line at the end of a log, which is merged into the table of buckets
 * now and then: a commit writes all pages that it has touched, and the buckets of many keys are in many pages.
 *
 * @module
 */

import { realpath } from "node:fs/promises";
import { setImmediate } from "node:timers";
import type { Log } from "../../core/base/log.ts";
import type { BucketStore } from "../../core/limits/memory-limiter.ts";
import type { Bucket } from "../../core/limits/token-bucket.ts";
import { StoreUnavailable } from "../../core/store/store.ts";
import { type BucketLog, openBucketLog, toJson } from "./bucket-log.ts";
import { type SqliteConnection, unavailableIfPassing } from "./connection.ts";
import { explain, openSqliteFile } from "./file.ts";

/** Buckets in a file. */
export interface SqliteBuckets extends BucketStore {
  /** Waits for running operations, then closes the file. */
  close(): Promise<void>;
}

/** "twbk", which distinguishes the file from the store's. */
const applicationId = 0x7477626b;

/** In version 2, the log was a table. */
const migrations = [
  "CREATE TABLE buckets (id TEXT NOT NULL PRIMARY KEY, debt INTEGER NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID",
  "CREATE TABLE log (turn INTEGER PRIMARY KEY, changed TEXT NOT NULL)",
  `INSERT INTO buckets (id, debt, at)
    SELECT value ->> 0, value ->> 1, value ->> 2 FROM log, json_each(changed) WHERE true ORDER BY turn
    ON CONFLICT (id) DO UPDATE SET debt = excluded.debt, at = excluded.at`,
  "DROP TABLE log",
];

/** Writes changes into the table, in the form of {@link toJson}. */
const saveAll = `INSERT INTO buckets (id, debt, at)
  SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each($1) WHERE true
  ON CONFLICT (id) DO UPDATE SET debt = excluded.debt, at = excluded.at`;

/**
 * A bucket that is full again is as good as none. One that was saved before the clock was set back stays until the
 * clock has caught up with it.
 */
const sweepFull = "DELETE FROM buckets WHERE id > $1 AND id <= $2 AND at + debt <= $3";

/** How many buckets a sweep checks in one turn of the event loop. */
const sweptPerTurn = 1000;

/** The last bucket that is checked next; none if these are the last ones of the table. */
const sweepEnd = `SELECT id FROM buckets WHERE id > $1 ORDER BY id LIMIT 1 OFFSET ${sweptPerTurn - 1}`;

/** Greater than any id. */
const afterAll = "\u{10ffff}";

/** The number of saves in the log before it is folded into the table: about a megabyte. */
const savesBetweenFolds = 16_000;

/**
 * How many buckets are folded in one turn of the event loop, because everything waits for that: one or two
 * milliseconds, and four more in the first one, for sorting. If a turn changes many, twice that number, or the log would
 * grow faster than it is folded.
 */
const foldedPerTurn = 100;

/** The minimum number of saves between two sweeps of the table. */
const savesBetweenSweeps = 10_000;

/** Advice in place of restoring a backup: there is none, and none is needed. */
const remedy =
  "remove it, and the log beside it (-log): they hold only how much of their limits keys have used, and start anew";

/** Opens or creates the buckets' file. Rejects as `openSqlite` does. */
export async function openSqliteBuckets(path: string, log?: Log): Promise<SqliteBuckets> {
  const connection = await openSqliteFile(path, {
    applicationId,
    version: migrations.length,
    migrationsFrom: (version) => migrations.slice(version),
    remedy,
    log,
  });
  try {
    const { log: bucketLog, logged, unreadable } = openBucketLog(`${await realpath(path)}-log`);
    if (unreadable > 0) {
      log?.("warn", "a part of the limits' log cannot be read; some tokens may be taken again", {
        unreadable,
      });
    }
    return createSqliteBuckets(connection, bucketLog, logged);
  } catch (error) {
    connection.close();
    throw explain(path, error, { remedy });
  }
}

/** The buckets that changed in a turn of the event loop. */
interface Turn {
  readonly changed: Map<string, Bucket>;
  readonly written: Promise<void>;
}

/** The older turns of the log, on their way into the table. */
interface Fold {
  /** The last state of each bucket in these turns. */
  readonly buckets: ReadonlyMap<string, Bucket>;
  /** The ids of those that are not in the table yet, in the table's order, where neighbours share pages. */
  readonly left: string[];
}

/** `logged`: the last state of each bucket in the log. */
function createSqliteBuckets(
  connection: SqliteConnection,
  log: BucketLog,
  logged: Map<string, Bucket>,
): SqliteBuckets {
  let turn: Turn | undefined;
  let fold: Fold | undefined;
  // The first save folds what the last process left, the next one sweeps buckets that filled up in the meantime.
  let savesToFold = 0;
  let savesToSweep = 0;
  let sweptTo = "";
  let closed = false;

  function beginTurn(): Turn {
    const changed = new Map<string, Bucket>();
    const end = new Promise<void>((resolve) => setImmediate(resolve));
    const written = end.then(() => {
      turn = undefined;
      orUnavailable(() => write(changed));
    });
    return { changed, written };
  }

  function write(changed: ReadonlyMap<string, Bucket>): void {
    log.append(changed);
    for (const [id, bucket] of changed) logged.set(id, bucket);
    savesToFold -= changed.size;
    savesToSweep -= changed.size;
    if (savesToFold <= 0) foldSome(Math.max(foldedPerTurn, 2 * changed.size));
    else if (savesToSweep <= 0) sweepSome(Math.max(...Array.from(changed.values(), ({ at }) => at)));
  }

  /**
   * Merges some of the log into the table. If the process ends before the rest, the next one starts with the whole log.
   */
  function foldSome(most: number): void {
    savesToFold = savesBetweenFolds; // even if it fails now: callers of this turn get the error, later ones continue
    fold ??= beginFold();
    connection.run(saveAll, [toJson(fold.buckets, fold.left.slice(0, most))]);
    fold.left.splice(0, most);
    if (fold.left.length > 0) {
      savesToFold = 0; // continues with the next turn
      return;
    }
    fold = undefined;
    log.dropAside();
  }

  function beginFold(): Fold {
    log.putAside();
    const buckets = logged;
    logged = new Map();
    return { buckets, left: [...buckets.keys()].sort() };
  }

  function sweepSome(at: number): void {
    savesToSweep = savesBetweenSweeps;
    const [end] = connection.all(sweepEnd, [sweptTo]);
    connection.run(sweepFull, [sweptTo, end ? String(end.id) : afterAll, at]);
    sweptTo = end ? String(end.id) : "";
    if (end) savesToSweep = 0; // more with the next turn
  }

  function refuseIfClosed(): void {
    if (closed) throw new StoreUnavailable("The limiter's file is closed.");
  }

  return {
    async load(id) {
      refuseIfClosed();
      const known = logged.get(id) ?? fold?.buckets.get(id);
      if (known) return known;
      const [row] = orUnavailable(() => connection.all("SELECT debt, at FROM buckets WHERE id = $1", [id]));
      return row && { debt: Number(row.debt), at: Number(row.at) };
    },

    async save(id, bucket) {
      refuseIfClosed();
      turn ??= beginTurn();
      turn.changed.set(id, bucket);
      await turn.written;
    },

    async close() {
      if (closed) return;
      closed = true;
      await Promise.allSettled([turn?.written]); // whoever saved gets the error
      try {
        log.close();
      } finally {
        connection.close();
      }
    },
  };
}

function orUnavailable<Result>(action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    throw unavailableIfPassing(error);
  }
}
