/**
 * Records as rows, and rows as records.
 *
 * @module
 */

import { lengthOf, type MessagePath } from "../../core/store/path.ts";
import {
  type ApiKeyRecord,
  type ConversationRecord,
  type Feedback,
  type MadeClaim,
  type MessageRecord,
  type PendingCall,
  type SeenMessage,
  seenMessage,
} from "../../core/store/records.ts";
import type { SqlRow, SqlValue } from "./driver.ts";

export const keyColumns =
  "owner, id, name, scope, prefix, hash, requests_per_hour, tokens_per_day, tokens_per_month, owner_tokens_per_day, created_at, expires_at, last_used_at, revoked_at, previous_hash, previous_until";

export function keyToRow(key: ApiKeyRecord): SqlValue[] {
  const { owner, id, name, scope, prefix, hash, requestsPerHour } = key;
  const { tokensPerDay, tokensPerMonth, ownerTokensPerDay } = key;
  const { createdAt, expiresAt, lastUsedAt, revokedAt, previousHash, previousUntil } = key;
  return [
    ...[owner, id, name, scope, prefix, hash, requestsPerHour],
    ...[tokensPerDay, tokensPerMonth, ownerTokensPerDay],
    ...[createdAt, expiresAt, lastUsedAt, revokedAt, previousHash, previousUntil],
  ];
}

export function keyFromRow(row: SqlRow): ApiKeyRecord {
  return {
    id: String(row.id),
    owner: String(row.owner),
    name: String(row.name),
    scope: String(row.scope) as ApiKeyRecord["scope"],
    prefix: String(row.prefix),
    hash: String(row.hash),
    requestsPerHour: numberOrNull(row.requests_per_hour),
    tokensPerDay: numberOrNull(row.tokens_per_day),
    tokensPerMonth: numberOrNull(row.tokens_per_month),
    ownerTokensPerDay: numberOrNull(row.owner_tokens_per_day),
    createdAt: Number(row.created_at),
    expiresAt: numberOrNull(row.expires_at),
    lastUsedAt: numberOrNull(row.last_used_at),
    revokedAt: numberOrNull(row.revoked_at),
    previousHash: textOrNull(row.previous_hash),
    previousUntil: numberOrNull(row.previous_until),
  };
}

export const conversationColumns =
  "owner, id, twin_id, end_user, title, name, reply_id, log_length, path, last_message_id, last_message_at, answered_by, waiting_since, metadata, created_at, updated_at";

export function conversationToRow(conversation: ConversationRecord): SqlValue[] {
  const { owner, id, twinId, endUser, title, name, replyId, logLength, lastMessageId } = conversation;
  const { lastMessageAt, answeredBy, waitingSince, metadata, createdAt, updatedAt } = conversation;
  const messages = [logLength, null, lastMessageId, lastMessageAt, answeredBy, waitingSince];
  const pairs = metadataToColumn(metadata);
  return [owner, id, twinId, endUser, title, name, replyId, ...messages, pairs, createdAt, updatedAt];
}

/** Metadata as JSON. Null: no pairs. */
export function metadataToColumn(metadata: ConversationRecord["metadata"]): string | null {
  return Object.keys(metadata).length === 0 ? null : toJson(metadata);
}

export function conversationFromRow(row: SqlRow): ConversationRecord {
  return {
    id: String(row.id),
    owner: String(row.owner),
    twinId: String(row.twin_id),
    endUser: textOrNull(row.end_user),
    title: textOrNull(row.title),
    name: textOrNull(row.name),
    replyId: textOrNull(row.reply_id),
    messageCount: lengthOf(pathFromRow(row), Number(row.log_length)),
    logLength: Number(row.log_length),
    lastMessageId: textOrNull(row.last_message_id),
    lastMessageAt: numberOrNull(row.last_message_at),
    answeredBy: String(row.answered_by) as ConversationRecord["answeredBy"],
    waitingSince: numberOrNull(row.waiting_since),
    metadata: (fromJson(row.metadata) ?? {}) as ConversationRecord["metadata"],
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  };
}

/** The path of a conversation's row. */
export function pathFromRow(row: SqlRow): MessagePath {
  return fromJson(row.path) as MessagePath;
}

export const messageColumns =
  "id, conversation_id, role, alone, author, content, status, finish_reason, seq, after_id, token_usage, failure, sources, twin_revision, attempt, continued_from, rating, rating_comment, rated_at, pending_calls, created_at, completed_at";

/** Those that an earlier version stored have no document. */
function sourcesFromRow(row: SqlRow): MessageRecord["sources"] {
  const sources = fromJson(row.sources) as MessageRecord["sources"];
  return sources?.map((source) => ({ ...source, document: source.document ?? null })) ?? null;
}

export function messageFromRow(row: SqlRow): MessageRecord {
  const message: MessageRecord = {
    id: String(row.id),
    conversationId: String(row.conversation_id),
    role: String(row.role) as MessageRecord["role"],
    alone: Number(row.alone) === 1,
    author: textOrNull(row.author),
    content: String(row.content),
    status: String(row.status) as MessageRecord["status"],
    finishReason: textOrNull(row.finish_reason) as MessageRecord["finishReason"],
    seq: Number(row.seq),
    after: textOrNull(row.after_id),
    usage: fromJson(row.token_usage) as MessageRecord["usage"],
    error: fromJson(row.failure) as MessageRecord["error"],
    sources: sourcesFromRow(row),
    twinRevision: textOrNull(row.twin_revision),
    attempt: Number(row.attempt),
    continuedFrom: numberOrNull(row.continued_from),
    feedback:
      row.rated_at === null
        ? null
        : {
            rating: String(row.rating) as Feedback["rating"],
            comment: textOrNull(row.rating_comment),
            updatedAt: Number(row.rated_at),
          },
    createdAt: Number(row.created_at),
    completedAt: numberOrNull(row.completed_at),
  };
  if (row.pending_calls === null) return message;
  return { ...message, pendingCalls: fromJson(row.pending_calls) as PendingCall[] };
}

/** A message of a history, whose content is what is told. */
export function historyFromRow({ role, content, alone }: SqlRow): SeenMessage {
  const message = { role: String(role) as MessageRecord["role"], content: String(content) };
  return seenMessage({ ...message, alone: Number(alone ?? 0) === 1 }, null);
}

export function claimFromRow(row: SqlRow): MadeClaim {
  return { fingerprint: String(row.fingerprint), resourceId: String(row.resource_id) };
}

/** An object as JSON text. Stored as text and not as a database's own type, it is read back unchanged. */
export function toJson(value: object | null | undefined): string | null {
  return value ? JSON.stringify(value) : null;
}

/** What {@link toJson} made a text of. */
export function fromJson(value: unknown): unknown {
  return value === null ? null : JSON.parse(String(value));
}

export function textOrNull(value: unknown): string | null {
  return value === null ? null : String(value);
}

export function numberOrNull(value: unknown): number | null {
  return value === null ? null : Number(value);
}
