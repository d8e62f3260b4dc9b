/**
 * Finds the objects that a path or body names, or throws a 404 of their kind. What is out of reach gets the same
 * answer as what does not exist. Conversations of other APIs' clients are also made here.
 *
 * @module
 */

import { invalidApiKey } from "../auth/key-lookup.ts";
import type { Held } from "../base/memory-budget.ts";
import type { Call, CallerReach, HandlerContext } from "../http/route.ts";
import type { KnownConversation, Send, Sent } from "../replies/replies.ts";
import {
  type ConversationRecord,
  type IdempotencyClaim,
  type MessageRecord,
  mostCharactersRead,
  newConversation,
} from "../store/records.ts";
import type { Reach, Store } from "../store/store.ts";
import { allTwins, type Twin, type TwinProfile, type TwinSource } from "../twins/twins.ts";
import {
  ApiError,
  conversationNotFound,
  messageNotFound,
  tooMuchAtOnce,
  twinNotFound,
} from "../wire/errors.ts";

/** The longest id of a twin, in UTF-16 code units: what is longer is looked up nowhere. */
const longestTwinId = 510;

export async function requireTwin(twins: TwinSource, reach: CallerReach, id: string): Promise<Twin> {
  return (await findTwin(twins, reach, id)) ?? twinNotFound();
}

export async function findTwin(
  twins: TwinSource,
  { owner, twinIds }: CallerReach,
  id: string,
): Promise<Twin | undefined> {
  if (id.length > longestTwinId || (twinIds && !twinIds.includes(id))) return undefined;
  return twins.get(owner, id);
}

export async function requireProfile(
  twins: TwinSource,
  reach: CallerReach,
  id: string,
): Promise<TwinProfile> {
  return (await findProfile(twins, reach, id)) ?? twinNotFound();
}

/** What clients see of a twin, without its texts. */
export async function findProfile(
  twins: TwinSource,
  { owner, twinIds }: CallerReach,
  id: string,
): Promise<TwinProfile | undefined> {
  if (id.length > longestTwinId || (twinIds && !twinIds.includes(id))) return undefined;
  return twins.profile ? twins.profile(owner, id) : twins.get(owner, id);
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

/** All twins that a caller may use. */
export async function findTwins(twins: TwinSource, { owner, twinIds }: CallerReach): Promise<TwinProfile[]> {
  return (await allTwins(twins, owner)).filter(({ id }) => !twinIds || twinIds.includes(id));
}

/** The twin of a conversation that the caller may see: with a twin that it may not use, there is none. */
export async function findConversation(
  { replies }: HandlerContext,
  reach: CallerReach,
  id: string,
): Promise<KnownConversation | undefined> {
  const found = await replies.findConversation(reach, id);
  return found && isTwinInReach(reach, found) ? found : undefined;
}

/** A new conversation's id, whose twin is chosen later if its id is empty; or, if the claim was made or the name was taken meanwhile, that of the conversation. */
export async function createConversation(
  { store, clock, newId }: HandlerContext,
  { owner, endUser, clientToken }: Reach,
  twinId: string,
  {
    claim,
    name = null,
    metadata = {},
  }: {
    readonly claim?: IdempotencyClaim | undefined;
    readonly name?: string | null;
    readonly metadata?: ConversationRecord["metadata"] | undefined;
  } = {},
): Promise<string> {
  const named = { id: newId("conv"), owner, twinId, endUser: endUser ?? null, title: null, name, metadata };
  const made = await store.createConversation(newConversation(named, clock.now()), claim, clientToken);
  if (made === "token_ended") throw invalidApiKey({ reason: "revoked" });
  return made?.resourceId ?? named.id;
}

/** What a message has of the request that sends it. */
export function sendFields({
  requestId,
  caller: { limits, budgets },
  fields,
  received,
}: Call): Pick<Send, "requestId" | "limits" | "budgets" | "traceparent" | "received"> {
  return { requestId, limits, budgets, traceparent: fields.traceparent ?? undefined, received };
}

/** Sends a message into a conversation of its own: with a claim, the empty one that an equal request has left, which failed. */
export async function sendIntoNew(
  context: HandlerContext,
  reach: Reach,
  twinId: string,
  claim: IdempotencyClaim | undefined,
  send: (conversationId: string) => Promise<Sent>,
): Promise<Sent> {
  const { store } = context;
  const isKeyed = claim && !claim.replaces;
  const once = isKeyed ? { ...claim, path: `${claim.path}#${twinId}`, replaces: true as const } : undefined;
  return sendWhereItIs(async () => {
    const made = once && (await store.findClaim(once));
    const left = made && (await store.getConversation(reach, made.resourceId));
    const id =
      left?.logLength === 0 ? left.id : await createConversation(context, reach, twinId, { claim: once });
    return sendIntoMade(context, reach, id, () => send(id));
  });
}

/** How often a conversation is looked for that is deleted before a message is in it. */
const mostSearches = 10;

/** Finds a conversation and sends into it, again where it is deleted in between, as by an equal request that was refused. */
export async function sendWhereItIs(send: () => Promise<Sent>): Promise<Sent> {
  for (let searches = 1; ; searches++) {
    try {
      return await send();
    } catch (error) {
      const isGone = error instanceof ApiError && error.code === "conversation_not_found";
      if (!isGone || searches === mostSearches) throw error;
    }
  }
}

/** Sends messages into a conversation that was made for them, and goes again where that stores nothing. */
export async function sendIntoMade<Stored extends object>(
  { store, clock, replies }: HandlerContext,
  reach: Reach,
  id: string,
  send: () => Promise<Stored>,
): Promise<Stored> {
  const forget = async () => {
    const deleted = await store.deleteConversation(reach, id, clock.now(), { mostMessages: 0 });
    if (deleted) replies.drop(deleted);
  };
  try {
    const sent = await send();
    if ("claim" in sent) await forget(); // an equal request was faster, on another process
    return sent;
  } catch (error) {
    if (error instanceof ApiError) await forget();
    throw error;
  }
}

/** A conversation with a twin that the caller may not use does not exist for it. */
export function requireTwinInReach(
  reach: CallerReach,
  conversation: Pick<ConversationRecord, "twinId">,
): void {
  if (!isTwinInReach(reach, conversation)) conversationNotFound();
}

export function isTwinInReach(
  { twinIds }: CallerReach,
  { twinId }: Pick<ConversationRecord, "twinId">,
): boolean {
  return !twinIds || twinId === "" || twinIds.includes(twinId);
}

/** A message with so many characters of its text. */
export async function requireMessage(
  store: Store,
  reach: CallerReach,
  { conversationId, id }: Pick<MessageRecord, "conversationId" | "id">,
  characters: number,
): Promise<MessageRecord> {
  await requireConversation(store, reach, conversationId);
  return (await store.getMessage(reach, id, { conversationId, characters })) ?? messageNotFound();
}

/** Like {@link requireMessage}, but with its whole text, and only for a reply: a user's message cannot be streamed or cancelled. */
export async function requireReply(
  store: Store,
  reach: CallerReach,
  conversationId: string,
  id: string,
): Promise<MessageRecord> {
  const message = await requireMessage(store, reach, { conversationId, id }, mostCharactersRead);
  if (message.role === "assistant") return message;
  throw new ApiError(
    "message_not_found",
    "This is a user's message; only a twin's reply can be streamed or cancelled.",
  );
}

/**
 * Counts the texts that were read for an answer.
 *
 * @throws {ApiError} `unavailable` if they are too much.
 */
export function hold(
  memory: Held,
  texts: readonly { readonly content?: string; readonly question?: string }[],
): void {
  const characters = texts.reduce(
    (sum, { content = "", question = "" }) => sum + content.length + question.length,
    0,
  );
  if (!memory.reserve(2 * characters)) throw tooMuchAtOnce();
}
