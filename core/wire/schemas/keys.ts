/**
 * API keys, client tokens, and what is used with them.
 *
 * @module
 */

import { tokenBudgetPeriods, tokenBudgetRange, tokenBudgetScopes } from "../../store/token-budgets.ts";
import { type FromSchema, type InputSchema, record } from "./schema.ts";
import { day, endUser, id, pageQuerySchema, scope, text, time, timeOrNull } from "./values.ts";

const tokens = {
  type: ["integer", "null"],
  minimum: tokenBudgetRange[0],
  maximum: tokenBudgetRange[1],
} as const;

const tokensShown = {
  type: ["integer", "null"],
  description: "How many tokens replies may take in this time. Null: no limit.",
} as const;

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

/** An API key as clients see it later, without the key itself. */
export type ApiKeyResource = FromSchema<typeof apiKeySchema>;

/** An API key in the answer to its creation: the only one that has `key`. */
export type CreatedApiKeyResource = FromSchema<typeof createdApiKeySchema>;

/** A client token in the answer to its creation: it cannot be read later. */
export type ClientTokenResource = FromSchema<typeof clientTokenSchema>;

/** The bucket of a key, as `GET /usage` returns it: `limit` and `remaining` in requests. */
export type UsageResource = FromSchema<typeof usageSchema>;

/** What replies have used, summed over a group: a day, a twin or an end user. */
export type UsageSumResource = FromSchema<typeof usageSumSchema>;
