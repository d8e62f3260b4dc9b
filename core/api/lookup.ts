/**
 * Finds the objects that a path or body names, or throws a 404 of their kind. Another owner's object gets the same
 * answer as one that does not exist.
 *
 * @module
 */

import type { ConversationRecord, MessageRecord } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { Twin, TwinSource } from "../twins/twins.ts";
import { ApiError, conversationNotFound, messageNotFound, twinNotFound } from "../wire/errors.ts";

export async function requireTwin(twins: TwinSource, owner: string, id: string): Promise<Twin> {
  return (await twins.get(owner, id)) ?? twinNotFound();
}

export async function requireConversation(
  store: Store,
  owner: string,
  id: string,
): Promise<ConversationRecord> {
  return (await store.getConversation(owner, id)) ?? conversationNotFound();
}

export async function requireMessage(
  store: Store,
  owner: string,
  conversationId: string,
  id: string,
): Promise<MessageRecord> {
  await requireConversation(store, owner, conversationId);
  return (await store.getMessage(owner, conversationId, id)) ?? messageNotFound();
}

/** Like {@link requireMessage}, but only for a reply: a user's message cannot be streamed or cancelled. */
export async function requireReply(
  store: Store,
  owner: string,
  conversationId: string,
  id: string,
): Promise<MessageRecord> {
  const message = await requireMessage(store, owner, conversationId, id);
  if (message.role === "assistant") return message;
  throw new ApiError(
    "message_not_found",
    "This is a user's message; only a twin's reply can be streamed or cancelled.",
  );
}
