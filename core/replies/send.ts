/**
 * Begins a reply: stores the question and the reply, then has it produced.
 *
 * @module
 */

import { within } from "../base/clock.ts";
import type { NewId } from "../base/ids.ts";
import type { IdempotencyClaim, MadeClaim, MessageRecord } from "../store/records.ts";
import {
  type BeginReply,
  type BeginResult,
  type Reach,
  type Store,
  StoreUnavailable,
} from "../store/store.ts";
import type { HistoryMessage } from "../twins/engine.ts";
import { type Twin, twinRevision } from "../twins/twins.ts";
import { conversationBusy, conversationNotFound } from "../wire/errors.ts";
import type { ReplyContext } from "./context.ts";
import type { ReplyFeed } from "./feed.ts";
import type { RunningReplies } from "./running.ts";
import { newLease } from "./saver.ts";

/** How long to wait for the store to say whether a send was stored, in milliseconds. */
const lookMs = 2000;

/** A message to send, checked. */
export interface Send extends Reach {
  /** The key that asks. */
  readonly keyId?: string | undefined;
  readonly conversationId: string;
  /** How many messages the conversation has, as far as this process knows. */
  readonly position: number;
  /** The conversation's twin. */
  readonly twin: Twin;
  readonly content: string;
  /** What the engine is to know of earlier messages. Undefined: what the conversation has. */
  readonly history?: readonly HistoryMessage[] | undefined;
  readonly claim: IdempotencyClaim | undefined;
  /** The request that sends it, for the log. */
  readonly requestId: string;
  /** Its W3C trace context. Undefined: it has none. */
  readonly traceparent: string | undefined;
  /** Whether its client reads along. Default: no. */
  readonly readAlong?: boolean;
}

/** The result of a send: the reply to follow, or the claim of an equal request that was made before. */
export type Sent = { readonly feed: ReplyFeed } | { readonly claim: MadeClaim };

/** Stores a question and its reply, and has the reply produced. */
export async function sendMessage(context: ReplyContext, running: RunningReplies, send: Send): Promise<Sent> {
  const { owner, endUser, keyId, conversationId, content, history, twin, claim, position } = send;
  const { requestId, traceparent, readAlong = false } = send;
  const { engines, sha256, newId, clock } = context;
  const fields = { conversationId, content, twinRevision: twinRevision(twin, sha256) };
  const { question, reply } = newMessages(fields, newId, clock.now());
  const lease = newLease(context);
  const engine = engines[twin.engine];
  const production = {
    owner,
    twin,
    engine,
    question,
    history,
    reply,
    lease,
    requestId,
    traceparent,
    readAlong,
  };
  const producer = running.prepare(production);
  let begun: BeginResult | undefined;
  try {
    begun = await begin(context, {
      owner,
      endUser,
      keyId,
      question,
      reply,
      lease,
      position,
      historyGiven: history !== undefined,
      ...(claim && { claim }),
    });
  } finally {
    if (begun?.result !== "begun") running.discard(producer);
  }
  switch (begun.result) {
    case "begun":
      running.start(producer, begun.position);
      return { feed: producer.feed };
    case "claimed":
      return { claim: begun.claim };
    case "busy":
      throw conversationBusy(begun.replyId);
    case "not_found":
      context.conversations.forget(conversationId);
      return conversationNotFound();
  }
}

/** A question and its reply in progress. */
export function newMessages(
  {
    conversationId,
    content,
    twinRevision,
  }: Pick<MessageRecord, "conversationId" | "content" | "twinRevision">,
  newId: NewId,
  now: number,
) {
  const none = {
    finishReason: null,
    usage: null,
    error: null,
    sources: null,
    attempt: 1,
    continuedFrom: null,
  };
  const both = { conversationId, ...none, createdAt: now };
  const question: MessageRecord = {
    ...both,
    id: newId("msg"),
    role: "user",
    content,
    status: "completed",
    inReplyTo: null,
    twinRevision: null,
    completedAt: now,
  };
  const reply: MessageRecord = {
    ...both,
    id: newId("msg"),
    role: "assistant",
    content: "",
    status: "in_progress",
    inReplyTo: question.id,
    twinRevision,
    completedAt: null,
  };
  return { question, reply };
}

/**
 * Stores question and reply. If the store cannot say whether it did, for example because its answer to COMMIT was lost,
 * looks it up: a reply that is stored but not produced would keep its conversation busy until its lease ends.
 */
async function begin({ store, clock, log }: ReplyContext, records: BeginReply): Promise<BeginResult> {
  try {
    return await store.beginReply(records);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    const position = await within(
      clock,
      lookMs,
      findBegun(store, records).catch(() => undefined),
    );
    if (position === undefined) throw error;
    log("warn", "the store did not confirm that a reply began, but has stored it", {
      messageId: records.reply.id,
      error,
    });
    return { result: "begun", position };
  }
}

/** How many messages came before a reply that was stored. Undefined: it was not. */
async function findBegun(store: Store, { owner, reply }: BeginReply): Promise<number | undefined> {
  const { id, conversationId } = reply;
  const found = await store.getConversation({ owner }, conversationId);
  return found?.replyId === id ? found.messageCount - 2 : undefined;
}
