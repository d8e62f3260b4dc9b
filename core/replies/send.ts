/**
 * Stores a message: a question with its reply, which is then produced, or a message alone.
 *
 * @module
 */

import { within } from "../base/clock.ts";
import type { Held } from "../base/memory-budget.ts";
import type { Answerer, Decisions, EndReply, MadeClaim, MessageRecord } from "../store/records.ts";
import { type BeginReply, type BeginResult, type NotStored, StoreUnavailable } from "../store/store.ts";
import type { TokenBudget, TokenReservation } from "../store/token-budgets.ts";
import type { HistoryMessage, ReplyFormat } from "../twins/engine.ts";
import { type Twin, twinRevision } from "../twins/twins.ts";
import { ApiError, tooMuchAtOnce, twinNotFound, validationError } from "../wire/errors.ts";
import type { Production, ReplyContext } from "./context.ts";
import { decide } from "./decisions.ts";
import type { ReplyFeed } from "./feed.ts";
import { budgetsOf, questionBytes, type RunningLimit, reservationOf, tellReached } from "./limits.ts";
import { type Attempt, type Placed, storeInPlace } from "./place.ts";
import type { Producer } from "./producer.ts";
import type { RunningReplies } from "./running.ts";
import { newLease } from "./saver.ts";
import { exchangeOf } from "./stored-reply.ts";

/** How long to wait for the store to say whether a send was stored, in milliseconds. */
const lookMs = 2000;

/** A message to send, checked. */
export interface Send extends Placed {
  /** How many replies the credential may have running at once. */
  readonly limits: readonly RunningLimit[];
  /** The budgets of tokens that the reply counts towards, besides its twin's. */
  readonly budgets: readonly TokenBudget[];
  /** The conversation's twin. */
  readonly twin: Twin;
  readonly content: string;
  /** What the engine is to know of earlier messages. Undefined: what the conversation has. */
  readonly history?: readonly HistoryMessage[] | undefined;
  /** The request that sends it, for the log. */
  readonly requestId: string;
  /** Its W3C trace context. Undefined: it has none. */
  readonly traceparent: string | undefined;
  /** Whether its client reads along. Default: no. */
  readonly readAlong?: boolean;
  /** The form that the reply is to have, which {@link Replies.formatProblem} accepts. Absent: text. */
  readonly format?: ReplyFormat | undefined;
  /** Whether calls may wait for the person. Default: nobody can be asked. */
  readonly mayAsk?: boolean;
  /** Whether it chooses the twin of a conversation that may have none yet. Default: that has this one. */
  readonly choosesTwin?: boolean | undefined;
  /** What it decides of the calls of the reply that it goes on from. Undefined: nothing was said of them. */
  readonly decisions?: Decisions | undefined;
  /** What the request holds of its body: from now on, the reply counts it. Absent: nothing. */
  readonly received?: Held | undefined;
}

/** A message to send, or to keep for the person who answers, checked. */
export interface SendOrWait extends Omit<Send, "twin"> {
  /** The conversation's twin. Undefined: it is gone, so that only a person can answer. */
  readonly twin: Twin | undefined;
}

/** A message to store without a reply, checked. */
export interface Say extends Placed, Pick<MessageRecord, "role" | "content" | "author"> {
  /** Who answers from now on. Undefined: as before. */
  readonly answeredBy?: Answerer | undefined;
}

/** An equal request was made before. */
interface Claimed {
  readonly claim: MadeClaim;
}

/** A message that was stored alone. */
interface Alone {
  readonly message: MessageRecord;
}

/** A reply to follow, and as it was stored when it began. */
interface Begun {
  readonly feed: ReplyFeed;
  readonly reply: MessageRecord;
}

/** The result of a send. */
export type Sent = Begun | Claimed;

/** The result of a say. */
export type Said = Alone | Claimed;

/**
 * Stores a question and its reply, and has the reply produced.
 *
 * @throws {ApiError} also `answered_by_person`, while a person answers
 */
export function sendMessage(context: ReplyContext, running: RunningReplies, send: Send): Promise<Sent> {
  return storeInPlace(context, running, send, askTwin(context, running, send));
}

/**
 * Stores a question and its reply, and has the reply produced; or, while a person answers, the question alone, which waits.
 * Which of the two is decided by the transaction that stores it.
 */
export function sendOrWait(
  context: ReplyContext,
  running: RunningReplies,
  send: SendOrWait,
): Promise<Sent | Said> {
  const { twin } = send;
  const ask: Attempt<Begun | Alone> = twin
    ? askTwin(context, running, { ...send, twin })
    : async () => twinNotFound();
  const wait = storeAlone(context, { ...send, role: "user", author: null }, true);
  return storeInPlace(context, running, send, async (place) => {
    for (let waits = twin === undefined; ; waits = !waits) {
      if (waits && send.decisions) {
        const message = "must be left out: a person answers in this conversation";
        throw validationError([{ path: "calls", message }]);
      }
      const result = await (waits ? wait : ask)(place);
      if (!("result" in result) || result.result !== "answered_by") return result;
    }
  });
}

/** Stores a message without a reply. */
export function sayMessage(context: ReplyContext, running: RunningReplies, say: Say): Promise<Said> {
  return storeInPlace(context, running, say, storeAlone(context, say, false));
}

function askTwin(context: ReplyContext, running: RunningReplies, send: Send): Attempt<Begun> {
  const { owner, endUser, conversationId, content, history, twin, claim } = send;
  const { limits, requestId, traceparent, readAlong = false, format, mayAsk = false, received } = send;
  const { engines, sha256, newId, clock } = context;
  const revision = twinRevision(twin, sha256);
  const ids = { question: newId("msg"), reply: newId("msg") };
  const engine = engines[twin.engine];
  const budgets = budgetsOf({ ...send, engine });
  let mustDecide = send.decisions !== undefined; // else the store says whether calls wait
  return async (place) => {
    const { seq, after, forkAt, replaces } = place;
    const decided = mustDecide ? await decide(context.store, send, place) : undefined;
    if (decided && "result" in decided) return decided;
    const fields = { conversationId, content, twinRevision: revision, seq, after };
    const { question, reply } = newMessages(fields, ids, clock.now());
    const lease = newLease(context);
    const asked = {
      owner,
      endUser,
      twin,
      engine,
      reserved: budgets.length > 0,
      question,
      history,
      limits,
      readAlong,
      format,
      mayAsk,
      decided: decided?.calls,
      requestId,
      traceparent,
      reply,
      lease,
    };
    received?.release();
    const producer = await prepare(context, running, asked, replaces);
    if ("result" in producer) return producer;
    let begun: BeginResult | undefined;
    try {
      const reserves = budgets.length > 0 ? await expect(context, producer, budgets, replaces) : undefined;
      begun = await begin(context, {
        owner,
        endUser,
        question,
        reply,
        lease,
        forkAt,
        replaces,
        lastAttempt: history !== undefined || format !== undefined || (!mayAsk && twin.confirm.length > 0),
        ...(claim && { claim }),
        ...(reserves && { reserves }),
        ...(send.choosesTwin && { choosesTwin: twin.id }),
        decides: decided?.decides,
      });
    } finally {
      if (begun?.result !== "begun") running.discard(producer);
    }
    if (begun.result === "undecided") mustDecide = true;
    if (begun.result === "busy" && send.replaces) return (await overBudget(context, send, budgets)) ?? begun;
    if (begun.result !== "begun") return begun;
    tellReached(context, begun.reached);
    running.start(producer, begun.memory);
    return { stored: { feed: producer.feed, reply } };
  };
}

/** A producer; or, where no more replies may run, why the message would have none in any case. */
async function prepare(
  { store }: ReplyContext,
  running: RunningReplies,
  asked: Production,
  replaces: EndReply | undefined,
): Promise<Producer | NotStored> {
  try {
    return running.prepare(asked, replaces !== undefined);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "too_many_running") throw error;
    const { owner, endUser, question } = asked;
    const found = await store.getConversation({ owner, endUser }, question.conversationId);
    if (!found) return { result: "not_found" };
    const { replyId, answeredBy } = found;
    if (replyId !== null) return { result: "busy", replyId };
    if (answeredBy === "person") return { result: "answered_by", answeredBy };
    throw error;
  }
}

/**
 * Why a message would be refused also in the place of the reply that runs, which is not stopped for that. What that one gives
 * back is not known: only budgets count that others have used up.
 */
async function overBudget(
  { store, clock }: ReplyContext,
  { owner, conversationId }: Send,
  budgets: readonly TokenBudget[],
): Promise<NotStored | undefined> {
  if (budgets.length === 0) return undefined;
  const states = await store.readTokenBudgets(budgets, clock.now());
  const spent = states.filter(({ used, limit }) => used >= limit);
  if (spent.length === 0) return undefined;
  const conversation = await store.getConversation({ owner }, conversationId);
  return conversation?.answeredBy === "person" ? undefined : { result: "over_budget", spent }; // which costs nothing
}

/**
 * What a reply is expected to take of budgets: the history that its model will be told is read for that. `replaces`: how the
 * reply ends that it takes the place of, which the store does not know yet.
 */
async function expect(
  context: ReplyContext,
  { production, memory }: Producer,
  budgets: readonly TokenBudget[],
  replaces: EndReply | undefined,
): Promise<TokenReservation> {
  const { owner, twin, question, reply, format } = production;
  const { conversationId, after } = question;
  const stored =
    production.history ?? (await context.conversations.historyBehind(owner, conversationId, after));
  const history = replaces ? [...stored, ...(await toldOfReplaced(context, replaces))] : stored;
  const bytes = production.history ? 0 : questionBytes("", history);
  if (!memory.reserve(bytes)) throw tooMuchAtOnce();
  const reservation = reservationOf(reply, budgets, { twin, content: question.content, history, format });
  memory.count(-bytes); // the producer reads it again, often from the cache
  return reservation;
}

/** What histories will have of a reply that ends, and of its question. */
async function toldOfReplaced({ store }: ReplyContext, end: EndReply): Promise<readonly HistoryMessage[]> {
  const { reply, question } = await exchangeOf(store, end);
  const { content = reply?.content } = end;
  return question && content ? [question, { role: "assistant", content }] : [];
}

/** `waits`: whether it is a question that waits for a person, and so is stored only while a person answers. */
function storeAlone(context: ReplyContext, say: Say, waits: boolean): Attempt<Alone> {
  const { owner, endUser, conversationId, role, content, author, answeredBy, claim } = say;
  const { store, newId, clock, conversations, tells } = context;
  return async ({ seq, after, forkAt, replaces }) => {
    const ids = { question: newId("msg"), reply: "" };
    const fields = { conversationId, content, twinRevision: null, seq, after };
    const { question } = newMessages(fields, ids, clock.now());
    const finishReason = role === "assistant" ? ("stop" as const) : null;
    const message = { ...question, role, author, finishReason, alone: true };
    const add = { owner, endUser, message, claim, forkAt, replaces, answeredBy, waits, tells };
    const added = await store.addMessage(add);
    if (added.result !== "added") return added;
    tellReached(context, added.reached);
    conversations.forget(conversationId); // its history has no pairs alone any more
    return { stored: { message } };
  };
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
    alone: false,
    author: null,
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
