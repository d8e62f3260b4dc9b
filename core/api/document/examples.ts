/**
 * The examples of the OpenAPI document: one conversation, as each operation sees it.
 *
 * @module
 */

import type { ErrorCode } from "../../wire/errors.ts";

const createdAt = "2026-07-01T09:30:00.000Z";
const completedAt = "2026-07-01T09:30:02.500Z";
const unique = "01jz2k7m4q8r5t9v0w3x6y1z2a";
const requestId = `req_${unique}`;
const endUser = "user-17";
const counts = { inputTokens: 212, outputTokens: 5, cachedInputTokens: 128 };

const twin = {
  id: "ada",
  name: "Ada",
  description: "Answers questions about the first computers.",
  avatarUrl: null,
  greeting: "Hello. What would you like to know?",
  tags: ["history"],
  handover: false,
  createdAt,
  updatedAt: createdAt,
};

const conversation = {
  id: `conv_${unique}`,
  twinId: twin.id,
  endUser,
  title: "The first program",
  status: "idle",
  messageCount: 2,
  lastMessageId: `msg_${unique}`,
  lastMessageAt: completedAt,
  answeredBy: "twin",
  waitingSince: null,
  expiresAt: null,
  metadata: { ticket: "4711" },
  createdAt,
  updatedAt: completedAt,
};

const message = {
  id: `msg_${unique}`,
  conversationId: conversation.id,
  role: "assistant",
  author: null,
  content: "It computed Bernoulli numbers.",
  status: "completed",
  finishReason: "stop",
  after: "msg_01jz2k7m4p0n2b4c6d8e1f3g5h",
  inReplyTo: "msg_01jz2k7m4p0n2b4c6d8e1f3g5h",
  usage: { ...counts, totalTokens: 217 },
  error: null,
  sources: [{ heading: "Note G", document: "letters/1843.pdf", score: 0.92 }],
  twinRevision: "9f2c41d07be85a36",
  attempt: 1,
  feedback: { rating: "up", comment: null, updatedAt: completedAt },
  pendingCalls: null,
  createdAt,
  completedAt,
};

const ratedReply = {
  messageId: message.id,
  conversationId: conversation.id,
  twinId: twin.id,
  endUser,
  ...message.feedback,
  question: "What did the first program compute?",
  content: message.content,
  sources: message.sources,
  twinRevision: message.twinRevision,
};

const unanswered = {
  question: "Who built the engine?",
  count: 3,
  lastAskedAt: createdAt,
  conversationId: conversation.id,
  messageId: message.id,
};

const memory = {
  endUser,
  twinId: twin.id,
  content: "Her name is Mary. She teaches mathematics.",
  updatedAt: createdAt,
};

const apiKey = {
  id: `key_${unique}`,
  name: "my app",
  scope: "full_access",
  prefix: "twin_7Kq2mXv",
  requestsPerHour: null,
  tokensPerDay: null,
  tokensPerMonth: 5_000_000,
  createdAt,
  expiresAt: null,
  lastUsedAt: null,
  revokedAt: null,
  previousUntil: null,
};

const version = {
  version: 3,
  revision: message.twinRevision,
  createdAt,
  note: "Says when we close",
};

const tests = {
  passed: 4,
  failed: [{ question: "When do you close?", expected: 'an answer with "six"', answer: "We open at nine." }],
};

/** The bytes of a body, or of an answer, by media type. */
export const bytesExamples: Readonly<Record<string, string>> = {
  "text/markdown": "---\nname: Ada\n---\n\n## Opening hours\n\nWe open at nine.\n",
  "text/plain": "---\nname: Ada\n---\n",
  "application/octet-stream": "# Prices\n\nA coffee is 3 euros.\n",
};

const webhook = {
  id: `hook_${unique}`,
  url: "https://app.example.com/hooks/twins",
  events: ["reply.completed", "conversation.waiting"],
  description: "my app",
  status: "active",
  createdAt,
  lastDelivery: { at: completedAt, status: "delivered" },
};

const delivery = {
  id: `dlv_${unique}${unique}`,
  event: "reply.completed",
  createdAt: completedAt,
  status: "delivered",
  attempts: 1,
  lastStatus: 204,
  nextAttemptAt: null,
};

/** A value of each schema, by the name of its component; of a line of an export, which is none. */
export const examples: Readonly<Record<string, unknown>> = {
  Twin: twin,
  Conversation: conversation,
  Message: message,
  ApiKey: apiKey,
  CreatedApiKey: { ...apiKey, key: "twin_7Kq2mXv…" },
  ClientToken: {
    token: "twinct_…",
    endUser,
    twinIds: [twin.id],
    scope: "full_access",
    requestsPerHour: 100,
    tokensPerDay: 20_000,
    tokensPerMonth: null,
    expiresAt: "2026-07-01T09:40:00.000Z",
  },
  Webhook: webhook,
  CreatedWebhook: { ...webhook, lastDelivery: null, secret: "whsec_…" },
  Delivery: delivery,
  CreateWebhook: { url: webhook.url, events: webhook.events, description: webhook.description },
  Memory: memory,
  TwinVersion: { twinId: twin.id, ...version, tests },
  ListedTwinVersion: { ...version, current: true },
  TwinDocument: { path: "letters/1843.pdf", bytes: 48_213, updatedAt: createdAt },
  TwinCheck: { faults: [{ path: "name", line: 1, message: "name is missing." }], tests: null },
  TeachTwin: { question: "When do you close?", answer: "At six.", heading: "Opening hours" },
  Erasure: { endUser, conversations: 1, messages: 2, clientTokens: 1 },
  ExportLine: { conversation },
  Usage: {
    ...{ scope: "full_access", limit: 500, remaining: 499, resetAt: completedAt },
    budgets: [
      {
        ...{ scope: "key", period: "month", limit: 5_000_000, used: 1_203, reserved: 0 },
        resetAt: "2026-08-01T00:00:00.000Z",
      },
    ],
  },
  UsageSum: { group: "2026-07-01", replies: 1, ...counts },
  Pagination: { page: 1, limit: 20, total: 1, totalPages: 1, hasMore: false },
  CreateConversation: { twinId: twin.id, endUser, title: conversation.title },
  UpdateConversation: { title: conversation.title },
  SendMessage: { content: "What did the first program compute?" },
  RateMessage: { rating: "down", comment: "Out of date." },
  Feedback: message.feedback,
  RatedReply: ratedReply,
  UnansweredQuestion: unanswered,
  CreateApiKey: { name: apiKey.name, scope: apiKey.scope },
  RotateApiKey: { overlapSeconds: 3_600 },
  WriteMemory: { content: memory.content },
  CreateClientToken: { endUser, twinIds: [twin.id] },
};

/** A stream's events, one of each type. */
export const eventExamples = {
  progress: {
    value: {
      type: "progress",
      progress: { stage: "accepted", messageId: message.id, userMessageId: message.inReplyTo },
    },
  },
  delta: { value: { type: "delta", content: "It computed " } },
  complete: { value: { type: "complete", message } },
  error: {
    value: {
      type: "error",
      error: { code: "model_error", message: "The twin's model failed to reply.", requestId },
    },
  },
};

/** The events of a conversation's stream, one of each type. */
export const conversationEventExamples = {
  conversation: { value: { type: "conversation", conversation } },
  message: { value: { type: "message", message } },
  progress: {
    value: { type: "progress", messageId: message.id, progress: { stage: "sources", sources: [] } },
  },
  delta: { value: { type: "delta", messageId: message.id, content: "It computed " } },
  complete: { value: { type: "complete", messageId: message.id, message } },
  error: {
    value: {
      ...eventExamples.error.value,
      messageId: message.id,
      message: { ...message, status: "failed", finishReason: "error" },
    },
  },
  deleted: { value: { type: "deleted" } },
};

const errorMessages: Readonly<Record<ErrorCode, string>> = {
  invalid_request: "Authorization and X-API-Key differ: send one of them.",
  invalid_json: "The body is not valid JSON.",
  validation_error: "content is required.",
  idempotency_not_supported: "A secret cannot be shown twice; send the request without Idempotency-Key.",
  tests_failed: "1 of 5 golden questions are not answered as they should be.",
  missing_credentials: 'Send an API key, as "Authorization: Bearer <key>" or as "X-API-Key: <key>".',
  invalid_api_key: "The API key or client token is not valid. Keys begin with twin_; a JWT creates them.",
  invalid_token: "The token has expired.",
  insufficient_scope: "This needs an API key with the scope full_access.",
  cross_site_request: "Pages of this origin may not call this endpoint.",
  not_found: "There is nothing at this path.",
  twin_not_found: "There is no twin with this id.",
  conversation_not_found: "There is no conversation with this id.",
  message_not_found: "There is no such message in this conversation.",
  api_key_not_found: "There is no API key with this id.",
  memory_not_found: "The twin knows nothing of this person.",
  version_not_found: "The twin has no such version, or it is not kept any more.",
  document_not_found: "The twin has no document with this path.",
  webhook_not_found: "There is no webhook with this id.",
  delivery_not_found: "The webhook has no delivery with this id.",
  method_not_allowed: "This path takes GET, POST.",
  request_timeout: "The body came too slowly: after 5 seconds, send 64 KiB a second or more.",
  conversation_busy: "The conversation is busy with a reply; wait for its end or cancel it.",
  answered_by_person:
    "A person answers in this conversation, for whom a message cannot wait here; nothing was stored.",
  key_limit_reached: "You already have 50 live API keys; revoke one first.",
  webhook_limit_reached: "You already have 10 webhooks; delete one first.",
  webhook_disabled: "The webhook is disabled; rotate its secret first.",
  too_many_branches:
    "The conversation has 1000 branches already; go on at the end of one, or begin a conversation.",
  twin_exists: "The operator has a twin with this id; choose another.",
  twin_limit_reached: "You already have 100 twins of your own; delete one first.",
  revision_mismatch: "The twin has another revision than If-Match names: read it again.",
  payload_too_large: "The body is longer than 262144 bytes.",
  uri_too_long: "The path and query are longer than 8192 characters.",
  unsupported_media_type: "Send the body with Content-Type: application/json.",
  idempotency_key_reused:
    "This Idempotency-Key was used with other fields; send the same fields, or another key.",
  rate_limited: "The hourly limit of 500 requests is used up for now.",
  budget_exceeded:
    "All of the key's 5000000 tokens a month are used or reserved; there are new ones from 2026-08-01 on.",
  too_many_running: "10 replies are running already; wait until one has ended, or cancel one.",
  too_many_streams: "You have 100 streams of conversations open; close one first.",
  headers_too_large: "The header section is longer than 32768 bytes.",
  internal_error: "Something went wrong on the server.",
  model_error: "The twin's model failed to reply.",
  unavailable: "The service's store cannot be reached right now.",
  shutting_down: "The server is shutting down; send the request again elsewhere.",
  model_timeout: "The twin's model took too long to reply.",
};

const errorDetails: Readonly<Partial<Record<ErrorCode, unknown>>> = {
  validation_error: { fields: [{ path: "content", message: "is required" }] },
  tests_failed: tests,
  conversation_busy: { messageId: message.id },
  rate_limited: { retryAfterSeconds: 8, limit: 500 },
  budget_exceeded: { scope: "key", limit: 5_000_000, resetAt: "2026-08-01T00:00:00.000Z" },
  too_many_running: { limit: 10 },
  model_error: { messageId: message.id },
  model_timeout: { messageId: message.id },
};

/** An error's body. */
export function errorExample(code: ErrorCode): unknown {
  const { [code]: details } = errorDetails;
  const message = errorMessages[code];
  return { error: { code, message, ...(details !== undefined && { details }), requestId } };
}
