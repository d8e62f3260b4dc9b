/**
 * The SQL driver over one SQLite connection, with group commit: the batches of one turn of the event loop
 * share a transaction, and so one wait for the disk. A promise resolves once that transaction is committed.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import { StoreUnavailable } from "../core/store.ts";
import type { BatchOutcome, SqlDriver, SqlRow, SqlStatement } from "./sql-driver.ts";
import { errorKind, type SqliteConnection, unavailableIfPassing } from "./sqlite-connection.ts";
import { closeSqliteFile } from "./sqlite-file.ts";

interface PendingBatch {
  readonly statements: readonly SqlStatement[];
  readonly resolve: (outcome: BatchOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** Makes a driver of a connection, which it closes when it is closed. */
export function createSqliteDriver(connection: SqliteConnection): SqlDriver {
  let pending: PendingBatch[] = [];
  let closed = false;

  function commitPending(): void {
    const turn = pending;
    pending = [];
    if (turn.length > 0) commitTurn(connection, turn);
  }

  function refuseIfClosed(): void {
    if (closed) throw new StoreUnavailable("The database is closed.");
  }

  return {
    async all(sql, params) {
      refuseIfClosed();
      try {
        return connection.all(sql, params);
      } catch (error) {
        throw unavailableIfPassing(error);
      }
    },

    async batch(statements) {
      refuseIfClosed();
      return new Promise((resolve, reject) => {
        if (pending.length === 0) setImmediate(commitPending);
        pending.push({ statements, resolve, reject });
      });
    },

    async close() {
      if (closed) return;
      closed = true;
      commitPending();
      closeSqliteFile(connection);
    },
  };
}

/** Tells a batch what came of it. */
type Tell = () => void;

/** Runs a turn's batches in one transaction, then tells each of them. */
function commitTurn(connection: SqliteConnection, turn: readonly PendingBatch[]): void {
  let tellAll: readonly Tell[];
  try {
    tellAll = runTogether(connection, turn) ?? runApart(connection, turn);
  } catch (error) {
    const reason = rollBack(connection, error);
    for (const { reject } of turn) reject(reason);
    return;
  }
  for (const tell of tellAll) tell();
}

/**
 * Commits a turn's batches without a savepoint for each, which would be a quarter of a reply's time in the
 * store: SQLite keeps what every page was before. Whatever fails nearly always fails with its first statement,
 * and then has changed nothing. Undefined: a batch failed later, and all of them were undone.
 */
function runTogether(connection: SqliteConnection, turn: readonly PendingBatch[]): Tell[] | undefined {
  connection.run("BEGIN IMMEDIATE", []);
  const tellAll: Tell[] = [];
  for (const batch of turn) {
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

/** Commits a turn's batches, each in a savepoint, so that undoing one leaves the others alone. */
function runApart(connection: SqliteConnection, turn: readonly PendingBatch[]): Tell[] {
  connection.run("BEGIN IMMEDIATE", []);
  const tellAll = turn.map((batch) => {
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

/** Throws if the whole turn is lost: a full disk, for one, makes SQLite end the transaction. */
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
