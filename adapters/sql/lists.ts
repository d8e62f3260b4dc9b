/**
 * Lists that are read by pages, and their lengths, which are counted as they grow.
 *
 * @module
 */

import type { Slice } from "../../core/store/store.ts";
import type { SqlDriver, SqlRow, SqlStatement, SqlValue } from "./driver.ts";

/** A list of an owner's rows. */
export interface ListStatement {
  readonly columns: string;
  readonly from: string;
  /** The condition, whose parameters are `params`; the owner is `$1`. */
  readonly where: string;
  readonly params: readonly SqlValue[];
  /** Selects the list's length, with the same parameters. */
  readonly total: string;
  readonly order: string;
  /** Only what is less or greater than this moment and id. */
  readonly after?: readonly [comparison: "<" | ">", createdAt: number, id: string] | undefined;
}

/** A part of a list, and the length of the list at the same moment. */
export async function readPage(
  driver: SqlDriver,
  { columns, from, where, params, total, order, after }: ListStatement,
  { offset, limit }: Slice,
): Promise<{ rows: readonly SqlRow[]; total: number }> {
  const count = async () => {
    const [row] = await driver.all(total, params);
    return Number(row?.total ?? 0);
  };
  const length = await count();
  if (offset >= length) return { rows: [], total: length }; // otherwise all of them would be skipped one by one
  const [comparison, ...place] = after ?? [];
  const next = params.length + 1;
  const isLater = after ? ` AND (created_at, id) ${comparison} ($${next + 2}, $${next + 3})` : "";
  const rows = await driver.all(
    `SELECT ${columns}, (${total}) AS total FROM ${from} WHERE ${where}${isLater}
      ORDER BY ${order} LIMIT $${next} OFFSET $${next + 1}`,
    [...params, limit, offset, ...place],
  );
  return { rows, total: rows[0] ? Number(rows[0].total) : await count() }; // none: it has become shorter
}

/** Runs one statement that changes at most one row, and returns that row. */
export async function changeOne(driver: SqlDriver, statement: SqlStatement): Promise<SqlRow | undefined> {
  const result = await driver.batch([statement]);
  return result.committed ? result.rows[0]?.[0] : undefined;
}

/** Selects the length of one of the owner's lists, which is counted as it grows. `list`: its name, in SQL. */
export function totalOf(list: string): string {
  return `SELECT total FROM totals WHERE owner = $1 AND list = ${list}`;
}

export function addToTotal(owner: string, list: string): SqlStatement {
  const sql = `INSERT INTO totals (owner, list, total) VALUES ($1, $2, 1)
    ON CONFLICT (owner, list) DO UPDATE SET total = totals.total + 1`;
  return { sql, params: [owner, list] };
}

export function takeFromTotal(owner: string, list: string): SqlStatement {
  return { sql: "UPDATE totals SET total = total - 1 WHERE owner = $1 AND list = $2", params: [owner, list] };
}
