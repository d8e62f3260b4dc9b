/**
 * Replies that are complete before they are stored, because their engine only has to compute them.
 *
 * @module
 */

import { Draft } from "./draft.ts";
import { completed, type FinalState } from "./ending.ts";
import type { ReplyFeed } from "./follower.ts";
import type { MessageRecord } from "./store/store.ts";
import type { Turn, TwinEngine } from "./twins/engine.ts";

/** How many microtasks an engine may take. One that waits for nothing needs a few, one for each `await` in a row. */
const mostMicrotasks = 20;

/** A completed reply that is not stored yet. */
export interface ImmediateReply {
  readonly state: FinalState;
  readonly content: string;
  /** The engine's progress events, each as JSON. */
  readonly progress: readonly string[];
}

/**
 * What an immediate engine replies. If it `failed` or `waits` for something, what it wrote is dropped, and its signal
 * aborted; it is to be called again once the question is stored.
 */
export async function replyImmediately(
  engine: TwinEngine,
  turn: Turn,
): Promise<ImmediateReply | "failed" | "waits"> {
  const draft = new Draft();
  let state: FinalState | "failed" | undefined;
  ask(engine, turn, draft).then(
    (ending) => {
      state = ending;
    },
    () => {
      state = "failed"; // and again when it is called again, which is logged
    },
  );
  for (let waited = 0; !state && waited < mostMicrotasks; waited++) await undefined;
  if (!state || state === "failed") {
    draft.abort();
    return state ?? "waits";
  }
  draft.end();
  return { state, content: draft.text.toString(), progress: draft.progress };
}

/** Async, so that an engine that throws instead of returning a promise is one that rejects. */
async function ask(engine: TwinEngine, turn: Turn, draft: Draft): Promise<FinalState> {
  return completed(await engine.reply(turn, draft.output()));
}

/** A reply that was completed before it was stored, as a feed. */
export class CompletedReply implements ReplyFeed {
  readonly id: string;
  readonly questionId: string;
  readonly ended: MessageRecord;
  readonly progress: readonly string[];
  readonly ending = false;

  constructor(reply: MessageRecord, progress: readonly string[]) {
    this.id = reply.id;
    this.questionId = reply.inReplyTo ?? "";
    this.ended = reply;
    this.progress = progress;
  }

  get length(): number {
    return this.ended.content.length;
  }

  slice(from: number, to: number): string {
    return this.ended.content.slice(from, to);
  }

  subscribe(): void {} // nothing changes any more

  unsubscribe(): void {}
}
