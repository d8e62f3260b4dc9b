/**
 * What the SQL store asks of a database.
 *
 * @module
 */

/** A value as it goes into a statement. Truth values are kept as 0 and 1, objects as JSON text. */
export type SqlValue = string | number | null;

/** A row by column name. Integers may come as number, bigint or text: read them with `Number`. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** One statement with its parameters, which its text names `$1`, `$2` … and may name more than once. */
export interface SqlStatement {
  /** The text. There are few of them, so a driver may keep each one prepared. */
  readonly sql: string;
  readonly params: readonly SqlValue[];
  /** How many rows it must return or change. Another number undoes the batch. */
  readonly expect?: number;
}

/** What came of a batch: each statement's rows; or the first statement that missed its expectation. */
export type BatchOutcome =
  | { readonly committed: true; readonly rows: readonly (readonly SqlRow[])[] }
  | { readonly committed: false; readonly failed: number };

/**
 * A database, as far as the store needs it. Both methods reject with a `StoreUnavailable` where trying again
 * later makes sense. A batch that was rejected so may have been committed: the word of it was lost, or the disk failed.
 */
export interface SqlDriver {
  /** Runs a statement that changes nothing, and sees what is committed. */
  all(sql: string, params: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /**
   * Runs statements in one transaction, each seeing what the ones before it did. It commits if all of them
   * meet their expectations, and changes nothing otherwise. Durable when it resolves. Taking its
   * expectations along, a transaction never waits for this process.
   */
  batch(statements: readonly SqlStatement[]): Promise<BatchOutcome>;
  /** Waits for what was begun, then lets go of the database. */
  close(): Promise<void>;
}
