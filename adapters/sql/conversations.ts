/**
 * Conversations in SQL.
 *
 * @module
 */

import { type MessagePath, wholePath } from "../../core/store/path.ts";
import {
  type ConversationRecord,
  eventOfEnd,
  type IdempotencyClaim,
  lastUseOf,
  type MadeClaim,
} from "../../core/store/records.ts";
import type {
  ConversationChange,
  ConversationStore,
  DeletedConversation,
  Deletion,
  NamedConversation,
  Reach,
} from "../../core/store/store.ts";
import type { Telling } from "../../core/store/webhooks.ts";
import { claimAndRun, dropClaimsOn } from "./claims.ts";
import { keepClientToken } from "./client-tokens.ts";
import { conversationList, listName } from "./conversation-lists.ts";
import { deleteMessages, deleteRest, markDeleted, takesPortions } from "./deletion.ts";
import type { SqlDriver, SqlStatement, SqlValue } from "./driver.ts";
import { addToTotal, readPage, takeFromTotal } from "./lists.ts";
import { findPath } from "./messages.ts";
import { addPairs, digestsOf, setPairs } from "./metadata.ts";
import { usedUp } from "./replies.ts";
import {
  conversationColumns,
  conversationFromRow,
  conversationToRow,
  metadataToColumn,
  numberOrNull,
  pathFromRow,
  toJson,
} from "./rows.ts";
import { settleTokens } from "./token-budgets.ts";
import { addRunning } from "./usage.ts";
import { insertDeliveries, tellOf } from "./webhooks.ts";

export function conversationMethods(driver: SqlDriver): ConversationStore {
  return {
    getConversation: (reach, which) => getConversation(driver, reach, which),

    createConversation: (conversation, claim, clientToken) =>
      createConversation(driver, conversation, claim, clientToken),

    async listConversations(reach, slice) {
      const pairs = slice.metadata ? await digestsOf(driver, reach.owner, slice.metadata) : [];
      const { rows, total } = await readPage(driver, conversationList(reach, slice, pairs), slice);
      return { items: rows.map(conversationFromRow), total };
    },

    async countWaiting() {
      // By the index of those that wait: nothing is read where none do.
      const sql = `SELECT count(*) AS waiting, min(waiting_since) AS since FROM conversations
        WHERE waiting_since IS NOT NULL AND owner > $1`;
      const [row] = await driver.all(sql, [""]);
      return { count: Number(row?.waiting), since: numberOrNull(row?.since) };
    },

    updateConversation: (reach, id, change, at) => updateConversation(driver, reach, id, change, at),

    deleteConversation: (reach, id, at, how) => deleteConversation(driver, reach, id, at, how),

    async findIdleConversations({ before, after, limit }) {
      const rows = await driver.all(
        `SELECT owner, id, log_length, reply_id, last_message_at, created_at FROM conversations
          WHERE (owner, id) > ($1, $2) ORDER BY owner, id LIMIT $3`,
        [after?.owner ?? "", after?.id ?? "", limit],
      );
      const found = rows.map((row) => ({
        owner: String(row.owner),
        id: String(row.id),
        logLength: Number(row.log_length),
        isIdle: row.reply_id === null && Number(row.last_message_at ?? row.created_at) < before,
      }));
      const last = rows.length < limit ? undefined : found.at(-1);
      return {
        items: found
          .filter(({ isIdle }) => isIdle)
          .map(({ owner, id, logLength }) => ({ owner, id, logLength })),
        next: last && { owner: last.owner, id: last.id },
      };
    },
  };
}

async function createConversation(
  driver: SqlDriver,
  conversation: ConversationRecord,
  claim: IdempotencyClaim | undefined,
  clientToken: string | undefined,
): Promise<MadeClaim | "token_ended" | undefined> {
  const { owner, id, twinId } = conversation;
  const statements = [
    ...(clientToken === undefined ? [] : [keepClientToken(clientToken)]),
    {
      sql: `INSERT INTO conversations (${conversationColumns})
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
        ON CONFLICT (owner, twin_id, COALESCE(end_user, ''), name) WHERE name IS NOT NULL DO NOTHING`,
      params: conversationToRow(conversation),
      expect: 1,
    },
    ...addPairs(owner, id, conversation.metadata),
    addToTotal(owner, listName()),
    addToTotal(owner, listName(twinId)),
  ];
  if (claim) return claimAndRun(driver, claim, id, statements);
  for (;;) {
    const result = await driver.batch(statements);
    if (result.committed) return undefined;
    if (result.failed === 0 && clientToken !== undefined) return "token_ended";
    const reach = { owner, endUser: conversation.endUser ?? undefined };
    const namesake = await getConversation(driver, reach, { twinId, name: conversation.name ?? "" });
    if (namesake) return { fingerprint: "", resourceId: namesake.id };
    // The one in the way has been deleted in the meantime: try again.
  }
}

async function getConversation(
  driver: SqlDriver,
  { owner, endUser }: Reach,
  which: string | NamedConversation,
): Promise<ConversationRecord | undefined> {
  const [condition, params] =
    typeof which === "string"
      ? [isFound, [owner, which, endUser ?? null]]
      : [isNamed, [owner, which.twinId, endUser ?? "", which.name]];
  const [row] = await driver.all(
    `SELECT ${conversationColumns} FROM conversations WHERE ${condition}`,
    params,
  );
  return row && conversationFromRow(row);
}

async function updateConversation(
  driver: SqlDriver,
  reach: Reach,
  id: string,
  change: ConversationChange,
  at: number,
): Promise<ConversationRecord | undefined> {
  const { owner, endUser = null } = reach;
  const { last } = change;
  if (!last) return changeConversation(driver, { owner, id, endUser }, change, at);
  for (;;) {
    const [found] = await driver.all(`SELECT ${conversationColumns} FROM conversations WHERE ${isFound}`, [
      owner,
      id,
      endUser,
    ]);
    if (!found || found.reply_id !== null) return found && conversationFromRow(found);
    const logLength = Number(found.log_length);
    const path = wholePath(await findPath(driver, id, last.seq, pathFromRow(found)), logLength);
    const moved = { path, lastId: last.id, logLength };
    const changed = await changeConversation(driver, { owner, id, endUser }, change, at, moved);
    if (changed) return changed;
  }
}

/** Changes a conversation; another path only while no reply runs, and no message was stored since it was found. */
async function changeConversation(
  driver: SqlDriver,
  { owner, id, endUser }: { owner: string; id: string; endUser: string | null },
  { title, answeredBy, metadata }: ConversationChange,
  at: number,
  moved?: { path: MessagePath; lastId: string; logLength: number },
): Promise<ConversationRecord | undefined> {
  const params: SqlValue[] = [owner, id, endUser, at];
  const parameter = (value: SqlValue) => `$${params.push(value)}`;
  const set = [
    "updated_at = $4",
    ...(title === undefined ? [] : [`title = ${parameter(title)}`]),
    ...(answeredBy === undefined ? [] : [`answered_by = ${parameter(answeredBy)}`]),
    ...(answeredBy === "twin" ? ["waiting_since = NULL"] : []),
    ...(metadata ? [`metadata = ${parameter(metadataToColumn(metadata))}`] : []),
    ...(moved
      ? [`path = ${parameter(toJson(moved.path))}`, `last_message_id = ${parameter(moved.lastId)}`]
      : []),
  ];
  const isUnmoved = moved ? ` AND reply_id IS NULL AND log_length = ${parameter(moved.logLength)}` : "";
  const sql = `UPDATE conversations SET ${set.join(", ")} WHERE ${isFound}${isUnmoved} RETURNING ${conversationColumns}`;
  const pairs = metadata ? setPairs(owner, id, metadata) : [];
  const result = await driver.batch([{ sql, params, expect: 1 }, ...pairs]);
  const row = result.committed ? result.rows[0]?.[0] : undefined;
  return row && conversationFromRow(row);
}

async function deleteConversation(
  driver: SqlDriver,
  reach: Reach,
  id: string,
  at: number,
  { idleSince, mostMessages, tells }: Deletion = {},
): Promise<DeletedConversation | undefined> {
  const { owner, endUser = null } = reach;
  const isConditional = idleSince !== undefined || mostMessages !== undefined;
  // As it was found, so that the tokens of a reply in progress are settled, the right total is less, and what is used again
  // stays: else it is looked for again.
  const sql = `DELETE FROM conversations WHERE ${isFound} AND COALESCE(reply_id, '') = $4 AND twin_id = $5
    ${isConditional ? "AND log_length = $6" : ""} RETURNING ${conversationColumns}`;
  for (;;) {
    const found = await getConversation(driver, reach, id);
    if (!found) return undefined;
    const { replyId } = found;
    if (idleSince !== undefined && (replyId !== null || lastUseOf(found) >= idleSince)) return undefined;
    if (mostMessages !== undefined && found.logLength > mostMessages) return undefined;
    // Of a long one, only the end goes at once, where a reply may be in progress: what was deleted is found no more.
    const isLong = await takesPortions(driver, found);
    const result = await driver.batch([
      dropClaimsOn(found),
      {
        sql,
        params: [
          ...[owner, id, endUser, replyId ?? "", found.twinId],
          ...(isConditional ? [found.logLength] : []),
        ],
        expect: 1,
      },
      addRunning(found, at), // after the conversation is locked: none of its replies ends meanwhile
      ...(replyId === null
        ? []
        : settleTokens(replyId, { tokens: undefined, tells, owner, at, endUser: found.endUser })),
      ...tellOfRunning(found, at, tells),
      deleteMessages(owner, id, isLong ? found.logLength - 2 : 0, Number.MAX_SAFE_INTEGER),
      ...(isLong ? [markDeleted(owner, id)] : []),
      takeFromTotal(owner, listName()),
      takeFromTotal(owner, listName(found.twinId)),
    ]);
    if (result.committed) tellOf(tells, result.rows);
    const row = result.committed ? result.rows[1]?.[0] : undefined;
    if (row && isLong) await deleteRest(driver, owner, id);
    if (row && result.committed) return { ...conversationFromRow(row), ...usedUp(result.rows) };
  }
}

/** Tells that the reply in progress of a conversation that is deleted was cancelled. */
function tellOfRunning(
  { owner, id, replyId, twinId, endUser }: ConversationRecord,
  at: number,
  tells: Telling | undefined,
): SqlStatement[] {
  if (replyId === null) return [];
  const sql = `SELECT CAST($7 AS TEXT) AS conversation_id, CAST($8 AS TEXT) AS message_id, CAST($9 AS TEXT) AS twin_id,
      CAST($10 AS TEXT) AS end_user, '' AS part`;
  const params = [id, replyId, twinId, endUser];
  return insertDeliveries({ tells, owner, event: eventOfEnd("cancelled"), at }, { sql, params });
}

/** The conversation with the owner `$1`, the twin `$2` and the name `$4`, of the end user `$3` or, if that is empty, of none. */
const isNamed = "owner = $1 AND twin_id = $2 AND COALESCE(end_user, '') = $3 AND name = $4";

/** A conversation is the one with the owner `$1` and the id `$2`, and one of the end user `$3`, if that is not null. */
const isFound = "owner = $1 AND id = $2 AND (end_user = $3 OR $3 IS NULL)";
