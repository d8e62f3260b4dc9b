/**
 * The store written once in SQL that SQLite and PostgreSQL both understand, over a small driver for each.
 *
 * Every change is one batch of statements that contains its own conditions, so that no transaction stays open while
 * this process computes. Batches touch tables in a fixed order (claims, conversations, messages, totals), and sums of
 * usage, and what webhooks are told, once their conversation is locked, so that concurrent ones wait for each other instead of deadlocking.
 *
 * @module
 */

import { type MessagePath, wholePath } from "../../core/store/path.ts";
import {
  type ApiKeyRecord,
  type ConversationRecord,
  eventOfEnd,
  type IdempotencyClaim,
  lastUseOf,
  type MadeClaim,
} from "../../core/store/records.ts";
import type {
  ConversationChange,
  ConversationSlice,
  Deletion,
  NamedConversation,
  Reach,
  Slice,
  Store,
} from "../../core/store/store.ts";
import type { Telling } from "../../core/store/webhooks.ts";
import { claimAndRun, claimMethods, dropClaimsOn } from "./claims.ts";
import { clientTokenMethods, keepClientToken } from "./client-tokens.ts";
import { deleteMessages, deleteRest, markDeleted, messagesInAPortion } from "./deletion.ts";
import type { SqlDriver, SqlRow, SqlStatement, SqlValue } from "./driver.ts";
import { findPath, messageMethods } from "./messages.ts";
import { addPairs, digestsOf, setPairs } from "./metadata.ts";
import { ownTwinMethods } from "./own-twins.ts";
import { peopleMethods } from "./people.ts";
import { replyMethods, takeOverMethods } from "./replies.ts";
import { reviewMethods } from "./review.ts";
import {
  conversationColumns,
  conversationFromRow,
  conversationToRow,
  keyColumns,
  keyFromRow,
  keyToRow,
  metadataToColumn,
  pathFromRow,
  toJson,
} from "./rows.ts";
import { settleTokens, tokenBudgetMethods } from "./token-budgets.ts";
import { addRunning, usageMethods } from "./usage.ts";
import { tell, tellOf, webhookMethods } from "./webhooks.ts";

/** Options of {@link createSqlStore}. */
export interface SqlStoreOptions {
  /** Whether the database belongs to this process alone. */
  readonly exclusive: boolean;
}

/** Creates a store for a database whose tables are up to date (`planUpgrade`). Closing it closes the driver. */
export function createSqlStore(driver: SqlDriver, { exclusive }: SqlStoreOptions): Store & AsyncDisposable {
  return {
    exclusive,
    ...keyMethods(driver),
    ...conversationMethods(driver),
    ...messageMethods(driver),
    ...replyMethods(driver),
    ...takeOverMethods(driver),
    ...claimMethods(driver, exclusive),
    ...clientTokenMethods(driver),
    ...usageMethods(driver, exclusive),
    ...reviewMethods(driver),
    ...peopleMethods(driver),
    ...tokenBudgetMethods(driver),
    ...ownTwinMethods(driver),
    ...webhookMethods(driver, exclusive),
    async ping() {
      await driver.all(readNewest, [""]);
    },
    close: () => driver.close(),
    [Symbol.asyncDispose]: () => driver.close(),
  };
}

/** Reads some data, because a damaged database may still answer. An index makes it cheap. */
const readNewest = "SELECT seq FROM messages WHERE id > $1 ORDER BY id DESC LIMIT 1";

function keyMethods(
  driver: SqlDriver,
): Pick<Store, "createKey" | "listKeys" | "updateKey" | "rotateKey" | "getKey" | "findKey" | "findKeys"> {
  return {
    createKey: (key, maxLive) => createKey(driver, key, maxLive),

    async listKeys(owner, slice) {
      const of = { columns: keyColumns, from: "api_keys", where: "owner = $1", params: [owner] };
      const list = { ...of, total: totalOf("'keys'"), order: "created_at DESC, id DESC" };
      const { rows, total } = await readPage(driver, list, slice);
      return { items: rows.map(keyFromRow), total };
    },

    async updateKey(owner, id, change) {
      const [set, at] =
        "revokedAt" in change
          ? ["revoked_at = COALESCE(revoked_at, $3)", change.revokedAt]
          : ["last_used_at = CASE WHEN last_used_at > $3 THEN last_used_at ELSE $3 END", change.lastUsedAt];
      const row = await changeOne(driver, {
        sql: `UPDATE api_keys SET ${set} WHERE owner = $1 AND id = $2 RETURNING ${keyColumns}`,
        params: [owner, id, at],
      });
      return row && keyFromRow(row);
    },

    async rotateKey(owner, id, { prefix, hash, previousUntil }, at) {
      const row = await changeOne(driver, {
        sql: `UPDATE api_keys SET previous_hash = hash, previous_until = $5, hash = $3, prefix = $4
          WHERE owner = $1 AND id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $6)
          RETURNING ${keyColumns}`,
        params: [owner, id, hash, prefix, previousUntil, at],
      });
      return row && keyFromRow(row);
    },

    async getKey(owner, id) {
      const sql = `SELECT ${keyColumns} FROM api_keys WHERE owner = $1 AND id = $2`;
      const [row] = await driver.all(sql, [owner, id]);
      return row && keyFromRow(row);
    },

    async findKey(hash) {
      const sql = `SELECT ${keyColumns} FROM api_keys WHERE hash = $1 OR previous_hash = $1`;
      const [row] = await driver.all(sql, [hash]);
      return row && keyFromRow(row);
    },

    async findKeys(by) {
      const [column, value] = "id" in by ? ["id", by.id] : ["prefix", by.prefix];
      const rows = await driver.all(`SELECT ${keyColumns} FROM api_keys WHERE ${column} = $1`, [value]);
      return rows.map(keyFromRow);
    },
  };
}

async function createKey(
  driver: SqlDriver,
  key: ApiKeyRecord,
  maxLive: number,
): Promise<"created" | "limit_reached"> {
  const result = await driver.batch([
    // First, so that a database that runs batches concurrently runs those of one owner in turn.
    addToTotal(key.owner, "keys"),
    {
      sql: `SELECT 1 AS room WHERE (SELECT count(*) FROM api_keys WHERE owner = $1 AND revoked_at IS NULL
        AND (expires_at IS NULL OR expires_at > $2)) < $3`,
      params: [key.owner, key.createdAt, maxLive],
      expect: 1,
    },
    {
      sql: `INSERT INTO api_keys (${keyColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
      params: keyToRow(key),
    },
  ]);
  return result.committed ? "created" : "limit_reached";
}

function conversationMethods(
  driver: SqlDriver,
): Pick<
  Store,
  | "createConversation"
  | "getConversation"
  | "listConversations"
  | "updateConversation"
  | "chooseTwin"
  | "deleteConversation"
  | "findIdleConversations"
> {
  return {
    getConversation: (reach, which) => getConversation(driver, reach, which),

    createConversation: (conversation, claim, clientToken) =>
      createConversation(driver, conversation, claim, clientToken),

    async listConversations(reach, slice) {
      const pairs = slice.metadata ? await digestsOf(driver, reach.owner, slice.metadata) : [];
      const { rows, total } = await readPage(driver, conversationList(reach, slice, pairs), slice);
      return { items: rows.map(conversationFromRow), total };
    },

    updateConversation: (reach, id, change, at) => updateConversation(driver, reach, id, change, at),

    async chooseTwin(reach, id, twinId) {
      const { owner, endUser = null } = reach;
      const sql = `UPDATE conversations SET twin_id = $4 WHERE ${isFound} AND twin_id = '' RETURNING twin_id`;
      const result = await driver.batch([
        { sql, params: [owner, id, endUser, twinId], expect: 1 },
        addToTotal(owner, listName(twinId)),
        takeFromTotal(owner, listName("")),
      ]);
      return result.committed ? twinId : (await getConversation(driver, reach, id))?.twinId;
    },

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
  { idleSince, tells }: Deletion = {},
): Promise<ConversationRecord | undefined> {
  const { owner, endUser = null } = reach;
  // As it was found, so that the tokens of a reply in progress are settled, the right total is less, and what is used again
  // stays: else it is looked for again.
  const sql = `DELETE FROM conversations WHERE ${isFound} AND COALESCE(reply_id, '') = $4 AND twin_id = $5
    ${idleSince === undefined ? "" : "AND log_length = $6"} RETURNING ${conversationColumns}`;
  for (;;) {
    const found = await getConversation(driver, reach, id);
    if (!found) return undefined;
    const { replyId } = found;
    if (idleSince !== undefined && (replyId !== null || lastUseOf(found) >= idleSince)) return undefined;
    // Of a long one, only the end goes at once, where a reply may be in progress: what was deleted is found no more.
    const isLong = found.logLength > messagesInAPortion;
    const result = await driver.batch([
      dropClaimsOn(found),
      {
        sql,
        params: [
          ...[owner, id, endUser, replyId ?? "", found.twinId],
          ...(idleSince === undefined ? [] : [found.logLength]),
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
    if (row) return conversationFromRow(row);
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
  return tell({ tells, owner, event: eventOfEnd("cancelled"), at }, { sql, params });
}

/** The conversation with the owner `$1`, the twin `$2` and the name `$4`, of the end user `$3` or, if that is empty, of none. */
const isNamed = "owner = $1 AND twin_id = $2 AND COALESCE(end_user, '') = $3 AND name = $4";

/** A conversation is the one with the owner `$1` and the id `$2`, and one of the end user `$3`, if that is not null. */
const isFound = "owner = $1 AND id = $2 AND (end_user = $3 OR $3 IS NULL)";

/** `pairs`: the digests of the pairs of metadata that they have; it is read from the first one on. */
function conversationList(
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
function listName(twinId?: string): string {
  return twinId === undefined ? "conversations" : `conversations/${twinId}`;
}

function addToTotal(owner: string, list: string): SqlStatement {
  const sql = `INSERT INTO totals (owner, list, total) VALUES ($1, $2, 1)
    ON CONFLICT (owner, list) DO UPDATE SET total = totals.total + 1`;
  return { sql, params: [owner, list] };
}

function takeFromTotal(owner: string, list: string): SqlStatement {
  return { sql: "UPDATE totals SET total = total - 1 WHERE owner = $1 AND list = $2", params: [owner, list] };
}

/** A list of an owner's rows. */
interface ListStatement {
  readonly columns: string;
  readonly from: string;
  /** The condition, whose parameters are `params`; the owner is `$1`. */
  readonly where: string;
  readonly params: readonly SqlValue[];
  /** Selects the list's length, with the same parameters. */
  readonly total: string;
  readonly order: string;
  /** Only what is less or greater than this moment and id. */
  readonly after?: readonly [comparison: "<" | ">", createdAt: number, id: string] | undefined;
}

/** A part of a list, and the length of the list at the same moment. */
async function readPage(
  driver: SqlDriver,
  { columns, from, where, params, total, order, after }: ListStatement,
  { offset, limit }: Slice,
): Promise<{ rows: readonly SqlRow[]; total: number }> {
  const count = async () => {
    const [row] = await driver.all(total, params);
    return Number(row?.total ?? 0);
  };
  const length = await count();
  if (offset >= length) return { rows: [], total: length }; // otherwise all of them would be skipped one by one
  const [comparison, ...place] = after ?? [];
  const next = params.length + 1;
  const isLater = after ? ` AND (created_at, id) ${comparison} ($${next + 2}, $${next + 3})` : "";
  const rows = await driver.all(
    `SELECT ${columns}, (${total}) AS total FROM ${from} WHERE ${where}${isLater}
      ORDER BY ${order} LIMIT $${next} OFFSET $${next + 1}`,
    [...params, limit, offset, ...place],
  );
  return { rows, total: rows[0] ? Number(rows[0].total) : await count() }; // none: it has become shorter
}

/** Selects the length of one of the owner's lists, which is counted as it grows. `list`: its name, in SQL. */
function totalOf(list: string): string {
  return `SELECT total FROM totals WHERE owner = $1 AND list = ${list}`;
}

/** Runs one statement that changes at most one row, and returns that row. */
async function changeOne(driver: SqlDriver, statement: SqlStatement): Promise<SqlRow | undefined> {
  const result = await driver.batch([statement]);
  return result.committed ? result.rows[0]?.[0] : undefined;
}
