/**
 * Reading messages in SQL. A conversation's messages are numbered from 0 without gaps (`seq`), so that no page or total
 * needs to be counted.
 *
 * @module
 */

import { type MessageRecord, questionsSeen } from "../../core/store/records.ts";
import type { Listing, MessageSlice, Reach, Store } from "../../core/store/store.ts";
import type { SqlDriver, SqlRow } from "./driver.ts";
import { historyFromRow, messageColumns, messageFromRow } from "./rows.ts";

type MessageMethods = Pick<Store, "getMessage" | "listMessages" | "readHistory">;

/** The store's methods that read messages. */
export function messageMethods(driver: SqlDriver): MessageMethods {
  return {
    async getMessage({ owner, endUser = null }, id, { conversationId = null, skip = 0 } = {}) {
      const params = [owner, id, endUser, conversationId];
      const [row] = await (skip === 0
        ? driver.all(findMessage, params)
        : driver.all(findRestOfMessage, [...params, skip + 1]));
      return row && messageFromRow(row);
    },

    listMessages: (reach, conversationId, slice) => listMessages(driver, reach, conversationId, slice),

    async readHistory({ owner, endUser = null }, conversationId) {
      const [counted] = await driver.all(countAnswered, [owner, conversationId, endUser]);
      const wanted = 2 * questionsSeen(Number(counted?.answered ?? 0));
      const newestFirst: SqlRow[] = [];
      // One portion is nearly always enough: the last pair may be in progress, and few have failed.
      for (let before = Number.MAX_SAFE_INTEGER; before > 0 && newestFirst.length < wanted; ) {
        const rows = await driver.all(portionBefore, [owner, conversationId, before, wanted + 2]);
        before = Number(rows.at(-1)?.seq ?? 0);
        newestFirst.push(...answered(rows));
      }
      return newestFirst.slice(0, wanted).reverse().map(historyFromRow);
    },
  };
}

async function listMessages(
  driver: SqlDriver,
  { owner, endUser }: Reach,
  conversationId: string,
  slice: MessageSlice,
): Promise<Listing<MessageRecord> | undefined> {
  const [row] = await driver.all(
    `SELECT message_count,
      (SELECT seq FROM messages WHERE owner = $1 AND id = $4 AND conversation_id = $2) AS after_seq
      FROM conversations WHERE owner = $1 AND id = $2 AND (end_user = $3 OR $3 IS NULL)`,
    [owner, conversationId, endUser ?? null, slice.after ?? null],
  );
  if (!row || (slice.after !== undefined && row.after_seq === null)) return undefined;
  const after = row.after_seq === null ? undefined : Number(row.after_seq);
  const { from, to, total } = seqRange(slice, Number(row.message_count), after);
  const direction = slice.order === "asc" ? "ASC" : "DESC";
  const rows = await driver.all(
    `SELECT ${messageColumns} FROM messages
      WHERE owner = $1 AND conversation_id = $2 AND seq >= $3 AND seq < $4 ORDER BY seq ${direction}`,
    [owner, conversationId, from, to],
  );
  // Messages are only deleted with their conversation: if some are missing now, the conversation is gone.
  return rows.length < to - from ? undefined : { items: rows.map(messageFromRow), total };
}

/** The conversation `$4` and the end user `$3` need to be the message's if they are not null. */
const findMessage = `SELECT ${messageColumns} FROM messages
  WHERE owner = $1 AND id = $2 AND conversation_id = COALESCE($4, conversation_id)
    AND (CAST($3 AS TEXT) IS NULL OR EXISTS (
      SELECT 1 FROM conversations
        WHERE owner = $1 AND id = messages.conversation_id AND end_user = CAST($3 AS TEXT)))`;

/** Both databases count characters from 1. */
const findRestOfMessage = findMessage.replace("content", "substr(content, $5) AS content");

/** Messages before a number, newest first. Questions have even numbers, and a portion is even: it ends with a question. */
const portionBefore = `SELECT role, content, status, seq FROM messages
  WHERE owner = $1 AND conversation_id = $2 AND seq < $3 ORDER BY seq DESC LIMIT $4`;

/** How many questions have a reply that did not fail. */
const countAnswered = `SELECT message_count / 2 - CASE WHEN reply_id IS NULL THEN 0 ELSE 1 END
    - (SELECT count(*) FROM messages WHERE conversation_id = $2 AND status = 'failed') AS answered
  FROM conversations WHERE owner = $1 AND id = $2 AND (end_user = $3 OR $3 IS NULL)`;

/** From messages, newest first, those that a model sees: replies, each followed by its question. */
function answered(rows: readonly SqlRow[]): SqlRow[] {
  return rows.filter((row, index) => {
    const { status } = (row.role === "user" ? rows[index - 1] : row) ?? {};
    return status === "completed" || status === "cancelled";
  });
}

/** A slice as a range of `seq`, from `from` inclusive to `to` exclusive. */
interface SeqRange {
  readonly from: number;
  readonly to: number;
  readonly total: number;
}

/** Limited to the `count` messages: more may have been added since. */
function seqRange({ order, offset, limit }: MessageSlice, count: number, after?: number): SeqRange {
  if (order === "asc") {
    const first = (after ?? -1) + 1;
    return { from: first + offset, to: Math.min(first + offset + limit, count), total: count - first };
  }
  const total = after ?? count;
  return { from: Math.max(total - offset - limit, 0), to: total - offset, total };
}
