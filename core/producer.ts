/**
 * Producing one reply: runs the engine, holds the text, and ends it exactly once. No client is involved; whoever
 * wants the text follows it (`follower.ts`). What the store gets of it is the keeper's matter (`reply-keeper.ts`).
 *
 * @module
 */

import { sleep } from "./clock.ts";
import { cancelled, type Ending, failed } from "./ending.ts";
import { ModelError, type ReplyOutput, type TwinEngine } from "./engine.ts";
import type { ReplyFeed } from "./follower.ts";
import {
  type Exchange,
  type KeeperContext,
  type KeptProducer,
  ReplyKeeper,
  retryMs,
} from "./reply-keeper.ts";
import { ReplyText } from "./reply-text.ts";
import { encodeJson } from "./sse.ts";
import { type MessageRecord, type ReplyFailure, StoreUnavailable } from "./store.ts";
import type { Twin } from "./twins.ts";

/** What the producers of one service share. */
export interface ProducerContext extends KeeperContext {
  readonly maxReplyMs: number;
  /** Whether a reply is cancelled when its last follower has gone. */
  readonly cancelOnDisconnect: boolean;
}

/** What one reply is made of. */
export interface Production extends Exchange {
  readonly twin: Twin;
  /** Undefined: the twin names an engine that the service does not have. */
  readonly engine: TwinEngine | undefined;
}

/** A reply that this process produces. */
export class Producer implements ReplyFeed, KeptProducer {
  readonly id: string;
  readonly questionId: string;
  readonly progress: string[] = [];
  ended: MessageRecord | undefined;
  readonly #context: ProducerContext;
  readonly #production: Production;
  readonly #text = new ReplyText();
  readonly #keeper: ReplyKeeper;
  readonly #followers = new Set<() => void>();
  /** Made for engines that look at it: many never do. */
  #abort: AbortController | undefined;
  /** The ending is decided: what the engine still writes is ignored. */
  #over = false;
  /** Followers know of something that none of them has read yet. */
  #told = false;
  /** The last follower here has gone, which ends the reply unless there are others elsewhere. */
  #leftHere = false;
  #resolveEnding: (ending: Ending) => void = () => {};
  readonly #ending = new Promise<Ending>((resolve) => {
    this.#resolveEnding = resolve;
  });

  constructor(context: ProducerContext, production: Production) {
    this.#context = context;
    this.#production = production;
    this.#keeper = new ReplyKeeper(context, production, this.#text, this);
    this.id = production.reply.id;
    this.questionId = production.question.id;
  }

  get ending(): boolean {
    return this.#over && !this.ended;
  }

  get length(): number {
    this.#told = false;
    return this.#text.length;
  }

  slice(from: number, to: number): string {
    return this.#text.slice(from, to);
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

  /** Cancels the reply if whoever followed it has gone, here and elsewhere. */
  stopIfDeserted(): void {
    if (this.#leftHere && !this.#keeper.isFollowedElsewhere) this.stop(cancelled);
  }

  /** Ends the reply this way, unless it has an ending already. The engine is told to let go at once. */
  stop(ending: Ending): void {
    this.#over = true;
    this.#resolveEnding(ending);
    this.#keeper.stop();
    this.#abort?.abort();
  }

  /** Somebody follows on another process. */
  followedElsewhere(): void {
    this.#keeper.followedElsewhere();
  }

  /** Asks the store at once whether the reply was cancelled or deleted. */
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
    const cancelTimeout = clock.after(maxReplyMs, () => this.stop(failed("model_timeout")));
    this.#keeper.start();
    void this.#runEngine().then(this.#resolveEnding);

    return this.#ending.then((ending) => {
      cancelTimeout();
      return this.#end(ending);
    });
  }

  async #end(ending: Ending): Promise<void> {
    this.#over = true;
    this.#text.end();
    this.ended = await this.#keeper.end(ending);
    this.#keeper.tellElsewhere();
    this.#tellFollowers();
    this.#followers.clear();
  }

  async #runEngine(): Promise<Ending> {
    const { twin, engine, question, owner, position } = this.#production;
    let asked = false;
    try {
      if (!engine) throw new ModelError("model_error", `There is no engine "${twin.engine}".`);
      const { conversationId, content } = question;
      const history = await this.#context.memory.historyOf(owner, conversationId, position);
      if (this.#over) return cancelled; // the ending is decided already
      asked = true;
      const result = await engine.reply({ twin, history, content }, this.#output());
      return { status: "completed", finishReason: result.finishReason, usage: result.usage, error: null };
    } catch (error) {
      if (!asked && !this.#over && error instanceof StoreUnavailable) {
        // A store that is away for a moment, or a connection that broke, is no reason to fail an accepted reply.
        await sleep(this.#context.clock, retryMs);
        return this.#runEngine();
      }
      if (!this.#over) this.#logFailure(error);
      return failed(failureCode(error, asked));
    }
  }

  #output(): ReplyOutput {
    return new EngineOutput({
      write: (text) => {
        if (this.#over || text === "") return;
        this.#text.append(text);
        this.#changed();
      },
      progress: (progress) => {
        if (this.#over) return;
        this.progress.push(encodeJson(progress)); // here, where it is the engine that is told what JSON cannot hold
        this.#changed();
      },
      signal: () => this.#signal(),
    });
  }

  #signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#over) this.#abort.abort();
    }
    return this.#abort.signal;
  }

  /** Tells the followers, unless they know already that there is something to read. */
  #changed(): void {
    if (this.#told) return;
    this.#told = true;
    this.#tellFollowers();
  }

  #tellFollowers(): void {
    for (const changed of this.#followers) changed();
  }

  #logFailure(error: unknown): void {
    const { twin, reply } = this.#production;
    this.#context.log("error", "a reply failed", {
      messageId: reply.id,
      twinId: twin.id,
      engine: twin.engine,
      error,
    });
  }
}

/**
 * What an engine writes to. A class, because V8 keeps a getter of an object's own where only a full garbage collection
 * comes, and with it the whole reply.
 */
class EngineOutput implements ReplyOutput {
  readonly write: ReplyOutput["write"];
  readonly progress: ReplyOutput["progress"];
  readonly #signal: () => AbortSignal;

  constructor({ write, progress, signal }: Omit<ReplyOutput, "signal"> & { signal(): AbortSignal }) {
    this.write = write;
    this.progress = progress;
    this.#signal = signal;
  }

  get signal(): AbortSignal {
    return this.#signal();
  }
}

/** What went wrong before the engine was asked, and what the store says within it, is not the model's failure. */
function failureCode(error: unknown, asked: boolean): ReplyFailure["code"] {
  if (error instanceof ModelError) return error.code;
  return asked && !(error instanceof StoreUnavailable) ? "model_error" : "interrupted";
}
