/**
 * Conversations as OpenAI's clients name them.
 *
 * @module
 */

import { createConversation, findConversation } from "../../core/api/lookup.ts";
import type { CallerReach, HandlerContext } from "../../core/http/route.ts";
import type { Send } from "../../core/replies/replies.ts";
import { readPortions } from "../../core/store/portions.ts";
import { type MessageRecord, mostCharactersRead } from "../../core/store/records.ts";
import type { Reach } from "../../core/store/store.ts";
import type { Twin } from "../../core/twins/twins.ts";
import { conversationNotFound } from "../../core/wire/errors.ts";
import type { Spoken } from "./conversation-text.ts";
import { refuseParam } from "./errors.ts";

/** A name that a client has given one of its conversations, in a header field. Null: none. */
export function readConversationName(name: string | null | undefined, header: string): string | null {
  if (name === null || name === undefined) return null;
  // Its length first: the pattern takes the square of it.
  if (name === "" || name.length > 128)
    return refuseParam(header, "must be 1 to 128 characters, or be left out");
  if (/\{\{.*\}\}|\$\{.*\}/.test(name))
    return refuseParam(header, `must be a name, not the template ${name}`);
  return name;
}

/** Where a message goes: into a conversation, at its end or after one of its replies. */
export type Place = Pick<Send, "conversationId" | "after">;

/** The conversation with a twin that a client calls by this name, made when it is first named, or was deleted since. */
export async function findNamed(
  context: HandlerContext,
  reach: Reach,
  twin: Twin,
  name: string,
): Promise<Place> {
  const known = await context.store.getConversation(reach, { twinId: twin.id, name });
  return { conversationId: known?.id ?? (await createConversation(context, reach, twin.id, { name })) };
}

/** Where a message goes into a conversation, which must be one with this twin. `param` names it. */
export async function placeIn(
  id: string,
  param: string,
  context: HandlerContext,
  twin: Twin,
  reach: CallerReach,
): Promise<Place> {
  const found = (await findConversation(context, reach, id)) ?? conversationNotFound();
  if (found.twinId !== twin.id) refuseParam(param, "must be one with this model");
  return { conversationId: found.id };
}

/** How many messages of a conversation are compared with what a client says, from its end. */
const mostCompared = 1000;

/**
 * Where a client goes on that says what was said before: behind the newest reply that equals its last one. If it names none,
 * it asks its first question again or edits it, where that is the conversation's only one; else it goes on at the end.
 */
export async function placeBehind(
  { conversationId }: Place,
  { question, history }: Spoken,
  { store }: HandlerContext,
  reach: Reach,
): Promise<Place> {
  const said = history.findLast(({ role }) => role === "assistant");
  if (!said) {
    const characters = question.length + 1;
    const slice = { order: "asc", offset: 0, limit: 1, characters } as const;
    const beginning = await store.listMessages(reach, conversationId, slice);
    const isFirst = beginning?.items[0]?.content === question;
    const isEdited = history.length === 0 && beginning?.total === 2;
    return isFirst || isEdited ? { conversationId, after: null } : { conversationId };
  }
  const slice = { order: "desc", offset: 0, limit: mostCompared, characters: mostCharactersRead } as const;
  for await (const { items } of readPortions(store, reach, conversationId, slice)) {
    const reply = items.find(({ role, content }) => role === "assistant" && content === said.content);
    if (reply) return { conversationId, after: reply.id };
  }
  return { conversationId };
}

/** Where a message goes after a response, which may be followed by several others. */
export async function placeAfter(
  previousId: string,
  context: HandlerContext,
  twin: Twin,
  reach: CallerReach,
): Promise<Place> {
  const param = "previous_response_id";
  const previous = await findResponse(previousId, reach, context, 0);
  if (!previous) return refuseParam(param, "must be the id of a response");
  const { conversationId } = previous.reply;
  return { ...(await placeIn(conversationId, param, context, twin, reach)), after: previousId };
}

/** A reply, and the twin whose it is. */
interface FoundResponse {
  readonly reply: MessageRecord;
  readonly twinId: string;
}

/** A response within reach, with so many characters of its text. */
export async function findResponse(
  messageId: string,
  reach: CallerReach,
  context: HandlerContext,
  characters: number,
): Promise<FoundResponse | undefined> {
  const reply = await context.store.getMessage(reach, messageId, { characters });
  if (reply?.role !== "assistant") return undefined;
  const conversation = await findConversation(context, reach, reply.conversationId);
  return conversation && { reply, twinId: conversation.twinId };
}
