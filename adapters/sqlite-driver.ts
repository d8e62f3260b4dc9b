/**
 * The SQL driver over one SQLite connection, with group commit: batches share a transaction, and one wait for the
 * disk. While the disk works, everything else goes on, and the next transaction gathers. A promise resolves once what
 * it tells of is on the disk.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import { StoreUnavailable } from "../core/store.ts";
import type { BatchOutcome, SqlDriver, SqlRow, SqlStatement } from "./sql-driver.ts";
import { errorKind, type SqliteConnection, unavailableIfPassing } from "./sqlite-connection.ts";
import { closeSqliteFile } from "./sqlite-file.ts";
import type { WriteAheadLog } from "./sqlite-log.ts";

interface PendingBatch {
  readonly statements: readonly SqlStatement[];
  readonly resolve: (outcome: BatchOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** Makes a driver of a connection and its log, which it closes when it is closed. */
export function createSqliteDriver(connection: SqliteConnection, log: WriteAheadLog): SqlDriver {
  let pending: PendingBatch[] = [];
  let committing: Promise<void> | undefined;
  /** Resolved: all that was committed is on the disk. */
  let onDisk: Promise<void> = Promise.resolve();
  let syncFailed = false;
  let closing: Promise<void> | undefined;

  /** Commits what a turn of the event loop brings, then all that came while the disk worked, and so on. */
  async function commitPending(): Promise<void> {
    for (await turnEnd(); pending.length > 0; await turnEnd()) {
      const group = pending;
      pending = [];
      await commit(group);
    }
    committing = undefined;
  }

  /** Runs batches in one transaction, then tells each of them what came of it. */
  async function commit(group: readonly PendingBatch[]): Promise<void> {
    try {
      const tellAll = runTogether(connection, group) ?? runApart(connection, group);
      onDisk = reachDisk();
      await onDisk;
      for (const tell of tellAll) tell();
    } catch (error) {
      const reason = rollBack(connection, error);
      for (const { reject } of group) reject(reason);
    }
  }

  /** A log that could not be synced once may have lost pages that a later sync does not miss: they are written anew. */
  async function reachDisk(): Promise<void> {
    try {
      if (!syncFailed) return await log.sync();
    } catch {
      syncFailed = true; // if the checkpoint fails, too, its error is told
    }
    checkpoint(connection);
    syncFailed = false;
  }

  async function finish(): Promise<void> {
    await committing;
    log.close();
    closeSqliteFile(connection);
  }

  function refuseIfClosed(): void {
    if (closing) throw new StoreUnavailable("The database is closed.");
  }

  return {
    async all(sql, params) {
      refuseIfClosed();
      try {
        const rows = connection.all(sql, params);
        await onDisk; // nobody is told of what a power failure could still undo
        return rows;
      } catch (error) {
        throw unavailableIfPassing(error);
      }
    },

    async batch(statements) {
      refuseIfClosed();
      return new Promise((resolve, reject) => {
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

/** Tells a batch what came of it. */
type Tell = () => void;

function turnEnd(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Writes what the log holds into the file, and waits for the disk. */
function checkpoint(connection: SqliteConnection): void {
  const [row] = connection.all("PRAGMA wal_checkpoint(TRUNCATE)", []);
  if (Number(row?.busy) !== 0)
    throw new StoreUnavailable("The database's log could not be written to the disk.");
}

/**
 * Commits a group's batches without a savepoint for each, which would be a quarter of a reply's time in the
 * store: SQLite keeps what every page was before. Whatever fails nearly always fails with its first statement,
 * and then has changed nothing. Undefined: a batch failed later, and all of them were undone.
 */
function runTogether(connection: SqliteConnection, group: readonly PendingBatch[]): Tell[] | undefined {
  connection.run("BEGIN IMMEDIATE", []);
  const tellAll: Tell[] = [];
  for (const batch of group) {
    const { tell, undo } = runStatements(connection, batch);
    if (undo) {
      connection.run("ROLLBACK", []);
      return undefined;
    }
    tellAll.push(tell);
  }
  connection.run("COMMIT", []);
  return tellAll;
}

/** Commits a group's batches, each in a savepoint, so that undoing one leaves the others alone. */
function runApart(connection: SqliteConnection, group: readonly PendingBatch[]): Tell[] {
  connection.run("BEGIN IMMEDIATE", []);
  const tellAll = group.map((batch) => {
    connection.run("SAVEPOINT batch", []);
    const { tell, undo } = runStatements(connection, batch);
    if (undo) connection.run("ROLLBACK TO batch", []);
    connection.run("RELEASE batch", []);
    return tell;
  });
  connection.run("COMMIT", []);
  return tellAll;
}

/** What came of a batch's statements. */
interface RanBatch {
  readonly tell: Tell;
  /** Whether it failed after it had changed something. */
  readonly undo: boolean;
}

/** Throws if the whole group is lost: a full disk, for one, makes SQLite end the transaction. */
function runStatements(
  connection: SqliteConnection,
  { statements, resolve, reject }: PendingBatch,
): RanBatch {
  const rows: (readonly SqlRow[])[] = [];
  try {
    for (const { sql, params, expect } of statements) {
      const returned = connection.returnsRows(sql) ? connection.all(sql, params) : undefined;
      const count = returned ? returned.length : connection.run(sql, params);
      const failed = rows.length;
      if (expect !== undefined && count !== expect) {
        return { tell: () => resolve({ committed: false, failed }), undo: failed + count > 0 };
      }
      rows.push(returned ?? []);
    }
    return { tell: () => resolve({ committed: true, rows }), undo: false };
  } catch (error) {
    if (errorKind(error) !== "other") throw error;
    return { tell: () => reject(error), undo: rows.length > 0 }; // the failed statement itself is undone
  }
}

/** Ends the transaction that an error broke, and returns what its batches are to be told. */
function rollBack(connection: SqliteConnection, error: unknown): unknown {
  try {
    connection.run("ROLLBACK", []);
  } catch (rollbackError) {
    // SQLite has ended the transaction by itself: just what is wanted.
    if (!/no transaction is active/.test(String(rollbackError))) {
      return new AggregateError(
        [error, rollbackError],
        "A transaction could be neither committed nor undone.",
      );
    }
  }
  return unavailableIfPassing(error);
}
