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

/** Commits batches in one transaction. Throws if all of them are lost; nothing has then changed. */
export function runGroup(connection: SqliteConnection, group: readonly Batch[]): readonly RanBatch[] {
  try {
    return runTogether(connection, group) ?? runApart(connection, group);
  } catch (error) {
    throw rollBack(connection, error);
  }
}

/**
 * Commits a group's batches without a savepoint for each, which would take a quarter of a reply's time in the store,
 * because SQLite saves every page's previous state. A batch that fails nearly always fails with its first statement,
 * and has then changed nothing. Undefined: a batch failed later, and all of them were rolled back.
 */
function runTogether(connection: SqliteConnection, group: readonly Batch[]): readonly RanBatch[] | undefined {
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
function runApart(connection: SqliteConnection, group: readonly Batch[]): readonly RanBatch[] {
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

/** The result of a batch's statements. */
export interface RanBatch {
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
