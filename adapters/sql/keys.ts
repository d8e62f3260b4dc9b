/**
 * API keys in SQL.
 *
 * @module
 */

import type { ApiKeyRecord } from "../../core/store/records.ts";
import type { KeyStore } from "../../core/store/store.ts";
import type { SqlDriver } from "./driver.ts";
import { addToTotal, changeOne, readPage, totalOf } from "./lists.ts";
import { keyColumns, keyFromRow, keyToRow } from "./rows.ts";

export function keyMethods(driver: SqlDriver): KeyStore {
  return {
    createKey: (key, maxLive) => createKey(driver, key, maxLive),

    async listKeys(owner, slice) {
      const of = { columns: keyColumns, from: "api_keys", where: "owner = $1", params: [owner] };
      const list = { ...of, total: totalOf("'keys'"), order: "created_at DESC, id DESC" };
      const { rows, total } = await readPage(driver, list, slice);
      return { items: rows.map(keyFromRow), total };
    },

    async updateKey(owner, id, change) {
      const [set, at] =
        "revokedAt" in change
          ? ["revoked_at = COALESCE(revoked_at, $3)", change.revokedAt]
          : ["last_used_at = CASE WHEN last_used_at > $3 THEN last_used_at ELSE $3 END", change.lastUsedAt];
      const row = await changeOne(driver, {
        sql: `UPDATE api_keys SET ${set} WHERE owner = $1 AND id = $2 RETURNING ${keyColumns}`,
        params: [owner, id, at],
      });
      return row && keyFromRow(row);
    },

    async rotateKey(owner, id, { prefix, hash, previousUntil }, at) {
      const row = await changeOne(driver, {
        sql: `UPDATE api_keys SET previous_hash = hash, previous_until = $5, hash = $3, prefix = $4
          WHERE owner = $1 AND id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $6)
          RETURNING ${keyColumns}`,
        params: [owner, id, hash, prefix, previousUntil, at],
      });
      return row && keyFromRow(row);
    },

    async getKey(owner, id) {
      const sql = `SELECT ${keyColumns} FROM api_keys WHERE owner = $1 AND id = $2`;
      const [row] = await driver.all(sql, [owner, id]);
      return row && keyFromRow(row);
    },

    async findKey(hash) {
      const sql = `SELECT ${keyColumns} FROM api_keys WHERE hash = $1 OR previous_hash = $1`;
      const [row] = await driver.all(sql, [hash]);
      return row && keyFromRow(row);
    },

    async findKeys(by) {
      const [column, value] = "id" in by ? ["id", by.id] : ["prefix", by.prefix];
      const rows = await driver.all(`SELECT ${keyColumns} FROM api_keys WHERE ${column} = $1`, [value]);
      return rows.map(keyFromRow);
    },
  };
}

async function createKey(
  driver: SqlDriver,
  key: ApiKeyRecord,
  maxLive: number,
): Promise<"created" | "limit_reached"> {
  const result = await driver.batch([
    // First, so that a database that runs batches concurrently runs those of one owner in turn.
    addToTotal(key.owner, "keys"),
    {
      sql: `SELECT 1 AS room WHERE (SELECT count(*) FROM api_keys WHERE owner = $1 AND revoked_at IS NULL
        AND (expires_at IS NULL OR expires_at > $2)) < $3`,
      params: [key.owner, key.createdAt, maxLive],
      expect: 1,
    },
    {
      sql: `INSERT INTO api_keys (${keyColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
      params: keyToRow(key),
    },
  ]);
  return result.committed ? "created" : "limit_reached";
}
