/**
 * What owners read of all conversations: rated replies and unanswered questions.
 *
 * @module
 */

import { feedbackSchema, messageSchema } from "./conversations.ts";
import { type FromSchema, type InputSchema, record } from "./schema.ts";
import { day, id, pageQuerySchema, stringOrNull, text, time } from "./values.ts";

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

/** A reply that was rated, and what it answers. */
export type RatedReplyResource = FromSchema<typeof ratedReplySchema>;

/** Equal questions without an answer. */
export type UnansweredQuestionResource = FromSchema<typeof unansweredQuestionSchema>;
