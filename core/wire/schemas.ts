/**
 * The JSON Schemas (2020-12) of all requests and answers. Each is the single source of its TypeScript type, its
 * validation and its component in the OpenAPI document.
 *
 * @module
 */

import { isString } from "../base/json.ts";
import type { Rule } from "../base/rules.ts";
import { answerers, scopes } from "../store/records.ts";
import { tokenBudgetPeriods, tokenBudgetRange, tokenBudgetScopes } from "../store/token-budgets.ts";
import { webhookEvents } from "../store/webhooks.ts";
import type { EngineProgress } from "../twins/engine.ts";
import type { ErrorObject } from "./errors.ts";

/** The subset of JSON Schema that the service uses. */
export interface Schema {
  readonly type?: JsonType | readonly JsonType[];
  readonly anyOf?: readonly Schema[];
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly format?: "date-time";
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxProperties?: number;
  readonly propertyNames?: Schema;
  readonly additionalProperties?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** A body or a query: an object of values, or of lists of them. */
export interface InputSchema extends Schema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, ValueSchema>>;
}

/** A value that contains no others, or a list or an object of such. */
export interface ValueSchema extends Omit<Schema, "anyOf" | "items" | "properties" | "required"> {
  readonly type: ValueType | readonly ValueType[];
  readonly items?: ValueSchema;
  readonly propertyNames?: ValueSchema;
  readonly additionalProperties?: ValueSchema;
}

export type ValueType = "string" | "integer" | "boolean" | "array" | "object" | "null";

/** The types of JSON Schema. */
export type JsonType = "string" | "integer" | "number" | "boolean" | "array" | "object" | "null";

/** The TypeScript type of the values that a schema describes. */
export type FromSchema<S> = object extends S
  ? unknown
  : S extends { readonly anyOf: readonly (infer Each)[] }
    ? FromSchema<Each>
    : S extends { readonly enum: readonly (infer Value)[] }
      ? Value
      : S extends { readonly type: readonly (infer Type)[] }
        ? { [Each in Type & string]: FromSchema<Omit<S, "type"> & { readonly type: Each }> }[Type & string]
        : S extends { readonly type: "string" }
          ? string
          : S extends { readonly type: "integer" | "number" }
            ? number
            : S extends { readonly type: "boolean" }
              ? boolean
              : S extends { readonly type: "null" }
                ? null
                : S extends { readonly type: "array"; readonly items: infer Item }
                  ? FromSchema<Item>[]
                  : S extends { readonly type: "object"; readonly additionalProperties: infer Value }
                    ? Record<string, FromSchema<Value>>
                    : S extends { readonly type: "object"; readonly properties: infer Properties }
                      ? FromProperties<
                          Properties,
                          S extends { readonly required: readonly (infer Name)[] } ? Name : never
                        >
                      : never;

/** Required members are always present, and so are those with a default: it is filled in on reading. */
type FromProperties<Properties, Required> = {
  -readonly [Name in keyof Properties as IsPresent<Properties, Name, Required> extends true
    ? Name
    : never]: FromSchema<Properties[Name]>;
} & {
  -readonly [Name in keyof Properties as IsPresent<Properties, Name, Required> extends true
    ? never
    : Name]?: FromSchema<Properties[Name]>;
};

type IsPresent<Properties, Name extends keyof Properties, Required> = Name extends Required
  ? true
  : Properties[Name] extends { readonly default: unknown }
    ? true
    : false;

const id = { type: "string" } as const;
const time = { type: "string", format: "date-time", description: "UTC with milliseconds." } as const;
const timeOrNull = { type: ["string", "null"], format: "date-time" } as const;
const stringOrNull = { type: ["string", "null"] } as const;
const scope = { type: "string", enum: scopes } as const;
const tokens = {
  type: ["integer", "null"],
  minimum: tokenBudgetRange[0],
  maximum: tokenBudgetRange[1],
} as const;
const tokensShown = {
  type: ["integer", "null"],
  description: "How many tokens replies may take in this time. Null: no limit.",
} as const;
const answerer = { type: "string", enum: answerers } as const;

/** A value or null. Generators of typed clients miss a null among the types of an object or the values of an enum. */
function orNull<const Value extends Schema>(value: Value, description: string) {
  return { anyOf: [value, { type: "null" }], description } as const;
}

/** An object with all properties required. */
export function record<const Properties extends Record<string, unknown>>(properties: Properties) {
  return {
    type: "object",
    properties,
    required: Object.keys(properties) as (keyof Properties & string)[],
  } as const;
}

export const twinSchema = record({
  id,
  name: { type: "string" },
  description: stringOrNull,
  avatarUrl: stringOrNull,
  greeting: { ...stringOrNull, description: "What it says before the first question." },
  tags: { type: "array", items: { type: "string" } },
  handover: { type: "boolean", description: "Whether it hands over to a person, where it is asked to." },
  createdAt: time,
  updatedAt: time,
});

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

export const ratedReplySchema = record({
  messageId: id,
  conversationId: id,
  twinId: id,
  endUser: stringOrNull,
  rating: feedbackSchema.properties.rating,
  comment: stringOrNull,
  question: { type: "string" },
  content: { type: "string", description: "The reply's text." },
  sources: messageSchema.properties.sources,
  twinRevision: messageSchema.properties.twinRevision,
  updatedAt: time,
});

export const unansweredQuestionSchema = record({
  question: { type: "string", description: "As it was asked last." },
  count: { type: "integer", minimum: 1 },
  lastAskedAt: time,
  conversationId: id,
  messageId: { ...id, description: "The newest reply to it." },
});

export const apiKeySchema = record({
  id,
  name: { type: "string" },
  scope,
  prefix: { type: "string", description: "The first 12 characters of the key." },
  requestsPerHour: {
    type: ["integer", "null"],
    description: "The size of its bucket. Null: that of its scope.",
  },
  tokensPerDay: tokensShown,
  tokensPerMonth: tokensShown,
  createdAt: time,
  expiresAt: { ...timeOrNull, description: "Null: never." },
  lastUsedAt: { ...timeOrNull, description: "Null: never." },
  revokedAt: { ...timeOrNull, description: "Null: it was not." },
  previousUntil: {
    ...timeOrNull,
    description: "Until when the secret before the last rotation works as well. Null: there is none.",
  },
});

export const createdApiKeySchema = record({
  ...apiKeySchema.properties,
  key: { type: "string", description: "The secret. It is shown only once and cannot be read again." },
});

export const clientTokenSchema = record({
  token: { type: "string", description: "The secret. It is shown only once and cannot be read again." },
  endUser: id,
  twinIds: {
    type: ["array", "null"],
    items: { type: "string" },
    description: "The twins that it may use. Null: all that you may use.",
  },
  scope,
  requestsPerHour: { type: "integer", description: "The size of the end user's bucket." },
  tokensPerDay: tokensShown,
  tokensPerMonth: tokensShown,
  expiresAt: time,
});

const deliveryStatus = { type: "string", enum: ["pending", "delivered", "failed"] } as const;
const webhookEvent = { type: "string", enum: webhookEvents } as const;

export const webhookSchema = record({
  id,
  url: { type: "string" },
  events: { type: "array", items: webhookEvent, description: "What it is told of." },
  description: stringOrNull,
  status: {
    type: "string",
    enum: ["active", "disabled"],
    description: "disabled: its receiver answered 410. It is told nothing until its secret is rotated.",
  },
  createdAt: time,
  lastDelivery: orNull(
    record({ at: time, status: deliveryStatus }),
    "The newest delivery: when it was tried last, or created. Null: there is none.",
  ),
});

export const createdWebhookSchema = record({
  ...webhookSchema.properties,
  secret: {
    type: "string",
    description: "What signs deliveries: whsec_ and 32 bytes in base64. It is shown only once.",
  },
});

export const deliverySchema = record({
  id: { ...id, description: "The webhook-id of all tries." },
  event: webhookEvent,
  createdAt: time,
  status: deliveryStatus,
  attempts: { type: "integer", minimum: 0, description: "How many tries have begun." },
  lastStatus: {
    type: ["integer", "null"],
    description: "The HTTP status of the last answer. Null: none came.",
  },
  nextAttemptAt: { ...timeOrNull, description: "When it is tried again. Null: it is not." },
});

export const erasedSchema = record({
  endUser: id,
  conversations: { type: "integer", minimum: 0 },
  messages: { type: "integer", minimum: 0 },
  clientTokens: { type: "integer", minimum: 0, description: "Those that had not expired." },
});

/** What a twin knows of a person. */
export const memorySchema = record({
  endUser: id,
  twinId: id,
  content: { type: "string", description: "Facts about the person." },
  updatedAt: time,
});

/** A line of an export: what a twin knows of the person, a conversation, or a message of the conversation before. */
export const exportLineSchema = {
  anyOf: [
    record({ memory: memorySchema }),
    record({ conversation: conversationSchema }),
    record({ message: messageSchema }),
  ],
} as const;

export const failedTestSchema = record({
  question: { type: "string" },
  expected: { type: "string", description: "In words." },
  answer: { ...stringOrNull, description: "Null: it was not asked, or not answered, in time." },
});

const testResults = orNull(
  record({
    passed: { type: "integer", minimum: 0 },
    failed: { type: "array", items: failedTestSchema },
  }),
  "How the golden questions of the file are answered: 100 at most, within 5 seconds. Null: they were not asked.",
);

const version = {
  version: { type: "integer", minimum: 1 },
  revision: {
    type: "string",
    description: "16 hexadecimal digits of the file and the documents: the `twinRevision` of replies.",
  },
  createdAt: time,
  note: { ...stringOrNull, description: "What its author says of it." },
} as const;

/** A version that a request has made, or that it left as it was. */
export const versionOfTwinSchema = record({ twinId: id, ...version, tests: testResults });

/** A version in a list. */
export const twinVersionSchema = record({ ...version, current: { type: "boolean" } });

export const twinDocumentSchema = record({
  path: { type: "string" },
  bytes: { type: "integer", minimum: 0 },
  updatedAt: time,
});

export const twinCheckSchema = record({
  faults: {
    type: "array",
    items: record({
      path: { type: "string", description: "The key of the front matter, or `body`." },
      line: { type: "integer", minimum: 1 },
      message: { type: "string" },
    }),
  },
  tests: testResults,
});

export const usageSchema = record({
  scope,
  limit: { type: "integer", description: "Tokens in a full bucket." },
  remaining: { type: "integer", minimum: 0 },
  resetAt: { ...time, description: "When the bucket is full again." },
  budgets: {
    type: "array",
    items: record({
      scope: { type: "string", enum: tokenBudgetScopes },
      period: { type: "string", enum: tokenBudgetPeriods, description: "In UTC." },
      limit: { type: "integer", minimum: 1 },
      used: { type: "integer", minimum: 0 },
      reserved: { type: "integer", minimum: 0, description: "For replies that run." },
      resetAt: { ...time, description: "When the next day or month begins." },
    }),
    description:
      "The budgets of tokens: a key's and its owner's, or those of a client token's end user. Those without a limit are left out.",
  },
});

export const usageSumSchema = record({
  group: {
    type: ["string", "null"],
    description: "A day, a twin's id, or an end user. Null: none, or erased.",
  },
  replies: { type: "integer", minimum: 0 },
  inputTokens: { type: "integer", minimum: 0 },
  outputTokens: { type: "integer", minimum: 0 },
  cachedInputTokens: {
    type: "integer",
    minimum: 0,
    description: "Those of the input that models had in their caches, as far as they say.",
  },
});

export const paginationSchema = record({
  page: { type: "integer", minimum: 1 },
  limit: { type: "integer", minimum: 1, maximum: 100 },
  total: { type: "integer", minimum: 0 },
  totalPages: { type: "integer", minimum: 0 },
  hasMore: { type: "boolean" },
});

/**
 * Text that every store keeps unchanged, without NUL and lone surrogates, and that is not blank. Linear: what it looks
 * ahead for is found or missed in one pass.
 */
export const textPattern: string = "^(?=[\\p{White_Space}\\uFEFF]*[^\\p{White_Space}\\uFEFF])[^\\0\\p{Cs}]*$";

const text = { type: "string", pattern: textPattern, minLength: 1 } as const;

/** An app's own id of a person: no control characters, no lone surrogates, and nothing that no URL could name. */
export const endUserPattern: string = "^(?!\\.{1,2}$)[^\\p{Cc}\\p{Cs}]*$";

/** What may be an address: its protocol, and the rest, are judged when it is parsed. */
export const addressPattern: string = "^[^\\s\\0\\p{Cs}]*$";

/** Text that every store keeps unchanged, which may be blank. */
export const anyTextPattern: string = "^[^\\0\\p{Cs}]*$";

/** An id of an object, which need not exist. */
const reference = { type: "string", pattern: anyTextPattern } as const;

const endUser = { type: "string", pattern: endUserPattern, minLength: 1, maxLength: 128 } as const;

const endUserNames = new RegExp(endUserPattern, "u");

/** The same for what no schema describes: header fields, and what a host says. */
export const endUserRule: Rule = {
  expected: "1 to 128 characters, neither . nor .., without control characters or lone surrogates",
  accepts: (value) =>
    isString(value) && value !== "" && [...value].length <= endUser.maxLength && endUserNames.test(value),
};

export const healthSchema = record({ status: { type: "string", enum: ["ok"] } });

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
      description: "Who answers from now on. twin: what waits for a person stays unanswered.",
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
    content: { ...text, maxLength: 32_000, description: "What the person says. May be left out with calls." },
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

export const createApiKeySchema = {
  type: "object",
  properties: {
    name: { ...text, maxLength: 100, description: "What tells it from your other keys." },
    scope: { ...scope, default: "read_only", description: "What the key may do." },
    expiresInDays: {
      type: ["integer", "null"],
      minimum: 1,
      maximum: 3650,
      description: "Null: never expires.",
    },
    requestsPerHour: {
      type: ["integer", "null"],
      minimum: 1,
      maximum: 1_000_000,
      description:
        "The size of its bucket, at most the server's MAX_PER_HOUR; above that of its scope, at most the JWT's claim " +
        "requests_per_hour. Null: that of its scope.",
    },
    tokensPerDay: {
      ...tokens,
      description: "How many tokens its replies may take in a day of UTC. Null: no limit.",
    },
    tokensPerMonth: { ...tokens, description: "The same in a month." },
  },
  required: ["name"],
} as const satisfies InputSchema;

export const rotateApiKeySchema = {
  type: "object",
  properties: {
    overlapSeconds: {
      type: "integer",
      minimum: 0,
      maximum: 604_800,
      default: 86_400,
      description: "For how long the secret before works as well. 0: it ends at once.",
    },
  },
} as const satisfies InputSchema;

export const createWebhookSchema = {
  type: "object",
  properties: {
    url: {
      type: "string",
      pattern: addressPattern,
      minLength: 1,
      maxLength: 2048,
      description: "The https: address that is told.",
    },
    events: {
      type: "array",
      items: { type: "string", enum: webhookEvents },
      minItems: 1,
      description: "What it is told of. Default: everything.",
    },
    description: {
      ...text,
      type: ["string", "null"],
      maxLength: 200,
      description: "What tells it from your other webhooks.",
    },
  },
  required: ["url"],
} as const satisfies InputSchema;

export const createClientTokenSchema = {
  type: "object",
  properties: {
    endUser: { ...endUser, description: "Your own id of the person who will use the token." },
    twinIds: {
      type: ["array", "null"],
      items: { ...text, maxLength: 255 },
      minItems: 1,
      description: "The twins that the token may use, at most 50. Null: all that you may use.",
    },
    scope: { ...scope, default: "full_access", description: "What the token may do." },
    expiresInSeconds: {
      type: "integer",
      minimum: 60,
      maximum: 3600,
      default: 600,
      description: "How long the token is valid.",
    },
    requestsPerHour: {
      type: "integer",
      minimum: 1,
      maximum: 1_000_000,
      description: "At most what your key has. Default: 100, or what your key has, if that is less.",
    },
    tokensPerDay: {
      ...tokens,
      description:
        "How many tokens the replies of all tokens of this end user and key may take in a day of UTC. Null: no limit.",
    },
    tokensPerMonth: { ...tokens, description: "The same in a month." },
  },
  required: ["endUser"],
} as const satisfies InputSchema;

export const clientTokensQuerySchema = {
  type: "object",
  properties: { endUser: { ...endUser, description: "The end user whose tokens end." } },
  required: ["endUser"],
} as const satisfies InputSchema;

export const endUserParamsSchema = {
  type: "object",
  properties: { endUser: { ...endUser, description: "The end user, by the app's own id." } },
  required: ["endUser"],
} as const satisfies InputSchema;

export const writeMemorySchema = {
  type: "object",
  properties: {
    content: {
      ...text,
      maxLength: 4_000,
      description: "Facts about the person, no instructions. They replace those before.",
    },
  },
  required: ["content"],
} as const satisfies InputSchema;

export const pageQuerySchema = {
  type: "object",
  properties: {
    page: { type: "integer", minimum: 1, maximum: 999_999_999, default: 1, description: "Which page." },
    limit: { type: "integer", minimum: 1, maximum: 100, default: 20, description: "Items on a page." },
  },
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

/** `YYYY-MM-DD`. */
export const dayPattern: string = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$";

const day = {
  type: "string",
  pattern: dayPattern,
  minLength: 10,
  maxLength: 10,
} as const;

export const usageQuerySchema = {
  type: "object",
  properties: {
    ...pageQuerySchema.properties,
    limit: { ...pageQuerySchema.properties.limit, default: 100 },
    from: { ...day, description: "The first day, YYYY-MM-DD in UTC. Default: 29 days before the last." },
    to: { ...day, description: "The last day. Default: today." },
    groupBy: {
      type: "string",
      enum: ["day", "twin", "endUser"],
      default: "day",
      description: "What replies are summed by.",
    },
  },
} as const satisfies InputSchema;

const note = { ...text, maxLength: 200, description: "What the version is about." } as const;

const tests = {
  type: "string",
  enum: ["run", "require", "skip"],
  default: "run",
  description: "The golden questions of the file: require: one that fails refuses it.",
} as const;

export const changeTwinQuerySchema = {
  type: "object",
  properties: { tests, note },
} as const satisfies InputSchema;

export const checkTwinQuerySchema = {
  type: "object",
  properties: { tests },
} as const satisfies InputSchema;

const versionNumber = { type: "integer", minimum: 1, maximum: 999_999_999 } as const;

export const readFileQuerySchema = {
  type: "object",
  properties: { version: { ...versionNumber, description: "Which version. Default: the current one." } },
} as const satisfies InputSchema;

export const twinVersionParamsSchema = {
  type: "object",
  properties: {
    version: {
      type: "string",
      pattern: "^[1-9][0-9]*$",
      minLength: 1,
      maxLength: 9,
      description: "The number of the version.",
    },
  },
  required: ["version"],
} as const satisfies InputSchema;

export const documentParamsSchema = {
  type: "object",
  properties: {
    path: {
      ...text,
      maxLength: 500,
      description: "The document's path, such as letters/1843.pdf, percent-encoded as one segment.",
    },
  },
  required: ["path"],
} as const satisfies InputSchema;

export const teachTwinSchema = {
  type: "object",
  properties: {
    question: { ...text, maxLength: 1_000, description: "What people ask." },
    answer: { ...text, maxLength: 32_000, description: "What the twin says, in Markdown." },
    heading: {
      ...text,
      maxLength: 200,
      description: "The section that it is added to. Default: the question.",
    },
  },
  required: ["question", "answer"],
} as const satisfies InputSchema;

const reviewQuery = {
  ...pageQuerySchema.properties,
  twinId: { ...text, description: "Only of this twin." },
  from: { ...day, description: "The first day, YYYY-MM-DD in UTC. Default: any." },
  to: { ...day, description: "The last day. Default: any." },
} as const;

export const feedbackQuerySchema = {
  type: "object",
  properties: {
    ...reviewQuery,
    rating: { type: "string", enum: ["up", "down"], description: "Only with this rating. Default: both." },
  },
} as const satisfies InputSchema;

export const unansweredQuerySchema = {
  type: "object",
  properties: reviewQuery,
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

/** How a response of OpenAI's Responses API is read. */
/** What is printable in ASCII. */
export const asciiPattern: string = "^[\\x20-\\x7e]*$";

const asciiText = { type: "string", pattern: asciiPattern, minLength: 1, maxLength: 255 } as const;

/** The arguments of the tool with which an MCP client asks a twin; a model reads what describes them. */
export const askTwinSchema = {
  type: "object",
  properties: {
    twin: { ...text, maxLength: 255, description: "The twin's id, from list_twins." },
    question: { ...text, maxLength: 32_000, description: "What to ask." },
    conversation: {
      ...asciiText,
      description: "The conversation to go on with. Without it, a new one begins.",
    },
    requestKey: {
      ...asciiText,
      description:
        "A text of your own for this question. If the call fails or breaks off, the same call with the same key gets the " +
        "same reply, for 24 hours. Without one, a call that breaks off is cancelled.",
    },
  },
  required: ["twin", "question"],
} as const satisfies InputSchema;

export const responseQuerySchema = {
  type: "object",
  properties: {
    stream: { type: "string", enum: ["true", "false"] },
    starting_after: { type: "integer", minimum: 0, maximum: 999_999_999 },
  },
} as const satisfies InputSchema;

export const itemsQuerySchema = {
  type: "object",
  properties: {
    limit: pageQuerySchema.properties.limit,
    order: { ...messagesQuerySchema.properties.order, default: "desc" },
    after: messagesQuerySchema.properties.after,
  },
} as const satisfies InputSchema;

/**
 * All bodies and queries, by the names of their validators in `validators.ts`. After a change here, that file is made
 * anew with `npm run validators`.
 */
export const inputSchemas = {
  createConversation: createConversationSchema,
  updateConversation: updateConversationSchema,
  sendMessage: sendMessageSchema,
  createApiKey: createApiKeySchema,
  rotateApiKey: rotateApiKeySchema,
  createWebhook: createWebhookSchema,
  createClientToken: createClientTokenSchema,
  clientTokensQuery: clientTokensQuerySchema,
  endUserParams: endUserParamsSchema,
  writeMemory: writeMemorySchema,
  changeTwinQuery: changeTwinQuerySchema,
  checkTwinQuery: checkTwinQuerySchema,
  readFileQuery: readFileQuerySchema,
  twinVersionParams: twinVersionParamsSchema,
  documentParams: documentParamsSchema,
  teachTwin: teachTwinSchema,
  pageQuery: pageQuerySchema,
  conversationsQuery: conversationsQuerySchema,
  usageQuery: usageQuerySchema,
  rateMessage: rateMessageSchema,
  feedbackQuery: feedbackQuerySchema,
  unansweredQuery: unansweredQuerySchema,
  messagesQuery: messagesQuerySchema,
  streamQuery: streamQuerySchema,
  askTwin: askTwinSchema,
  conversationStreamQuery: conversationStreamQuerySchema,
  responseQuery: responseQuerySchema,
  itemsQuery: itemsQuerySchema,
} as const satisfies Readonly<Record<string, InputSchema>>;

/** A twin as clients see it. Times are ISO 8601 in UTC; what is absent is null. */
export type TwinResource = FromSchema<typeof twinSchema>;
/** A conversation as clients see it: `busy` while a reply is in progress. */
export type ConversationResource = FromSchema<typeof conversationSchema>;
/** A message as clients see it: the same in answers, in history and in the `complete` event of a stream. */
export type MessageResource = FromSchema<typeof messageSchema>;
/** What a person thinks of a reply. */
export type FeedbackResource = FromSchema<typeof feedbackSchema>;
/** A reply that was rated, and what it answers. */
export type RatedReplyResource = FromSchema<typeof ratedReplySchema>;
/** Equal questions without an answer. */
export type UnansweredQuestionResource = FromSchema<typeof unansweredQuestionSchema>;
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
/** An API key as clients see it later, without the key itself. */
export type ApiKeyResource = FromSchema<typeof apiKeySchema>;
/** An API key in the answer to its creation: the only one that has `key`. */
export type CreatedApiKeyResource = FromSchema<typeof createdApiKeySchema>;
/** A client token in the answer to its creation: it cannot be read later. */
export type ClientTokenResource = FromSchema<typeof clientTokenSchema>;
/** A webhook as its owner sees it later, without its secret. */
export type WebhookResource = FromSchema<typeof webhookSchema>;
/** A webhook in the answer to its creation, or to a rotation: the only ones that have `secret`. */
export type CreatedWebhookResource = FromSchema<typeof createdWebhookSchema>;
/** What a webhook is told once. */
export type DeliveryResource = FromSchema<typeof deliverySchema>;
/** What was erased of an end user. */
export type ErasedResource = FromSchema<typeof erasedSchema>;
/** What a twin knows of a person. */
export type MemoryResource = FromSchema<typeof memorySchema>;
/** A line of an end user's export: what a twin knows of them, a conversation, or a message of the conversation before. */
export type ExportLine = FromSchema<typeof exportLineSchema>;
/** The bucket of a key, as `GET /usage` returns it: `limit` and `remaining` in requests. */
export type UsageResource = FromSchema<typeof usageSchema>;
/** What replies have used, summed over a group: a day, a twin or an end user. */
export type UsageSumResource = FromSchema<typeof usageSumSchema>;
/** The position of a page in its list: `page` counts from 1, `total` counts items. */
export type Pagination = FromSchema<typeof paginationSchema>;
