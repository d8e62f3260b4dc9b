/**
 * The SQLite store's database: its file, its write-ahead log, and the driver over both.
 *
 * @module
 */

import type { Log } from "../../core/base/log.ts";
import type { SqlDriver } from "../sql/driver.ts";
import { migrationsFrom, schemaVersion, sqliteDialect } from "../sql/schema.ts";
import { createSqliteDriver, openWriteAheadLog } from "./driver.ts";
import { openSqliteFile } from "./file.ts";

/** "twin", which distinguishes the file from another program's. */
const applicationId = 0x7477696e;

/**
 * Opens or creates a file that no other process can open from then on, and brings its tables up to date. Rejects with a
 * one-line error for problems that somebody can do something about.
 */
export async function openSqliteDatabase(path: string, log?: Log): Promise<SqlDriver> {
  const connection = await openSqliteFile(path, {
    applicationId,
    version: schemaVersion,
    migrationsFrom: (version) => migrationsFrom(version, sqliteDialect),
    log,
  });
  try {
    return createSqliteDriver(connection, await openWriteAheadLog(path));
  } catch (error) {
    connection.close();
    throw error;
  }
}
