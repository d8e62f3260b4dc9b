/**
 * Produces one reply: runs the engine, holds the text, and ends it exactly once. No client is involved; whoever wants
 * the text follows it (`follower.ts`). The keeper stores it (`reply-keeper.ts`).
 *
 * @module
 */

import { sleep } from "../base/clock.ts";
import type { LogLevel } from "../base/log.ts";
import type { MessageRecord } from "../store/records.ts";
import { StoreUnavailable } from "../store/store.ts";
import { type HistoryMessage, ModelError, type TwinEngine } from "../twins/engine.ts";
import type { Twin } from "../twins/twins.ts";
import { Draft } from "./draft.ts";
import type { ReplyFeed } from "./feed.ts";
import { cancelled, completed, type Ending, failed } from "./outcome.ts";
import { type Exchange, type KeeperContext, type KeptProducer, ReplyKeeper, retryMs } from "./saver.ts";

/** What the producers of one service share. */
export interface ProducerContext extends KeeperContext {
  readonly maxReplyMs: number;
  /** Whether a reply is cancelled when its last follower has left. */
  readonly cancelOnDisconnect: boolean;
}

/** What one reply is made of. */
export interface Production extends Exchange {
  readonly twin: Twin;
  /** Undefined: the twin names an engine that the service does not have. */
  readonly engine: TwinEngine | undefined;
  /** The request that began it, for the log. */
  readonly requestId: string;
}

/** A reply that this process produces. */
export class Producer implements ReplyFeed, KeptProducer {
  readonly id: string;
  readonly questionId: string;
  ended: MessageRecord | undefined;
  readonly #context: ProducerContext;
  readonly #production: Production;
  readonly #draft = new Draft(() => this.#changed());
  readonly #keeper: ReplyKeeper;
  readonly #followers = new Set<() => void>();
  /** The engine was called: failures from now on are the model's. */
  #asked = false;
  /** Followers were notified of something that none of them has read yet. */
  #notified = false;
  /** The last follower on this process has left, which ends the reply unless there are others elsewhere. */
  #leftHere = false;
  #resolveEnding: (ending: Ending) => void = () => {};
  readonly #ending = new Promise<Ending>((resolve) => {
    this.#resolveEnding = resolve;
  });

  constructor(context: ProducerContext, production: Production) {
    this.#context = context;
    this.#production = production;
    this.#keeper = new ReplyKeeper(context, production, this.#draft.text, this);
    this.id = production.reply.id;
    this.questionId = production.question.id;
  }

  get ending(): boolean {
    return this.#draft.closed && !this.ended;
  }

  get progress(): readonly string[] {
    return this.#draft.progress;
  }

  /** Counts as reading all of it: followers are notified again of the text that comes after that. */
  get length(): number {
    this.#notified = false;
    return this.#draft.text.length;
  }

  slice(from: number, to: number): string {
    return this.#draft.text.slice(from, to);
  }

  subscribe(changed: () => void): void {
    this.#followers.add(changed);
    this.#leftHere = false;
  }

  unsubscribe(changed: () => void): void {
    const left = this.#followers.delete(changed);
    if (!left || this.#followers.size > 0 || !this.#context.cancelOnDisconnect) return;
    this.#leftHere = true;
    this.stopIfDeserted();
  }

  /** Cancels the reply if all its followers have left, here and elsewhere. */
  stopIfDeserted(): void {
    if (this.#leftHere && !this.#keeper.isFollowedThroughStore) this.stop(cancelled);
  }

  /** Ends the reply in this way, unless its ending is already decided. The engine's signal aborts immediately. */
  stop(ending: Ending): void {
    this.#resolveEnding(ending);
    this.#keeper.stop();
    this.#draft.abort();
  }

  /** Ends the reply because this process stops. */
  interrupt(): void {
    if (!this.#draft.closed) this.#log("warn", "a reply was interrupted, because the server stops");
    this.stop(failed("interrupted"));
  }

  /** Somebody follows on another process. */
  noteFollowerElsewhere(): void {
    this.#keeper.noteFollowerElsewhere();
  }

  /** Asks the store immediately whether the reply was cancelled or deleted. */
  checkStopped(): void {
    this.#keeper.checkStopped();
  }

  /** Gives up storing an ending that the store does not take, so that a shutdown can finish. */
  abandon(): void {
    this.#keeper.abandon();
  }

  /** Runs the reply from its beginning to its stored end. Never rejects. */
  run(): Promise<void> {
    const { clock, maxReplyMs } = this.#context;
    const cancelTimeout = clock.after(maxReplyMs, () => {
      if (this.#draft.closed) return;
      this.stop(this.#fail(new ModelError("model_timeout", `The reply took more than ${maxReplyMs} ms.`)));
    });
    this.#keeper.start();
    void this.#runEngine().then(this.#resolveEnding);

    return this.#ending.then((ending) => {
      cancelTimeout();
      return this.#end(ending);
    });
  }

  async #end(ending: Ending): Promise<void> {
    this.#draft.end();
    this.ended = await this.#keeper.end(ending);
    this.#keeper.tellElsewhere();
    this.#tellFollowers();
    this.#followers.clear();
  }

  async #runEngine(): Promise<Ending> {
    const { twin, question } = this.#production;
    try {
      const history = await this.#readHistory();
      if (this.#draft.closed) return cancelled; // the ending is decided already
      this.#asked = true;
      const engine = requireEngine(this.#production);
      return completed(
        await engine.reply({ twin, history, content: question.content }, this.#draft.output()),
      );
    } catch (error) {
      return this.#draft.closed ? cancelled : this.#fail(error);
    }
  }

  /** A store that is down for a moment, or a broken connection, is no reason to fail an accepted reply. */
  async #readHistory(): Promise<readonly HistoryMessage[]> {
    const { owner, question, reply, position } = this.#production;
    const { memory, clock, log } = this.#context;
    for (let level: LogLevel = "warn"; ; level = "debug") {
      try {
        return await memory.historyOf(owner, question.conversationId, position);
      } catch (error) {
        if (this.#draft.closed || !(error instanceof StoreUnavailable)) throw error;
        const message = "the history for a reply could not be read; it will be tried again";
        log(level, message, { messageId: reply.id, error });
        await sleep(clock, retryMs);
      }
    }
  }

  /** Notifies the followers, unless they already know that there is something to read. */
  #changed(): void {
    if (this.#notified) return;
    this.#notified = true;
    this.#tellFollowers();
  }

  #tellFollowers(): void {
    for (const changed of this.#followers) changed();
  }

  /** Logs an error, and returns the ending that it means. */
  #fail(error: unknown): Ending {
    const { engine, twin } = this.#production;
    this.#log("error", "a reply failed", { ...engine?.logFields?.(twin), error });
    if (!this.#asked) return failed("interrupted");
    return failed(error instanceof ModelError && error.code === "model_timeout" ? error.code : "model_error");
  }

  #log(level: LogLevel, message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    const { twin, reply, requestId } = this.#production;
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
