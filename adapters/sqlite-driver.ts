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
  /** Resolved: all that was committed is on the disk. Undefined: nobody knows, as at first and after a failure. */
  let onDisk: Promise<void> | undefined;
  /** Why the log may lack pages on the disk, until they are in the file. */
  let syncError: unknown;
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
      const ran = runTogether(connection, group) ?? runApart(connection, group);
      const changed = ran.some(({ changes }) => changes > 0);
      await (changed ? sync() : settled());
      for (const { tell } of ran) tell();
    } catch (error) {
      const reason = rollBack(connection, error);
      for (const { reject } of group) reject(reason);
    }
  }

  /** Resolves once all that was committed is on the disk. One after the other: of two at once, either may get the error. */
  function sync(): Promise<void> {
    const reached = onDisk ? onDisk.then(reachDisk, reachDisk) : reachDisk();
    onDisk = reached;
    reached.catch(() => {
      if (onDisk === reached) onDisk = undefined; // whoever waits is told; the next one tries again
    });
    return reached;
  }

  /** As {@link sync}, where nothing was committed since it was last called. */
  function settled(): Promise<void> {
    return onDisk ?? sync();
  }

  /** The system tells of a failed sync once, and a later one passes without the pages that were lost: they go elsewhere. */
  async function reachDisk(): Promise<void> {
    if (syncError === undefined) {
      try {
        return await log.sync();
      } catch (error) {
        syncError = error;
      }
    }
    try {
      writeIntoFile(connection);
      await log.sync(); // that it is empty: a log that came back with pages missing would damage the file
      syncError = undefined;
    } catch (error) {
      const cause = new AggregateError([syncError, error]);
      throw new StoreUnavailable("What was written may not have reached the disk.", { cause });
    }
  }

  async function finish(): Promise<void> {
    await Promise.allSettled([committing, onDisk]); // whoever waits is told
    try {
      log.close();
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
        await settled(); // nobody is told of what a power failure could still undo
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

function turnEnd(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Writes what the log holds into the file, waits until the disk has that, and empties the log. */
function writeIntoFile(connection: SqliteConnection): void {
  connection.all("PRAGMA wal_checkpoint(TRUNCATE)", []);
}

/**
 * Commits a group's batches without a savepoint for each, which would be a quarter of a reply's time in the
 * store: SQLite keeps what every page was before. Whatever fails nearly always fails with its first statement,
 * and then has changed nothing. Undefined: a batch failed later, and all of them were undone.
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

/** Commits a group's batches, each in a savepoint, so that undoing one leaves the others alone. */
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

/** What came of a batch's statements. */
interface RanBatch {
  /** Tells whoever asked for it. */
  readonly tell: () => void;
  readonly failed: boolean;
  /** How many rows it changed, also if it failed after that. */
  readonly changes: number;
}

function mustUndo({ failed, changes }: RanBatch): boolean {
  return failed && changes > 0;
}

/** What a statement returns that returns none. */
const noRows: readonly SqlRow[] = [];

/** Throws if the whole group is lost: a full disk, for one, makes SQLite end the transaction. */
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
    return { tell: () => reject(error), failed: true, changes }; // the failed statement itself is undone
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
