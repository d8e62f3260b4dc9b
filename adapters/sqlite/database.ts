/**
 * The SQLite store's database: its file, its write-ahead log, and the driver over both. Apart from the store, because
 * whoever copies a database needs no more.
 *
 * @module
 */

import { type Log, noLog } from "../../core/base/log.ts";
import { migrationsFrom, schemaVersion, sqliteDialect } from "../sql/schema.ts";
import { openWriteAheadLog } from "./disk.ts";
import { createSqliteDriver, type SqliteDriver } from "./driver.ts";
import { openSqliteFile } from "./file.ts";
import { takeOverFormerLimits } from "./former-limits.ts";

/** "twin", which distinguishes the file from another program's. */
const applicationId = 0x7477696e;

/**
 * Opens or creates a file, which other processes then cannot open, and brings its tables up to date. Rejects with a
 * one-line error for problems that the operator can solve.
 */
export async function openSqliteDatabase(path: string, log: Log = noLog): Promise<SqliteDriver> {
  const connection = await openSqliteFile(path, {
    applicationId,
    version: schemaVersion,
    migrationsFrom: (version) => migrationsFrom(version, sqliteDialect),
    log,
  });
  try {
    const wal = await openWriteAheadLog(path);
    await takeOverFormerLimits({ path, connection, wal }, log);
    return createSqliteDriver(connection, wal);
  } catch (error) {
    connection.close();
    throw error;
  }
}
