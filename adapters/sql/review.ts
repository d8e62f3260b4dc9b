/**
 * What an owner reviews, in SQL: replies that people rated, and questions without an answer. Both are marks on replies,
 * with partial indexes, so that other replies cost nothing.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import type { EndReply, Feedback, RatedReply, UnansweredQuestion } from "../../core/store/records.ts";
import type { Listing, ReviewSlice, ReviewStore } from "../../core/store/store.ts";
import type { SqlDriver, SqlRow, SqlStatement, SqlValue } from "./driver.ts";
import { ofEndUser } from "./messages.ts";
import { messageColumns, messageFromRow } from "./rows.ts";
import { insertDeliveries, tellOf } from "./webhooks.ts";

const twinOfMessage = `(SELECT twin_id FROM conversations
  WHERE conversations.owner = $1 AND conversations.id = messages.conversation_id)`;

/** A reply that can be rated, by its id and who may see it: what {@link insertDeliveries} is about. */
const ratedNow = `SELECT conversations.id AS conversation_id, messages.id AS message_id, twin_id, end_user, '' AS part
  FROM messages JOIN conversations
    ON conversations.owner = messages.owner AND conversations.id = messages.conversation_id
  WHERE messages.owner = $2 AND messages.id = $7 AND role = 'assistant' AND messages.status <> 'in_progress'
    AND (CAST($8 AS TEXT) IS NULL OR end_user = CAST($8 AS TEXT))`;

/** Marks a reply that has ended, if it leaves its question unanswered (see `leavesUnanswered` in the core). */
export function markUnanswered({ owner, id }: EndReply, unanswered: string): SqlStatement {
  return {
    sql: `UPDATE messages SET unanswered = $3, review_twin = ${twinOfMessage}
      WHERE owner = $1 AND id = $2 AND sources = '[]'`,
    params: [owner, id, unanswered],
  };
}

/** The store's methods about what an owner reviews. */
export function reviewMethods(driver: SqlDriver): ReviewStore {
  return {
    async rateReply({ owner, endUser = null }, id, feedback, tells) {
      const { rating = null, comment = null, updatedAt = null } = feedback ?? {};
      const sql = `UPDATE messages
        SET rating = $4, rating_comment = $5, rated_at = $6, review_twin = ${twinOfMessage}
        WHERE owner = $1 AND id = $2 AND role = 'assistant' AND status <> 'in_progress'
          AND ${ofEndUser}`;
      const result = await driver.batch([
        { sql, params: [owner, id, endUser, rating, comment, updatedAt] },
        ...(updatedAt === null
          ? []
          : insertDeliveries(
              { tells, owner, event: "feedback.given", at: updatedAt },
              { sql: ratedNow, params: [id, endUser] },
            )),
      ]);
      if (result.committed) tellOf(tells, result.rows);
    },

    async listFeedback(owner, slice) {
      const { where, params } = conditions(owner, slice, "rated_at");
      where.push("rated_at IS NOT NULL");
      if (slice.rating !== undefined) where.push(`rating = $${params.push(slice.rating)}`);
      const rated = `FROM messages WHERE ${where.join(" AND ")}`;
      const page = `SELECT id ${rated} ORDER BY rated_at DESC, id DESC`;
      return readPage(driver, { total: `SELECT count(*) AS total ${rated}`, page, params }, slice, {
        columns: `${ratedColumns}, twin_id, end_user`,
        read: ratedFromRow,
      });
    },

    async listUnanswered(owner, slice) {
      const { where, params } = conditions(owner, slice, "created_at");
      const marked = `FROM messages WHERE ${where.join(" AND ")} AND unanswered IS NOT NULL`;
      const page = `SELECT max(id) AS id, count(*) AS times ${marked}
        GROUP BY unanswered ORDER BY times DESC, id DESC`;
      const total = `SELECT count(DISTINCT unanswered) AS total ${marked}`;
      return readPage(driver, { total, page, params }, slice, {
        columns: "reply.id, reply.conversation_id, question.created_at",
        read: unansweredFromRow,
      });
    },
  };
}

function conditions(owner: string, { twinId, from, to }: ReviewSlice, moment: string) {
  const params: SqlValue[] = [owner];
  const where = ["owner = $1"];
  if (twinId !== undefined) where.push(`review_twin = $${params.push(twinId)}`);
  if (from !== undefined) where.push(`${moment} >= $${params.push(from)}`);
  if (to !== undefined) where.push(`${moment} < $${params.push(to)}`);
  return { where, params };
}

/** How many replies one statement reads: SQLite takes each text up to its end, however little of it is asked for. */
const repliesAtOnce = 10;

/** Finds the replies of a page in an index, and then reads only theirs, some at a time. */
async function readPage<Item>(
  driver: SqlDriver,
  { total, page, params }: { total: string; page: string; params: readonly SqlValue[] },
  { offset, limit, charactersOfEach }: ReviewSlice,
  { columns, read }: { columns: string; read: (row: SqlRow, found: SqlRow) => Item },
): Promise<Listing<Item>> {
  const next = params.length + 1;
  const [counted] = await driver.all(total, params);
  const found = await driver.all(`${page} LIMIT $${next} OFFSET $${next + 1}`, [...params, limit, offset]);
  const items: Item[] = [];
  for (let from = 0; from < found.length; from += repliesAtOnce) {
    const some = found.slice(from, from + repliesAtOnce);
    const ids = some.map(({ id }) => String(id));
    const places = ids.map((_, index) => `$${index + 3}`);
    const rows = await driver.all(
      `SELECT ${columns}, substr(question.content, 1, $2) AS asked, substr(reply.content, 1, $2) AS content
        FROM messages AS reply
          JOIN messages AS question ON question.id = reply.after_id
          JOIN conversations AS conversation
            ON conversation.owner = $1 AND conversation.id = reply.conversation_id
        WHERE reply.owner = $1 AND reply.id IN (${places.join(", ")})`,
      [params[0] ?? "", charactersOfEach, ...ids],
    );
    for (const each of some) {
      const row = rows.find(({ id }) => id === each.id); // it may have been deleted meanwhile
      if (row) items.push(read(row, each));
    }
    await new Promise<void>((resume) => setImmediate(resume));
  }
  return { items, total: Number(counted?.total) };
}

/** Without the text, of which only the beginning is read. */
const ratedColumns = messageColumns.replace("content, ", "").replaceAll(/\w+/g, "reply.$&");

function ratedFromRow(row: SqlRow): RatedReply {
  const { id, conversationId, content, sources, twinRevision, feedback } = messageFromRow(row);
  return {
    ...(feedback as Feedback), // the list has only rated ones
    messageId: id,
    conversationId,
    twinId: String(row.twin_id),
    endUser: row.end_user === null ? null : String(row.end_user),
    question: String(row.asked),
    content,
    sources,
    twinRevision,
  };
}

function unansweredFromRow(row: SqlRow, { times }: SqlRow): UnansweredQuestion {
  return {
    question: String(row.asked),
    count: Number(times),
    lastAskedAt: Number(row.created_at),
    conversationId: String(row.conversation_id),
    messageId: String(row.id),
  };
}
