/**
 * Conversations as OpenAI's clients name them.
 *
 * @module
 */

import { createConversation, findConversation } from "../../core/api/lookup.ts";
import type { CallerReach, HandlerContext } from "../../core/http/route.ts";
import type { Send } from "../../core/replies/replies.ts";
import { type ConversationRecord, type MessageRecord, windowOf } from "../../core/store/records.ts";
import type { Reach } from "../../core/store/store.ts";
import type { Twin } from "../../core/twins/twins.ts";
import { conversationNotFound } from "../../core/wire/errors.ts";
import { findPlace, isReply, isSame } from "./comparison.ts";
import type { Spoken } from "./conversation-text.ts";
import { refuseParam } from "./errors.ts";
import type { NamedField } from "./header-names.ts";

/** What programs write where they have no name yet. */
const placeholders = new Set(["new", "null", "undefined", "none", "pending", "[object object]"]);

/** A name that a client has given one of its conversations, in a header field. Null: none. */
export function readConversationName(field: NamedField | undefined): string | null {
  if (!field) return null;
  const { header, value: name } = field;
  // Its length first: the pattern takes the square of it.
  if (name.length > 128) return refuseParam(header, "must be 1 to 128 characters, or be left out");
  if (/\{\{.*\}\}|\$\{.*\}/.test(name))
    return refuseParam(header, `must be a name, not the template ${name}`);
  if (placeholders.has(name.toLowerCase()))
    return refuseParam(header, `must be a name of this conversation alone, not ${name}, or be left out`);
  return name;
}

/** Where a message goes: into a conversation, at its end or after one of its replies. */
type Destination = Pick<Send, "conversationId" | "after" | "choosesTwin">;

/** A conversation that a client has named, as far as its path matters. */
export interface NamedConversation extends Pick<ConversationRecord, "id" | "lastMessageId"> {
  /** Whether it was made for the message that goes there. */
  readonly isNew: boolean;
}

/** The conversation with a twin that a client calls by this name, made when it is first named, or was deleted since. */
export async function findNamed(
  context: HandlerContext,
  reach: Reach,
  twin: Twin,
  name: string,
): Promise<NamedConversation> {
  const known = await context.store.getConversation(reach, { twinId: twin.id, name });
  if (known) return { id: known.id, lastMessageId: known.lastMessageId, isNew: false };
  const id = await createConversation(context, reach, twin.id, { name });
  return { id, lastMessageId: null, isNew: true };
}

/** Where a message goes into a conversation, which must be one with this twin. `param` names it. */
export async function placeIn(
  id: string,
  param: string,
  context: HandlerContext,
  twin: Twin,
  reach: CallerReach,
): Promise<Destination> {
  const found = (await findConversation(context, reach, id)) ?? conversationNotFound();
  const choosesTwin = found.twinId === "";
  if (!choosesTwin && found.twinId !== twin.id) refuseParam(param, "must be one with this model");
  return { conversationId: found.id, choosesTwin };
}

/** A chat as its client tells it. */
interface ToldChat extends Spoken {
  /** Whether it says all of the chat in each of its requests. */
  readonly isWhole: boolean;
}

/**
 * Where a client goes on that says what was said before: where most of it agrees with what is stored. If its last reply is
 * not stored, at the end, and the twin is told what the client says. If it names no reply, it asks the first question anew if
 * its question equals that, or if it always says all; else it sends only what is new, and goes on at the end.
 */
export async function placeBehind(
  named: NamedConversation,
  { question, history, isWhole }: ToldChat,
  context: HandlerContext,
  reach: Reach,
): Promise<Destination & Pick<Send, "history">> {
  const { id: conversationId } = named;
  // Of one that says all, also the questions alone, whose replies have failed.
  if (history.some(isReply) || (isWhole && history.length > 0)) {
    const after = await findPlace(named, history, context, reach);
    return after === undefined ? { conversationId, history: windowOf(history) } : { conversationId, after };
  }
  const isFirst = isWhole || (await asksFirst(named, question, context, reach));
  return isFirst ? { conversationId, after: null } : { conversationId };
}

/** Whether a question is the first one of a conversation's current path. */
async function asksFirst(
  { id }: NamedConversation,
  question: string,
  { store }: HandlerContext,
  reach: Reach,
): Promise<boolean> {
  const slice = { order: "asc", offset: 0, limit: 1, characters: question.length + 1 } as const;
  const first = (await store.listMessages(reach, id, slice))?.items[0];
  return first?.role === "user" && isSame(first.content, question);
}

/** Where a message goes after a response, which may be followed by several others. */
export async function placeAfter(
  previousId: string,
  context: HandlerContext,
  twin: Twin,
  reach: CallerReach,
): Promise<Destination> {
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
