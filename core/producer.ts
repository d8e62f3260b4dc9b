/**
 * Producing one reply: runs the engine, keeps the text, saves it while it grows, and ends it exactly once.
 * No client is involved; whoever wants the text follows it (`follower.ts`).
 *
 * @module
 */

import { type Clock, sleep } from "./clock.ts";
import type { ConversationMemory } from "./conversation-memory.ts";
import { cancelled, type Ending, failed } from "./ending.ts";
import {
  type EngineProgress,
  type HistoryMessage,
  ModelError,
  type ReplyOutput,
  type TwinEngine,
} from "./engine.ts";
import type { ReplyFeed } from "./follower.ts";
import type { Log } from "./log.ts";
import { type Repetition, repeat } from "./repeat.ts";
import { ReplyText } from "./reply-text.ts";
import { type Lease, type MessageRecord, type ReplyFailure, type Store, StoreUnavailable } from "./store.ts";
import type { Twin } from "./twins.ts";

/** What the producers of one service share. */
export interface ProducerContext {
  readonly store: Store;
  readonly memory: ConversationMemory;
  readonly clock: Clock;
  readonly log: Log;
  /** This service instance, as leases name it. */
  readonly holder: string;
  readonly leaseMs: number;
  readonly maxReplyMs: number;
  /** Whether a reply is cancelled when its last follower has gone. */
  readonly cancelOnDisconnect: boolean;
}

/** What one reply is made of. */
export interface Production {
  readonly owner: string;
  readonly twin: Twin;
  /** Undefined: the twin names an engine that the service does not have. */
  readonly engine: TwinEngine | undefined;
  readonly question: MessageRecord;
  /** The reply as it was begun. */
  readonly reply: MessageRecord;
  /** How many messages the conversation had before. */
  readonly position: number;
}

/** How often a follower on another process says that it is there, in milliseconds. */
export const announceMs = 2000;

/** Pause between two saves of a running reply, in milliseconds; less where the lease is short. */
const saveMs = 1000;

/** That pause while somebody on another process follows, in milliseconds. */
const followedSaveMs = 150;

/** How long a follower elsewhere is taken to be there since it said so, in milliseconds. */
const followedMs = 5000;

/** Pause before an ending that could not be stored is tried again, in milliseconds. */
const retryMs = 500;

/** A lease that starts, or is renewed, now. */
export function newLease(context: Pick<ProducerContext, "clock" | "holder" | "leaseMs">): Lease {
  return { holder: context.holder, until: context.clock.now() + context.leaseMs };
}

/** A reply that this process produces. */
export class Producer implements ReplyFeed {
  readonly id: string;
  readonly questionId: string;
  readonly progress: EngineProgress[] = [];
  ended: MessageRecord | undefined;
  readonly #context: ProducerContext;
  readonly #production: Production;
  readonly #text = new ReplyText();
  readonly #followers = new Set<() => void>();
  /** Made for engines that look at it: many never do. */
  #abort: AbortController | undefined;
  /** The ending is decided: what the engine still writes is ignored. */
  #over = false;
  /** Followers know of something that none of them has read yet. */
  #told = false;
  #savedLength = 0;
  #savedAt = 0;
  #mustSave = false;
  #followedElsewhereUntil = 0;
  /** The last follower here has gone, which ends the reply unless there are others elsewhere. */
  #leftHere = false;
  #saving: Repetition | undefined;
  #abandoned = false;
  #resolveEnding: (ending: Ending) => void = () => {};
  readonly #ending = new Promise<Ending>((resolve) => {
    this.#resolveEnding = resolve;
  });

  constructor(context: ProducerContext, production: Production) {
    this.#context = context;
    this.#production = production;
    this.id = production.reply.id;
    this.questionId = production.question.id;
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
    this.#stopIfDeserted();
  }

  /** Cancels the reply if whoever followed it has gone, here and elsewhere. */
  #stopIfDeserted(): void {
    if (this.#leftHere && !this.#isFollowedElsewhere()) this.stop(cancelled);
  }

  /** Ends the reply this way, unless it has an ending already. The engine is told to let go at once. */
  stop(ending: Ending): void {
    this.#over = true;
    this.#resolveEnding(ending);
    this.#abort?.abort();
  }

  /** Somebody follows on another process, where only saved text can be seen: for a while it is saved often. */
  followedElsewhere(): void {
    const known = this.#isFollowedElsewhere();
    this.#followedElsewhereUntil = this.#context.clock.now() + followedMs;
    if (!known) this.#saving?.hurry();
  }

  /** Asks the store at once whether the reply was cancelled or deleted. */
  checkStopped(): void {
    this.#mustSave = true;
    this.#saving?.hurry();
  }

  #isFollowedElsewhere(): boolean {
    return this.#context.clock.now() < this.#followedElsewhereUntil;
  }

  /** Gives up storing an ending that the store does not take, so that a shutdown can finish. */
  abandon(): void {
    this.#abandoned = true;
  }

  /** Runs the reply from its beginning to its stored end. Never rejects. */
  async run(): Promise<void> {
    const { clock, maxReplyMs } = this.#context;
    const cancelTimeout = clock.after(maxReplyMs, () => this.stop(failed("model_timeout")));
    this.#saving = this.#saveRepeatedly();
    void this.#runEngine().then(this.#resolveEnding);

    const ending = await this.#ending;
    this.#over = true;
    this.#text.end();
    cancelTimeout();
    this.#saving.stop();
    this.ended = await this.#store(ending);
    this.#tellElsewhere();
    this.#tellFollowers();
    this.#followers.clear();
  }

  async #runEngine(): Promise<Ending> {
    const { twin, engine, question, owner, position } = this.#production;
    try {
      if (!engine) throw new ModelError("model_error", `There is no engine "${twin.engine}".`);
      const { conversationId, content } = question;
      const history = await this.#context.memory.historyOf(owner, conversationId, position);
      if (this.#over) return cancelled; // the ending is decided already
      const result = await engine.reply({ twin, history, content }, this.#output());
      return { status: "completed", finishReason: result.finishReason, usage: result.usage, error: null };
    } catch (error) {
      if (!this.#over) this.#logFailure(error);
      return failed(failureCode(error));
    }
  }

  #output(): ReplyOutput {
    const signal = () => this.#signal();
    return {
      write: (text) => {
        if (this.#over || text === "") return;
        this.#text.append(text);
        this.#changed();
      },
      progress: (progress) => {
        if (this.#over) return;
        this.progress.push(progress);
        this.#changed();
      },
      get signal() {
        return signal();
      },
    };
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

  /** Saves the text and renews the lease about once a second, the text more often while it is read elsewhere. */
  #saveRepeatedly(): Repetition {
    const { clock, leaseMs } = this.#context;
    const pause = Math.min(saveMs, Math.ceil(leaseMs / 3));
    const isDue = () =>
      this.#mustSave ||
      this.#text.length !== this.#savedLength ||
      !this.#isFollowedElsewhere() ||
      Math.abs(clock.now() - this.#savedAt) >= pause;
    return repeat(
      clock,
      () => (this.#isFollowedElsewhere() ? Math.min(followedSaveMs, pause) : pause),
      async () => {
        this.#stopIfDeserted();
        if (!this.#over && isDue()) await this.#save();
      },
    );
  }

  /** Wakes those who follow on other processes. */
  #tellElsewhere(): void {
    if (this.#isFollowedElsewhere()) this.#context.store.signals?.notify("text", this.id);
  }

  async #save(): Promise<void> {
    const { store, log } = this.#context;
    const { owner } = this.#production;
    this.#mustSave = false;
    try {
      const length = this.#text.length;
      const content = length === this.#savedLength ? {} : { content: this.#text.toString() };
      const outcome = await store.saveReply({
        owner,
        id: this.id,
        lease: newLease(this.#context),
        ...content,
      });
      if (outcome === "lost") return this.stop("lost");
      this.#savedAt = this.#context.clock.now();
      if (length !== this.#savedLength) this.#tellElsewhere();
      this.#savedLength = length;
      if (outcome === "cancel_requested") this.stop(cancelled);
    } catch (error) {
      log("warn", "a running reply could not be saved; it will be tried again", {
        messageId: this.id,
        error,
      });
    }
  }

  /** Stores the ending, however long the store takes to come back, and returns the reply as it is then. */
  async #store(ending: Ending): Promise<MessageRecord> {
    const { clock, log } = this.#context;
    for (;;) {
      try {
        return await this.#storeOnce(ending);
      } catch (error) {
        log("error", "a reply's end could not be stored", { messageId: this.id, error });
        // Whoever finds the lease run out ends it just so.
        if (this.#abandoned) return this.#record(failed("interrupted"));
        await sleep(clock, retryMs);
      }
    }
  }

  async #storeOnce(ending: Ending): Promise<MessageRecord> {
    const { store, clock } = this.#context;
    const { owner, reply } = this.#production;
    const { id, conversationId } = reply;
    if (ending !== "lost") {
      const record = this.#record(ending);
      const { content } = record;
      const completedAt = record.completedAt ?? clock.now();
      if (await store.endReply({ owner, conversationId, id, content, completedAt, ...ending })) {
        this.#remember(record);
        return record;
      }
    }
    this.#context.memory.forget(conversationId);
    // Somebody else ended it, or deleted the conversation and the reply with it.
    return (await store.getMessage(owner, conversationId, id)) ?? this.#record(cancelled);
  }

  /** The next question of the conversation need not read what came of this one. */
  #remember({ status, content }: MessageRecord): void {
    const { question, position } = this.#production;
    const asked: HistoryMessage = { role: "user", content: question.content };
    const exchange: HistoryMessage[] = status === "failed" ? [] : [asked, { role: "assistant", content }];
    this.#context.memory.add(question.conversationId, position, exchange);
  }

  #record(ending: Exclude<Ending, "lost">): MessageRecord {
    const completedAt = this.#context.clock.now();
    return { ...this.#production.reply, ...ending, content: this.#text.toString(), completedAt };
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

function failureCode(error: unknown): ReplyFailure["code"] {
  if (error instanceof ModelError) return error.code;
  return error instanceof StoreUnavailable ? "interrupted" : "model_error";
}
