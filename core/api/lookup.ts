/**
 * Finds the objects that a path or body names, or throws a 404 of their kind. What is out of reach gets the same
 * answer as what does not exist.
 *
 * @module
 */

import type { ConversationRecord, MessageRecord } from "../store/records.ts";
import type { Reach, Store } from "../store/store.ts";
import type { Twin, TwinSource } from "../twins/twins.ts";
import { ApiError, conversationNotFound, messageNotFound, twinNotFound } from "../wire/errors.ts";

export async function requireTwin(twins: TwinSource, owner: string, id: string): Promise<Twin> {
  return (await twins.get(owner, id)) ?? twinNotFound();
}

export async function requireConversation(
  store: Store,
  reach: Reach,
  id: string,
): Promise<ConversationRecord> {
  return (await store.getConversation(reach, id)) ?? conversationNotFound();
}

export async function requireMessage(
  store: Store,
  reach: Reach,
  conversationId: string,
  id: string,
): Promise<MessageRecord> {
  await requireConversation(store, reach, conversationId);
  return (await store.getMessage(reach, conversationId, id)) ?? messageNotFound();
}

/** Like {@link requireMessage}, but only for a reply: a user's message cannot be streamed or cancelled. */
export async function requireReply(
  store: Store,
  reach: Reach,
  conversationId: string,
  id: string,
): Promise<MessageRecord> {
  const message = await requireMessage(store, reach, conversationId, id);
  if (message.role === "assistant") return message;
  throw new ApiError(
    "message_not_found",
    "This is a user's message; only a twin's reply can be streamed or cancelled.",
  );
}
