/**
 * Produces one reply: runs the engine, and ends the reply exactly once. No client is involved; followers read its feed.
 *
 * @module
 */

import { sleep } from "../base/clock.ts";
import type { LogLevel } from "../base/log.ts";
import type { MessageRecord } from "../store/records.ts";
import { StoreUnavailable } from "../store/store.ts";
import { type HistoryMessage, ModelError, type TwinEngine } from "../twins/engine.ts";
import type { Production, ReplyContext } from "./context.ts";
import { cancelled, completed, Draft, failed, type Outcome } from "./draft.ts";
import { type FeedSource, ReplyFeed } from "./feed.ts";
import { retryMs, Saver } from "./saver.ts";

/** A reply that this process produces. */
export class Producer implements FeedSource {
  readonly delayed = false;
  readonly production: Production;
  readonly feed: ReplyFeed;
  readonly draft: Draft;
  readonly saver: Saver;
  readonly #context: ReplyContext;
  /** The engine was called: what fails after that is the model. */
  #asked = false;
  /** The last follower on this process has left. */
  #leftHere = false;
  #startedAt = 0;

  /** `isReadHere`: whether followers on this process read the saved text. */
  constructor(context: ReplyContext, production: Production, isReadHere: () => boolean) {
    this.#context = context;
    this.production = production;
    this.feed = new ReplyFeed(production.reply);
    const repeats = continuation(production) === "exact";
    this.draft = new Draft(this.feed, () => this.#tellFirstText(), repeats);
    this.saver = new Saver(context, { production, feed: this.feed, draft: this.draft, isReadHere });
    this.feed.feedFrom(this);
  }

  followed(): void {
    this.#leftHere = false;
  }

  left(): void {
    this.#leftHere = this.#context.cancelOnDisconnect;
    this.#stopIfLeft();
  }

  /** Cancels the reply if all its followers have left, here and elsewhere, and that is to stop it. */
  #stopIfLeft(): void {
    if (this.#leftHere && !this.saver.isFollowedThroughStore) this.draft.stop(cancelled);
  }

  /** Ends the reply because this process stops. */
  interrupt(): void {
    if (!this.draft.closed) this.#log("warn", "a reply was interrupted, because the server stops");
    this.draft.stop(failed("interrupted"));
  }

  /**
   * Runs the reply, which has been stored after `position` messages, to its stored end. Resolves with the reply as it is
   * stored if it was not this producer that ended it: it may be in progress, in another process. Never rejects.
   */
  async run(position: number): Promise<MessageRecord | undefined> {
    const { clock, maxReplyMs, conversations } = this.#context;
    const { question } = this.production;
    this.#tellBeginning();
    const cancelTimeout = clock.after(maxReplyMs, () => this.#timeOut());
    this.saver.start(() => this.#stopIfLeft());
    void this.#runEngine(position);
    const outcome = await this.draft.outcome;
    cancelTimeout();
    if (this.draft.differs)
      this.#log("warn", "a reply was interrupted: asked again, its engine wrote another text");
    const { message, own } = await this.saver.end(outcome);
    this.#tellEnd(own ? message : undefined);
    if (!own) {
      conversations.forget(question.conversationId);
      return message;
    }
    conversations.add(position, question, message);
    this.feed.end(message);
    return undefined;
  }

  async #runEngine(position: number): Promise<void> {
    const { twin, question, reply } = this.production;
    try {
      const history = this.production.history ?? (await this.#readHistory(position));
      if (this.draft.closed) return;
      this.#asked = true;
      const engine = requireEngine(this.production);
      const partial = continuation(this.production) === "partial" ? { partial: reply.content } : {};
      const traceparent = this.#traceparent();
      const turn = { twin, history, content: question.content, traceparent, ...partial };
      this.draft.end(completed(await engine.reply(turn, this.draft.output())));
    } catch (error) {
      if (!this.draft.closed) this.draft.end(this.#fail(error));
    }
  }

  /** The trace context for the model's request: the observer's, else the one that came with the send. */
  #traceparent(): string | undefined {
    const { reply, traceparent } = this.production;
    return this.#context.observe.traceparentOf?.(reply.id) ?? traceparent;
  }

  /** A store that is down for a moment, or a broken connection, is no reason to fail an accepted reply. */
  async #readHistory(position: number): Promise<readonly HistoryMessage[]> {
    const { owner, question, reply } = this.production;
    const { conversations, clock, log } = this.#context;
    for (let level: LogLevel = "warn"; ; level = "debug") {
      try {
        return await conversations.historyOf(owner, question.conversationId, position);
      } catch (error) {
        if (this.draft.closed || !(error instanceof StoreUnavailable)) throw error;
        const message = "the history for a reply could not be read; it will be tried again";
        log(level, message, { messageId: reply.id, error });
        await sleep(clock, retryMs);
      }
    }
  }

  #tellBeginning(): void {
    const { observe, clock } = this.#context;
    const { question, requestId, reply } = this.production;
    const { conversationId } = question;
    this.#startedAt = clock.now();
    observe.replyBegan?.({ ...this.#names(), conversationId, requestId, attempt: reply.attempt });
  }

  #tellFirstText(): void {
    this.#context.observe.replyFirstText?.({ ...this.#names(), durationMs: this.#elapsed() });
  }

  /** `message`: the reply as this producer ended it. Undefined: it was lost. */
  #tellEnd(message: MessageRecord | undefined): void {
    const { status = "in_progress" } = message ?? {};
    this.#context.observe.replyEnded?.({
      ...this.#names(),
      status: status === "in_progress" ? "lost" : status,
      finishReason: status === "completed" ? (message?.finishReason ?? null) : null,
      errorCode: message?.error?.code ?? null,
      usage: message?.usage ?? null,
      durationMs: this.#elapsed(),
    });
  }

  #names() {
    const { reply, twin } = this.production;
    return { messageId: reply.id, twinId: twin.id, engine: twin.engine };
  }

  #elapsed(): number {
    return this.#context.clock.now() - this.#startedAt;
  }

  #timeOut(): void {
    if (this.draft.closed) return;
    const message = `The reply took more than ${this.#context.maxReplyMs} ms.`;
    this.draft.stop(this.#fail(new ModelError("model_timeout", message)));
  }

  /** Logs an error, and returns the outcome that it means. */
  #fail(error: unknown): Outcome {
    const { engine, twin } = this.production;
    this.#log("error", "a reply failed", { ...engine?.logFields?.(twin), error });
    if (!this.#asked) return failed("interrupted");
    return failed(error instanceof ModelError && error.code === "model_timeout" ? error.code : "model_error");
  }

  #log(level: LogLevel, message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    const { twin, reply, requestId } = this.production;
    const { id: messageId } = reply;
    this.#context.log(level, message, {
      messageId,
      requestId,
      twinId: twin.id,
      engine: twin.engine,
      ...fields,
    });
  }
}

function requireEngine({ twin, engine }: Production): TwinEngine {
  if (engine) return engine;
  throw new ModelError("model_error", `There is no engine "${twin.engine}".`);
}

/** How the engine goes on with the text that is there. Undefined: there is none, and the reply begins. */
function continuation({ engine, reply }: Production): TwinEngine["continues"] {
  return reply.content === "" ? undefined : engine?.continues;
}
