/**
 * One SQLite connection, whichever of the runtime's two ways there is to get one: `node:sqlite` where the
 * runtime has it (Node.js from 22.13 on, Deno), and the package `libsql` elsewhere.
 *
 * @module
 */

import { StoreUnavailable } from "../core/store.ts";
import type { SqlRow, SqlValue } from "./sql-driver.ts";

/** A connection. Everything is synchronous. Errors are the library's own: see {@link errorKind}. */
export interface SqliteConnection {
  /** Runs statements that take no parameters and of which nothing is wanted back. */
  exec(sql: string): void;
  /** Runs one statement and returns its rows: none if it returns none. Parameters are named `$1`, `$2` … */
  all(sql: string, params: readonly SqlValue[]): readonly SqlRow[];
  /** Runs one statement that returns no rows and tells how many it changed. */
  run(sql: string, params: readonly SqlValue[]): number;
  close(): void;
}

/** What both libraries' connections can do. */
interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
  close(): void;
}

interface Statement {
  all(...params: unknown[]): unknown[];
  run(...params: unknown[]): { changes: number | bigint };
  columns(): readonly { readonly name: string }[];
  /** Of `libsql` only: whether the statement returns rows, and having them returned as arrays. */
  readonly reader?: boolean;
  raw?(): unknown;
}

/** A library, and how its statements want their parameters: one by one, or as an array. */
interface Library {
  readonly Database: new (path: string) => Database;
  readonly bind: (values: SqlValue[]) => unknown[];
}

/** Opens a connection to a file. Throws if the runtime has no SQLite, or the file cannot be opened. */
export async function connect(path: string): Promise<SqliteConnection> {
  const { Database, bind } = await importLibrary();
  return wrap(new Database(path), bind);
}

async function importLibrary(): Promise<Library> {
  const failures: unknown[] = [];
  try {
    const { DatabaseSync } = await import("node:sqlite");
    return { Database: DatabaseSync as unknown as Library["Database"], bind: (values) => values };
  } catch (error) {
    failures.push(error);
  }
  try {
    const { default: Libsql } = await import("libsql");
    return { Database: Libsql as unknown as Library["Database"], bind: (values) => [values] };
  } catch (error) {
    failures.push(error);
  }
  const message =
    "This runtime has no SQLite: use Node.js 22.13 or newer, or Deno, or install the package libsql.";
  throw new Error(message, { cause: new AggregateError(failures) });
}

interface Prepared {
  readonly statement: Statement;
  /** The columns' names, where rows are arrays. */
  readonly names: readonly string[] | undefined;
  /** For each `?`, the index of its parameter. */
  readonly order: readonly number[];
}

function wrap(database: Database, bind: Library["bind"]): SqliteConnection {
  // By text. The store's texts are few and do not depend on data, so this does not grow.
  const prepared = new Map<string, Prepared>();

  function prepare(sql: string): Prepared {
    const known = prepared.get(sql);
    if (known) return known;
    const order: number[] = [];
    // Plain `?` is what both libraries bind alike. A parameter named twice is bound twice.
    const positional = sql.replace(/\$(\d+)/g, (_, number) => {
      order.push(Number(number) - 1);
      return "?";
    });
    const statement = database.prepare(positional);
    const fresh = { statement, names: rowsAsArrays(statement), order };
    prepared.set(sql, fresh);
    return fresh;
  }

  return {
    exec: (sql) => void database.exec(sql),
    all(sql, params) {
      const { statement, names, order } = prepare(sql);
      const rows = statement.all(...bind(order.map((index) => params[index] ?? null)));
      return names ? (rows as SqlValue[][]).map((values) => toRow(names, values)) : (rows as SqlRow[]);
    },
    run(sql, params) {
      const { statement, order } = prepare(sql);
      return Number(statement.run(...bind(order.map((index) => params[index] ?? null))).changes);
    },
    close() {
      prepared.clear();
      database.close();
    },
  };
}

/**
 * Has a statement of `libsql` return rows as arrays, and returns their columns' names. Its own objects take more
 * than twice the time.
 */
function rowsAsArrays(statement: Statement): readonly string[] | undefined {
  if (!statement.reader || !statement.raw) return undefined;
  statement.raw();
  return statement.columns().map(({ name }) => name);
}

function toRow(names: readonly string[], values: readonly SqlValue[]): SqlRow {
  const row: Record<string, SqlValue> = {};
  for (const [index, name] of names.entries()) row[name] = values[index] ?? null;
  return row;
}

/** What went wrong, as far as somebody can do something about it. */
export type SqliteErrorKind = "in_use" | "not_a_database" | "corrupt" | "cannot_open" | "passing" | "other";

const kindByResultCode: Readonly<Record<number, SqliteErrorKind>> = {
  5: "in_use", // SQLITE_BUSY
  7: "passing", // SQLITE_NOMEM
  8: "passing", // SQLITE_READONLY
  10: "passing", // SQLITE_IOERR
  11: "corrupt", // SQLITE_CORRUPT
  13: "passing", // SQLITE_FULL
  14: "cannot_open", // SQLITE_CANTOPEN
  26: "not_a_database", // SQLITE_NOTADB
};

/** SQLite's own words for these codes: all that Deno's `exec()`, and libsql's opening of a file, tell. */
const resultCodeByWords: readonly (readonly [words: RegExp, code: number])[] = [
  [/^database is locked/, 5],
  [/^attempt to write a readonly database/, 8],
  [/^disk I\/O error/, 10],
  [/^database disk image is malformed/, 11],
  [/^database or disk is full/, 13],
  [/^unable to open database file|^ConnectionFailed/, 14],
  [/^file is not a database/, 26],
];

/** Classifies an error of either library by SQLite's result code. `passing`: a full disk and its like. */
export function errorKind(error: unknown): SqliteErrorKind {
  const { errcode, rawCode, message } = error as { errcode?: unknown; rawCode?: unknown; message?: unknown };
  const [, byWords] = resultCodeByWords.find(([words]) => words.test(String(message))) ?? [];
  const code = Number(errcode ?? rawCode ?? byWords ?? Number.NaN); // errcode: node:sqlite, rawCode: libsql
  return kindByResultCode[code & 255] ?? "other"; // the higher bits tell variants apart
}

/** What a caller of the store is told of an error: whether trying again later makes sense. */
export function unavailableIfPassing(error: unknown): unknown {
  if (errorKind(error) !== "passing") return error;
  return new StoreUnavailable("The database cannot be read or written now.", { cause: error });
}
