/**
 * Client tokens in SQL.
 *
 * @module
 */

import type { ClientTokenRecord } from "../../core/store/records.ts";
import type { ClientTokenStore } from "../../core/store/store.ts";
import type { SqlDriver, SqlRow, SqlStatement } from "./driver.ts";
import { fromJson, numberOrNull, toJson } from "./rows.ts";

const columns =
  "hash, owner, key_id, key_hash, end_user, twin_ids, scope, requests_per_hour, tokens_per_day, tokens_per_month, created_at, expires_at";

/** The store's methods about client tokens. */
export function clientTokenMethods(driver: SqlDriver): ClientTokenStore {
  return {
    async createClientToken(token) {
      const { owner, endUser, keyId, requestsPerHour, tokensPerDay, tokensPerMonth } = token;
      const { hash, keyHash, twinIds, scope, createdAt, expiresAt } = token;
      await driver.batch([
        {
          sql: `UPDATE client_tokens SET requests_per_hour = $4, tokens_per_day = $5, tokens_per_month = $6
            WHERE owner = $1 AND end_user = $2 AND key_id = $3`,
          params: [owner, endUser, keyId, requestsPerHour, tokensPerDay, tokensPerMonth],
        },
        {
          sql: `INSERT INTO client_tokens (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
          params: [
            ...[hash, owner, keyId, keyHash, endUser, toJson(twinIds)],
            ...[scope, requestsPerHour, tokensPerDay, tokensPerMonth, createdAt, expiresAt],
          ],
        },
      ]);
    },

    async findClientToken(hash) {
      const [row] = await driver.all(`SELECT ${columns} FROM client_tokens WHERE hash = $1`, [hash]);
      return row && fromRow(row);
    },

    async deleteClientTokens(owner, endUser, at) {
      const sql = "DELETE FROM client_tokens WHERE owner = $1 AND end_user = $2 RETURNING expires_at";
      const result = await driver.batch([{ sql, params: [owner, endUser] }]);
      const rows = result.committed ? (result.rows[0] ?? []) : [];
      return rows.filter(({ expires_at: expiresAt }) => Number(expiresAt) > at).length;
    },
  };
}

/** Requires a client token. Changes its row, so that who deletes it waits, and then finds what was created with it. */
export function keepClientToken(hash: string): SqlStatement {
  return { sql: "UPDATE client_tokens SET hash = hash WHERE hash = $1", params: [hash], expect: 1 };
}

function fromRow(row: SqlRow): ClientTokenRecord {
  return {
    hash: String(row.hash),
    owner: String(row.owner),
    keyId: String(row.key_id),
    keyHash: String(row.key_hash),
    endUser: String(row.end_user),
    twinIds: fromJson(row.twin_ids) as ClientTokenRecord["twinIds"],
    scope: String(row.scope) as ClientTokenRecord["scope"],
    requestsPerHour: Number(row.requests_per_hour),
    tokensPerDay: numberOrNull(row.tokens_per_day),
    tokensPerMonth: numberOrNull(row.tokens_per_month),
    createdAt: Number(row.created_at),
    expiresAt: Number(row.expires_at),
  };
}
