/**
 * A reply that is never stored: it lives as long as its only follower.
 *
 * @module
 */

import type { HandlerContext } from "../http/route.ts";
import { cancelled, completed, Draft, failed, type Outcome } from "../replies/draft.ts";
import { ReplyFeed } from "../replies/feed.ts";
import { newMessages } from "../replies/send.ts";
import type { FinalState, MessageRecord } from "../store/records.ts";
import { type HistoryMessage, ModelError } from "../twins/engine.ts";
import { type Twin, twinRevision } from "../twins/twins.ts";
import { shuttingDown } from "../wire/errors.ts";

/** What is asked. */
export interface UnstoredTurn {
  readonly twin: Twin;
  readonly history: readonly HistoryMessage[];
  readonly content: string;
  /** The request that asks, for the log. */
  readonly requestId: string;
}

/** Asks the twin's engine. The reply is cancelled once its follower leaves. */
export function replyUnstored(context: HandlerContext, turn: UnstoredTurn): ReplyFeed {
  const { replies, clock, maxReplyMs } = context;
  if (replies.closing) throw shuttingDown();
  const reply = newReply(context, turn);
  const feed = new ReplyFeed(reply);
  const telling = tell(context, turn, reply);
  const draft = new Draft(feed, telling.firstText, false);
  feed.feedFrom({ delayed: false, followed() {}, left: () => draft.stop(cancelled) });
  const cancelTimeout = clock.after(maxReplyMs, () => {
    if (draft.closed) return;
    const error = new ModelError("model_timeout", `The reply took more than ${maxReplyMs} ms.`);
    draft.stop(fail(context, turn, error));
  });
  void ask(context, turn, draft);
  const ended = draft.outcome.then((outcome) => {
    cancelTimeout();
    const state = outcome === "lost" ? cancelled : outcome;
    const message = { ...reply, ...state, content: feed.text.toString(), completedAt: clock.now() };
    telling.ended(state);
    feed.end(message);
  });
  replies.hold(ended, () => draft.stop(failed("interrupted")));
  return feed;
}

function newReply({ newId, clock, sha256 }: HandlerContext, { twin, content }: UnstoredTurn): MessageRecord {
  const fields = { conversationId: "", content, twinRevision: twinRevision(twin, sha256) };
  return newMessages(fields, newId, clock.now()).reply;
}

/** Tells whoever observes the service what becomes of a reply. */
function tell({ observe, clock }: HandlerContext, { twin, requestId }: UnstoredTurn, reply: MessageRecord) {
  const names = { messageId: reply.id, twinId: twin.id, engine: twin.engine };
  const elapsed = () => clock.now() - reply.createdAt;
  observe.replyBegan?.({ ...names, conversationId: reply.conversationId, requestId, attempt: reply.attempt });
  return {
    firstText: () => observe.replyFirstText?.({ ...names, durationMs: elapsed() }),
    ended({ status, finishReason, error, usage }: FinalState) {
      const reason = status === "completed" ? finishReason : null;
      const end = { status, finishReason: reason, errorCode: error?.code ?? null, usage };
      observe.replyEnded?.({ ...names, ...end, durationMs: elapsed() });
    },
  };
}

async function ask(context: HandlerContext, turn: UnstoredTurn, draft: Draft): Promise<void> {
  const { twin, history, content } = turn;
  const engine = context.engines[twin.engine];
  try {
    if (!engine) throw new ModelError("model_error", `There is no engine "${twin.engine}".`);
    draft.end(completed(await engine.reply({ twin, history, content }, draft.output())));
  } catch (error) {
    if (!draft.closed) draft.end(fail(context, turn, error));
  }
}

/** Logs an error, and returns the outcome that it means. */
function fail({ log, engines }: HandlerContext, { twin, requestId }: UnstoredTurn, error: unknown): Outcome {
  const asked = engines[twin.engine]?.logFields?.(twin);
  log("error", "a reply failed", { requestId, twinId: twin.id, engine: twin.engine, ...asked, error });
  return failed(error instanceof ModelError ? error.code : "model_error");
}
