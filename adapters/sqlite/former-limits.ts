/**
 * Takes over the buckets of the last version, which kept them beside the store's file: in a SQLite file `…-limits`, and
 * their latest changes in the logs `…-limits-log` and `…-limits-log-aside`.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { readFile, realpath, rm } from "node:fs/promises";
import { isString } from "../../core/base/json.ts";
import type { Log } from "../../core/base/log.ts";
import { codeOf } from "../system.ts";
import { saveOlder } from "./buckets.ts";
import { connect, type SqliteConnection } from "./connection.ts";
import type { WriteAheadLog } from "./disk.ts";

/** The store's file, open. */
export interface OpenFile {
  readonly path: string;
  readonly connection: SqliteConnection;
  readonly wal: WriteAheadLog;
}

/** The logs, older changes first, then what SQLite may have left beside its file. */
const suffixes = ["-log-aside", "-log", "-wal", "-journal", ""];

/** Buckets that are read and written at a time. */
const rowsAtOnce = 1000;

/**
 * Copies the buckets into the store's file, and removes the old files. Buckets that cannot be read start anew, with a
 * warning; their files stay.
 */
export async function takeOverFormerLimits(file: OpenFile, log: Log): Promise<void> {
  const path = `${file.path}-limits`;
  if (!existsSync(path)) return;
  try {
    const former = await realpath(path);
    await copyBuckets(former, file.connection);
    await file.wal.sync();
    // The file itself last: if the process ends before, the next start copies once more, without harm.
    for (const suffix of suffixes) await rm(former + suffix, { force: true });
    await rm(path, { force: true }); // if it was a link
  } catch (error) {
    log("warn", "the limits of the last version cannot be read and start anew; remove their files", {
      file: path,
      error,
    });
  }
}

async function copyBuckets(path: string, connection: SqliteConnection): Promise<void> {
  const logs = [...(await linesOf(`${path}-log-aside`)), ...(await linesOf(`${path}-log`))];
  const former = await connect(path);
  connection.exec("BEGIN IMMEDIATE");
  try {
    for (const rows of readBuckets(former)) connection.run(saveOlder, [rows]);
    for (const line of logs) connection.run(saveOlder, [line]);
    connection.exec("COMMIT");
  } catch (error) {
    connection.exec("ROLLBACK");
    throw error;
  } finally {
    former.close();
  }
}

/** The rows of the table, as JSON that {@link saveOlder} takes. */
function* readBuckets(connection: SqliteConnection): Generator<string> {
  const sql = `SELECT id, debt, at FROM buckets WHERE id > $1 ORDER BY id LIMIT ${rowsAtOnce}`;
  for (let last = ""; ; ) {
    const rows = connection.all(sql, [last]);
    const end = rows.at(-1);
    if (!end) return;
    yield JSON.stringify(rows.map(({ id, debt, at }) => [id, Number(debt), Number(at)]));
    last = String(end.id);
  }
}

/** The lines of a log, each in the same form. One that the end of a process has cut off is left out. */
async function linesOf(path: string): Promise<string[]> {
  try {
    return (await readFile(path, "utf8")).split("\n").filter(isWhole);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

function isWhole(line: string): boolean {
  try {
    const rows: unknown = JSON.parse(line);
    return Array.isArray(rows) && rows.every(isRow);
  } catch {
    return false;
  }
}

function isRow(row: unknown): boolean {
  return Array.isArray(row) && row.length === 3 && isString(row[0]) && row.slice(1).every(Number.isInteger);
}
