/**
 * What twins know of people, in SQL.
 *
 * @module
 */

import type { Store } from "../../core/store/store.ts";
import type { SqlDriver, SqlStatement } from "./driver.ts";

/** The store's methods about what twins know of people. */
export function peopleMethods(driver: SqlDriver): Pick<Store, "listMemories" | "setMemory"> {
  return {
    async listMemories(owner, endUser, { twinId = null, after = "", limit, charactersOfEach }) {
      const rows = await driver.all(
        `SELECT twin_id, substr(content, 1, $6) AS content, updated_at FROM memories
          WHERE owner = $1 AND end_user = $2 AND twin_id = COALESCE($3, twin_id) AND twin_id > $4
          ORDER BY twin_id LIMIT $5`,
        [owner, endUser, twinId, after, limit, charactersOfEach],
      );
      return rows.map((row) => ({
        owner,
        endUser,
        twinId: String(row.twin_id),
        content: String(row.content),
        updatedAt: Number(row.updated_at),
      }));
    },

    async setMemory({ owner, endUser, twinId }, memory) {
      const params = [owner, endUser, twinId];
      await driver.batch([
        memory
          ? { sql: putMemory, params: [...params, memory.content, memory.updatedAt] }
          : { sql: "DELETE FROM memories WHERE owner = $1 AND end_user = $2 AND twin_id = $3", params },
      ]);
    },
  };
}

const putMemory = `INSERT INTO memories (owner, end_user, twin_id, content, updated_at) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (owner, end_user, twin_id) DO UPDATE SET content = excluded.content, updated_at = excluded.updated_at`;

/** Deletes what twins know of a person. */
export function forgetMemories(owner: string, endUser: string): SqlStatement {
  return { sql: "DELETE FROM memories WHERE owner = $1 AND end_user = $2", params: [owner, endUser] };
}
