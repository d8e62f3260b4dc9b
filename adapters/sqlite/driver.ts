/**
 * The SQL driver for one SQLite connection, with group commit: batches share a transaction and one wait for the disk.
 * While the disk is busy, everything else continues, and batches gather for the next transaction. A promise resolves
 * once its result is on the disk.
 *
 * @module
 */

import { closeSync, fdatasync, openSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { setImmediate } from "node:timers";
import { StoreUnavailable } from "../../core/store/store.ts";
import type { BatchOutcome, SqlDriver, SqlRow, SqlStatement } from "../sql/driver.ts";
import { errorKind, type SqliteConnection, unavailableIfPassing } from "./connection.ts";

interface PendingBatch {
  readonly statements: readonly SqlStatement[];
  readonly resolve: (outcome: BatchOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** Creates a driver for a connection and its write-ahead log. Closing it closes both. */
export function createSqliteDriver(connection: SqliteConnection, wal: WriteAheadLog): SqlDriver {
  let pending: PendingBatch[] = [];
  let committing: Promise<void> | undefined;
  /** Resolves once everything that was committed is on the disk. Undefined: unknown, as at first and after a failure. */
  let onDisk: Promise<void> | undefined;
  /** Why the log on the disk may lack pages, until they are in the file. */
  let syncError: unknown;
  let closing: Promise<void> | undefined;

  /** Commits the batches of a turn of the event loop, then those that arrived while the disk was busy, and so on. */
  async function commitPending(): Promise<void> {
    for (await turnEnd(); pending.length > 0; await turnEnd()) {
      const group = pending;
      pending = [];
      await commit(group);
    }
    committing = undefined;
  }

  /** Runs batches in one transaction, then resolves or rejects each of them. */
  async function commit(group: readonly PendingBatch[]): Promise<void> {
    try {
      const ran = runTogether(connection, group) ?? runApart(connection, group);
      const changed = ran.some(({ changes }) => changes > 0);
      await (changed ? sync() : settled());
      for (const { tell } of ran) tell();
    } catch (error) {
      const reason = rollBack(connection, error);
      for (const { reject } of group) reject(reason);
    }
  }

  /**
   * Resolves once everything that was committed is on the disk. Syncs run one after the other: of two concurrent ones,
   * either may get an error.
   */
  function sync(): Promise<void> {
    const reached = onDisk ? onDisk.then(reachDisk, reachDisk) : reachDisk();
    onDisk = reached;
    reached.catch(() => {
      if (onDisk === reached) onDisk = undefined; // whoever waits gets the error; the next sync tries again
    });
    return reached;
  }

  /** Like {@link sync}, if nothing was committed since its last call. */
  function settled(): Promise<void> {
    return onDisk ?? sync();
  }

  /**
   * The system reports a failed sync once, and a later one succeeds without the lost pages, so these are written to the
   * file instead.
   */
  async function reachDisk(): Promise<void> {
    if (syncError === undefined) {
      try {
        return await wal.sync();
      } catch (error) {
        syncError = error;
      }
    }
    try {
      checkpoint(connection);
      await wal.sync(); // so that it is empty: a log that reappeared without some pages would damage the file
      syncError = undefined;
    } catch (error) {
      const cause = new AggregateError([syncError, error]);
      throw new StoreUnavailable("What was written may not have reached the disk.", { cause });
    }
  }

  async function finish(): Promise<void> {
    await Promise.allSettled([committing, onDisk]); // whoever waits gets the error
    try {
      wal.close();
    } finally {
      connection.close();
    }
  }

  function refuseIfClosed(): void {
    if (closing) throw new StoreUnavailable("The database is closed.");
  }

  return {
    async all(sql, params) {
      refuseIfClosed();
      try {
        const rows = connection.all(sql, params);
        await settled(); // nobody may see what a power failure could still undo
        return rows;
      } catch (error) {
        throw unavailableIfPassing(error);
      }
    },

    batch(statements) {
      return new Promise((resolve, reject) => {
        refuseIfClosed();
        pending.push({ statements, resolve, reject });
        committing ??= commitPending();
      });
    },

    async close() {
      closing ??= finish();
      await closing;
    },
  };
}

function turnEnd(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Writes the log's contents into the file, waits until they are on the disk, and empties the log. */
function checkpoint(connection: SqliteConnection): void {
  connection.all("PRAGMA wal_checkpoint(TRUNCATE)", []);
}

/**
 * Commits a group's batches without a savepoint for each, which would take a quarter of a reply's time in the store,
 * because SQLite saves every page's previous state. A batch that fails nearly always fails with its first statement,
 * and has then changed nothing. Undefined: a batch failed later, and all of them were rolled back.
 */
function runTogether(
  connection: SqliteConnection,
  group: readonly PendingBatch[],
): readonly RanBatch[] | undefined {
  connection.run("BEGIN IMMEDIATE", []);
  const ran: RanBatch[] = [];
  for (const batch of group) {
    const one = runStatements(connection, batch);
    if (mustUndo(one)) {
      connection.run("ROLLBACK", []);
      return undefined;
    }
    ran.push(one);
  }
  connection.run("COMMIT", []);
  return ran;
}

/** Commits a group's batches, each in a savepoint, so that rolling one back does not affect the others. */
function runApart(connection: SqliteConnection, group: readonly PendingBatch[]): readonly RanBatch[] {
  connection.run("BEGIN IMMEDIATE", []);
  const ran = group.map((batch) => {
    connection.run("SAVEPOINT batch", []);
    const one = runStatements(connection, batch);
    if (mustUndo(one)) connection.run("ROLLBACK TO batch", []);
    connection.run("RELEASE batch", []);
    return one;
  });
  connection.run("COMMIT", []);
  return ran;
}

/** The outcome of a batch's statements. */
interface RanBatch {
  /** Resolves or rejects the batch. */
  readonly tell: () => void;
  readonly failed: boolean;
  /** How many rows it changed, even if it failed after that. */
  readonly changes: number;
}

function mustUndo({ failed, changes }: RanBatch): boolean {
  return failed && changes > 0;
}

/** The rows of a statement that returns none. */
const noRows: readonly SqlRow[] = [];

/** Throws if the whole group is lost: a full disk, for example, makes SQLite end the transaction. */
function runStatements(
  connection: SqliteConnection,
  { statements, resolve, reject }: PendingBatch,
): RanBatch {
  const rows: (readonly SqlRow[])[] = [];
  let changes = 0;
  try {
    for (const { sql, params, expect } of statements) {
      const returned = connection.returnsRows(sql) ? connection.all(sql, params) : undefined;
      const count = returned ? returned.length : connection.run(sql, params);
      changes += count;
      if (expect !== undefined && count !== expect) {
        const failed = rows.length;
        return { tell: () => resolve({ committed: false, failed }), failed: true, changes };
      }
      rows.push(returned ?? noRows);
    }
    return { tell: () => resolve({ committed: true, rows }), failed: false, changes };
  } catch (error) {
    if (errorKind(error) !== "other") throw error;
    return { tell: () => reject(error), failed: true, changes }; // SQLite has rolled back the failed statement itself
  }
}

/** Ends the transaction after an error, and returns the error for its batches. */
function rollBack(connection: SqliteConnection, error: unknown): unknown {
  try {
    connection.run("ROLLBACK", []);
  } catch (rollbackError) {
    // SQLite has already ended the transaction, as intended.
    if (!/no transaction is active/.test(String(rollbackError))) {
      return new AggregateError(
        [error, rollbackError],
        "A transaction could be neither committed nor undone.",
      );
    }
  }
  return unavailableIfPassing(error);
}

/** The write-ahead log of a SQLite file, into which commits go. */
export interface WriteAheadLog {
  /** Resolves once everything that was written to the log is on the disk. Rejects if that failed. */
  sync(): Promise<void>;
  close(): void;
}

/**
 * Opens the log of a file that SQLite has open. If the path is a link, the log is next to the file itself. SQLite's
 * locks are on the file and not affected.
 */
export async function openWriteAheadLog(path: string): Promise<WriteAheadLog> {
  const log = openSync(`${await realpath(path)}-wal`, "r+");
  return {
    sync: () =>
      new Promise((resolve, reject) => {
        fdatasync(log, (error) => (error ? reject(error) : resolve()));
      }),
    close: () => closeSync(log),
  };
}
