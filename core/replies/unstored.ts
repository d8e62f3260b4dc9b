/**
 * A reply that is never stored: it lives as long as its only follower.
 *
 * @module
 */

import type { Held } from "../base/memory-budget.ts";
import { ended, type MessageRecord } from "../store/records.ts";
import type { EngineProgress, HistoryMessage, TwinEngine } from "../twins/engine.ts";
import { twinRevision } from "../twins/twins.ts";
import { tooMuchAtOnce } from "../wire/errors.ts";
import type { ReplyContext } from "./context.ts";
import { cancelled, completed, Draft, failed, toldOf } from "./draft.ts";
import { ReplyFeed } from "./feed.ts";
import { askGuarded } from "./guarding.ts";
import {
  budgetsOf,
  holdTwin,
  questionBytes,
  requireRoom,
  reservationOf,
  tellEstimated,
  tellReached,
} from "./limits.ts";
import { readMemory, requireEngine, tooLong } from "./producer.ts";
import { ReplyReport } from "./report.ts";
import { newMessages, type Send } from "./send.ts";

/** What is asked, by whom. */
export interface UnstoredTurn
  extends Pick<
    Send,
    | "owner"
    | "endUser"
    | "limits"
    | "budgets"
    | "twin"
    | "content"
    | "format"
    | "requestId"
    | "traceparent"
    | "received"
  > {
  readonly history: readonly HistoryMessage[];
  /** Whether the history is in the client's words; else it is stored. */
  readonly isSaidByClient: boolean;
}

/** A reply that is not stored. */
export interface UnstoredReply {
  readonly owner: string;
  readonly endUser: string | undefined;
  readonly feed: ReplyFeed;
  /** Resolves once the reply has ended and is counted. */
  readonly end: Promise<void>;
  /** Ends the reply because its end user is erased. It counts under nobody's name. */
  erase(): void;
  /** Ends the reply because this process stops. */
  interrupt(): void;
}

/**
 * Asks the twin's engine. The reply is cancelled once its follower leaves, and counted once it has ended.
 *
 * @throws {ApiError} `unavailable`, `budget_exceeded`
 */
export async function replyUnstored(context: ReplyContext, turn: UnstoredTurn): Promise<UnstoredReply> {
  const { clock, engines, newId, sha256 } = context;
  const { twin, history, content } = turn;
  const fields = {
    conversationId: "",
    content,
    twinRevision: twinRevision(twin, sha256),
    seq: 0,
    after: null,
  };
  const ids = { question: newId("msg"), reply: newId("msg") };
  const { reply } = newMessages(fields, ids, clock.now());
  const engine = engines[twin.engine];
  const memory = context.memory.hold(turn);
  turn.received?.release();
  try {
    if (!holdTwin(memory, twin) || !memory.reserve(questionBytes(content, history, turn.format)))
      throw tooMuchAtOnce();
    const reserved = await reserve(context, turn, reply, engine);
    return run(context, turn, { reply, engine, memory, reserved });
  } catch (error) {
    memory.release();
    throw error;
  }
}

/** How much longer than it may run a reply keeps what it has reserved, in milliseconds. */
const marginMs = 60_000;

/** Reserves tokens, if there are budgets. False: none are reserved. */
async function reserve(
  { store, clock, maxReplyMs }: ReplyContext,
  turn: UnstoredTurn,
  reply: MessageRecord,
  engine: TwinEngine | undefined,
): Promise<boolean> {
  const budgets = budgetsOf({ ...turn, engine });
  if (budgets.length === 0) return false;
  const until = reply.createdAt + maxReplyMs + marginMs; // its process may die
  requireRoom(await store.reserveTokens({ ...reservationOf(reply, budgets, turn), until }), clock.now());
  return true;
}

/** A reply that is about to be written. */
interface Beginning {
  readonly reply: MessageRecord;
  readonly engine: TwinEngine | undefined;
  readonly memory: Held;
  readonly reserved: boolean;
}

function run(
  context: ReplyContext,
  turn: UnstoredTurn,
  { reply, engine, memory, reserved }: Beginning,
): UnstoredReply {
  const { clock, guard, maxReplyMs, store } = context;
  const { owner, endUser, twin, history, isSaidByClient, content, format } = turn;
  const report = new ReplyReport(context, { reply, engine, ...turn });
  const feed = new ReplyFeed(reply, context.memory.hold(turn));
  feed.keep();
  const watcher = {
    firstText: () => report.firstText(),
    tool: (progress: EngineProgress) => report.tool(progress),
    acts: async () => {}, // nobody else can begin it again
  };
  const draft = new Draft(feed, watcher, memory, false);
  feed.feedFrom({ delayed: false, followed() {}, left: () => draft.stop(cancelled) });
  let erased = false;

  async function ask(): Promise<void> {
    try {
      const origin = { owner, endUser: endUser ?? null, conversationId: null, messageId: reply.id };
      const known = await readMemory(store, owner, origin.endUser, twin.id);
      const traceparent = report.traceparent();
      const given = { twin, history, memory: known, content, format, origin, traceparent };
      const asked = requireEngine({ twin, engine });
      const guarding = { guard, clock, isSaidByClient, replaceQuestion: async () => {} };
      draft.end(completed(await askGuarded(guarding, asked, given, draft.output())));
    } catch (error) {
      if (!draft.closed) draft.end(failed(report.failed(error), toldOf(error)));
    }
  }

  async function write(): Promise<void> {
    report.began();
    const cancelTimeout = clock.after(maxReplyMs, () => {
      if (!draft.closed) draft.stop(failed(report.failed(tooLong(maxReplyMs))));
    });
    void ask();
    const outcome = await draft.outcome;
    cancelTimeout();
    const state = outcome === "lost" ? cancelled : outcome;
    report.ended(state);
    const text = { content: feed.text.toString(), sources: draft.sources ?? null };
    const message = ended(reply, state, text, clock.now());
    const who = erased ? { ...turn, endUser: undefined } : turn;
    await count(context, who, message, report, reserved);
    if (reserved) tellEstimated(context, engine, message);
    memory.release();
    feed.end(message);
    feed.letGo();
  }

  const erase = () => {
    erased = true;
    draft.stop(cancelled);
  };
  const interrupt = () => {
    if (!draft.closed) report.interrupted();
    draft.stop(failed("interrupted"));
  };
  return { owner, endUser, feed, end: write(), erase, interrupt };
}

/** Once only, as a store that has failed may have counted it nevertheless: the log has what may be missing. */
async function count(
  context: ReplyContext,
  { owner, endUser, twin }: UnstoredTurn,
  { id, content: text, completedAt, createdAt, usage }: MessageRecord,
  report: ReplyReport,
  isReserved: boolean,
): Promise<void> {
  const who = { owner, endUser: endUser ?? null, twinId: twin.id };
  const when = { beganAt: createdAt, completedAt: completedAt ?? createdAt };
  const reserved = isReserved ? { id, text } : undefined;
  const { store, tells } = context;
  try {
    tellReached(context, await store.countReply({ ...who, ...when, usage, reserved, tells }));
  } catch (error) {
    report.log("error", "a reply could not be counted", { usage, error });
  }
}
