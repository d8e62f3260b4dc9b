/**
 * Opening a SQLite file that belongs to this process alone.
 *
 * @module
 */

import { open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { type Log, noLog } from "../core/log.ts";
import { codeOf } from "./error-code.ts";
import { makeFolder } from "./folder.ts";
import { connect, errorKind, requireSqlite, type SqliteConnection } from "./sqlite-connection.ts";

/** How a file is opened. */
export interface SqliteFileOptions {
  /** Marks the file as this program's, so that it does not write into somebody else's. 32 bits. */
  readonly applicationId: number;
  /** The version of the tables that the file is to have. Greater than 0. */
  readonly version: number;
  /** The statements that bring tables of an earlier version (0: none) to that one. */
  readonly migrationsFrom: (version: number) => readonly string[];
  /** What somebody can do about a file that is damaged. Default: restore it from a backup. */
  readonly remedy?: string | undefined;
  /** Default: silence. */
  readonly log?: Log | undefined;
}

/**
 * How long the write-ahead log grows, in pages of 4 KB, before it is folded into the file. Four times SQLite's own:
 * a page that many replies change is folded in once for all of them, which takes about a tenth off a reply. More would
 * make the fold itself, which everything waits for, too long: it takes some 30 ms.
 */
const pagesBetweenCheckpoints = 4000;

/**
 * Opens a file, or makes one that only its owner can read, in a folder that it makes if need be. Brings its
 * tables up to date. Throws an error of one clear line for what somebody can do something about.
 *
 * What is committed survives the end of the process, `kill -9` included. A power failure may undo the last commits,
 * except those that a later sync of the log covered (`sqlite-log.ts`).
 *
 * Closing it folds the write-ahead log into the one file. Where that fails, the log stays beside it: nothing is lost.
 */
export async function openSqliteFile(path: string, options: SqliteFileOptions): Promise<SqliteConnection> {
  let connection: SqliteConnection | undefined;
  try {
    await requireSqlite(); // or a file of nothing would be left
    await makeFile(path);
    connection = await connect(path);
    prepare(connection, options);
    return folding(path, connection, options.log);
  } catch (error) {
    // Only a file that works can be given back; what else is wrong ends with the process.
    if (connection && errorKind(error) === "other") folding(path, connection).close();
    else connection?.close();
    throw explain(path, error, options);
  }
}

/** A connection whose closing folds the log in. */
function folding(path: string, connection: SqliteConnection, log: Log = noLog): SqliteConnection {
  return {
    ...connection,
    close() {
      try {
        foldLog(connection);
      } catch (error) {
        // All that was committed is in the log, from which the next opening takes it.
        const message =
          "a SQLite file was closed with its write-ahead log (-wal) beside it; keep the two together";
        log("warn", message, { file: path, error });
      } finally {
        connection.close();
      }
    },
  };
}

/**
 * Folds the write-ahead log into the one file, and gives its lock back. Closing alone would do that, too, but libsql
 * closes only once the last statement was collected as garbage.
 */
function foldLog(connection: SqliteConnection): void {
  connection.exec("PRAGMA journal_mode = DELETE");
  connection.exec("PRAGMA locking_mode = NORMAL");
  connection.all(anyTable, []); // the lock goes with the end of the next transaction
}

async function makeFile(path: string): Promise<void> {
  const folder = dirname(path);
  await makeFolder(folder).catch((error: unknown) => {
    throw new RefusedFile(
      `cannot be created: its folder ${folder} cannot be created (${reasonOf(error)})${elsewhere}`,
    );
  });
  try {
    // Only ever a new file: opening and closing one that SQLite has open would give SQLite's locks away.
    await (await open(path, "wx", 0o600)).close();
  } catch (error) {
    if (codeOf(error) !== "EEXIST")
      throw new RefusedFile(`cannot be created (${reasonOf(error)})${elsewhere}`);
    await refuseFolder(path);
  }
}

/** Of a folder the libraries only say that they cannot open it. */
async function refuseFolder(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined); // undefined: a link to a file that is still to be made
  if (found?.isDirectory()) throw new RefusedFile(`is a folder${elsewhere}`);
}

/** What somebody can do about a file that cannot be. */
const elsewhere = "; choose a file in a folder that this process can write to";

const anyTable = "SELECT name FROM sqlite_schema LIMIT 1";

function prepare(connection: SqliteConnection, options: SqliteFileOptions): void {
  // Before the log is first looked at. So the lock is held from then until the end, and the log's index is
  // kept in memory instead of in a third file.
  connection.exec("PRAGMA locking_mode = EXCLUSIVE");
  connection.exec("PRAGMA temp_store = MEMORY"); // there may be no other folder to write to
  const migrations = migrationsOf(connection, options);
  connection.exec("PRAGMA journal_mode = WAL");
  connection.exec("PRAGMA synchronous = NORMAL");
  connection.exec("PRAGMA checkpoint_fullfsync = ON"); // on macOS a sync would stop at the disk's own cache
  connection.exec(`PRAGMA wal_autocheckpoint = ${pagesBetweenCheckpoints}`);
  migrate(connection, options, migrations);
  assertPragmas(connection);
}

/** What brings the file up to date. Throws for a file that is not for this program: nothing was changed. */
function migrationsOf(connection: SqliteConnection, options: SqliteFileOptions): readonly string[] {
  const { applicationId, version, migrationsFrom } = options;
  const hasTables = connection.all(anyTable, []).length > 0;
  if (hasTables && readPragma(connection, "application_id") !== applicationId) {
    throw new RefusedFile("is the database of another program");
  }
  const found = Number(readPragma(connection, "user_version"));
  if (found > version) {
    throw new RefusedFile(
      `has version ${found}, created by a newer version of this program (this one: ${version})`,
    );
  }
  return migrationsFrom(found);
}

function migrate(
  connection: SqliteConnection,
  { applicationId, version }: SqliteFileOptions,
  migrations: readonly string[],
): void {
  connection.exec("BEGIN IMMEDIATE");
  for (const statement of migrations) connection.exec(statement);
  // Written even if nothing changed: a first write at the start shows whether writing works at all.
  connection.exec(`PRAGMA application_id = ${applicationId}`);
  connection.exec(`PRAGMA user_version = ${version}`);
  connection.exec("COMMIT");
}

/** SQLite ignores a setting that it does not take. Durability and sole ownership rest on these. */
function assertPragmas(connection: SqliteConnection): void {
  const expected = { journal_mode: "wal", locking_mode: "exclusive", synchronous: 1 };
  for (const [name, value] of Object.entries(expected)) {
    const actual = readPragma(connection, name);
    if (actual !== value)
      throw new RefusedFile(`cannot be used safely: SQLite's ${name} is ${actual}, not ${value}`);
  }
}

function readPragma(connection: SqliteConnection, name: string): unknown {
  const [row] = connection.all(`PRAGMA ${name}`, []);
  return row?.[name];
}

/** Why a file is not used. Its message continues a sentence that begins with the file's path. */
class RefusedFile extends Error {}

/** An error of one line that says what is wrong with the file, and what can be done. */
export function explain(
  path: string,
  error: unknown,
  { remedy }: Pick<SqliteFileOptions, "remedy">,
): unknown {
  const reason = explainReason(error, remedy);
  return reason === undefined ? error : new Error(`${path} ${reason}.`, { cause: error });
}

function explainReason(error: unknown, remedy: string | undefined): string | undefined {
  if (error instanceof RefusedFile) return error.message;
  switch (errorKind(error)) {
    case "in_use":
      return (
        "is in use by another process; a SQLite file belongs to one process. " +
        "For several processes use PostgreSQL (DATABASE_URL=postgres://…)"
      );
    case "not_a_database":
      return remedy === undefined ? "is not a SQLite database" : `is not a SQLite database; ${remedy}`;
    case "corrupt":
      return `is a damaged SQLite database; ${remedy ?? "restore it from a backup"}`;
    case "cannot_open":
      return `cannot be opened for reading and writing${elsewhere}`;
    case "passing":
      return `cannot be written (${messageOf(error)})${elsewhere}`;
    case "other":
      return undefined;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The system's code for it, or what it says. */
function reasonOf(error: unknown): string {
  return codeOf(error) ?? messageOf(error);
}
