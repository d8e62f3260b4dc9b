/**
 * Records as clients see them: the fields that are public, times in ISO 8601, nothing else.
 *
 * @module
 */

import type { ApiKeyRecord, ClientTokenRecord, ConversationRecord, MessageRecord } from "../store/records.ts";
import type { Twin } from "../twins/twins.ts";
import type {
  ApiKeyResource,
  ClientTokenResource,
  ConversationResource,
  MessageResource,
  TwinResource,
} from "./schemas.ts";

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
    createdAt: time(twin.createdAt),
    updatedAt: time(twin.updatedAt),
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
    lastMessageAt: timeOrNull(conversation.lastMessageAt),
    createdAt: time(conversation.createdAt),
    updatedAt: time(conversation.updatedAt),
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
    createdAt: time(message.createdAt),
    completedAt: timeOrNull(message.completedAt),
  };
}

export function apiKeyResource(key: ApiKeyRecord): ApiKeyResource {
  return {
    id: key.id,
    name: key.name,
    scope: key.scope,
    prefix: key.prefix,
    createdAt: time(key.createdAt),
    expiresAt: timeOrNull(key.expiresAt),
    lastUsedAt: timeOrNull(key.lastUsedAt),
    revokedAt: timeOrNull(key.revokedAt),
  };
}

/** A client token in the answer to its creation. */
export function clientTokenResource(token: ClientTokenRecord, secret: string): ClientTokenResource {
  return {
    token: secret,
    endUser: token.endUser,
    twinIds: token.twinIds && [...token.twinIds],
    scope: token.scope,
    requestsPerHour: token.requestsPerHour,
    expiresAt: time(token.expiresAt),
  };
}

/** Milliseconds since the epoch in ISO 8601: UTC with milliseconds. */
function time(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

function timeOrNull(milliseconds: number | null): string | null {
  return milliseconds === null ? null : time(milliseconds);
}
