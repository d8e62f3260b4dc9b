/**
 * The store written once in SQL that SQLite and PostgreSQL both understand, over a small driver for each.
 *
 * Every change is one batch of statements that contains its own conditions, so that no transaction stays open while
 * this process computes. Batches touch tables in a fixed order (claims, conversations, messages, totals), and sums of
 * usage once their conversation is locked, so that concurrent ones wait for each other instead of deadlocking.
 *
 * @module
 */

import type {
  ApiKeyRecord,
  ConversationRecord,
  IdempotencyClaim,
  MadeClaim,
} from "../../core/store/records.ts";
import type { ConversationSlice, Reach, Slice, Store } from "../../core/store/store.ts";
import { claimAndRun, claimMethods, dropClaimsOn } from "./claims.ts";
import { clientTokenMethods } from "./client-tokens.ts";
import type { SqlDriver, SqlRow, SqlStatement, SqlValue } from "./driver.ts";
import { messageMethods } from "./messages.ts";
import { replyMethods, takeOverMethods } from "./replies.ts";
import {
  conversationColumns,
  conversationFromRow,
  conversationToRow,
  keyColumns,
  keyFromRow,
  keyToRow,
} from "./rows.ts";
import { addRunning, usageMethods } from "./usage.ts";

/** Options of {@link createSqlStore}. */
export interface SqlStoreOptions {
  /** Whether the database belongs to this process alone. */
  readonly exclusive: boolean;
}

/** Creates a store for a database whose tables are up to date (`migrationsFrom`). Closing it closes the driver. */
export function createSqlStore(driver: SqlDriver, { exclusive }: SqlStoreOptions): Store {
  return {
    exclusive,
    ...keyMethods(driver),
    ...conversationMethods(driver),
    ...messageMethods(driver),
    ...replyMethods(driver),
    ...takeOverMethods(driver),
    ...claimMethods(driver, exclusive),
    ...clientTokenMethods(driver),
    ...usageMethods(driver),
    async ping() {
      await driver.all(readNewest, [""]);
    },
    close: () => driver.close(),
  };
}

/** Reads some data, because a damaged database may still answer. An index makes it cheap. */
const readNewest = "SELECT seq FROM messages WHERE id > $1 ORDER BY id DESC LIMIT 1";

type KeyMethods = Pick<Store, "createKey" | "listKeys" | "revokeKey" | "findKey" | "touchKey">;

function keyMethods(driver: SqlDriver): KeyMethods {
  return {
    createKey: (key, maxLive) => createKey(driver, key, maxLive),

    async listKeys(owner, slice) {
      const list = { name: "keys", columns: keyColumns, from: "api_keys", where: () => "", params: [] };
      const { rows, total } = await readPage(driver, owner, list, slice);
      return { items: rows.map(keyFromRow), total };
    },

    async revokeKey(owner, id, at) {
      const row = await changeOne(driver, {
        sql: `UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $3) WHERE owner = $1 AND id = $2
          RETURNING ${keyColumns}`,
        params: [owner, id, at],
      });
      return row && keyFromRow(row);
    },

    async findKey(hash) {
      const [row] = await driver.all(`SELECT ${keyColumns} FROM api_keys WHERE hash = $1`, [hash]);
      return row && keyFromRow(row);
    },

    async touchKey(owner, id, at) {
      const sql = `UPDATE api_keys SET last_used_at = $3 WHERE owner = $1 AND id = $2
        AND (last_used_at IS NULL OR last_used_at < $3)`;
      await driver.batch([{ sql, params: [owner, id, at] }]);
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
      sql: `INSERT INTO api_keys (${keyColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      params: keyToRow(key),
    },
  ]);
  return result.committed ? "created" : "limit_reached";
}

type ConversationMethods = Pick<
  Store,
  | "createConversation"
  | "getConversation"
  | "listConversations"
  | "readConversations"
  | "renameConversation"
  | "deleteConversation"
>;

function conversationMethods(driver: SqlDriver): ConversationMethods {
  return {
    getConversation: (reach, id) => getConversation(driver, reach, id),

    createConversation: (conversation, claim) => createConversation(driver, conversation, claim),

    async listConversations(reach, slice) {
      const { rows, total } = await readPage(driver, reach.owner, conversationList(reach, slice), slice);
      return { items: rows.map(conversationFromRow), total };
    },

    async readConversations({ owner, endUser }, after, limit) {
      const isLater = after ? " AND (created_at, id) > ($4, $5)" : "";
      const rows = await driver.all(
        `SELECT ${conversationColumns} FROM conversations WHERE owner = $1 AND end_user = $2${isLater}
          ORDER BY created_at, id LIMIT $3`,
        [owner, endUser, limit, ...(after ? [after.createdAt, after.id] : [])],
      );
      return rows.map(conversationFromRow);
    },

    async renameConversation({ owner, endUser = null }, id, title, at) {
      const row = await changeOne(driver, {
        sql: `UPDATE conversations SET title = $4, updated_at = $5 WHERE ${isFound}
          RETURNING ${conversationColumns}`,
        params: [owner, id, endUser, title, at],
      });
      return row && conversationFromRow(row);
    },

    deleteConversation: (reach, id, at) => deleteConversation(driver, reach, id, at),
  };
}

async function createConversation(
  driver: SqlDriver,
  conversation: ConversationRecord,
  claim: IdempotencyClaim | undefined,
): Promise<MadeClaim | undefined> {
  const { owner, id, twinId } = conversation;
  const statements = [
    {
      sql: `INSERT INTO conversations (${conversationColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      params: conversationToRow(conversation),
    },
    addToTotal(owner, listName()),
    addToTotal(owner, listName(twinId)),
  ];
  if (claim) return claimAndRun(driver, claim, id, statements);
  await driver.batch(statements);
  return undefined;
}

async function getConversation(
  driver: SqlDriver,
  { owner, endUser }: Reach,
  id: string,
): Promise<ConversationRecord | undefined> {
  const sql = `SELECT ${conversationColumns} FROM conversations WHERE ${isFound}`;
  const [row] = await driver.all(sql, [owner, id, endUser ?? null]);
  return row && conversationFromRow(row);
}

async function deleteConversation(
  driver: SqlDriver,
  reach: Reach,
  id: string,
  at: number,
): Promise<ConversationRecord | undefined> {
  const { owner, endUser = null } = reach;
  const found = await getConversation(driver, reach, id);
  if (!found) return undefined;
  const sql = `DELETE FROM conversations WHERE ${isFound} RETURNING ${conversationColumns}`;
  const result = await driver.batch([
    dropClaimsOn(found),
    { sql, params: [owner, id, endUser], expect: 1 },
    addRunning(found, at), // after the conversation is locked: none of its replies ends meanwhile
    { sql: "DELETE FROM messages WHERE owner = $1 AND conversation_id = $2", params: [owner, id] },
    takeFromTotal(owner, listName()),
    takeFromTotal(owner, listName(found.twinId)),
  ]);
  const row = result.committed ? result.rows[1]?.[0] : undefined;
  return row && conversationFromRow(row);
}

/** A conversation is the one with the owner `$1` and the id `$2`, and one of the end user `$3`, if that is not null. */
const isFound = "owner = $1 AND id = $2 AND (end_user = $3 OR $3 IS NULL)";

function conversationList({ endUser }: Reach, { twinIds }: ConversationSlice): List {
  const [twinId, ...others] = twinIds ?? [];
  const isCounted = endUser === undefined && others.length === 0;
  return {
    name: isCounted ? listName(twinId) : undefined,
    columns: conversationColumns,
    from: "conversations",
    params: [...(endUser === undefined ? [] : [endUser]), ...(twinIds ?? [])],
    where(first) {
      const firstTwin = endUser === undefined ? first : first + 1;
      const twins = twinIds?.map((_, index) => `$${firstTwin + index}`);
      return (
        (endUser === undefined ? "" : ` AND end_user = $${first}`) +
        (twins ? ` AND twin_id IN (${twins})` : "")
      );
    },
  };
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

/** A list of an owner's rows, newest first. */
interface List {
  /** Its name in `totals`. Undefined: its rows are few, and counted. */
  readonly name: string | undefined;
  readonly columns: string;
  readonly from: string;
  /** The conditions besides the owner, whose parameters start at this number. */
  where(first: number): string;
  readonly params: readonly SqlValue[];
}

/** A part of a list, and the length of the list at the same moment. */
async function readPage(
  driver: SqlDriver,
  owner: string,
  list: List,
  { offset, limit }: Slice,
): Promise<{ rows: readonly SqlRow[]; total: number }> {
  const { name, columns, from, where, params } = list;
  const countParams = name === undefined ? params : [name];
  const count = async () => {
    const [row] = await driver.all(totalOf(list, 2), [owner, ...countParams]);
    return Number(row?.total ?? 0);
  };
  const total = await count();
  if (offset >= total) return { rows: [], total }; // otherwise all of them would be skipped one by one
  const afterCount = 4 + countParams.length;
  const rows = await driver.all(
    `SELECT ${columns}, (${totalOf(list, 4)}) AS total FROM ${from} WHERE owner = $1${where(afterCount)}
      ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3`,
    [owner, limit, offset, ...countParams, ...params],
  );
  return { rows, total: rows[0] ? Number(rows[0].total) : await count() }; // none: it has become shorter
}

/** Selects the length of a list. Its parameters besides the owner start at `first`. */
function totalOf({ name, from, where }: List, first: number): string {
  if (name !== undefined) return `SELECT total FROM totals WHERE owner = $1 AND list = $${first}`;
  return `SELECT count(*) AS total FROM ${from} WHERE owner = $1${where(first)}`;
}

/** Runs one statement that changes at most one row, and returns that row. */
async function changeOne(driver: SqlDriver, statement: SqlStatement): Promise<SqlRow | undefined> {
  const result = await driver.batch([statement]);
  return result.committed ? result.rows[0]?.[0] : undefined;
}
