/**
 * Deleting a conversation's messages in portions, as everything else waits for a statement in SQLite.
 *
 * @module
 */

import type { ConversationRecord } from "../../core/store/records.ts";
import type { SqlDriver, SqlStatement } from "./driver.ts";

/** How many messages one statement deletes, and how many bytes of texts if they are several: about 10 ms in SQLite. */
const messagesInAPortion = 500;
const bytesInAPortion = 2 * 1024 * 1024;

/** What no message has as its number. */
const noNumber = Number.MAX_SAFE_INTEGER;

/** The number, exclusive, up to which one statement may delete a conversation's messages from `from` on. */
async function endOfPortion(
  driver: SqlDriver,
  owner: string,
  conversationId: string,
  from: number,
): Promise<number> {
  const rows = await driver.all(
    `SELECT seq, octet_length(content) AS bytes FROM messages
      WHERE owner = $1 AND conversation_id = $2 AND seq >= $3 ORDER BY seq LIMIT ${messagesInAPortion + 1}`,
    [owner, conversationId, from],
  );
  let bytes = 0;
  const beyond = rows.findIndex((row, index) => {
    bytes += Number(row.bytes);
    return index === messagesInAPortion || (index > 0 && bytes > bytesInAPortion);
  });
  return Number(rows[beyond]?.seq ?? noNumber);
}

/** Whether a conversation's messages are deleted by more than one statement. */
export async function takesPortions(
  driver: SqlDriver,
  { owner, id, logLength }: Pick<ConversationRecord, "owner" | "id" | "logLength">,
): Promise<boolean> {
  return logLength > 2 && (await endOfPortion(driver, owner, id, 0)) < noNumber;
}

/** Deletes the messages of a conversation from one number, inclusive, to another. */
export function deleteMessages(
  owner: string,
  conversationId: string,
  from: number,
  to: number,
): SqlStatement {
  return {
    sql: "DELETE FROM messages WHERE owner = $1 AND conversation_id = $2 AND seq >= $3 AND seq < $4",
    params: [owner, conversationId, from, to],
  };
}

/** Notes that a conversation was deleted, whose messages are to follow: if the process ends before, a sweep deletes them. */
export function markDeleted(owner: string, conversationId: string): SqlStatement {
  return {
    sql: "INSERT INTO deleted_conversations (owner, id) VALUES ($1, $2)",
    params: [owner, conversationId],
  };
}

/** Deletes the messages of a deleted conversation. Two that do so at once are no harm. */
export async function deleteRest(driver: SqlDriver, owner: string, conversationId: string): Promise<void> {
  for (let from = 0; from < noNumber; ) {
    const to = await endOfPortion(driver, owner, conversationId, from);
    await driver.batch([deleteMessages(owner, conversationId, from, to)]);
    from = to;
  }
  const sql = "DELETE FROM deleted_conversations WHERE owner = $1 AND id = $2";
  await driver.batch([{ sql, params: [owner, conversationId] }]);
}

/** Deletes what a process that ended has left, a few conversations at a time. */
export async function sweepDeleted(driver: SqlDriver): Promise<void> {
  const left = await driver.all("SELECT owner, id FROM deleted_conversations WHERE owner > $1 LIMIT 10", [
    "",
  ]);
  for (const { owner, id } of left) await deleteRest(driver, String(owner), String(id));
}
