/**
 * The life of a reply in SQL.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import { type MessagePath, withMessages } from "../../core/store/path.ts";
import {
  type Answerer,
  type EndReply,
  type MessageRecord,
  mostAnswered,
  mostBranches,
  nobody,
  type PendingCalls,
  type StoredCalls,
} from "../../core/store/records.ts";
import type {
  AbandonedReply,
  AddMessage,
  BeginReply,
  NotStored,
  ReplyStore,
  SaveResult,
  TakeOverStore,
} from "../../core/store/store.ts";
import { findClaim, makeClaim } from "./claims.ts";
import { listName } from "./conversation-lists.ts";
import type { BatchResult, SqlDriver, SqlRow, SqlStatement, SqlValue } from "./driver.ts";
import { addToTotal, changeOne, takeFromTotal } from "./lists.ts";
import { findPath, ofEndUser } from "./messages.ts";
import { markUnanswered } from "./review.ts";
import { fromJson, pathFromRow, textOrNull, toJson } from "./rows.ts";
import { reachedIn, readSpent, reserveTokens, settleTokens } from "./token-budgets.ts";
import { addUsage } from "./usage.ts";
import { inConversation, insertDeliveries, insertDeliveriesOfEnd, tellOf } from "./webhooks.ts";

/** The store's methods about replies in progress. */
export function replyMethods(driver: SqlDriver): ReplyStore {
  const saves = new Saves(driver);
  return {
    async beginReply(begin) {
      const needs = {
        first: begin.question,
        length: 2,
        answeredBy: "twin",
        isUndecided: !begin.decides,
        choosesTwin: begin.choosesTwin,
      } as const;
      const stored = await storeMessage(driver, begin, needs, (way) => beginStatements(begin, way));
      if ("result" in stored) return stored;
      tellOf(begin.replaces?.tells, stored.rows);
      // Read as the conversation is taken: without a statement of its own.
      const taken = stored.rows.flat().find((row) => "memory" in row);
      return { result: "begun", memory: textOrNull(taken?.memory), ...usedUp(stored.rows) };
    },

    async addMessage(add) {
      const { message: first, waits } = add;
      const needed = waits ? "person" : undefined;
      const needs = { first, length: 1, answeredBy: needed, isUndecided: false } as const;
      const stored = await storeMessage(driver, add, needs, (way) => addStatements(add, way));
      if ("result" in stored) return stored;
      tellOf(add.tells, stored.rows);
      return { result: "added", ...usedUp(stored.rows) };
    },

    async saveReply({ owner, id, content, sources, lastAttempt, yields, lease }): Promise<SaveResult> {
      const text = [content ?? null, toJson(sources)];
      const flags = [lastAttempt ? 1 : null, yields ? nobody : null];
      const row = await saves.add([owner, id, lease.holder, lease.until, ...text, ...flags]);
      if (!row) return "lost";
      const requested = Number(row.cancel_requested);
      return requested === 0 ? "saved" : requested === 1 ? "cancel_requested" : "yield_requested";
    },

    async endReply(end) {
      const result = await driver.batch(endStatements(end));
      if (result.committed) tellOf(end.tells, result.rows);
      const reached = result.committed && end.reserved ? reachedIn(result.rows) : [];
      return reached.length > 0 ? reached : result.committed;
    },

    async replaceQuestion({ owner, conversationId, id, told }) {
      const isOf = "WHERE owner = $1 AND conversation_id = $2 AND id = $3";
      await driver.batch([
        { sql: `UPDATE messages SET told = $4 ${isOf}`, params: [owner, conversationId, id, told] },
        {
          sql: "UPDATE conversations SET has_told = 1 WHERE owner = $1 AND id = $2",
          params: [owner, conversationId],
        },
      ]);
    },

    async readCalls(owner, id) {
      const sql = "SELECT pending_calls, call_state, decisions FROM messages WHERE owner = $1 AND id = $2";
      const [row] = await driver.all(sql, [owner, id]);
      if (!row) return undefined;
      const pending = (fromJson(row.call_state) ?? undefined) as StoredCalls["pending"];
      const decisions = (fromJson(row.decisions) ?? undefined) as StoredCalls["decisions"];
      return { pending, isOpen: row.pending_calls !== null, decisions };
    },

    async requestCancel({ owner, endUser = null }, id) {
      const sql = `UPDATE messages SET cancel_requested = 1
        WHERE owner = $1 AND id = $2 AND status = 'in_progress' AND cancel_requested = 0
          AND ${ofEndUser}`;
      await driver.batch([{ sql, params: [owner, id, endUser] }]);
    },

    async requestYield(owner, id) {
      const sql = `UPDATE messages SET cancel_requested = 2 WHERE owner = $1 AND id = $2 AND status = 'in_progress'
        RETURNING lease_holder`;
      const row = await changeOne(driver, { sql, params: [owner, id] });
      if (!row) return "over";
      return row.lease_holder === nobody ? "yielded" : "asked";
    },
  };
}

/** The member of a result that has what a reply that ended with it has used up, if that is anything. */
export function usedUp(rows: readonly (readonly SqlRow[])[]) {
  const reached = reachedIn(rows);
  return reached.length > 0 ? { reached } : {};
}

/** Commits the saves of a turn of the event loop together. */
class Saves {
  readonly #driver: SqlDriver;
  #statements: SqlStatement[] = [];
  #committing: Promise<BatchResult> | undefined;

  constructor(driver: SqlDriver) {
    this.#driver = driver;
  }

  /** The row of a save, if the holder still has the reply. */
  async add(params: readonly SqlValue[]): Promise<SqlRow | undefined> {
    const index = this.#statements.push({ sql: saveText, params }) - 1;
    this.#committing ??= this.#commit();
    const result = await this.#committing;
    return result.committed ? result.rows[index]?.[0] : undefined;
  }

  async #commit(): Promise<BatchResult> {
    await new Promise((resolve) => setImmediate(resolve));
    const statements = this.#statements;
    this.#statements = [];
    this.#committing = undefined;
    return this.#driver.batch(statements);
  }
}

const saveText = `UPDATE messages
  SET content = COALESCE($5, content), sources = COALESCE($6, sources), lease_until = $4,
    last_attempt = COALESCE($7, last_attempt), lease_holder = COALESCE($8, lease_holder)
  WHERE owner = $1 AND id = $2 AND lease_holder = $3 AND status = 'in_progress'
    AND length(content) <= length(COALESCE($5, content))
  RETURNING cancel_requested`;

/** The store's methods about replies whose lease ran out. */
export function takeOverMethods(driver: SqlDriver): TakeOverStore {
  return {
    async findAbandonedReplies(expiredBefore) {
      const rows = await driver.all(
        `SELECT owner, conversation_id, id, lease_holder, lease_until, attempt, cancel_requested, last_attempt,
            (SELECT count(*) FROM token_reservations WHERE reply_id = messages.id) AS reserved
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
    cancelRequested: Number(row.cancel_requested) > 0,
    lastAttempt: Number(row.last_attempt) === 1,
    reserved: Number(row.reserved) > 0,
  };
}

/** What is to be stored, and where that may be. */
interface Needs {
  /** The only message, or the question, behind which comes its reply. */
  readonly first: MessageRecord;
  /** How many they are. */
  readonly length: 1 | 2;
  /** Who has to answer. Undefined: anybody. */
  readonly answeredBy: Answerer | undefined;
  /** Whether no calls may wait with the message that it goes on from. */
  readonly isUndecided: boolean;
  /** The twin that the conversation has, or is to have. Default: any. */
  readonly choosesTwin?: string | undefined;
}

/** How a message continues a conversation. */
interface Way {
  /** The twin that it chooses. Undefined: there is one. */
  readonly choosesTwin: string | undefined;
  /** The path that it goes on from, and then the path with it. */
  readonly path: MessagePath;
  /** The number of the message that it goes on from, if that is not the one before it in the log. */
  readonly from: number | null;
  /** The path before. */
  readonly before: string | null;
  /** The reply in progress that ends with it. */
  readonly replaces: EndReply | undefined;
}

async function countBranches(driver: SqlDriver, conversationId: string): Promise<number> {
  const sql =
    "SELECT count(*) AS branches FROM messages WHERE conversation_id = $1 AND branch_from IS NOT NULL";
  const [row] = await driver.all(sql, [conversationId]);
  return Number(row?.branches);
}

function beginStatements(
  begin: BeginReply,
  { path, from, before, replaces, choosesTwin }: Way,
): SqlStatement[] {
  const {
    owner,
    endUser = null,
    question,
    reply,
    lease,
    lastAttempt = false,
    claim,
    reserves,
    decides,
  } = begin;
  const { conversationId, seq, after } = question;
  // A fork replaces the path, wherever that ends.
  const expected = begin.forkAt === undefined ? after : null;
  return [
    ...(claim ? [makeClaim(claim, reply.id)] : []),
    ...(replaces ? endStatements(replaces) : []),
    ...(choosesTwin === undefined ? [] : chooseTwin(owner, conversationId, choosesTwin)),
    {
      sql: takeConversation,
      params: [
        ...[owner, conversationId, endUser, seq, before, expected],
        ...[reply.id, reply.createdAt, toJson(path), decides ? null : after],
      ],
      expect: 1,
    },
    {
      sql: insertBoth,
      params: [
        ...[owner, conversationId, question.id, question.content, question.createdAt, question.completedAt],
        ...[seq, after, from, reply.id, reply.createdAt, seq + 1, lease.holder, lease.until],
        ...[reply.twinRevision, lastAttempt ? 1 : 0],
      ],
    },
    ...(decides ? decideStatements(owner, question.id, decides) : []),
    ...(reserves ? reserveTokens(reserves) : []),
  ];
}

function chooseTwin(owner: string, conversationId: string, twinId: string): SqlStatement[] {
  return [
    {
      sql: "UPDATE conversations SET twin_id = $3 WHERE owner = $1 AND id = $2 AND twin_id = ''",
      params: [owner, conversationId, twinId],
      expect: 1,
    },
    addToTotal(owner, listName(twinId)),
    takeFromTotal(owner, listName("")),
  ];
}

/** What a question decides of the calls of the reply before it, which wait no more. */
function decideStatements(
  owner: string,
  questionId: string,
  { replyId, decisions }: NonNullable<BeginReply["decides"]>,
): SqlStatement[] {
  return [
    {
      sql: "UPDATE messages SET pending_calls = NULL WHERE owner = $1 AND id = $2 AND pending_calls IS NOT NULL",
      params: [owner, replyId],
      expect: 1,
    },
    {
      sql: "UPDATE messages SET decisions = $3 WHERE owner = $1 AND id = $2",
      params: [owner, questionId, toJson(decisions)],
    },
  ];
}

/** The conversation with the owner `$1` and the id `$2` whose log and path are as the caller knows them, so that they need not be read. */
const isAsKnown = `owner = $1 AND id = $2 AND (end_user = $3 OR $3 IS NULL) AND reply_id IS NULL AND log_length = $4
    AND COALESCE(path, '') = COALESCE($5, '')
    AND COALESCE(last_message_id, '') = COALESCE($6, last_message_id, '')`;

/** The message `$10`, if that is not null, must have no calls that wait. */
const takeConversation = `UPDATE conversations
  SET reply_id = $7, log_length = log_length + 2, path = $9, last_message_id = $7, last_message_at = $8,
    updated_at = $8
  WHERE ${isAsKnown} AND answered_by = 'twin'
    AND (SELECT pending_calls FROM messages WHERE id = $10) IS NULL
  RETURNING (SELECT content FROM memories WHERE owner = $1 AND end_user = conversations.end_user
    AND twin_id = conversations.twin_id) AS memory`;

const insertBoth = `INSERT INTO messages (owner, conversation_id, id, role, content, status, seq, after_id, branch_from,
    created_at, completed_at, lease_holder, lease_until, twin_revision, last_attempt) VALUES
  ($1, $2, $3, 'user', $4, 'completed', $7, $8, $9, $5, $6, NULL, NULL, NULL, 0),
  ($1, $2, $10, 'assistant', '', 'in_progress', $12, $3, NULL, $11, NULL, $13, $14, $15, $16)`;

function addStatements(add: AddMessage, { path, from, before, replaces }: Way): SqlStatement[] {
  const { owner, endUser = null, message, claim, answeredBy = null, waits = false, tells } = add;
  const { id, conversationId, seq, after, role, author, content, createdAt, finishReason } = message;
  const expected = add.forkAt === undefined ? after : null;
  const isAnswer = role === "assistant";
  const told = { tells, owner, at: createdAt };
  const about = inConversation(conversationId, id);
  return [
    ...(claim ? [makeClaim(claim, id)] : []),
    ...(replaces ? endStatements(replaces) : []),
    // Told before it is stored, as nothing says afterwards whether another question waited.
    ...(waits && tells ? [{ sql: lockConversation, params: [owner, conversationId] }] : []),
    ...(waits
      ? insertDeliveries(
          { ...told, event: "conversation.waiting" },
          { ...about, sql: `${about.sql} AND waiting_since IS NULL` },
        )
      : []),
    {
      sql: `${isAnswer ? addAnswer : waits ? addWaiting : addQuestion} WHERE ${isAsKnown}${waits ? " AND answered_by = 'person'" : ""}`,
      params: [
        ...[owner, conversationId, endUser, seq, before, expected],
        ...[id, createdAt, toJson(path), answeredBy],
      ],
      expect: 1,
    },
    {
      sql: insertAlone,
      params: [
        ...[owner, conversationId, id, role, content, finishReason, seq, after, from],
        ...[createdAt, author],
      ],
    },
    ...(isAnswer ? [{ sql: answerQuestions, params: [conversationId, seq] }] : []),
    ...(isAnswer ? insertDeliveries({ ...told, event: "message.said" }, about) : []),
  ];
}

const addQuestion = `UPDATE conversations
  SET log_length = log_length + 1, alone_count = alone_count + 1, path = $9, last_message_id = $7,
    last_message_at = $8, updated_at = $8, answered_by = COALESCE($10, answered_by)`;
const addWaiting = `${addQuestion}, waiting_since = COALESCE(waiting_since, $8)`;
const addAnswer = `${addQuestion}, waiting_since = NULL`;

const lockConversation = "UPDATE conversations SET updated_at = updated_at WHERE owner = $1 AND id = $2";

const insertAlone = `INSERT INTO messages (owner, conversation_id, id, role, alone, content, status, finish_reason, seq,
    after_id, branch_from, created_at, completed_at, author)
  VALUES ($1, $2, $3, $4, 1, $5, 'completed', $6, $7, $8, $9, $10, $10, $11)`;

/** Of what a person says: the questions since a person spoke last, among the {@link mostAnswered} messages before. */
const answerQuestions = `UPDATE messages SET unanswered = NULL
  WHERE conversation_id = $1 AND unanswered IS NOT NULL AND seq < $2 AND seq >= $2 - ${mostAnswered}
    AND seq > COALESCE((SELECT max(seq) FROM messages
      WHERE conversation_id = $1 AND seq < $2 AND seq >= $2 - ${mostAnswered} AND role = 'assistant' AND alone = 1), -1)`;

/**
 * How a message can be stored now, or why it cannot. Looks for the claim last, because an equal request may begin the reply
 * between the two queries, and that reply does not make the conversation busy for this one.
 */
async function findWay(
  driver: SqlDriver,
  { owner, endUser, claim, forkAt, replaces }: BeginReply | AddMessage,
  { first: { conversationId, seq, after }, answeredBy, isUndecided, choosesTwin }: Needs,
): Promise<NotStored | Way> {
  const sql = `SELECT reply_id, log_length, path, last_message_id, answered_by, twin_id,
      (SELECT lease_holder FROM messages WHERE id = reply_id) AS holder,
      (SELECT pending_calls FROM messages WHERE id = $4) AS waiting
    FROM conversations WHERE owner = $1 AND id = $2 AND (end_user = $3 OR $3 IS NULL)`;
  const [row] = await driver.all(sql, [owner, conversationId, endUser ?? null, after]);
  const made = claim && !claim.replaces ? await findClaim(driver, claim) : undefined;
  if (made) return { result: "claimed", claim: made };
  if (!row) return { result: "not_found" };
  if (choosesTwin !== undefined && ![choosesTwin, ""].includes(String(row.twin_id)))
    return { result: "other_twin" };
  const replyId = textOrNull(row.reply_id);
  const { holder = row.holder } = replaces ?? {};
  if (replyId !== null && (replyId !== replaces?.id || row.holder !== holder))
    return { result: "busy", replyId };
  const who = String(row.answered_by) as Answerer;
  if (answeredBy !== undefined && who !== answeredBy) return { result: "answered_by", answeredBy: who };
  const logLength = Number(row.log_length);
  const lastMessageId = textOrNull(row.last_message_id);
  if (logLength !== seq || (forkAt === undefined && lastMessageId !== after)) {
    return { result: "moved", end: { logLength, lastMessageId } };
  }
  if (isUndecided && row.waiting !== null) return { result: "undecided" };
  const current = pathFromRow(row);
  const upTo = forkAt === undefined ? current : await findPath(driver, conversationId, forkAt, current);
  const from = forkAt ?? (current?.at(-1)?.[1] ?? logLength) - 1;
  const isBranch = from !== seq - 1;
  if (isBranch && (await countBranches(driver, conversationId)) >= mostBranches) {
    return { result: "too_many_branches" };
  }
  return {
    choosesTwin: row.twin_id === "" ? choosesTwin : undefined,
    path: upTo,
    from: isBranch ? from : null,
    before: textOrNull(row.path),
    replaces: replyId === null ? undefined : replaces,
  };
}

/** Stores a message, nearly always as the caller knows the conversation, which never forked; else as it is found to be. */
async function storeMessage(
  driver: SqlDriver,
  message: BeginReply | AddMessage,
  needs: Needs,
  statements: (way: Way) => readonly SqlStatement[],
): Promise<NotStored | { readonly rows: readonly (readonly SqlRow[])[] }> {
  const { first, length, choosesTwin } = needs;
  const { forkAt, replaces } = message;
  const reserves = "reserves" in message ? message.reserves : undefined;
  let way: Way | undefined =
    forkAt === undefined ? { path: null, from: null, before: null, replaces, choosesTwin } : undefined;
  for (;;) {
    const grown = way && { ...way, path: withMessages(way.path, first.seq, first.seq + length) };
    const batch = grown && statements(grown);
    const stored = batch && (await driver.batch(batch));
    if (stored?.committed) return { rows: stored.rows };
    // The last two reserve, once all else is in order.
    if (reserves && batch && stored?.failed === batch.length - 2) {
      return { result: "over_budget", spent: await readSpent(driver, reserves) };
    }
    const found: NotStored | Way = await findWay(driver, message, needs);
    if ("result" in found) return found;
    way = found; // the obstacle is gone: try again
  }
}

function endStatements(end: EndReply): SqlStatement[] {
  const { owner, conversationId, id, completedAt, holder = null, leaseExpiredBefore } = end;
  const { status, finishReason, usage, error, content = null, sources } = end;
  const how = [status, finishReason, toJson(usage), toJson(error), completedAt, content, toJson(sources)];
  const params = [owner, id, conversationId, ...how, holder];
  return [
    {
      sql: end.handsOver ? handOver : freeConversation,
      params: [owner, conversationId, id, completedAt],
      expect: 1,
    },
    leaseExpiredBefore === undefined
      ? { sql: endMessage, params, expect: 1 }
      : { sql: endAbandoned, params: [...params, leaseExpiredBefore], expect: 1 },
    addUsage(end),
    ...(end.pending ? [keepCalls(end, end.pending)] : []),
    ...(end.unanswered === undefined ? [] : [markUnanswered(end, end.unanswered)]),
    ...(end.reserved
      ? settleTokens(id, { ...end, tokens: usage?.totalTokens, text: undefined, at: completedAt })
      : []),
    ...insertDeliveriesOfEnd(end),
  ];
}

function keepCalls({ owner, id }: EndReply, pending: PendingCalls): SqlStatement {
  const sql = "UPDATE messages SET pending_calls = $3, call_state = $4 WHERE owner = $1 AND id = $2";
  return { sql, params: [owner, id, toJson(pending.calls), toJson(pending)] };
}

const free = "UPDATE conversations SET reply_id = NULL, updated_at = $4";
const isTaken = "WHERE owner = $1 AND id = $2 AND reply_id = $3";
const freeConversation = `${free} ${isTaken}`;
const handOver = `${free}, answered_by = 'person',
    waiting_since = COALESCE(waiting_since, (SELECT created_at FROM messages WHERE id = $3))
  ${isTaken}`;

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
