/**
 * Copies everything from one SQL database into another.
 *
 * @module
 */

import type { SqlRow, SqlValue } from "./driver.ts";
import { type Table, tables } from "./schema.ts";

/** Runs a statement in a database, and returns its rows. Several may run at once. */
export type RunSql = (sql: string, params: readonly SqlValue[]) => Promise<readonly SqlRow[]>;

/** How far the copy of one table is. */
export interface CopyProgress {
  /** The table's name. */
  readonly table: string;
  readonly copied: number;
  /** The number of its rows when its copy began. */
  readonly total: number;
}

/** Rows that are read and written at a time. Few, because a reply may have 4 Mi characters. */
const rowsAtOnce = 20;

/** Whether a database has any records. */
export async function hasRecords(run: RunSql): Promise<boolean> {
  for (const { name } of tables) {
    if ((await run(`SELECT 1 AS found FROM ${name} LIMIT 1`, [])).length > 0) return true;
  }
  return false;
}

/**
 * Copies all rows into a database that has none. Nothing else may use either database in the meantime. `report` is
 * called when a table's copy begins, and after every few rows.
 */
export async function copyRecords(
  from: RunSql,
  to: RunSql,
  report: (progress: CopyProgress) => void,
): Promise<void> {
  for (const table of tables) await copyTable(from, to, table, report);
}

async function copyTable(
  from: RunSql,
  to: RunSql,
  table: Table,
  report: (progress: CopyProgress) => void,
): Promise<void> {
  const [counted] = await from(`SELECT count(*) AS total FROM ${table.name}`, []);
  const total = Number(counted?.total);
  let copied = 0;
  report({ table: table.name, copied, total });
  for await (const rows of readTable(from, table)) {
    const inserted = rows.map((row) => {
      const columns = Object.keys(row);
      const parameters = columns.map((_, index) => `$${index + 1}`);
      const values = Object.values(row) as SqlValue[];
      return to(`INSERT INTO ${table.name} (${columns}) VALUES (${parameters})`, values);
    });
    await Promise.all(inserted);
    copied += rows.length;
    report({ table: table.name, copied, total });
  }
}

/** All rows, in the order of the table's key. */
async function* readTable(from: RunSql, { name, key, number }: Table): AsyncGenerator<readonly SqlRow[]> {
  const parameters = key.map((_, index) => `$${index + 1}`);
  const sql = `SELECT * FROM ${name} WHERE (${key}) > (${parameters}) ORDER BY ${key} LIMIT ${rowsAtOnce}`;
  // Before all keys, as the first of their texts is not empty.
  let last: SqlValue[] = key.map((column) => (column === number ? -1 : ""));
  for (;;) {
    const rows = await from(sql, last);
    const end = rows.at(-1);
    if (!end) return;
    yield rows;
    last = key.map((column) => (column === number ? Number(end[column]) : String(end[column])));
  }
}
