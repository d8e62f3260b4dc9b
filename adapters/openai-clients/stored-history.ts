/**
 * What was said before a question that is not stored itself: up to the end of a conversation, or up to a response.
 *
 * @module
 */

import { findConversation, hold } from "../../core/api/lookup.ts";
import type { Call, CallerReach, HandlerContext } from "../../core/http/route.ts";
import { readPortions } from "../../core/store/portions.ts";
import {
  historySeen,
  type MessageRecord,
  mostCharactersAsked,
  withoutFailed,
} from "../../core/store/records.ts";
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

/** How many messages are looked through at most, from the last one back. */
const mostRead = 1000;

/** Where a question that is not stored goes on: one of these. */
export interface Behind {
  readonly conversationId: string | undefined;
  readonly previousId: string | undefined;
}

/**
 * What a model sees before such a question, oldest first.
 *
 * @throws {ApiError} as for a question that is stored there
 */
export async function saidBefore(
  { conversationId, previousId }: Behind,
  twin: Twin,
  reach: CallerReach,
  { received }: Call,
  context: HandlerContext,
): Promise<readonly HistoryMessage[]> {
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
  return last === null ? [] : readPath(id, last, reach, received, context);
}

/** The path that ends with a message, as a model sees it. */
async function readPath(
  conversationId: string,
  last: string,
  reach: CallerReach,
  received: Call["received"],
  { store }: HandlerContext,
): Promise<readonly HistoryMessage[]> {
  const messages = new Map<string, MessageRecord>();
  const slice = {
    order: "desc",
    path: "all",
    offset: 0,
    limit: mostRead,
    asTold: true,
    characters: mostCharactersAsked,
  } as const;
  for await (const { items } of readPortions(store, reach, conversationId, slice)) {
    hold(
      received,
      items.map(({ content }) => content.length),
    );
    for (const message of items) messages.set(message.id, message);
  }
  const path: (MessageRecord & { readonly told: string | null })[] = [];
  for (let message = messages.get(last); message; message = messages.get(message.after ?? ""))
    path.push({ ...message, told: message.content === "" ? "" : null });
  const seen = withoutFailed(path.reverse()).filter((message, index, all) => {
    const reply = message.role === "assistant" ? message : all[index + 1];
    return reply?.content.trim() !== "";
  });
  return historySeen(
    seen.map(({ role, content }) => ({ role, content })),
    mostCharactersAsked,
  );
}
