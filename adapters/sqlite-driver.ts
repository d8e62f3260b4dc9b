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

/** Runs a turn's batches in one transaction, then tells each of them. */
function commitTurn(connection: SqliteConnection, turn: readonly PendingBatch[]): void {
  const tellAll: (() => void)[] = [];
  try {
    connection.run("BEGIN IMMEDIATE", []);
    for (const batch of turn) tellAll.push(runBatch(connection, batch));
    connection.run("COMMIT", []);
  } catch (error) {
    const reason = rollBack(connection, error);
    for (const { reject } of turn) reject(reason);
    return;
  }
  for (const tell of tellAll) tell();
}

/**
 * Runs a batch in a savepoint, so that undoing it leaves the rest of its turn alone, and returns what tells
 * its outcome. Throws if the whole turn is lost: a full disk, for one, makes SQLite end the transaction.
 */
function runBatch(connection: SqliteConnection, { statements, resolve, reject }: PendingBatch): () => void {
  connection.run("SAVEPOINT batch", []);
  try {
    const outcome = runStatements(connection, statements);
    if (!outcome.committed) connection.run("ROLLBACK TO batch", []);
    connection.run("RELEASE batch", []);
    return () => resolve(outcome);
  } catch (error) {
    const kind = errorKind(error);
    if (kind !== "other") throw error;
    connection.run("ROLLBACK TO batch", []);
    connection.run("RELEASE batch", []);
    return () => reject(error);
  }
}

function runStatements(connection: SqliteConnection, statements: readonly SqlStatement[]): BatchOutcome {
  const rows: (readonly SqlRow[])[] = [];
  for (const [index, { sql, params, expect }] of statements.entries()) {
    const returned = returnsRows(sql) ? connection.all(sql, params) : undefined;
    const count = returned ? returned.length : connection.run(sql, params);
    if (expect !== undefined && count !== expect) return { committed: false, failed: index };
    rows.push(returned ?? []);
  }
  return { committed: true, rows };
}

function returnsRows(sql: string): boolean {
  return /^\s*SELECT\b|\bRETURNING\b/.test(sql);
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
