/**
 * The beginning of a reply: the two messages of a send, and storing them.
 *
 * @module
 */

import { type Clock, within } from "../base/clock.ts";
import type { NewId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { MessageRecord } from "../store/records.ts";
import { type BeginOutcome, type BeginReply, type Store, StoreUnavailable } from "../store/store.ts";

/** How long to wait for the store to say whether a send was stored, in milliseconds. */
const lookMs = 2000;

/** A question and its reply in progress. */
export function newExchange(
  {
    conversationId,
    content,
    twinRevision,
  }: Pick<MessageRecord, "conversationId" | "content" | "twinRevision">,
  newId: NewId,
  now: number,
) {
  const question: MessageRecord = {
    id: newId("msg"),
    conversationId,
    role: "user",
    content,
    status: "completed",
    finishReason: null,
    inReplyTo: null,
    usage: null,
    error: null,
    sources: null,
    twinRevision: null,
    attempt: 1,
    continuedFrom: null,
    createdAt: now,
    completedAt: now,
  };
  const reply: MessageRecord = {
    id: newId("msg"),
    conversationId,
    role: "assistant",
    content: "",
    status: "in_progress",
    finishReason: null,
    inReplyTo: question.id,
    usage: null,
    error: null,
    sources: null,
    twinRevision,
    attempt: 1,
    continuedFrom: null,
    createdAt: now,
    completedAt: null,
  };
  return { question, reply };
}

/** What storing a beginning needs. */
export interface BeginningContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Stores a beginning. If the store cannot say whether it did, for example because its answer to COMMIT was lost, looks
 * it up: a reply that is stored but not produced would keep its conversation busy until its lease ends.
 */
export async function beginStored(
  { store, clock, log }: BeginningContext,
  begin: BeginReply,
): Promise<BeginOutcome> {
  try {
    return await store.beginReply(begin);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    const position = await within(
      clock,
      lookMs,
      findBegun(store, begin).catch(() => undefined),
    );
    if (position === undefined) throw error;
    log("warn", "the store did not confirm the beginning of a reply, but has stored it", {
      messageId: begin.reply.id,
      error,
    });
    return { outcome: "begun", position };
  }
}

/** How many messages came before a reply that was stored. Undefined: it was not. */
async function findBegun(store: Store, { owner, reply }: BeginReply): Promise<number | undefined> {
  const { id, conversationId } = reply;
  const found = await store.getConversation({ owner }, conversationId);
  return found?.replyId === id ? found.messageCount - 2 : undefined;
}

/** Why nothing was stored. */
export type NotBegun = Exclude<BeginOutcome, { readonly outcome: "begun" }>;
