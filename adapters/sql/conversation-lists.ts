/**
 * Which conversations a list has, and how many.
 *
 * @module
 */

import type { ConversationSlice, Reach } from "../../core/store/store.ts";
import type { SqlValue } from "./driver.ts";
import { type ListStatement, totalOf } from "./lists.ts";
import { conversationColumns } from "./rows.ts";

/** `pairs`: the digests of the pairs of metadata that they have; it is read from the first one on. */
export function conversationList(
  { owner, endUser }: Reach,
  slice: ConversationSlice,
  pairs: readonly string[],
): ListStatement {
  const { twinIds, answeredBy, waiting = false, order = "desc", after } = slice;
  const params: SqlValue[] = [owner];
  const parameter = (value: SqlValue) => `$${params.push(value)}`;
  const where = [
    "owner = $1",
    ...(endUser === undefined ? [] : [`end_user = ${parameter(endUser)}`]),
    ...(twinIds ? [`twin_id IN (${twinIds.map(parameter)})`] : []),
    ...(answeredBy === undefined ? [] : [`answered_by = '${answeredBy}'`]), // as in the condition of an index
    ...(waiting ? ["waiting_since IS NOT NULL"] : []),
    ...pairs.map((pair, index) =>
      index === 0
        ? `pair_owner = $1 AND pair = ${parameter(pair)} AND id = conversation_id`
        : hasPair(parameter(pair)),
    ),
  ].join(" AND ");
  const [createdAt, id] = pairs.length > 0 ? ["begun_at", "conversation_id"] : ["created_at", "id"];
  const from = pairs.length > 0 ? "conversation_pairs CROSS JOIN conversations" : "conversations"; // in this order
  return {
    columns: conversationColumns,
    from,
    where,
    params,
    total:
      pairs.length > 0
        ? `SELECT count(*) AS total FROM ${from} WHERE ${where}`
        : totalOfConversations(where, slice, endUser),
    order: waiting
      ? "waiting_since, id"
      : order === "desc"
        ? `${createdAt} DESC, ${id} DESC`
        : `${createdAt}, ${id}`,
    after: after && [order === "desc" ? "<" : ">", after.createdAt, after.id],
  };
}

/** Whether a conversation has the pair with this digest. */
function hasPair(digest: string): string {
  return `EXISTS (SELECT 1 FROM conversation_pairs AS other
    WHERE other.pair_owner = $1 AND other.conversation_id = id AND other.pair = ${digest})`;
}

/**
 * One end user's conversations are few, and so are those with some of the twins and those that wait; others are counted as
 * they come and go. Those that a person answers are counted by their index, and so are, as the rest, those that a twin answers.
 */
function totalOfConversations(
  where: string,
  { twinIds, answeredBy, waiting = false }: ConversationSlice,
  endUser: string | undefined,
): string {
  const counted = totalOf(twinIds ? "'conversations/' || CAST($2 AS TEXT)" : "'conversations'");
  const isFew = endUser !== undefined || (twinIds?.length ?? 0) > 1 || waiting || answeredBy === "person";
  if (isFew) return `SELECT count(*) AS total FROM conversations WHERE ${where}`;
  if (answeredBy === undefined) return counted;
  const byPerson = where.replace("answered_by = 'twin'", "answered_by = 'person'");
  return `SELECT (${counted}) - (SELECT count(*) FROM conversations WHERE ${byPerson}) AS total`;
}

/** The name in `totals` of an owner's conversations, or of those with one twin. */
export function listName(twinId?: string): string {
  return twinId === undefined ? "conversations" : `conversations/${twinId}`;
}
