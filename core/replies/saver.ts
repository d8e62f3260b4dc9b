/**
 * Stores one running reply: saves its text while it grows, renews its lease, and stores its end. That is all that other
 * processes see of it.
 *
 * @module
 */

import { type Clock, isWithin, sleep } from "../base/clock.ts";
import type { Log, LogLevel } from "../base/log.ts";
import { type Repetition, repeat } from "../base/repeat.ts";
import type { MessageRecord } from "../store/records.ts";
import { ended, type FinalState } from "../store/records.ts";
import type { Lease, Store } from "../store/store.ts";
import type { ConversationMemory } from "./conversation-cache.ts";
import { cancelled, type Ending, failed } from "./outcome.ts";
import type { ReplyText } from "./text.ts";

/** What the keepers of one service share. */
export interface KeeperContext {
  readonly store: Store;
  readonly memory: ConversationMemory;
  readonly clock: Clock;
  readonly log: Log;
  /** This service instance, as leases name it. */
  readonly holder: string;
  readonly leaseMs: number;
  /** Whether somebody on this process follows the saved text, having come before the reply had begun. */
  isWatched(replyId: string): boolean;
}

/** A question and its reply, as they were begun. */
export interface Exchange {
  readonly owner: string;
  readonly question: MessageRecord;
  readonly reply: MessageRecord;
  /** How many messages the conversation had before. */
  readonly position: number;
}

/** Whoever produces the reply. */
export interface KeptProducer {
  /** Called when the store says that the reply is to end, or that it no longer belongs to this process. */
  stop(ending: Ending): void;
  /** Called before each save, because a reply that nobody waits for may be cancelled. */
  stopIfDeserted(): void;
}

/** How often a follower on another process says that it is there, in milliseconds. */
export const announceMs = 2000;

/** How long it is assumed to be there after that, in milliseconds. */
const followedMs = 5000;

/** The same after the store was found to be down, when nobody can say so. Longer than a follower's call may hang. */
const unheardMs = 10_000;

/** Pause between two saves of a running reply, in milliseconds; shorter if the lease is short. */
const saveMs = 1000;

/** That pause while somebody on another process follows, in milliseconds. */
const followedSaveMs = 150;

/** Pause before an ending that could not be stored is tried again, in milliseconds. */
export const retryMs = 500;

/** A lease that starts, or is renewed, now. */
export function newLease({ clock, holder, leaseMs }: KeeperContext): Lease {
  return { holder, until: clock.now() + leaseMs };
}

/** Keeps one reply that this process produces. */
export class ReplyKeeper {
  readonly #context: KeeperContext;
  readonly #exchange: Exchange;
  readonly #text: ReplyText;
  readonly #producer: KeptProducer;
  readonly #pauseMs: number;
  #savedLength = 0;
  #savedAt = 0;
  #mustSave = false;
  #failing = false;
  #followedElsewhereUntil = 0;
  #saving: Repetition | undefined;
  #stopped = false;
  #abandoned = false;

  /** `text` is what the reply says, read at each save. */
  constructor(context: KeeperContext, exchange: Exchange, text: ReplyText, producer: KeptProducer) {
    this.#context = context;
    this.#exchange = exchange;
    this.#text = text;
    this.#producer = producer;
    this.#pauseMs = Math.min(saveMs, Math.ceil(context.leaseMs / 3));
  }

  /** Saves the text and renews the lease about once a second, the text more often while it is read elsewhere. */
  start(): void {
    const pause = this.#pauseMs;
    this.#savedAt = this.#context.clock.now();
    this.#saving = repeat(
      this.#context.clock,
      () => (this.isFollowedThroughStore ? Math.min(followedSaveMs, pause) : pause),
      async () => {
        this.#limitFollowing();
        this.#producer.stopIfDeserted();
        if (!this.#stopped && this.#isDue()) await this.#save();
      },
    );
  }

  /** Stops saving: the reply has an ending, which is still to be stored. */
  stop(): void {
    this.#stopped = true;
    this.#saving?.stop();
  }

  /** Whether somebody follows the saved text: on another process, or on this one since before the reply had begun. */
  get isFollowedThroughStore(): boolean {
    const { clock, isWatched } = this.#context;
    return clock.now() < this.#followedElsewhereUntil || isWatched(this.#exchange.reply.id);
  }

  /** Somebody follows on another process, which sees only saved text: it is saved more often for a while. */
  noteFollowerElsewhere(): void {
    const known = this.isFollowedThroughStore;
    this.#followedElsewhereUntil = this.#context.clock.now() + followedMs;
    if (!known) this.#saving?.hurry();
  }

  /**
   * After the clock was set back, followers elsewhere count for their usual time from now, instead of until the old
   * time.
   */
  #limitFollowing(): void {
    const latest = this.#context.clock.now() + unheardMs;
    this.#followedElsewhereUntil = Math.min(this.#followedElsewhereUntil, latest);
  }

  /** Wakes followers on other processes. */
  tellElsewhere(): void {
    if (this.isFollowedThroughStore) this.#context.store.signals?.notify("text", this.#exchange.reply.id);
  }

  /** Asks the store at once whether the reply was cancelled or deleted. */
  checkStopped(): void {
    this.#mustSave = true;
    this.#saving?.hurry();
  }

  #isDue(): boolean {
    if (this.#mustSave || this.#text.length !== this.#savedLength) return true;
    const { store, clock, leaseMs } = this.#context;
    // Nobody else can cancel it or take it over: only the lease needs to be renewed in time.
    const quietMs = store.exclusive ? leaseMs / 3 : this.#pauseMs;
    return !isWithin(quietMs, this.#savedAt, clock.now());
  }

  async #save(): Promise<void> {
    const { store, clock, log } = this.#context;
    const { owner, reply } = this.#exchange;
    const { id } = reply;
    const wasFollowed = this.isFollowedThroughStore;
    this.#mustSave = false;
    try {
      const length = this.#text.length;
      const content = length === this.#savedLength ? {} : { content: this.#text.toString() };
      const outcome = await store.saveReply({ owner, id, lease: newLease(this.#context), ...content });
      if (outcome === "lost") return this.#producer.stop("lost");
      this.#savedAt = clock.now();
      this.#failing = false;
      if (length !== this.#savedLength) this.tellElsewhere();
      this.#savedLength = length;
      if (outcome === "cancel_requested") this.#producer.stop(cancelled);
    } catch (error) {
      if (wasFollowed) this.#followedElsewhereUntil = clock.now() + unheardMs;
      const level = this.#failing ? "debug" : "warn"; // in an outage, every reply would log this again and again
      log(level, "a running reply could not be saved; it will be tried again", { messageId: id, error });
      this.#failing = true;
    }
  }

  /** Stores the ending, however long the store is down, and returns the reply as it is then. */
  async end(ending: Ending): Promise<MessageRecord> {
    const { clock, log } = this.#context;
    const { id: messageId } = this.#exchange.reply;
    this.stop();
    for (let level: LogLevel = "error"; ; level = "debug") {
      try {
        return await this.#store(ending);
      } catch (error) {
        if (this.#abandoned) {
          log("error", "a reply's end was not stored; it is interrupted once its lease has run out", {
            messageId,
            error,
          });
          return this.#record(failed("interrupted"));
        }
        log(level, "a reply's end could not be stored; it will be tried again", { messageId, error });
        await sleep(clock, retryMs);
      }
    }
  }

  /** Gives up storing an ending that the store does not take, so that a shutdown can finish. */
  abandon(): void {
    this.#abandoned = true;
  }

  async #store(ending: Ending): Promise<MessageRecord> {
    const { store, memory } = this.#context;
    const { owner, question, reply, position } = this.#exchange;
    const { id, conversationId } = reply;
    if (ending !== "lost") {
      const record = this.#record(ending);
      const { content, completedAt } = record;
      if (await store.endReply({ owner, conversationId, id, content, completedAt, ...ending })) {
        memory.add(position, question, record);
        return record;
      }
    }
    memory.forget(conversationId);
    // Somebody else ended it, or deleted the conversation and the reply with it.
    return (await store.getMessage({ owner }, conversationId, id)) ?? this.#record(cancelled);
  }

  #record(state: FinalState) {
    return ended(
      this.#exchange.reply,
      state,
      { content: this.#text.toString(), sources: null },
      this.#context.clock.now(),
    );
  }
}
