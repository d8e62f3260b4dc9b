/**
 * A SQLite connection, from `node:sqlite` if the runtime has it (Node.js 22.13 or newer, Deno, Bun), or else from the
 * package `libsql`.
 *
 * @module
 */

import { StoreUnavailable } from "../../core/store/store.ts";
import type { SqlRow, SqlValue } from "../sql/driver.ts";
import { codeOf } from "../system.ts";

/** A connection. Everything is synchronous. Errors are the library's own: see {@link errorKind}. */
export interface SqliteConnection {
  /** Runs statements without parameters or results. */
  exec(sql: string): void;
  /** Runs one statement and returns its rows, if any. Parameters are named `$1`, `$2` … */
  all(sql: string, params: readonly SqlValue[]): readonly SqlRow[];
  /** Runs one statement that returns no rows, and returns how many it changed. */
  run(sql: string, params: readonly SqlValue[]): number;
  /** Whether a statement returns rows, so that it needs `all`. */
  returnsRows(sql: string): boolean;
  close(): void;
}

/** The common part of both libraries' connections. */
interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
  close(): void;
}

interface Statement {
  all(...params: unknown[]): unknown[];
  run(...params: unknown[]): { changes: number | bigint };
  columns(): readonly { readonly name: string }[];
  /** Only in `libsql`: whether the statement returns rows, and the switch to rows as arrays. */
  readonly reader?: boolean;
  raw?(): unknown;
}

/** A prepared statement of either library. */
interface Prepared {
  readonly returnsRows: boolean;
  all(params: readonly SqlValue[]): readonly SqlRow[];
  run(params: readonly SqlValue[]): { changes: number | bigint };
}

interface Library {
  readonly Database: new (path: string) => Database;
  readonly prepare: (database: Database, sql: string) => Prepared;
}

/** Rejects if the runtime has no SQLite. */
export async function requireSqlite(): Promise<void> {
  await importLibrary();
}

/** Opens a connection to a file. Throws if the runtime has no SQLite, or the file cannot be opened. */
export async function connect(path: string): Promise<SqliteConnection> {
  const { Database, prepare } = await importLibrary();
  return wrap(new Database(path), prepare);
}

async function importLibrary(): Promise<Library> {
  const failures: unknown[] = [];
  try {
    const { DatabaseSync } = await import("node:sqlite");
    return { Database: DatabaseSync as unknown as Library["Database"], prepare: prepareBuiltIn };
  } catch (error) {
    failures.push(error);
  }
  try {
    const { default: Libsql } = await import("libsql");
    return { Database: Libsql as unknown as Library["Database"], prepare: prepareLibsql };
  } catch (error) {
    failures.push(error);
  }
  const builtIn = "Node.js 22.13 or newer, Deno and Bun have SQLite built in.";
  throw new Error(`${problemOf(failures.at(-1))} ${builtIn}`, { cause: new AggregateError(failures) });
}

/** Why `libsql` cannot be imported: it may be installed, but lack the binary for this system. */
function problemOf(error: unknown): string {
  const code = codeOf(error);
  return code === "ERR_MODULE_NOT_FOUND"
    ? "SQLite needs the package libsql: npm install libsql, or npx -p libsql -p twin-service twin-service."
    : `SQLite needs the package libsql, which cannot be loaded (${code ?? error}): install it again.`;
}

function wrap(database: Database, prepare: Library["prepare"]): SqliteConnection {
  // By text. The store's texts are few and do not depend on data, so this does not grow.
  const statements = new Map<string, Prepared>();

  function prepared(sql: string): Prepared {
    const known = statements.get(sql);
    if (known) return known;
    const fresh = prepare(database, sql);
    statements.set(sql, fresh);
    return fresh;
  }

  return {
    exec: (sql) => void database.exec(sql),
    all: (sql, params) => prepared(sql).all(params),
    run: (sql, params) => Number(prepared(sql).run(params).changes),
    returnsRows: (sql) => prepared(sql).returnsRows,
    close() {
      statements.clear();
      database.close();
    },
  };
}

const parameter = /\$(\d+)/g;

/** `node:sqlite` only binds plain `?` by position, so a parameter that is named twice is bound twice. */
function prepareBuiltIn(database: Database, sql: string): Prepared {
  const order: number[] = [];
  const statement = database.prepare(
    sql.replace(parameter, (_, number) => {
      order.push(Number(number) - 1);
      return "?";
    }),
  );
  const bind = (params: readonly SqlValue[]) => order.map((index) => params[index] ?? null);
  return {
    returnsRows: returnsRows(sql),
    all: (params) => statement.all(...bind(params)) as SqlRow[],
    run: (params) => statement.run(...bind(params)),
  };
}

/**
 * `libsql` takes parameters as an array and binds each once. Parameters that the array lacks would keep their last
 * value.
 */
function prepareLibsql(database: Database, sql: string): Prepared {
  const statement = database.prepare(sql.replace(parameter, "?$1"));
  // Rows as arrays: its own objects take more than twice the time.
  if (statement.reader) statement.raw?.();
  const names = statement.reader && statement.raw ? statement.columns().map(({ name }) => name) : undefined;
  const count = Math.max(0, ...Array.from(sql.matchAll(parameter), ([, number]) => Number(number)));
  const bind = (params: readonly SqlValue[]) =>
    params.length === count ? params : Array.from({ length: count }, (_, index) => params[index] ?? null);
  return {
    returnsRows: returnsRows(sql),
    all(params) {
      const rows = statement.all(bind(params));
      return names ? (rows as SqlValue[][]).map((values) => toRow(names, values)) : (rows as SqlRow[]);
    },
    run: (params) => statement.run(bind(params)),
  };
}

/** According to its text, because not every `node:sqlite` reports it. */
function returnsRows(sql: string): boolean {
  return /^\s*(?:SELECT|WITH)\b|\bRETURNING\b/.test(sql);
}

function toRow(names: readonly string[], values: readonly SqlValue[]): SqlRow {
  const row: Record<string, SqlValue> = {};
  for (let index = 0; index < names.length; index++) row[names[index] ?? ""] = values[index] ?? null;
  return row;
}

/** The kinds of errors that the operator can do something about, and all others. */
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

/** SQLite's messages for these codes: Deno's `exec()`, and libsql when it opens a file, report nothing else. */
const resultCodeByWords: readonly (readonly [words: RegExp, code: number])[] = [
  [/^database is locked/, 5],
  [/^attempt to write a readonly database/, 8],
  [/^disk I\/O error/, 10],
  [/^database disk image is malformed/, 11],
  [/^database or disk is full/, 13],
  [/^unable to open database file|^ConnectionFailed/, 14],
  [/^file is not a database/, 26],
];

/** Classifies an error of either library by SQLite's result code. `passing`: temporary problems, such as a full disk. */
export function errorKind(error: unknown): SqliteErrorKind {
  const { errcode, rawCode, message } = error as { errcode?: unknown; rawCode?: unknown; message?: unknown };
  const [, byWords] = resultCodeByWords.find(([words]) => words.test(String(message))) ?? [];
  const code = Number(errcode ?? rawCode ?? byWords ?? Number.NaN); // errcode: node:sqlite, rawCode: libsql
  return kindByResultCode[code & 255] ?? "other"; // the higher bits distinguish variants
}

/** The error for callers of the store: a {@link StoreUnavailable} if trying again later makes sense. */
export function unavailableIfPassing(error: unknown): unknown {
  if (errorKind(error) !== "passing") return error;
  return new StoreUnavailable("The database cannot be read or written right now.", { cause: error });
}
