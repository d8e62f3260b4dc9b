/**
 * Deleting a conversation's messages in portions, as everything else waits for a statement in SQLite.
 *
 * @module
 */

import type { SqlDriver, SqlStatement } from "./driver.ts";

/** How many messages one statement deletes: about 10 ms in SQLite. */
export const messagesInAPortion = 500;

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
  const [row] = await driver.all(
    "SELECT max(seq) AS last FROM messages WHERE owner = $1 AND conversation_id = $2",
    [owner, conversationId],
  );
  const last = Number(row?.last ?? -1);
  for (let from = 0; from <= last; from += messagesInAPortion) {
    await driver.batch([deleteMessages(owner, conversationId, from, from + messagesInAPortion)]);
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
