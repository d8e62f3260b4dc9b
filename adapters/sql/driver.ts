/**
 * What the SQL store needs from a database.
 *
 * @module
 */

/** A statement's parameter. Booleans are stored as 0 and 1, objects as JSON text. */
export type SqlValue = string | number | null;

/** A row by column name. Integers may be numbers, bigints or text: read them with `Number`. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** One statement with its parameters, named `$1`, `$2` … in its text, possibly more than once. */
export interface SqlStatement {
  /** The text. There are few different ones, so a driver may keep each one prepared. */
  readonly sql: string;
  readonly params: readonly SqlValue[];
  /** How many rows it must return or change. Any other number rolls the batch back. */
  readonly expect?: number;
}

/** The result of a batch: each statement's rows, or the index of the first statement that missed its expectation. */
export type BatchResult =
  | { readonly committed: true; readonly rows: readonly (readonly SqlRow[])[] }
  | { readonly committed: false; readonly failed: number };

/**
 * A database, as far as the store needs it. Both methods reject with a `StoreUnavailable` if trying again later makes
 * sense. A batch that was rejected with one may have been committed, if the confirmation was lost or the disk failed.
 */
export interface SqlDriver {
  /** Runs a statement that changes nothing and sees what is committed. */
  all(sql: string, params: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /**
   * Runs statements in one transaction, each seeing the effects of those before it. It commits if all of them meet
   * their expectations, and otherwise changes nothing. Durable when it resolves. Because it contains its expectations,
   * a transaction never waits for this process.
   */
  batch(statements: readonly SqlStatement[]): Promise<BatchResult>;
  /** Waits for running operations, then releases the database. */
  close(): Promise<void>;
}
