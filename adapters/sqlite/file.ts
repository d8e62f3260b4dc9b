/**
 * Opens the store's database in a SQLite file that belongs to this process alone.
 *
 * @module
 */

import { open, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { type Log, noLog } from "../../core/base/log.ts";
import {
  logUpgrade,
  planUpgrade,
  RefusedSchema,
  type Step,
  sqliteDialect,
  type Upgrade,
} from "../sql/schema.ts";
import { codeOf, makeFolder } from "../system.ts";
import { type BackupOptions, Backups, closedVersions, versionsAt } from "./backup.ts";
import { connect, errorKind, requireSqlite, type SqliteConnection } from "./connection.ts";
import { openWriteAheadLog } from "./disk.ts";
import { createSqliteDriver, type SqliteDriver } from "./driver.ts";
import { FileHealth } from "./health.ts";

/** "twin", which marks the file as this program's, so that it does not write into another program's. */
const applicationId = 0x7477696e;

/**
 * The size of the write-ahead log, in pages of 4 KB, at which it is merged into the file. Twice SQLite's default: a page
 * that many replies change is merged once for all of them. With more, the checkpoint itself, for which everything waits,
 * would take too long: twice as many took up to 57 ms.
 */
const pagesBetweenCheckpoints = 2000;

/** The driver of an open file, which can be copied. */
export interface SqliteDatabase extends SqliteDriver {
  /** See {@link Backups.copyTo}. */
  backup(target: string, options?: BackupOptions): Promise<void>;
  /** Rejects with a `StoreUnavailable` if the file is not where it was opened, or if the last writes failed, and still do. */
  requireWritable(): Promise<void>;
}

/** Writes a bucket that is full: the next sweep removes it. */
const probe = `INSERT INTO rate_buckets (id, debt, at) VALUES ('write-probe', 0, 0)
  ON CONFLICT (id) DO UPDATE SET at = excluded.at`;

/** How a file is opened. */
export interface OpenOptions {
  /** Whether its tables stay those of an earlier version. */
  readonly asItIs?: boolean;
  /** The steps that lead to its tables. Default: this version's. */
  readonly steps?: readonly Step[];
}

/**
 * Opens the store's database: a file, which other processes then cannot open, its write-ahead log, and the driver over
 * both. Rejects with a one-line error for problems that the operator can solve.
 */
export async function openSqliteDatabase(
  path: string,
  log: Log = noLog,
  options: OpenOptions = {},
): Promise<SqliteDatabase> {
  const connection = await openSqliteFile(path, log, options);
  try {
    const health = new FileHealth(path, log);
    const driver = createSqliteDriver(connection, await openWriteAheadLog(path), health);
    const { hold } = driver;
    const backups = new Backups({ path, connection, pagesBetweenCheckpoints, hold });
    return {
      ...driver,
      backup: (target, options) => backups.copyTo(target, options),
      async requireWritable() {
        health.requireSameFile();
        if (health.isFailing) await driver.batch([{ sql: probe, params: [] }]);
      },
      async close() {
        await backups.stop();
        await driver.close();
        await backups.close();
      },
    };
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * Opens a file, or creates one that only its owner can read, together with its folder. Brings its tables up to date.
 * Rejects with a one-line error for problems that the operator can solve.
 *
 * Commits survive the end of the process, including `kill -9`. A power failure may undo the last ones, up to the last
 * sync of the log (`disk.ts`).
 *
 * Closing it merges the write-ahead log into the file. If that fails, the log stays next to it, and nothing is lost.
 */
export async function openSqliteFile(
  path: string,
  log: Log = noLog,
  options: OpenOptions = {},
): Promise<SqliteConnection> {
  let connection: SqliteConnection | undefined;
  try {
    await requireSqlite(); // otherwise an empty file would be left
    await makeFile(path);
    await requireOwnLog(path);
    connection = await connect(path);
    prepare(connection, options, log);
    return remembered(await realpath(path), checkpointingOnClose(path, connection, log));
  } catch (error) {
    // Only a working file can be unlocked; otherwise the lock ends with the process.
    if (connection && errorKind(error) === "other") checkpointingOnClose(path, connection, noLog).close();
    else connection?.close();
    const reason = explainReason(error);
    throw reason === undefined ? error : new Error(`${path} ${reason}.`, { cause: error });
  }
}

/** A connection whose file counts as open until it is closed. */
function remembered(real: string, connection: SqliteConnection): SqliteConnection {
  openFiles.add(real);
  return {
    ...connection,
    close() {
      connection.close();
      openFiles.delete(real);
    },
  };
}

/** A connection whose `close` also merges the write-ahead log into the file, and releases its lock. */
function checkpointingOnClose(path: string, connection: SqliteConnection, log: Log): SqliteConnection {
  return {
    ...connection,
    close() {
      try {
        // Closing would do this, too, but libsql only closes once the last statement is garbage-collected.
        connection.exec("PRAGMA journal_mode = DELETE");
        connection.exec("PRAGMA locking_mode = NORMAL");
        connection.all(anyTable, []); // the lock is released at the end of the next transaction
      } catch (error) {
        // All commits are in the log, where the next opening finds them.
        const message =
          "a SQLite file was closed with its write-ahead log (-wal) beside it; keep the two together";
        log("warn", message, { file: path, error });
      } finally {
        connection.close();
      }
    },
  };
}

async function makeFile(path: string): Promise<void> {
  const folder = dirname(path);
  await makeFolder(folder).catch((error: unknown) => {
    throw new RefusedFile(
      `cannot be created: its folder ${folder} cannot be created (${reasonOf(error)})${elsewhere}`,
    );
  });
  try {
    // Only for a new file: opening and closing one that SQLite has open would release SQLite's locks.
    await (await open(path, "wx", 0o600)).close();
  } catch (error) {
    if (codeOf(error) !== "EEXIST")
      throw new RefusedFile(`cannot be created (${reasonOf(error)})${elsewhere}`);
    const found = await stat(path).catch(() => undefined);
    if (!found) await makeLinkedFile(path);
    // The libraries would only say that they cannot open it.
    if (found?.isDirectory()) throw new RefusedFile(`is a folder${elsewhere}`);
  }
}

/** Creates the file that a link leads to: SQLite would let all users of the machine read it. If this fails, SQLite says why. */
async function makeLinkedFile(link: string): Promise<void> {
  await open(link, "a", 0o600).then(
    (file) => file.close(),
    () => {},
  );
}

/**
 * Refuses a write-ahead log beside a file that has none, such as a backup that was copied there: SQLite would write the
 * log's pages into it. The log of a file that is open, or was when its process ended, is its own.
 */
async function requireOwnLog(path: string): Promise<void> {
  const real = await realpath(path);
  const log = await stat(`${real}-wal`).catch(() => undefined);
  if (!log?.size || openFiles.has(real)) return;
  const versions = new Uint8Array(closedVersions.length);
  const file = await open(real, "r");
  const { bytesRead } = await file.read(versions, 0, versions.length, versionsAt);
  await file.close();
  if (bytesRead === 0 || versions.join() !== closedVersions.join()) return;
  throw new RefusedFile(
    `lies beside ${path}-wal, the write-ahead log of another file, which would undo it. To restore a backup, delete ` +
      `${path}-wal; otherwise put back the file that the log belongs to`,
  );
}

/** The files that are open in this process: to open and close one of them would release SQLite's locks. */
const openFiles = new Set<string>();

/** What to do if a file cannot be created or written. */
const elsewhere = "; choose a file in a folder that this process can write to";

const anyTable = "SELECT name FROM sqlite_schema LIMIT 1";

/** The statements that tables and indexes were made by; an index of a primary key has none. */
const anyDefinition = "SELECT sql FROM sqlite_schema";

function prepare(connection: SqliteConnection, { asItIs = false, steps }: OpenOptions, log: Log): void {
  // Before the log is first read, so that the lock is held until the end, and the log's index is in memory instead of a
  // third file.
  connection.exec("PRAGMA locking_mode = EXCLUSIVE");
  connection.exec("PRAGMA foreign_keys = ON"); // what belongs to a row is deleted with it
  connection.exec("PRAGMA secure_delete = ON"); // what is deleted is overwritten
  connection.exec("PRAGMA temp_store = MEMORY"); // there may be no other writable folder
  const upgrade = upgradeOf(connection, steps); // throws before anything is changed
  connection.exec("PRAGMA journal_mode = WAL");
  connection.exec("PRAGMA synchronous = NORMAL");
  connection.exec("PRAGMA checkpoint_fullfsync = ON"); // on macOS, a normal sync stops at the disk's own cache
  connection.exec(`PRAGMA wal_autocheckpoint = ${pagesBetweenCheckpoints}`);
  connection.exec("BEGIN IMMEDIATE");
  try {
    if (!asItIs) makeUpToDate(connection, upgrade);
    connection.exec("COMMIT");
  } catch (error) {
    // Ends the transaction, without which the file could not be released; SQLite may have done so by itself.
    if (errorKind(error) === "other") connection.exec("ROLLBACK");
    throw error;
  }
  if (!asItIs) logUpgrade(upgrade, log);
  assertPragmas(connection);
}

function makeUpToDate(connection: SqliteConnection, { statements, version }: Upgrade): void {
  for (const statement of statements) connection.exec(statement);
  // Written even if nothing changed, to find out at the start whether writing works.
  connection.exec(`PRAGMA application_id = ${applicationId}`);
  connection.exec(`PRAGMA user_version = ${version}`);
}

/** What brings the file up to date. Throws for a file that is not for this program. */
function upgradeOf(connection: SqliteConnection, steps: readonly Step[] | undefined): Upgrade {
  const definitions = connection.all(anyDefinition, []).map(({ sql }) => String(sql));
  if (definitions.length > 0 && readPragma(connection, "application_id") !== applicationId) {
    throw new RefusedFile("is the database of another program");
  }
  const version = Number(readPragma(connection, "user_version"));
  return planUpgrade({ version, definitions }, sqliteDialect, steps);
}

/** SQLite ignores settings that it does not support, and durability and exclusive use depend on these. */
function assertPragmas(connection: SqliteConnection): void {
  const expected = { journal_mode: "wal", locking_mode: "exclusive", synchronous: 1, secure_delete: 1 };
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

/** Why a file cannot be used. Its message continues a sentence that begins with the file's path. */
class RefusedFile extends Error {}

function explainReason(error: unknown): string | undefined {
  if (error instanceof RefusedFile || error instanceof RefusedSchema) return error.message;
  switch (errorKind(error)) {
    case "in_use":
      return (
        "is in use already; a SQLite file belongs to one process, which opens it once. " +
        "End that process first, name another file, or use PostgreSQL for several (DATABASE_URL=postgres://…)"
      );
    case "not_a_database":
      return "is not a SQLite database";
    case "corrupt":
      return "is a damaged SQLite database; restore it from a backup";
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

/** The system's error code, or else the message. */
function reasonOf(error: unknown): string {
  return codeOf(error) ?? messageOf(error);
}
