/**
 * A reply that is never stored: it lives as long as its only follower.
 *
 * @module
 */

import { ended, type MessageRecord } from "../store/records.ts";
import type { EngineProgress, HistoryMessage } from "../twins/engine.ts";
import { twinRevision } from "../twins/twins.ts";
import { tooMuchAtOnce } from "../wire/errors.ts";
import { questionBytes, type ReplyContext } from "./context.ts";
import { cancelled, completed, Draft, failed } from "./draft.ts";
import { ReplyFeed } from "./feed.ts";
import { readMemory, requireEngine, tooLong } from "./producer.ts";
import { ReplyReport } from "./report.ts";
import { newMessages, type Send } from "./send.ts";

/** What is asked, by whom. */
export interface UnstoredTurn
  extends Pick<
    Send,
    "owner" | "endUser" | "limits" | "twin" | "content" | "requestId" | "traceparent" | "received"
  > {
  readonly history: readonly HistoryMessage[];
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
 * @throws {ApiError} `unavailable`
 */
export function replyUnstored(context: ReplyContext, turn: UnstoredTurn): UnstoredReply {
  const { clock, engines, maxReplyMs, newId, sha256, store } = context;
  const { owner, endUser, twin, history, content } = turn;
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
  if (!memory.reserve(questionBytes(content, history))) throw tooMuchAtOnce();
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
      const given = { twin, history, memory: known, content, origin, traceparent: report.traceparent() };
      draft.end(completed(await requireEngine({ twin, engine }).reply(given, draft.output())));
    } catch (error) {
      if (!draft.closed) draft.end(failed(report.failed(error)));
    }
  }

  async function run(): Promise<void> {
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
    await count(context, erased ? { ...turn, endUser: undefined } : turn, message, report);
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
  return { owner, endUser, feed, end: run(), erase, interrupt };
}

/** Once only, as a store that has failed may have counted it nevertheless: the log has what may be missing. */
async function count(
  { store }: ReplyContext,
  { owner, endUser, twin }: UnstoredTurn,
  { completedAt, createdAt, usage }: MessageRecord,
  report: ReplyReport,
): Promise<void> {
  const who = { owner, endUser: endUser ?? null, twinId: twin.id };
  try {
    await store.countReply({ ...who, beganAt: createdAt, completedAt: completedAt ?? createdAt, usage });
  } catch (error) {
    report.log("error", "a reply could not be counted", { usage, error });
  }
}
