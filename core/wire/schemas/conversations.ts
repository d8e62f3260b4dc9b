/**
 * Conversations, messages, and what streams tell of them.
 *
 * @module
 */

import { answerers } from "../../store/records.ts";
import type { EngineProgress } from "../../twins/engine.ts";
import type { ErrorObject } from "../errors.ts";
import { type FromSchema, type InputSchema, orNull, record } from "./schema.ts";
import {
  anyTextPattern,
  endUser,
  id,
  pageQuerySchema,
  stringOrNull,
  text,
  textOrNonePattern,
  time,
  timeOrNull,
} from "./values.ts";

const answerer = { type: "string", enum: answerers } as const;

export const conversationSchema = record({
  id,
  twinId: {
    ...stringOrNull,
    description: "Null: it was begun by a client of OpenAI, and its first response chooses one.",
  },
  endUser: { ...stringOrNull, description: "Your own id of the person who talks, if you gave one." },
  title: stringOrNull,
  status: {
    type: "string",
    enum: ["idle", "busy"],
    description: "Busy while a reply is in progress.",
  },
  messageCount: { type: "integer", minimum: 0, description: "How many messages are on the current path." },
  lastMessageId: {
    type: ["string", "null"],
    description: "The end of the current path. Null: no message yet.",
  },
  lastMessageAt: { ...timeOrNull, description: "Null: no message yet." },
  answeredBy: {
    ...answerer,
    description: "Who answers. While a person does, questions are stored without a reply.",
  },
  waitingSince: {
    ...timeOrNull,
    description: "When the oldest question was asked that waits for a person. Null: none does.",
  },
  expiresAt: {
    ...timeOrNull,
    description: "From when on it is deleted, unless another message comes. Null: never.",
  },
  metadata: {
    type: "object",
    additionalProperties: { type: "string" },
    description: "Your own pairs of names and values.",
  },
  createdAt: time,
  updatedAt: time,
});

/** Why a reply failed. */
export const failureSchema = record({
  code: { type: "string", enum: ["model_error", "model_timeout", "interrupted"] },
  message: { type: "string" },
});

/** What a person thinks of a reply. */
export const feedbackSchema = record({
  rating: { type: "string", enum: ["up", "down"] },
  comment: stringOrNull,
  updatedAt: time,
});

export const messageSchema = record({
  id,
  conversationId: id,
  role: { type: "string", enum: ["user", "assistant"] },
  author: {
    ...stringOrNull,
    description: "Who said it in the twin's place, as far as named. Null for all else.",
  },
  content: { type: "string", description: "Of a reply in Markdown, as far as it is stored." },
  status: {
    type: "string",
    enum: ["in_progress", "completed", "cancelled", "failed"],
    description: "Changes once, from in_progress to one of the others.",
  },
  finishReason: orNull(
    { type: "string", enum: ["stop", "length", "content_filter", "tool_calls", "cancelled", "error"] },
    "Why the reply has ended. Null: it has not, or the message is a question.",
  ),
  after: {
    type: ["string", "null"],
    description:
      "The id of the message that it follows: a reply's question; what another message goes on from, or null at the beginning.",
  },
  inReplyTo: {
    type: ["string", "null"],
    description: "The id of the user's message that a twin's reply answers.",
  },
  usage: orNull(
    record({
      inputTokens: { type: "integer", minimum: 0 },
      outputTokens: { type: "integer", minimum: 0 },
      totalTokens: { type: "integer", minimum: 0 },
      cachedInputTokens: {
        type: ["integer", "null"],
        minimum: 0,
        description: "Those of the input that the model had in its cache. Null: it does not say.",
      },
    }),
    "The tokens that the reply took. Null: they were not counted.",
  ),
  error: orNull(failureSchema, "Why the reply failed. Null: it did not."),
  sources: orNull(
    {
      type: "array",
      items: record({
        heading: { type: "string" },
        document: {
          type: ["string", "null"],
          description:
            "The path of the document in the twin's folder that the section is of. Null: the twin's own text, or not known.",
        },
        score: { type: "number", description: "How well it fits the question, from 0 to 1." },
      }),
    },
    "The sections of the twin's knowledge that a reply was made of. Empty: none fitted. Null: its engine names none.",
  ),
  twinRevision: {
    type: ["string", "null"],
    description: "What the twin was when it replied: 16 hexadecimal digits that change with its content.",
  },
  attempt: {
    type: "integer",
    minimum: 1,
    description: "One more for each process that took the reply over from another one.",
  },
  feedback: orNull(feedbackSchema, "What the person thinks of the reply. Null: nothing was said."),
  pendingCalls: orNull(
    {
      type: "array",
      items: record({
        callId: { type: "string" },
        name: { type: "string", description: "The tool, such as orders/cancel." },
        arguments: { type: "object", additionalProperties: {}, description: "What it is to be called with." },
      }),
    },
    "Calls that wait for the person: the next message behind the reply decides. Null: none do.",
  ),
  createdAt: time,
  completedAt: { ...timeOrNull, description: "Null: it has not ended." },
});

/** An id of an object, which need not exist. */
const reference = { type: "string", pattern: anyTextPattern } as const;

const metadata = {
  type: "object",
  maxProperties: 16,
  propertyNames: { type: "string", pattern: anyTextPattern, minLength: 1, maxLength: 64 },
  additionalProperties: { type: "string", pattern: anyTextPattern, minLength: 0, maxLength: 512 },
} as const;

export const createConversationSchema = {
  type: "object",
  properties: {
    twinId: { ...text, maxLength: 255, description: "The twin to talk to." },
    endUser: { ...endUser, description: "Your own id of the person who talks." },
    title: {
      ...text,
      type: ["string", "null"],
      maxLength: 200,
      description: "What lists call it. Null: nothing.",
    },
    metadata: {
      ...metadata,
      type: ["object", "null"],
      description: "Your own pairs of names and values, by which lists find it. Null: none.",
    },
  },
  required: ["twinId"],
} as const satisfies InputSchema;

export const updateConversationSchema = {
  type: "object",
  properties: {
    title: createConversationSchema.properties.title,
    lastMessageId: {
      ...reference,
      description:
        "An ended reply of the conversation, or what was stored without one, on any branch: its path becomes the current one.",
    },
    answeredBy: {
      ...answerer,
      description: "Who answers from now on. twin: what waits for a person gets no reply.",
    },
    metadata: {
      ...createConversationSchema.properties.metadata,
      description: "Your own pairs of names and values, in place of those before. Null: none.",
    },
  },
} as const satisfies InputSchema;

export const sendMessageSchema = {
  type: "object",
  properties: {
    content: {
      type: "string",
      pattern: textOrNonePattern,
      minLength: 0,
      maxLength: 32_000,
      description: "What the person says. May be empty, or left out, with calls.",
    },
    calls: {
      type: "object",
      maxProperties: 64,
      propertyNames: { type: "string", minLength: 1, maxLength: 128, pattern: anyTextPattern },
      additionalProperties: { type: "string", enum: ["approve", "deny"] },
      description:
        "What the person decides of the pendingCalls of the reply that the message goes on from, by their callId. Those that are left out do not run.",
    },
    after: {
      ...reference,
      type: ["string", "null"],
      description:
        "What the message goes on from, on any branch: an ended reply, or what was stored without one; or null: from the beginning. Default: the end of the current path.",
    },
    role: {
      type: "string",
      enum: ["user", "assistant"],
      description: "assistant: what a person says in the twin's place. Default: user.",
    },
    author: { ...text, maxLength: 100, description: "Who says it. Only with the role assistant." },
    answeredBy: { ...answerer, description: "Who answers from now on. Only with the role assistant." },
    reply: { type: "boolean", description: "false: a question is stored without a reply. Default: true." },
    whenBusy: {
      type: "string",
      enum: ["refuse", "replace"],
      description:
        "What happens to a running reply. refuse: the message is refused, the default. replace: the reply is cancelled, and the message follows it.",
    },
  },
} as const satisfies InputSchema;

export const rateMessageSchema = {
  type: "object",
  properties: {
    rating: { type: "string", enum: ["up", "down"], description: "What the person thinks of the reply." },
    comment: { ...text, type: ["string", "null"], maxLength: 1000, description: "Why. Null: no comment." },
  },
  required: ["rating"],
} as const satisfies InputSchema;

export const conversationsQuerySchema = {
  type: "object",
  properties: {
    ...pageQuerySchema.properties,
    twinId: { ...text, description: "Only conversations with this twin." },
    endUser: { ...endUser, description: "Only conversations of this end user." },
    answeredBy: { ...answerer, description: "Only conversations in which this one answers." },
    waiting: {
      type: "string",
      enum: ["true"],
      description: "Only conversations in which a question waits for a person, the longest first.",
    },
    metadata: { ...metadata, description: "Only conversations with these pairs." },
  },
} as const satisfies InputSchema;

export const messagesQuerySchema = {
  type: "object",
  properties: {
    ...pageQuerySchema.properties,
    order: {
      type: "string",
      enum: ["asc", "desc"],
      default: "asc",
      description: "Oldest first, or (desc) newest first.",
    },
    after: {
      ...text,
      description: "Start after the message with this id, in the given order.",
    },
    path: {
      type: "string",
      enum: ["all"],
      description:
        "The messages of all branches, in the order they were stored. Default: those of the current path.",
    },
  },
} as const satisfies InputSchema;

export const streamQuerySchema = {
  type: "object",
  properties: {
    after: {
      type: "integer",
      minimum: 0,
      maximum: 999_999_999,
      description:
        "Resume after this many UTF-16 code units of the reply: the id of the last event received.",
    },
  },
} as const satisfies InputSchema;

export const conversationStreamQuerySchema = {
  type: "object",
  properties: {
    after: {
      type: "string",
      pattern: "^(\\d{1,9}\\.\\d{1,9}|msg_[0-9a-z]{1,60})$",
      description:
        "Begin behind this event or message: the id of the last event received, or a message's id.",
    },
  },
} as const satisfies InputSchema;

/** A conversation as clients see it: `busy` while a reply is in progress. */
export type ConversationResource = FromSchema<typeof conversationSchema>;

/** A message as clients see it: the same in answers, in history and in the `complete` event of a stream. */
export type MessageResource = FromSchema<typeof messageSchema>;

/** What a person thinks of a reply. */
export type FeedbackResource = FromSchema<typeof feedbackSchema>;

/** The data of an event of a stream, by its `type`. `delta` continues the reply; `complete` and `error` end it. */
export type StreamEventData =
  | { readonly type: "progress"; readonly progress: EngineProgress }
  | { readonly type: "delta"; readonly content: string }
  | { readonly type: "complete"; readonly message: MessageResource }
  | { readonly type: "error"; readonly error: ErrorObject };

/**
 * The data of an event of a conversation's stream, by its `type`. `message` is a question, a reply as it begins, or one that
 * has ended meanwhile; `deleted` ends the stream.
 */
export type ConversationEventData =
  | { readonly type: "conversation"; readonly conversation: ConversationResource }
  | { readonly type: "message"; readonly message: MessageResource }
  | { readonly type: "progress"; readonly messageId: string; readonly progress: EngineProgress }
  | { readonly type: "delta"; readonly messageId: string; readonly content: string }
  | { readonly type: "complete"; readonly messageId: string; readonly message: MessageResource }
  | {
      readonly type: "error";
      readonly messageId: string;
      readonly error: ErrorObject;
      readonly message: MessageResource;
    }
  | { readonly type: "deleted" };
