/**
 * A reply's life in SQL.
 *
 * @module
 */

import type { BeginOutcome, BeginReply, EndReply, SaveOutcome, Store } from "../core/store.ts";
import { findClaim, makeClaim } from "./sql-claims.ts";
import type { SqlDriver, SqlRow, SqlStatement } from "./sql-driver.ts";
import { messageColumns, messageToRow, toJson } from "./sql-rows.ts";

type ReplyMethods = Pick<
  Store,
  "beginReply" | "saveReply" | "endReply" | "requestCancel" | "findAbandonedReplies"
>;

/** The store's methods about replies in progress. */
export function replyMethods(driver: SqlDriver): ReplyMethods {
  return {
    async beginReply(begin) {
      for (;;) {
        const outcome = await driver.batch(beginStatements(begin));
        if (outcome.committed) return { outcome: "begun", position: positionIn(outcome.rows) };
        const refusal = await whyRefused(driver, begin);
        if (refusal) return refusal;
        // What stood in the way (a claim, or a running reply) has gone in between: the way is free now.
      }
    },

    async saveReply({ owner, id, content, lease }): Promise<SaveOutcome> {
      const outcome = await driver.batch([
        {
          sql: `UPDATE messages SET content = COALESCE($5, content), lease_until = $4
            WHERE owner = $1 AND id = $2 AND lease_holder = $3 AND status = 'in_progress'
            RETURNING cancel_requested`,
          params: [owner, id, lease.holder, lease.until, content ?? null],
        },
      ]);
      const row = outcome.committed ? outcome.rows[0]?.[0] : undefined;
      if (!row) return "lost";
      return Number(row.cancel_requested) === 1 ? "cancel_requested" : "saved";
    },

    async endReply(end) {
      return (await driver.batch(endStatements(end))).committed;
    },

    async requestCancel(owner, id) {
      const sql = `UPDATE messages SET cancel_requested = 1
        WHERE owner = $1 AND id = $2 AND status = 'in_progress'`;
      await driver.batch([{ sql, params: [owner, id] }]);
    },

    async findAbandonedReplies(expiredBefore) {
      const rows = await driver.all(
        `SELECT owner, conversation_id, id FROM messages
          WHERE status = 'in_progress' AND lease_until < $1`,
        [expiredBefore],
      );
      return rows.map((row) => ({
        owner: String(row.owner),
        conversationId: String(row.conversation_id),
        id: String(row.id),
      }));
    },
  };
}

function beginStatements({ owner, question, reply, lease, claim }: BeginReply): SqlStatement[] {
  const { conversationId } = question;
  const take = {
    sql: `UPDATE conversations SET reply_id = $3, message_count = message_count + 2, last_message_at = $4,
      updated_at = $4 WHERE owner = $1 AND id = $2 AND reply_id IS NULL RETURNING message_count`,
    params: [owner, conversationId, reply.id, reply.createdAt],
    expect: 1,
  };
  return [
    ...(claim ? [makeClaim(claim, reply.id)] : []),
    take,
    {
      sql: insertExchange,
      params: [owner, ...messageToRow(question, null), ...messageToRow(reply, lease)],
    },
  ];
}

/** The question, then the reply. The conversation's count has both in it already. */
const insertExchange = `INSERT INTO messages
  (owner, ${messageColumns}, lease_holder, lease_until, cancel_requested, seq) VALUES
  ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 0,
    (SELECT message_count - 2 FROM conversations WHERE owner = $1 AND id = $3)),
  ($1, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, 0,
    (SELECT message_count - 1 FROM conversations WHERE owner = $1 AND id = $16))`;

/** The messages that a conversation had before, from what {@link beginStatements} returned. */
function positionIn(rows: readonly (readonly SqlRow[])[]): number {
  const taken = rows.at(-2)?.[0];
  return Number(taken?.message_count) - 2;
}

/** Why a reply could not begin, or undefined if it could now. Looks in the order that the port promises. */
async function whyRefused(
  driver: SqlDriver,
  { owner, question, claim }: BeginReply,
): Promise<BeginOutcome | undefined> {
  const made = claim && (await findClaim(driver, owner, claim.path, claim.key, claim.createdAt));
  if (made) return { outcome: "claimed", claim: made };
  const sql = "SELECT reply_id FROM conversations WHERE owner = $1 AND id = $2";
  const [row] = await driver.all(sql, [owner, question.conversationId]);
  if (!row) return { outcome: "not_found" };
  return row.reply_id === null ? undefined : { outcome: "busy", replyId: String(row.reply_id) };
}

function endStatements(end: EndReply): SqlStatement[] {
  const { owner, conversationId, id, completedAt, leaseExpiredBefore } = end;
  const { status, finishReason, usage, error, content = null } = end;
  const abandoned = leaseExpiredBefore === undefined ? "" : "AND lease_until < $10";
  return [
    {
      sql: `UPDATE conversations SET reply_id = NULL, updated_at = $4
        WHERE owner = $1 AND id = $2 AND reply_id = $3`,
      params: [owner, conversationId, id, completedAt],
      expect: 1,
    },
    {
      sql: `UPDATE messages SET status = $4, finish_reason = $5, token_usage = $6, failure = $7,
          completed_at = $8, content = COALESCE($9, content), lease_holder = NULL, lease_until = NULL
        WHERE owner = $1 AND id = $2 AND conversation_id = $3 AND status = 'in_progress' ${abandoned}`,
      params: [
        ...[
          owner,
          id,
          conversationId,
          status,
          finishReason,
          toJson(usage),
          toJson(error),
          completedAt,
          content,
        ],
        ...(leaseExpiredBefore === undefined ? [] : [leaseExpiredBefore]),
      ],
      expect: 1,
    },
  ];
}
