/**
 * A reply that is never stored: it lives as long as its only follower.
 *
 * @module
 */

import type { HandlerContext } from "../../core/http/route.ts";
import { cancelled, completed, Draft, failed } from "../../core/replies/draft.ts";
import { ReplyFeed } from "../../core/replies/feed.ts";
import { requireEngine, tooLong } from "../../core/replies/producer.ts";
import { ReplyReport } from "../../core/replies/report.ts";
import { newMessages, type Send } from "../../core/replies/send.ts";
import { ended, type MessageRecord } from "../../core/store/records.ts";
import type { HistoryMessage } from "../../core/twins/engine.ts";
import { twinRevision } from "../../core/twins/twins.ts";
import { shuttingDown } from "../../core/wire/errors.ts";

/** What is asked, by whom. */
export interface UnstoredTurn
  extends Pick<Send, "owner" | "endUser" | "keyId" | "twin" | "content" | "requestId" | "traceparent"> {
  readonly history: readonly HistoryMessage[];
}

/** Asks the twin's engine. The reply is cancelled once its follower leaves, and counted once it has ended. */
export function replyUnstored(context: HandlerContext, turn: UnstoredTurn): ReplyFeed {
  const { replies, clock, maxReplyMs } = context;
  if (replies.closing) throw shuttingDown();
  const reply = newReply(context, turn);
  const report = new ReplyReport(context, { ...turn, reply, engine: context.engines[turn.twin.engine] });
  const feed = new ReplyFeed(reply);
  const draft = new Draft(feed, () => report.firstText(), false);
  feed.feedFrom({ delayed: false, followed() {}, left: () => draft.stop(cancelled) });
  report.began();
  const cancelTimeout = clock.after(maxReplyMs, () => {
    if (!draft.closed) draft.stop(failed(report.failed(tooLong(maxReplyMs))));
  });
  void ask(context, turn, draft, report);
  const end = draft.outcome.then(async (outcome) => {
    cancelTimeout();
    const state = outcome === "lost" ? cancelled : outcome;
    report.ended(state);
    const text = { content: feed.text.toString(), sources: draft.sources ?? null };
    const message = ended(reply, state, text, clock.now());
    await count(context, turn, message, report);
    feed.end(message);
  });
  replies.hold(reply.id, end, () => {
    if (!draft.closed) report.interrupted();
    draft.stop(failed("interrupted"));
  });
  return feed;
}

function newReply({ newId, clock, sha256 }: HandlerContext, { twin, content }: UnstoredTurn): MessageRecord {
  const fields = { conversationId: "", content, twinRevision: twinRevision(twin, sha256) };
  return newMessages(fields, newId, clock.now()).reply;
}

async function ask(
  { engines }: HandlerContext,
  { twin, history, content }: UnstoredTurn,
  draft: Draft,
  report: ReplyReport,
): Promise<void> {
  try {
    const engine = requireEngine({ twin, engine: engines[twin.engine] });
    const turn = { twin, history, content, traceparent: report.traceparent() };
    draft.end(completed(await engine.reply(turn, draft.output())));
  } catch (error) {
    if (!draft.closed) draft.end(failed(report.failed(error)));
  }
}

/** Once only, as a store that has failed may have counted it nevertheless: the log has what may be missing. */
async function count(
  { store }: HandlerContext,
  { owner, keyId, endUser, twin }: UnstoredTurn,
  { completedAt, createdAt, usage }: MessageRecord,
  report: ReplyReport,
): Promise<void> {
  const who = { owner, keyId, endUser: endUser ?? null, twinId: twin.id };
  try {
    await store.countReply({ ...who, completedAt: completedAt ?? createdAt, usage });
  } catch (error) {
    report.log("error", "a reply could not be counted", { usage, error });
  }
}
