/**
 * Stores one reply that this process produces: saves its text while it grows, renews its lease, and stores its end.
 * That is all that other processes see of it.
 *
 * @module
 */

import { isWithin, type Repetition, repeat, sleep } from "../base/clock.ts";
import type { LogLevel } from "../base/log.ts";
import {
  type EndReply,
  ended,
  type FinalState,
  leavesUnanswered,
  type MessageRecord,
  mostCharactersRead,
  questionKey,
} from "../store/records.ts";
import type { Lease, SaveResult } from "../store/store.ts";
import type { Production, ReplyContext } from "./context.ts";
import { cancelled, type Draft, type Outcome } from "./draft.ts";
import type { ReplyFeed } from "./feed.ts";
import { tellReached } from "./limits.ts";

/** How often a follower on another process says that it is there, in milliseconds. */
export const announceMs = 2000;

/** How long it is assumed to be there after that, in milliseconds. */
const followedMs = 5000;

/** The same after the store was found to be down, when no follower can say so. Longer than a follower's call may hang. */
const unheardMs = 10_000;

/** How often a running reply is saved, in milliseconds; more often if the lease is short. */
const saveMs = 1000;

/**
 * Replies are saved at beats of their process, so many milliseconds apart, and the saves of a beat share a commit. Each has
 * one beat in 20, by the time at which it began, so that no beat takes long, and every beat while a follower reads the
 * saved text.
 */
const beatMs = 50;

/**
 * How long a process has to yield a reply, and the one that asks for that to store what comes in its place, in milliseconds.
 * Neither may live.
 */
export const yieldMs = 5000;

/** Pause before the store is asked again for an end or a history, in milliseconds. */
export const retryMs = 500;

/** What a saver is given besides the context. */
export interface SaverOptions {
  readonly production: Production;
  readonly feed: ReplyFeed;
  readonly draft: Draft;
  /** Whether a follower on this process reads the saved text, having come before the reply was produced here. */
  readonly isReadHere: () => boolean;
}

/** A reply as it has ended, or as another process goes on with it. */
export interface Saved {
  readonly message: MessageRecord;
  /** Whether this producer has ended it. */
  readonly own: boolean;
}

/** A reply in whose place a message comes. */
export interface Replaced {
  readonly end: EndReply;
  /**
   * To be called with whether that end was stored; only the first call counts. If it was not, and this process produces the
   * reply, the reply ends by itself, as cancelled.
   */
  settle(isStored: boolean): void;
}

/** The lease of a new producer. */
export function newLease({ newId, clock, leaseMs }: ReplyContext): Lease {
  return { holder: newId("run"), until: clock.now() + leaseMs };
}

/** Saves one reply. */
export class Saver {
  readonly #context: ReplyContext;
  readonly #options: SaverOptions;
  readonly #pauseMs: number;
  #savedLength: number;
  /** When the last save began that succeeded. */
  #savedAt = 0;
  #isLastAttempt = false;
  #mustSave = false;
  /** Whether the reply is left, with all of its text, to what another process stores in its place. */
  #mustYield = false;
  /** Called once it is stored that this is the last attempt. Empty: it need not be. */
  readonly #marked: (() => void)[] = [];
  #failing = false;
  #followedElsewhereUntil = 0;
  #saving: Repetition | undefined;
  #abandoned = false;
  /** The reply as it ends in another transaction. Resolves with undefined if that was not stored. */
  #endedElsewhere: Promise<MessageRecord | undefined> | undefined;

  constructor(context: ReplyContext, options: SaverOptions) {
    this.#context = context;
    this.#options = options;
    this.#savedLength = options.feed.text.length;
    this.#pauseMs = Math.min(saveMs, Math.ceil(context.leaseMs / 3));
  }

  /**
   * Saves the text and renews the lease about once a second, the text more often while the saved text is followed.
   * `before` is called before each save.
   */
  start(before: () => void): void {
    const began = this.#context.clock.now();
    this.#savedAt = began;
    this.#saving = repeat(
      this.#context.clock,
      () => this.#untilNextBeat(began),
      async () => {
        this.#limitFollowing();
        before();
        if (!this.#options.draft.closed && this.#isDue()) await this.#save();
      },
    );
  }

  /** How long it is until the next beat of a reply that began at a time, in milliseconds. */
  #untilNextBeat(began: number): number {
    const now = this.#context.clock.now();
    if (this.isFollowedThroughStore) return beatMs - (now % beatMs);
    const own = (began % (this.#pauseMs / beatMs)) * beatMs;
    return this.#pauseMs - ((now - own) % this.#pauseMs);
  }

  /** Whether the saved text is followed, on another process or on this one. */
  get isFollowedThroughStore(): boolean {
    return this.#context.clock.now() < this.#followedElsewhereUntil || this.#options.isReadHere();
  }

  /** A follower has come on another process, which sees only saved text: it is saved more often for a while. */
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

  /** Resolves once it is stored that no other process may begin the reply again, or rejects if the reply is over. */
  async markLastAttempt(): Promise<void> {
    const { draft } = this.#options;
    const { clock, leaseMs } = this.#context;
    // Until its lease has run out, as where this process stood still, the reply is not ended by another one.
    if (this.#isLastAttempt && isWithin(leaseMs, this.#savedAt, clock.now())) return;
    const marked = new Promise<void>((resolve) => this.#marked.push(resolve));
    this.checkStopped(); // one save after the other
    await Promise.race([marked, draft.outcome]);
    if (draft.closed) throw new Error("The reply is over.");
  }

  /** Asks the store at once whether the reply is to be cancelled, or is no longer its producer's. */
  checkStopped(): void {
    this.#mustSave = true;
    this.#saving?.hurry();
  }

  #isDue(): boolean {
    if (this.#mustSave || this.#options.feed.text.length !== this.#savedLength) return true;
    const { store, clock, leaseMs } = this.#context;
    // No other process can cancel it or take it over: only the lease needs to be renewed in time.
    const quietMs = store.exclusive ? leaseMs / 3 : this.#pauseMs;
    return !isWithin(quietMs, this.#savedAt, clock.now());
  }

  async #save(): Promise<void> {
    const { clock } = this.#context;
    const { feed } = this.#options;
    const wasFollowed = this.isFollowedThroughStore;
    this.#mustSave = false;
    const marked = [...this.#marked];
    const began = clock.now();
    try {
      const { length } = feed.text;
      const result = await this.#saveText(length);
      if (result === "lost") return this.#options.draft.stop("lost");
      this.#savedAt = began;
      this.#isLastAttempt ||= marked.length > 0;
      this.#failing = false;
      if (length !== this.#savedLength) this.#tellElsewhere();
      this.#savedLength = length;
      if (result === "cancel_requested") this.#options.draft.stop(cancelled);
      if (result === "yield_requested") this.#yield();
      for (const tell of marked) tell();
    } catch (error) {
      if (wasFollowed) this.#followedElsewhereUntil = clock.now() + unheardMs;
      if (marked.length > 0) this.#mustSave = true;
      this.#logFailure(error);
    }
  }

  /** Stops the reply, whose text is then left, unless its end is decided. */
  #yield(): void {
    const { draft } = this.#options;
    this.#mustYield = !draft.closed;
    draft.stop("lost");
  }

  #saveText(length: number): Promise<SaveResult> {
    const { store, clock, leaseMs } = this.#context;
    const { production, feed, draft } = this.#options;
    const { owner, reply } = production;
    const forMs = this.#mustYield ? yieldMs : leaseMs;
    const lease = { holder: production.lease.holder, until: clock.now() + forMs };
    return store.saveReply({
      owner,
      id: reply.id,
      lease,
      ...(length !== this.#savedLength && { content: feed.text.toString() }),
      ...(draft.sources && { sources: draft.sources }),
      ...(this.#marked.length > 0 && { lastAttempt: true }),
      ...(this.#mustYield && { yields: true }),
    });
  }

  /** In an outage, every reply would log the same again and again. */
  #logFailure(error: unknown): void {
    const level = this.#failing ? "debug" : "warn";
    const messageId = this.#options.production.reply.id;
    this.#context.log(level, "a running reply could not be saved; it will be tried again", {
      messageId,
      error,
    });
    this.#failing = true;
  }

  /** Wakes followers on other processes. */
  #tellElsewhere(): void {
    if (!this.isFollowedThroughStore) return;
    this.#context.store.signals?.notify("text", this.#options.production.reply.id);
  }

  /** Stores the reply's end, however long the store is down. Undefined: it gave up, and leaves the reply to another process. */
  async end(outcome: Outcome): Promise<Saved | undefined> {
    const { clock, log } = this.#context;
    const messageId = this.#options.production.reply.id;
    this.#saving?.stop();
    for (let level: LogLevel = "error"; ; level = "debug") {
      try {
        const saved = await this.#storeEnd(outcome);
        this.#tellElsewhere();
        return saved;
      } catch (error) {
        if (this.#abandoned) {
          log("error", "a reply's end was not stored; it is left to another process", { messageId, error });
          return undefined;
        }
        log(level, "a reply's end could not be stored; it will be tried again", { messageId, error });
        await sleep(clock, retryMs);
      }
    }
  }

  /** Leaves the end to the transaction of another message. Call it before {@link end}. */
  endElsewhere(state: FinalState): Replaced {
    const { message, end } = this.#ending(state);
    let settle: Replaced["settle"] = () => {};
    this.#endedElsewhere = new Promise((resolve) => {
      settle = (isStored) => resolve(isStored ? message : undefined);
    });
    return { end, settle };
  }

  /** Gives up storing an end that the store does not take, so that a shutdown can finish. */
  abandon(): void {
    this.#abandoned = true;
  }

  async #storeEnd(outcome: Outcome): Promise<Saved> {
    const { store } = this.#context;
    const { production, feed } = this.#options;
    const { owner, reply } = production;
    if (this.#mustYield) {
      await this.#saveText(feed.text.length);
      store.signals?.notify("text", reply.id);
    }
    const replaced = await this.#endedElsewhere;
    if (replaced === undefined && outcome !== "lost") {
      const { message, end } = this.#ending(outcome);
      const stored = await store.endReply(end);
      tellReached(this.#context, stored);
      if (stored) return { message, own: true };
    }
    // Another process has ended it or goes on with it, or it was deleted with its conversation; also, perhaps, where a message
    // was to come in its place: that of another process may have come first, when less of the text was stored.
    const message = await store.getMessage({ owner }, reply.id, { characters: mostCharactersRead });
    const isAsReplaced =
      replaced?.completedAt === message?.completedAt && replaced?.content === message?.content;
    return { message: message ?? this.#record(cancelled), own: replaced !== undefined && isAsReplaced };
  }

  /** The reply as it ends, and how that is stored. */
  #ending(state: FinalState): { readonly message: MessageRecord; readonly end: EndReply } {
    const { owner, question, reply, lease, reserved } = this.#options.production;
    const message = this.#record(state);
    const { content, sources, completedAt } = message;
    const text = { content, ...(sources && { sources }) };
    const end = {
      owner,
      conversationId: reply.conversationId,
      id: reply.id,
      holder: lease.holder,
      ...text,
      completedAt,
      ...state,
      ...(leavesUnanswered(message) && {
        unanswered: questionKey(question.content, this.#context.sha256),
      }),
      ...(this.#handsOver(state) && { handsOver: true as const }),
      ...(reserved && { reserved }),
      tells: this.#context.tells,
    };
    return { message, end };
  }

  /** What a cancelled reply has said of a person, it takes back. */
  #handsOver({ status }: FinalState): boolean {
    return this.#options.draft.handsOver && status !== "cancelled";
  }

  #record(state: FinalState) {
    const { production, feed, draft } = this.#options;
    const { sources = production.reply.sources } = draft;
    return ended(
      production.reply,
      state,
      { content: feed.text.toString(), sources },
      this.#context.clock.now(),
    );
  }
}
