/**
 * What was said before a question that is not stored itself: up to the end of a conversation, or up to a response.
 *
 * @module
 */

import { findConversation, hold } from "../../core/api/lookup.ts";
import type { Call, CallerReach, HandlerContext } from "../../core/http/route.ts";
import type { HistoryMessage } from "../../core/twins/engine.ts";
import type { Twin } from "../../core/twins/twins.ts";
import {
  answeredByPerson,
  conversationBusy,
  conversationNotFound,
  requirePlace,
} from "../../core/wire/errors.ts";
import { findResponse } from "./conversations.ts";
import { refuseParam } from "./errors.ts";

/** Where a question that is not stored goes on: one of these. */
export interface Behind {
  readonly conversationId: string | undefined;
  readonly previousId: string | undefined;
}

/** What was said, and in whose conversation. */
interface SaidBefore {
  /** What a model sees before such a question, oldest first. */
  readonly history: readonly HistoryMessage[];
  /** Undefined: its owner named nobody. */
  readonly endUser: string | undefined;
}

/**
 * What was said before such a question.
 *
 * @throws {ApiError} as for a question that is stored there
 */
export async function saidBefore(
  { conversationId, previousId }: Behind,
  twin: Twin,
  reach: CallerReach,
  { received }: Call,
  context: HandlerContext,
): Promise<SaidBefore> {
  const param = conversationId === undefined ? "previous_response_id" : "conversation";
  const previous = previousId === undefined ? undefined : await findResponse(previousId, reach, context, 0);
  const id = previous?.reply.conversationId ?? conversationId;
  if (id === undefined) return refuseParam(param, "must be the id of a response");
  const known = (await findConversation(context, reach, id)) ?? conversationNotFound();
  if (known.twinId !== "" && known.twinId !== twin.id) refuseParam(param, "must be one with this model");
  const conversation = (await context.store.getConversation(reach, id)) ?? conversationNotFound();
  if (conversation.answeredBy === "person") throw answeredByPerson();
  if (conversation.replyId !== null) throw conversationBusy(conversation.replyId);
  const last = previous ? requirePlace(previous.reply, param).id : conversation.lastMessageId;
  const history = await context.replies.historyBehind(reach.owner, id, last);
  hold(received, history);
  return { history, endUser: conversation.endUser ?? undefined };
}
