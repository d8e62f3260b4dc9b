/**
 * Records as clients see them: the fields that are public, times in ISO 8601, nothing else; and the events that tell a
 * stream's client what a reply does.
 *
 * @module
 */

import {
  type ApiKeyRecord,
  type ClientTokenRecord,
  type ConversationRecord,
  dayMs,
  type Feedback,
  lastUseOf,
  type MessageRecord,
  type PersonMemory,
  type RatedReply,
  type Source,
  type UnansweredQuestion,
} from "../store/records.ts";
import { type DeliveryRecord, type ListedWebhook, webhookEvents } from "../store/webhooks.ts";
import type { TwinProfile } from "../twins/twins.ts";
import { jsonPieces } from "./json.ts";
import type {
  ApiKeyResource,
  ClientTokenResource,
  ConversationResource,
  DeliveryResource,
  FeedbackResource,
  MemoryResource,
  MessageResource,
  RatedReplyResource,
  TwinResource,
  UnansweredQuestionResource,
  WebhookResource,
} from "./schemas.ts";
import { encodeEvent, encodeJson } from "./sse.ts";

// Twins are read often and rarely change; a changed twin is a new object.
const twinTexts = new WeakMap<TwinProfile, string>();

/** A twin as JSON. */
export function twinJson(twin: TwinProfile): string {
  const known = twinTexts.get(twin);
  if (known !== undefined) return known;
  const text = JSON.stringify(twinResource(twin));
  twinTexts.set(twin, text);
  return text;
}

function twinResource(twin: TwinProfile): TwinResource {
  return {
    id: twin.id,
    name: twin.name,
    description: twin.description,
    avatarUrl: twin.avatarUrl,
    greeting: twin.greeting,
    tags: [...twin.tags],
    handover: twin.handover,
    createdAt: timeOf(twin.createdAt),
    updatedAt: timeOf(twin.updatedAt),
  };
}

/** A conversation. `retentionDays`: after how many days without a message it is deleted; undefined: never. */
export function conversationResource(
  conversation: ConversationRecord,
  retentionDays: number | undefined,
): ConversationResource {
  return {
    id: conversation.id,
    twinId: conversation.twinId === "" ? null : conversation.twinId,
    endUser: conversation.endUser,
    title: conversation.title,
    status: conversation.replyId === null ? "idle" : "busy",
    messageCount: conversation.messageCount,
    lastMessageId: conversation.lastMessageId,
    lastMessageAt: timeOrNull(conversation.lastMessageAt),
    answeredBy: conversation.answeredBy,
    waitingSince: timeOrNull(conversation.waitingSince),
    expiresAt: retentionDays === undefined ? null : timeOf(lastUseOf(conversation) + retentionDays * dayMs),
    metadata: { ...conversation.metadata },
    createdAt: timeOf(conversation.createdAt),
    updatedAt: timeOf(conversation.updatedAt),
  };
}

function sourceResource({ heading, document, score }: Source): Source {
  return { heading, document, score };
}

export function messageResource(message: MessageRecord): MessageResource {
  return {
    id: message.id,
    conversationId: message.conversationId,
    role: message.role,
    author: message.author,
    content: message.content,
    status: message.status,
    finishReason: message.finishReason,
    after: message.after,
    inReplyTo: message.role === "assistant" && !message.alone ? message.after : null,
    usage: message.usage && { ...message.usage },
    error: message.error && { ...message.error },
    sources: message.sources?.map(sourceResource) ?? null,
    twinRevision: message.twinRevision,
    attempt: message.attempt,
    feedback: message.feedback && feedbackResource(message.feedback),
    pendingCalls: message.pendingCalls?.map((call) => ({ ...call })) ?? null,
    createdAt: timeOf(message.createdAt),
    completedAt: timeOrNull(message.completedAt),
  };
}

export function feedbackResource({ rating, comment, updatedAt }: Feedback): FeedbackResource {
  return { rating, comment, updatedAt: timeOf(updatedAt) };
}

export function ratedReplyResource(reply: RatedReply): RatedReplyResource {
  return {
    messageId: reply.messageId,
    conversationId: reply.conversationId,
    twinId: reply.twinId,
    endUser: reply.endUser,
    rating: reply.rating,
    comment: reply.comment,
    question: reply.question,
    content: reply.content,
    sources: reply.sources?.map(sourceResource) ?? null,
    twinRevision: reply.twinRevision,
    updatedAt: timeOf(reply.updatedAt),
  };
}

export function unansweredQuestionResource(asked: UnansweredQuestion): UnansweredQuestionResource {
  const { question, count, conversationId, messageId } = asked;
  return { question, count, lastAskedAt: timeOf(asked.lastAskedAt), conversationId, messageId };
}

export function memoryResource({ endUser, twinId, content, updatedAt }: PersonMemory): MemoryResource {
  return { endUser, twinId, content, updatedAt: timeOf(updatedAt) };
}

/** An API key. `now`: milliseconds; a previous secret whose time is over is none. */
export function apiKeyResource(key: ApiKeyRecord, now: number): ApiKeyResource {
  const { previousUntil } = key;
  return {
    id: key.id,
    name: key.name,
    scope: key.scope,
    prefix: key.prefix,
    requestsPerHour: key.requestsPerHour,
    tokensPerDay: key.tokensPerDay,
    tokensPerMonth: key.tokensPerMonth,
    createdAt: timeOf(key.createdAt),
    expiresAt: timeOrNull(key.expiresAt),
    lastUsedAt: timeOrNull(key.lastUsedAt),
    revokedAt: timeOrNull(key.revokedAt),
    previousUntil: timeOrNull(previousUntil !== null && previousUntil > now ? previousUntil : null),
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
    tokensPerDay: token.tokensPerDay,
    tokensPerMonth: token.tokensPerMonth,
    expiresAt: timeOf(token.expiresAt),
  };
}

/** A webhook, without its secrets. */
export function webhookResource(webhook: ListedWebhook): WebhookResource {
  const { lastDelivery } = webhook;
  return {
    id: webhook.id,
    url: webhook.url,
    events: [...(webhook.events ?? webhookEvents)],
    description: webhook.description,
    status: webhook.status,
    createdAt: timeOf(webhook.createdAt),
    lastDelivery: lastDelivery && { at: timeOf(lastDelivery.at), status: lastDelivery.status },
  };
}

export function deliveryResource(delivery: DeliveryRecord): DeliveryResource {
  return {
    id: delivery.id,
    event: delivery.event,
    createdAt: timeOf(delivery.createdAt),
    status: delivery.status,
    attempts: delivery.attempts,
    lastStatus: delivery.lastStatus,
    nextAttemptAt: timeOrNull(delivery.nextAttemptAt),
  };
}

/** A moment as clients see it: ISO 8601, in UTC, with milliseconds. Given in milliseconds since the epoch. */
export function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

function timeOrNull(milliseconds: number | null): string | null {
  return milliseconds === null ? null : timeOf(milliseconds);
}

/**
 * Writes the events of one stream. `offset`: how much of the reply the client has after the event, in UTF-16 code units.
 */
export interface ReplyEvents {
  /** The first event, before any text. `id` is the reply's, `questionId` the user's message's, if there is one. */
  accepted(reply: { readonly id: string; readonly questionId: string | null }, offset: number): string;
  /** An engine's progress, as JSON. */
  progress(progress: string, offset: number): string;
  /**
   * The reply goes on from this length, in another attempt or to its end, so that the client has to cut its text back.
   * Undefined: it cannot be told, and keeps what it has; the last event has the whole text.
   */
  continued(from: number, attempt: number): string | undefined;
  /** More text, as JSON. */
  delta(json: string, offset: number): string;
  /** The last events, in pieces to be made as they are sent: each may have all of the text. */
  ended(message: MessageRecord, offset: number): Iterable<string>;
  /** What is told in silence, for clients that do not see comments. Absent: a comment is sent. */
  silence?(): string;
  /** What a stream ends with whose process stops, while the reply goes on elsewhere. Empty: clients resume it there. */
  released(): string;
}

/** An event in pieces, which are made as they are sent. */
function* eventPieces(id: number | string | undefined, data: object): Iterable<string> {
  let text = id === undefined ? "data: " : `id: ${id}\ndata: `;
  let isFirst = true;
  for (const piece of jsonPieces(data, encodeJson)) {
    if (!isFirst) yield text;
    text = isFirst ? text + piece : piece;
    isFirst = false;
  }
  yield `${text}\n\n`; // one that is short is one piece
}

/** The events of this service's own API. */
export class OwnEvents implements ReplyEvents {
  readonly #requestId: string;

  /** `requestId`: for the error event of a reply that failed. */
  constructor(requestId: string) {
    this.#requestId = requestId;
  }

  accepted(
    { id, questionId }: { readonly id: string; readonly questionId: string | null },
    offset: number,
  ): string {
    // Ids need no escaping.
    const question = questionId === null ? "null" : `"${questionId}"`;
    const accepted = `{"stage":"accepted","messageId":"${id}","userMessageId":${question}}`;
    return this.progress(accepted, offset);
  }

  /** All events of a question that waits for a person. */
  waiting(question: MessageRecord): string {
    const progress = this.progress(encodeJson({ stage: "waiting", userMessageId: question.id }), 0);
    return progress + encodeEvent(0, encodeJson({ type: "complete", message: messageResource(question) }));
  }

  progress(progress: string, offset: number): string {
    return encodeEvent(offset, `{"type":"progress","progress":${progress}}`);
  }

  continued(from: number, attempt: number): string {
    return this.progress(encodeJson({ stage: "continued", from, attempt }), from);
  }

  delta(json: string, offset: number): string {
    return encodeEvent(offset, `{"type":"delta","content":${json}}`);
  }

  *ended(message: MessageRecord, offset: number): Iterable<string> {
    if (message.error === null) {
      yield* eventPieces(message.content.length, { type: "complete", message: messageResource(message) });
      return;
    }
    const error = { ...message.error, details: { messageId: message.id }, requestId: this.#requestId };
    yield encodeEvent(offset, encodeJson({ type: "error", error }));
  }

  released(): string {
    return "";
  }
}

/** The events of a conversation's stream. */
export class ConversationEvents {
  readonly #requestId: string;
  readonly #retentionDays: number | undefined;
  #id: string | undefined;
  /** Whether a reply's stream ended because this process stops. */
  released = false;

  /** `id`: that of the event which the client had before. */
  constructor(requestId: string, id: string | undefined, retentionDays: number | undefined) {
    this.#requestId = requestId;
    this.#retentionDays = retentionDays;
    this.#id = id;
  }

  conversation(conversation: ConversationRecord): string {
    const resource = conversationResource(conversation, this.#retentionDays);
    return this.#event(this.#id, { type: "conversation", conversation: resource });
  }

  /** In pieces, as it may have a long text. */
  message(message: MessageRecord, id: string): Iterable<string> {
    this.#id = id;
    return eventPieces(id, { type: "message", message: messageResource(message) });
  }

  deleted(): string {
    return this.#event(this.#id, { type: "deleted" });
  }

  /** The events of a reply in this stream. */
  ofReply({ id: messageId, seq }: MessageRecord): ReplyEvents {
    const progressed = (progress: string, offset: number) =>
      this.#json(`${seq}.${offset}`, `{"type":"progress","messageId":"${messageId}","progress":${progress}}`);
    const ended = (message: MessageRecord) => {
      const error = message.error && { ...message.error, details: { messageId }, requestId: this.#requestId };
      const end = error ? { type: "error", messageId, error } : { type: "complete", messageId };
      this.#id = `${seq}.${message.content.length + 1}`;
      return eventPieces(this.#id, { ...end, message: messageResource(message) });
    };
    return {
      accepted: () => "",
      progress: progressed,
      continued: (from, attempt) => progressed(encodeJson({ stage: "continued", from, attempt }), from),
      delta: (json, offset) =>
        this.#json(`${seq}.${offset}`, `{"type":"delta","messageId":"${messageId}","content":${json}}`),
      ended,
      released: () => {
        this.released = true;
        return "";
      },
    };
  }

  #event(id: string | undefined, data: object): string {
    return this.#json(id, encodeJson(data));
  }

  #json(id: string | undefined, json: string): string {
    this.#id = id;
    return id === undefined ? `data: ${json}\n\n` : encodeEvent(id, json);
  }
}
