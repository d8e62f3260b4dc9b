/**
 * The endpoints by which an owner sees how replies are taken: what people think of them, and what was left unanswered.
 *
 * @module
 */

import { type CallerReach, route } from "../http/route.ts";
import type { Store } from "../store/store.ts";
import { conversationBusy, validationError } from "../wire/errors.ts";
import { feedbackResource, ratedReplyResource, unansweredQuestionResource } from "../wire/resources.ts";
import {
  feedbackQuerySchema,
  feedbackSchema,
  ratedReplySchema,
  rateMessageSchema,
  unansweredQuerySchema,
  unansweredQuestionSchema,
} from "../wire/schemas.ts";
import { momentsOf } from "./days.ts";
import { hold, requireMessage } from "./lookup.ts";
import { pageOf, sliceOf } from "./pagination.ts";

/** How many characters of each question and reply a list shows. */
const charactersOfEach = 4000;

const ratedMessage = {
  path: "/api/v1/conversations/{id}/messages/{messageId}/feedback",
  credential: "api_key",
  scope: "full_access",
  errors: ["validation_error", "conversation_not_found", "message_not_found", "conversation_busy"],
} as const;

export const reviewRoutes = [
  route({
    ...ratedMessage,
    operationId: "rateMessage",
    method: "PUT",
    summary: "Say what a person thinks of a reply that has ended",
    body: rateMessageSchema,
    success: { status: 200, description: "The feedback as it is now.", schema: feedbackSchema },
    async handle({ caller: { reach }, params, body }, { store, clock, tells }) {
      const { id } = await requireEndedReply(store, reach, params);
      const feedback = { rating: body.rating, comment: body.comment ?? null, updatedAt: clock.now() };
      await store.rateReply(reach, id, feedback, tells);
      return { data: feedbackResource(feedback) };
    },
  }),

  route({
    ...ratedMessage,
    operationId: "unrateMessage",
    method: "DELETE",
    summary: "Take back what a person thinks of a reply",
    success: { status: 204, description: "The reply has no feedback." },
    async handle({ caller: { reach }, params }, { store }) {
      const { id } = await requireEndedReply(store, reach, params);
      await store.rateReply(reach, id, null);
      return {};
    },
  }),

  route({
    operationId: "listFeedback",
    method: "GET",
    path: "/api/v1/feedback",
    summary: "List rated replies, latest feedback first",
    credential: "api_key",
    scope: "read_only",
    ownersOnly: true,
    query: feedbackQuerySchema,
    success: { status: 200, description: "A page of rated replies.", schema: ratedReplySchema, list: true },
    async handle({ caller: { owner }, query, memory }, { store }) {
      const { twinId, rating } = query;
      const slice = { ...sliceOf(query), ...momentsOf(query), twinId, rating, charactersOfEach };
      const list = await store.listFeedback(owner, slice);
      hold(memory, list.items);
      return pageOf(query, list, ratedReplyResource);
    },
  }),

  route({
    operationId: "listUnansweredQuestions",
    method: "GET",
    path: "/api/v1/questions/unanswered",
    summary: "List questions that a twin's knowledge had nothing for, those asked most often first",
    credential: "api_key",
    scope: "read_only",
    ownersOnly: true,
    query: unansweredQuerySchema,
    success: {
      status: 200,
      description: "A page of questions. Those with equal words count as one.",
      schema: unansweredQuestionSchema,
      list: true,
    },
    async handle({ caller: { owner }, query, memory }, { store }) {
      const slice = { ...sliceOf(query), ...momentsOf(query), twinId: query.twinId, charactersOfEach };
      const list = await store.listUnanswered(owner, slice);
      hold(memory, list.items);
      return pageOf(query, list, unansweredQuestionResource);
    },
  }),
];

async function requireEndedReply(
  store: Store,
  reach: CallerReach,
  { id, messageId }: { readonly id: string; readonly messageId: string },
) {
  const message = await requireMessage(store, reach, { conversationId: id, id: messageId }, 0);
  if (message.role === "user" || message.alone) {
    const expected = "must be the id of a twin's reply, not of a question or of what a person said";
    throw validationError([{ path: "messageId", message: expected }]);
  }
  if (message.status === "in_progress") throw conversationBusy(message.id);
  return message;
}
