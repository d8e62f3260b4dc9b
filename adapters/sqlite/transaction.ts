/**
 * Several batches in one transaction of a SQLite connection.
 *
 * @module
 */

import type { BatchResult, SqlRow, SqlStatement } from "../sql/driver.ts";
import { errorKind, type SqliteConnection, unavailableIfPassing } from "./connection.ts";

/** Statements that take effect together, and who waits for them. */
export interface Batch {
  readonly statements: readonly SqlStatement[];
  readonly resolve: (result: BatchResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Commits batches in one transaction, each in a savepoint, so that rolling one back does not affect the others. Throws if
 * all of them are lost; nothing has then changed.
 */
export function runGroup(connection: SqliteConnection, group: readonly Batch[]): readonly RanBatch[] {
  try {
    connection.run("BEGIN IMMEDIATE", []);
    const ran = group.map((batch) => {
      connection.run("SAVEPOINT batch", []);
      const one = runStatements(connection, batch);
      if (one.failed && one.changes > 0) connection.run("ROLLBACK TO batch", []);
      connection.run("RELEASE batch", []);
      return one;
    });
    connection.run("COMMIT", []);
    return ran;
  } catch (error) {
    throw rollBack(connection, error);
  }
}

/** The result of a batch's statements. */
export interface RanBatch {
  /** Resolves or rejects the batch. */
  readonly tell: () => void;
  readonly failed: boolean;
  /** How many rows it changed, even if it failed after that. */
  readonly changes: number;
}

/** The rows of a statement that returns none. */
const noRows: readonly SqlRow[] = [];

/** Throws if the whole group is lost: a full disk, for example, makes SQLite end the transaction. */
function runStatements(connection: SqliteConnection, { statements, resolve, reject }: Batch): RanBatch {
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
