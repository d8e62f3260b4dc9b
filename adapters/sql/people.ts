/**
 * What twins know of people, in SQL.
 *
 * @module
 */

import { sha256 } from "../../core/base/ids.ts";
import type { PeopleStore } from "../../core/store/store.ts";
import type { SqlDriver, SqlStatement } from "./driver.ts";

/** The store's methods about what twins know of people. */
export function peopleMethods(driver: SqlDriver): PeopleStore {
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

    async setMemory({ owner, endUser, twinId }, memory, { idleSince } = {}) {
      const params = [owner, endUser, twinId];
      const remove = "DELETE FROM memories WHERE owner = $1 AND end_user = $2 AND twin_id = $3";
      const result = await driver.batch([
        memory
          ? { sql: putMemory, params: [...params, memory.content, memory.updatedAt] }
          : idleSince === undefined
            ? { sql: `${remove} RETURNING 1 AS changed`, params }
            : { sql: `${remove} AND ${isIdle("$4")} RETURNING 1 AS changed`, params: [...params, idleSince] },
      ]);
      return memory !== null || (result.committed && result.rows[0]?.length === 1);
    },

    async findIdleMemories({ before, after, limit }) {
      const { owner, endUser, twinId } = after ?? { owner: "", endUser: "", twinId: "" };
      const rows = await driver.all(
        `SELECT owner, end_user, twin_id, CASE WHEN ${isIdle("$4")} THEN 1 ELSE 0 END AS idle FROM memories
          WHERE (owner, end_user, twin_id) > ($1, $2, $3) ORDER BY owner, end_user, twin_id LIMIT $5`,
        [owner, endUser, twinId, before, limit],
      );
      const found = rows.map((row) => ({
        isIdle: Number(row.idle) === 1,
        memory: { owner: String(row.owner), endUser: String(row.end_user), twinId: String(row.twin_id) },
      }));
      return {
        items: found.filter(({ isIdle }) => isIdle).map(({ memory }) => memory),
        next: rows.length < limit ? undefined : found.at(-1)?.memory,
      };
    },
  };
}

/** What was last changed before a moment, of a person who has no conversation. */
function isIdle(before: string): string {
  return `updated_at < CAST(${before} AS BIGINT) AND NOT EXISTS (SELECT 1 FROM conversations
    WHERE conversations.owner = memories.owner AND conversations.end_user = memories.end_user)`;
}

const putMemory = `INSERT INTO memories (owner, end_user, twin_id, content, updated_at) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (owner, end_user, twin_id) DO UPDATE SET content = excluded.content, updated_at = excluded.updated_at`;

/**
 * Notes that a person is erased. Comes first in its transaction: what asks whether the person was erased waits for that, and
 * the other way round.
 */
export function noteErasure(
  { owner, endUser, at }: { readonly owner: string; readonly endUser: string; readonly at: number },
  exclusive: boolean,
): SqlStatement[] {
  const person = personOf(owner, endUser);
  const sql = `INSERT INTO erasures (person, at) VALUES ($1, $2)
    ON CONFLICT (person) DO UPDATE SET at = excluded.at`;
  return [...takeTurns(person, exclusive), { sql, params: [person, at] }];
}

/** Lets transactions that are about one person run one after the other. In an exclusive database, all do. */
export function takeTurns(person: string, exclusive: boolean): SqlStatement[] {
  const sql = "SELECT 1 AS taken FROM pg_advisory_xact_lock(hashtextextended($1, 0))";
  return exclusive ? [] : [{ sql, params: [person] }];
}

/** What a person is called where the name must not be. */
export function personOf(owner: string, endUser: string): string {
  return sha256(JSON.stringify([owner, endUser]));
}

/** Deletes what twins know of a person. */
export function forgetMemories(owner: string, endUser: string): SqlStatement {
  return { sql: "DELETE FROM memories WHERE owner = $1 AND end_user = $2", params: [owner, endUser] };
}
