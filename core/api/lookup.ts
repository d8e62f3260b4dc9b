/**
 * Finds the objects that a path or body names, or throws a 404 of their kind. What is out of reach gets the same
 * answer as what does not exist.
 *
 * @module
 */

import type { CallerReach } from "../http/route.ts";
import type { ConversationRecord, MessageRecord } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { Twin, TwinSource } from "../twins/twins.ts";
import { ApiError, conversationNotFound, messageNotFound, twinNotFound } from "../wire/errors.ts";

export async function requireTwin(twins: TwinSource, reach: CallerReach, id: string): Promise<Twin> {
  return (await findTwin(twins, reach, id)) ?? twinNotFound();
}

export async function findTwin(
  twins: TwinSource,
  { owner, twinIds }: CallerReach,
  id: string,
): Promise<Twin | undefined> {
  return !twinIds || twinIds.includes(id) ? twins.get(owner, id) : undefined;
}

export async function requireConversation(
  store: Store,
  reach: CallerReach,
  id: string,
): Promise<ConversationRecord> {
  const conversation = await store.getConversation(reach, id);
  if (!conversation) return conversationNotFound();
  requireTwinInReach(reach, conversation);
  return conversation;
}

/** A conversation with a twin that the caller may not use does not exist for it. */
export function requireTwinInReach(
  { twinIds }: CallerReach,
  { twinId }: Pick<ConversationRecord, "twinId">,
): void {
  if (twinIds && !twinIds.includes(twinId)) conversationNotFound();
}

export async function requireMessage(
  store: Store,
  reach: CallerReach,
  conversationId: string,
  id: string,
): Promise<MessageRecord> {
  await requireConversation(store, reach, conversationId);
  return (await store.getMessage(reach, id, { conversationId })) ?? messageNotFound();
}

/** Like {@link requireMessage}, but only for a reply: a user's message cannot be streamed or cancelled. */
export async function requireReply(
  store: Store,
  reach: CallerReach,
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
