/**
 * Begins a reply: stores the question and the reply, then has it produced.
 *
 * @module
 */

import { within } from "../base/clock.ts";
import type { Held } from "../base/memory-budget.ts";
import type { IdempotencyClaim, MadeClaim, MessageRecord } from "../store/records.ts";
import { type BeginReply, type BeginResult, type Reach, StoreUnavailable } from "../store/store.ts";
import type { HistoryMessage } from "../twins/engine.ts";
import { type Twin, twinRevision } from "../twins/twins.ts";
import {
  conversationBusy,
  conversationNotFound,
  messageNotFound,
  requireEndedReply,
  tooManyBranches,
} from "../wire/errors.ts";
import type { ReplyContext, RunningLimit } from "./context.ts";
import type { ReplyFeed } from "./feed.ts";
import type { RunningReplies } from "./running.ts";
import { newLease } from "./saver.ts";

/** How long to wait for the store to say whether a send was stored, in milliseconds. */
const lookMs = 2000;

/** A message to send, checked. */
export interface Send extends Reach {
  /** How many replies the credential may have running at once. */
  readonly limits: readonly RunningLimit[];
  readonly conversationId: string;
  /**
   * The ended reply that it goes on from, on any branch; null: from the beginning. Undefined: from the end of the path.
   */
  readonly after?: string | null | undefined;
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
  /** What the request holds of its body: from now on, the reply counts it. Absent: nothing. */
  readonly received?: Held | undefined;
}

/** The result of a send: the reply to follow, or the claim of an equal request that was made before. */
export type Sent = { readonly feed: ReplyFeed } | { readonly claim: MadeClaim };

/** Stores a question and its reply, and has the reply produced. */
export async function sendMessage(context: ReplyContext, running: RunningReplies, send: Send): Promise<Sent> {
  const { owner, endUser, conversationId, content, history, twin, claim } = send;
  const { limits, requestId, traceparent, readAlong = false, received } = send;
  const { engines, sha256, newId, clock, conversations } = context;
  const revision = twinRevision(twin, sha256);
  const ids = { question: newId("msg"), reply: newId("msg") };
  const engine = engines[twin.engine];
  let end = conversations.endOf(conversationId);
  for (;;) {
    const { after = end.lastMessageId } = send;
    const forkAt = after === end.lastMessageId ? undefined : await findFork(context, send, after);
    const fields = { conversationId, content, twinRevision: revision, seq: end.logLength, after };
    const { question, reply } = newMessages(fields, ids, clock.now());
    const lease = newLease(context);
    const asked = {
      owner,
      endUser,
      twin,
      engine,
      question,
      history,
      limits,
      readAlong,
      requestId,
      traceparent,
      reply,
      lease,
    };
    received?.release();
    const producer = running.prepare(asked);
    let begun: BeginResult | undefined;
    try {
      begun = await begin(context, {
        owner,
        endUser,
        question,
        reply,
        lease,
        forkAt,
        lastAttempt: history !== undefined,
        ...(claim && { claim }),
      });
    } finally {
      if (begun?.result !== "begun") running.discard(producer);
    }
    switch (begun.result) {
      case "begun":
        running.start(producer, begun.memory);
        context.changes.tell(conversationId);
        return { feed: producer.feed };
      case "claimed":
        return { claim: begun.claim };
      case "busy":
        throw conversationBusy(begun.replyId);
      case "too_many_branches":
        throw tooManyBranches();
      case "not_found":
        conversations.forget(conversationId);
        return conversationNotFound();
      case "moved":
        end = begun.end;
        conversations.moved(conversationId, end);
    }
  }
}

/** The number of the ended reply after which a message is to go on; -1: from the beginning. */
async function findFork(
  { store, conversations }: ReplyContext,
  { owner, endUser, conversationId }: Send,
  after: string | null,
): Promise<number> {
  if (after === null) return -1;
  const found = await store.getMessage({ owner, endUser }, after, { conversationId, characters: 0 });
  if (found) return requireEndedReply(found, "after").seq;
  if (await store.getConversation({ owner, endUser }, conversationId)) return messageNotFound();
  conversations.forget(conversationId); // it was deleted since it was cached
  return conversationNotFound();
}

/** A question and its reply in progress. */
export function newMessages(
  {
    conversationId,
    content,
    twinRevision,
    seq,
    after,
  }: Pick<MessageRecord, "conversationId" | "content" | "twinRevision" | "seq" | "after">,
  ids: { readonly question: string; readonly reply: string },
  now: number,
) {
  const both = {
    conversationId,
    finishReason: null,
    usage: null,
    error: null,
    sources: null,
    attempt: 1,
    continuedFrom: null,
    feedback: null,
    createdAt: now,
  };
  const question: MessageRecord = {
    id: ids.question,
    role: "user",
    content,
    status: "completed",
    seq,
    after,
    twinRevision: null,
    completedAt: now,
    ...both,
  };
  const reply: MessageRecord = {
    id: ids.reply,
    role: "assistant",
    content: "",
    status: "in_progress",
    seq: seq + 1,
    after: ids.question,
    twinRevision,
    completedAt: null,
    ...both,
  };
  return { question, reply };
}

/**
 * Stores question and reply. If the store cannot say whether it did, for example because its answer to COMMIT was lost,
 * looks it up: a reply that is stored but not produced would keep its conversation busy until its lease ends.
 */
async function begin({ store, clock, log }: ReplyContext, records: BeginReply): Promise<BeginResult> {
  const { owner, question, reply } = records;
  try {
    return await store.beginReply(records);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    const found = await within(
      clock,
      lookMs,
      store.getConversation({ owner }, question.conversationId).catch(() => undefined),
    );
    if (found?.replyId !== reply.id) throw error;
    log("warn", "the store did not confirm that a reply began, but has stored it", {
      messageId: reply.id,
      error,
    });
    return { result: "begun" };
  }
}
