/**
 * The life of a reply in SQL.
 *
 * @module
 */

import type { EndReply } from "../../core/store/records.ts";
import type { AbandonedReply, BeginReply, BeginResult, SaveResult, Store } from "../../core/store/store.ts";
import { findClaim, makeClaim } from "./claims.ts";
import type { SqlDriver, SqlRow, SqlStatement } from "./driver.ts";
import { toJson } from "./rows.ts";
import { addUsage } from "./usage.ts";

type ReplyMethods = Pick<Store, "beginReply" | "saveReply" | "endReply" | "requestCancel">;

/** The store's methods about replies in progress. */
export function replyMethods(driver: SqlDriver): ReplyMethods {
  return {
    async beginReply(begin) {
      let { position = 0 } = begin;
      for (;;) {
        const result = await driver.batch(beginStatements(begin, position));
        if (result.committed) return { result: "begun", position };
        const found = await whyRefused(driver, begin);
        if (typeof found !== "number") return found;
        position = found; // it was another one, or the obstacle is gone: try again
      }
    },

    async saveReply({ owner, id, content, sources, lease }): Promise<SaveResult> {
      const params = [owner, id, lease.holder, lease.until, content ?? null, toJson(sources)];
      const result = await driver.batch([{ sql: saveText, params }]);
      const row = result.committed ? result.rows[0]?.[0] : undefined;
      if (!row) return "lost";
      return Number(row.cancel_requested) === 1 ? "cancel_requested" : "saved";
    },

    async endReply(end) {
      return (await driver.batch(endStatements(end))).committed;
    },

    async requestCancel({ owner, endUser = null }, id) {
      const sql = `UPDATE messages SET cancel_requested = 1
        WHERE owner = $1 AND id = $2 AND status = 'in_progress' AND (CAST($3 AS TEXT) IS NULL OR EXISTS (
          SELECT 1 FROM conversations
            WHERE owner = $1 AND id = messages.conversation_id AND end_user = CAST($3 AS TEXT)))`;
      await driver.batch([{ sql, params: [owner, id, endUser] }]);
    },
  };
}

const saveText = `UPDATE messages
  SET content = COALESCE($5, content), sources = COALESCE($6, sources), lease_until = $4
  WHERE owner = $1 AND id = $2 AND lease_holder = $3 AND status = 'in_progress'
    AND length(content) <= length(COALESCE($5, content))
  RETURNING cancel_requested`;

/** The store's methods about replies whose lease ran out. */
export function takeOverMethods(driver: SqlDriver): Pick<Store, "findAbandonedReplies" | "takeOverReply"> {
  return {
    async findAbandonedReplies(expiredBefore) {
      const rows = await driver.all(
        `SELECT owner, conversation_id, id, lease_holder, lease_until, attempt, cancel_requested, history_given
          FROM messages WHERE status = 'in_progress' AND lease_until < $1`,
        [expiredBefore],
      );
      return rows.map(abandonedFromRow);
    },

    async takeOverReply({ owner, conversationId, id, lease, attempt }, next, from) {
      const params = [owner, id, conversationId, next.holder, next.until, from];
      const found = [lease.holder, lease.until, attempt];
      return (await driver.batch([{ sql: takeOver, params: [...params, ...found], expect: 1 }])).committed;
    },
  };
}

function abandonedFromRow(row: SqlRow): AbandonedReply {
  return {
    owner: String(row.owner),
    conversationId: String(row.conversation_id),
    id: String(row.id),
    lease: { holder: String(row.lease_holder), until: Number(row.lease_until) },
    attempt: Number(row.attempt),
    cancelRequested: Number(row.cancel_requested) === 1,
    historyGiven: Number(row.history_given) === 1,
  };
}

/** Takes only a conversation that has `position` messages, so that the new ones' numbers need not be read. */
function beginStatements(begin: BeginReply, position: number): SqlStatement[] {
  const { owner, endUser = null, question, reply, claim } = begin;
  return [
    ...(claim ? [makeClaim(claim, reply.id)] : []),
    {
      sql: takeConversation,
      params: [owner, question.conversationId, reply.id, reply.createdAt, position, endUser],
      expect: 1,
    },
    insertMessages(begin, position),
  ];
}

const takeConversation = `UPDATE conversations
  SET reply_id = $3, message_count = message_count + 2, last_message_at = $4, updated_at = $4
  WHERE owner = $1 AND id = $2 AND reply_id IS NULL AND message_count = $5
    AND (end_user = $6 OR $6 IS NULL)`;

function insertMessages(
  { owner, question, reply, lease, keyId, historyGiven = false }: BeginReply,
  position: number,
): SqlStatement {
  const { conversationId, id, content, createdAt, completedAt } = question;
  const asked = [owner, conversationId, id, content, createdAt, completedAt, position];
  const answer = [
    reply.id,
    reply.createdAt,
    position + 1,
    lease.holder,
    lease.until,
    reply.twinRevision,
    keyId ?? null,
    historyGiven ? 1 : 0,
  ];
  return { sql: insertBoth, params: [...asked, ...answer] };
}

const insertBoth = `INSERT INTO messages (owner, conversation_id, id, role, content, status, in_reply_to,
    created_at, completed_at, seq, cancel_requested, lease_holder, lease_until, twin_revision, key_id,
    history_given) VALUES
  ($1, $2, $3, 'user', $4, 'completed', NULL, $5, $6, $7, 0, NULL, NULL, NULL, NULL, 0),
  ($1, $2, $8, 'assistant', '', 'in_progress', $3, $9, NULL, $10, 0, $11, $12, $13, $14, $15)`;

/**
 * Why a reply could not begin or, if it could now, the conversation's position. Looks for the claim last, because an
 * equal request may begin the reply between the two queries, and that reply does not make the conversation busy for
 * this one.
 */
async function whyRefused(
  driver: SqlDriver,
  { owner, endUser, question, claim }: BeginReply,
): Promise<BeginResult | number> {
  const sql = `SELECT reply_id, message_count FROM conversations
    WHERE owner = $1 AND id = $2 AND (end_user = $3 OR $3 IS NULL)`;
  const [row] = await driver.all(sql, [owner, question.conversationId, endUser ?? null]);
  const made = claim && !claim.replaces ? await findClaim(driver, claim) : undefined;
  if (made) return { result: "claimed", claim: made };
  if (!row) return { result: "not_found" };
  return row.reply_id === null
    ? Number(row.message_count)
    : { result: "busy", replyId: String(row.reply_id) };
}

function endStatements(end: EndReply): SqlStatement[] {
  const { owner, conversationId, id, completedAt, holder = null, leaseExpiredBefore } = end;
  const { status, finishReason, usage, error, content = null, sources } = end;
  const how = [status, finishReason, toJson(usage), toJson(error), completedAt, content, toJson(sources)];
  const params = [owner, id, conversationId, ...how, holder];
  return [
    { sql: freeConversation, params: [owner, conversationId, id, completedAt], expect: 1 },
    leaseExpiredBefore === undefined
      ? { sql: endMessage, params, expect: 1 }
      : { sql: endAbandoned, params: [...params, leaseExpiredBefore], expect: 1 },
    addUsage(end),
  ];
}

const freeConversation = `UPDATE conversations SET reply_id = NULL, updated_at = $4
  WHERE owner = $1 AND id = $2 AND reply_id = $3`;

const endMessage = `UPDATE messages SET status = $4, finish_reason = $5, token_usage = $6, failure = $7,
    completed_at = $8, content = COALESCE($9, content), sources = COALESCE($10, sources), lease_holder = NULL,
    lease_until = NULL
  WHERE owner = $1 AND id = $2 AND conversation_id = $3 AND status = 'in_progress'
    AND lease_holder = COALESCE($11, lease_holder)`;

const endAbandoned = `${endMessage} AND lease_until < $12`;

const takeOver = `UPDATE messages SET lease_holder = $4, lease_until = $5, attempt = attempt + 1,
    continued_from = $6
  WHERE owner = $1 AND id = $2 AND conversation_id = $3 AND status = 'in_progress' AND lease_holder = $7
    AND lease_until = $8 AND attempt = $9 AND cancel_requested = 0`;
