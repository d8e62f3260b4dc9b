/**
 * The limiter's buckets in a SQLite file of their own.
 *
 * Of their own, because they need less than the store does. A bucket changes with every request, and must
 * survive `kill -9` but not a power failure: so a commit hands the log to the operating system, and nobody waits for
 * the disk. In the store's file each request would.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import type { Bucket, BucketStore } from "../core/limit.ts";
import { StoreUnavailable } from "../core/store.ts";
import { type SqliteConnection, unavailableIfPassing } from "./sqlite-connection.ts";
import { closeSqliteFile, openSqliteFile } from "./sqlite-file.ts";

/** Buckets in a file. */
export interface SqliteBuckets extends BucketStore {
  /** Waits for what was begun, then closes the file. */
  close(): Promise<void>;
}

/** "twbk", so that the file can be told from the store's. */
const applicationId = 0x7477626b;

const createTable =
  "CREATE TABLE buckets (id TEXT NOT NULL PRIMARY KEY, debt INTEGER NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID";

/** One statement for all the changes of a turn, however many: `[[id, debt, at], …]`. */
const saveAll = `INSERT INTO buckets (id, debt, at)
  SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each($1) WHERE true
  ON CONFLICT (id) DO UPDATE SET debt = excluded.debt, at = excluded.at`;

/**
 * A bucket that had its time to fill up is as good as none. One that was saved before the clock stepped back
 * stays until the clock has caught up with it.
 */
const sweepFull = "DELETE FROM buckets WHERE at + debt <= $1";

/** How many saves lie between two sweeps. */
const savesBetweenSweeps = 10_000;

/** Opens the buckets' file, or makes one. Throws as `openSqlite` does. */
export async function openSqliteBuckets(path: string): Promise<SqliteBuckets> {
  const connection = await openSqliteFile(path, {
    applicationId,
    version: 1,
    migrationsFrom: (version) => (version === 0 ? [createTable] : []),
  });
  return createSqliteBuckets(connection);
}

/** The buckets that changed in a turn of the event loop. */
interface Turn {
  readonly changed: Map<string, Bucket>;
  readonly written: Promise<void>;
}

function createSqliteBuckets(connection: SqliteConnection): SqliteBuckets {
  let turn: Turn | undefined;
  let savesToSweep = 0; // the first save sweeps what filled up while the process was down
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
    const rows = Array.from(changed, ([id, { debt, at }]) => [id, debt, at]);
    connection.run(saveAll, [JSON.stringify(rows)]);
    savesToSweep -= rows.length;
    if (savesToSweep > 0) return;
    savesToSweep = savesBetweenSweeps;
    connection.run(sweepFull, [Math.max(...Array.from(changed.values(), ({ at }) => at))]);
  }

  function refuseIfClosed(): void {
    if (closed) throw new StoreUnavailable("The limiter's file is closed.");
  }

  return {
    async load(id) {
      refuseIfClosed();
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
      await Promise.allSettled([turn?.written]); // whoever saved is told of a failure
      closeSqliteFile(connection);
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
