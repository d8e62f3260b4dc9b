/**
 * Records as clients see them: the fields that are public, times in ISO 8601, nothing else.
 *
 * @module
 */

import { isoTime } from "../base/clock.ts";
import type { ApiKeyRecord, ConversationRecord, MessageRecord } from "../store/records.ts";
import type { Twin } from "../twins/twins.ts";
import type { ApiKeyResource, ConversationResource, MessageResource, TwinResource } from "./schemas.ts";

// Twins are read often and rarely change; a changed twin is a new object.
const twinTexts = new WeakMap<Twin, string>();

/** A twin as JSON. */
export function twinJson(twin: Twin): string {
  const known = twinTexts.get(twin);
  if (known !== undefined) return known;
  const text = JSON.stringify(twinResource(twin));
  twinTexts.set(twin, text);
  return text;
}

function twinResource(twin: Twin): TwinResource {
  return {
    id: twin.id,
    name: twin.name,
    description: twin.description,
    avatarUrl: twin.avatarUrl,
    greeting: twin.greeting,
    tags: [...twin.tags],
    createdAt: isoTime(twin.createdAt),
    updatedAt: isoTime(twin.updatedAt),
  };
}

export function conversationResource(conversation: ConversationRecord): ConversationResource {
  return {
    id: conversation.id,
    twinId: conversation.twinId,
    endUser: conversation.endUser,
    title: conversation.title,
    status: conversation.replyId === null ? "idle" : "busy",
    messageCount: conversation.messageCount,
    lastMessageAt: isoTimeOrNull(conversation.lastMessageAt),
    createdAt: isoTime(conversation.createdAt),
    updatedAt: isoTime(conversation.updatedAt),
  };
}

export function messageResource(message: MessageRecord): MessageResource {
  return {
    id: message.id,
    conversationId: message.conversationId,
    role: message.role,
    content: message.content,
    status: message.status,
    finishReason: message.finishReason,
    inReplyTo: message.inReplyTo,
    usage: message.usage && { ...message.usage },
    error: message.error && { ...message.error },
    sources: message.sources?.map(({ heading, score }) => ({ heading, score })) ?? null,
    twinRevision: message.twinRevision,
    attempt: message.attempt,
    createdAt: isoTime(message.createdAt),
    completedAt: isoTimeOrNull(message.completedAt),
  };
}

export function apiKeyResource(key: ApiKeyRecord): ApiKeyResource {
  return {
    id: key.id,
    name: key.name,
    scope: key.scope,
    prefix: key.prefix,
    createdAt: isoTime(key.createdAt),
    expiresAt: isoTimeOrNull(key.expiresAt),
    lastUsedAt: isoTimeOrNull(key.lastUsedAt),
    revokedAt: isoTimeOrNull(key.revokedAt),
  };
}

function isoTimeOrNull(milliseconds: number | null): string | null {
  return milliseconds === null ? null : isoTime(milliseconds);
}
