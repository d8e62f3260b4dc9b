/**
 * What replies took, in SQL.
 *
 * @module
 */

import {
  type ConversationRecord,
  type CountedReply,
  dayOf,
  type EndReply,
  type Usage,
} from "../../core/store/records.ts";
import type { Store, UsageGroup } from "../../core/store/store.ts";
import type { SqlDriver, SqlStatement } from "./driver.ts";

const columnOf: Readonly<Record<UsageGroup, string>> = { day: "day", twin: "twin_id", endUser: "end_user" };

const addToSums = `ON CONFLICT (owner, day, key_id, end_user, twin_id) DO UPDATE SET
    replies = usage_sums.replies + excluded.replies,
    input_tokens = usage_sums.input_tokens + excluded.input_tokens,
    output_tokens = usage_sums.output_tokens + excluded.output_tokens,
    cached_input_tokens = usage_sums.cached_input_tokens + excluded.cached_input_tokens`;

const columns =
  "owner, day, key_id, end_user, twin_id, replies, input_tokens, output_tokens, cached_input_tokens";

function counts(usage: Usage | null): number[] {
  return [usage?.inputTokens ?? 0, usage?.outputTokens ?? 0, usage?.cachedInputTokens ?? 0];
}

/** Adds a stored reply that ends. */
export function addUsage({ owner, conversationId, id, completedAt, usage }: EndReply): SqlStatement {
  return {
    sql: `INSERT INTO usage_sums (${columns})
      SELECT $1, $4, COALESCE(key_id, ''), COALESCE(end_user, ''), twin_id,
        1, CAST($5 AS BIGINT), CAST($6 AS BIGINT), CAST($7 AS BIGINT)
      FROM conversations CROSS JOIN messages
      WHERE conversations.owner = $1 AND conversations.id = $2 AND messages.id = $3
      ${addToSums}`,
    params: [owner, conversationId, id, dayOf(completedAt), ...counts(usage)],
  };
}

/** Adds the reply in progress of a conversation that is deleted. */
export function addRunning({ owner, id, endUser, twinId }: ConversationRecord, at: number): SqlStatement {
  return {
    sql: `INSERT INTO usage_sums (${columns})
      SELECT owner, $3, COALESCE(key_id, ''), $4, $5, 1, 0, 0, 0
      FROM messages WHERE owner = $1 AND conversation_id = $2 AND status = 'in_progress' ${addToSums}`,
    params: [owner, id, dayOf(at), endUser ?? "", twinId],
  };
}

/** Adds a reply that is not stored. */
function addCounted({ owner, keyId, endUser, twinId, completedAt, usage }: CountedReply): SqlStatement {
  return {
    sql: `INSERT INTO usage_sums (${columns})
      VALUES ($1, $2, $3, $4, $5, 1, CAST($6 AS BIGINT), CAST($7 AS BIGINT), CAST($8 AS BIGINT)) ${addToSums}`,
    params: [owner, dayOf(completedAt), keyId ?? "", endUser ?? "", twinId, ...counts(usage)],
  };
}

/** Lets an end user's sums count under no end user, in an order in which two that do so at once do not deadlock. */
export function forgetUsage(owner: string, endUser: string): SqlStatement[] {
  const params = [owner, endUser];
  return [
    {
      sql: `INSERT INTO usage_sums (${columns})
        SELECT owner, day, key_id, '', twin_id, replies, input_tokens, output_tokens, cached_input_tokens
        FROM usage_sums AS known WHERE owner = $1 AND end_user = $2 ORDER BY day, key_id, twin_id ${addToSums}`,
      params,
    },
    { sql: "DELETE FROM usage_sums WHERE owner = $1 AND end_user = $2", params },
  ];
}

/** The store's methods about usage. */
export function usageMethods(driver: SqlDriver): Pick<Store, "countReply" | "listUsage"> {
  return {
    async countReply(reply) {
      await driver.batch([addCounted(reply)]);
    },

    async listUsage(owner, { from, to, groupBy, offset, limit }) {
      const column = columnOf[groupBy];
      const where = "FROM usage_sums WHERE owner = $1 AND day >= $2 AND day <= $3";
      const [counted] = await driver.all(`SELECT count(DISTINCT ${column}) AS total ${where}`, [
        owner,
        from,
        to,
      ]);
      const rows = await driver.all(
        `SELECT ${column} AS group_name, sum(replies) AS replies, sum(input_tokens) AS input_tokens,
          sum(output_tokens) AS output_tokens, sum(cached_input_tokens) AS cached_input_tokens ${where}
          GROUP BY ${column} ORDER BY ${column} LIMIT $4 OFFSET $5`,
        [owner, from, to, limit, offset],
      );
      const items = rows.map((row) => ({
        group: String(row.group_name) || null,
        replies: Number(row.replies),
        inputTokens: Number(row.input_tokens),
        outputTokens: Number(row.output_tokens),
        cachedInputTokens: Number(row.cached_input_tokens),
      }));
      return { items, total: Number(counted?.total) };
    },
  };
}
