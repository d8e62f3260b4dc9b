/**
 * Follows a reply that this process does not produce: it has ended, or another process runs it. Only what the store has
 * can be seen.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { Underway } from "../base/in-flight.ts";
import type { Log } from "../base/log.ts";
import { type Repetition, repeat } from "../base/repeat.ts";
import type { MessageRecord } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { ReplyFeed } from "./feed.ts";
import { cancelled } from "./outcome.ts";
import { announceMs } from "./saver.ts";
import { ReplyText } from "./text.ts";

/** Pause between two looks at a reply that another process runs, in milliseconds. */
const pollMs = 250;

/** That pause after the first look, if signals announce changes: only lost signals wait for it. */
const idlePollMs = 1000;

/** What a followed reply needs. */
export interface WatchContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a reply's first follower has come, and when its last one has left. */
  followed(saved: SavedReply): void;
  left(saved: SavedReply): void;
  /** Counts the replies whose end somebody waits for. */
  readonly underway: Underway;
}

/** A stored reply as a feed. While it is in progress and somebody follows, the store is polled. */
export class SavedReply implements ReplyFeed {
  readonly id: string;
  readonly questionId: string;
  readonly progress = [];
  readonly ending = false;
  ended: MessageRecord | undefined;
  released = false;
  readonly #context: WatchContext;
  readonly #owner: string;
  readonly #followers = new Set<() => void>();
  /** The reply as it was first read. */
  readonly #message: MessageRecord;
  readonly #text = new ReplyText();
  /** The text's length in characters, as stores count it, while there may be more. */
  #characters = 0;
  /** Set while somebody follows and the reply is in progress. */
  #looking: Repetition | undefined;
  #stopListening: (() => void) | undefined;
  #settled: () => void = () => {};
  #looks = 0;
  #failing = false;
  #announcedAt = 0;

  constructor(context: WatchContext, owner: string, message: MessageRecord) {
    this.#context = context;
    this.#owner = owner;
    this.#message = message;
    this.#see(message);
    this.id = message.id;
    this.questionId = message.inReplyTo ?? "";
  }

  get length(): number {
    return this.#text.length;
  }

  /** Releases everybody who waits for the end of the reply, because this process is shutting down. */
  release(): void {
    this.released = true;
    for (const changed of this.#followers) changed();
  }

  slice(from: number, to: number): string {
    return this.#text.slice(from, to);
  }

  subscribe(changed: () => void): void {
    if (this.#followers.size === 0) this.#context.followed(this);
    this.#followers.add(changed);
    if (!this.ended && !this.#looking) this.#start();
  }

  unsubscribe(changed: () => void): void {
    this.#followers.delete(changed);
    if (this.#followers.size > 0) return;
    this.#context.left(this);
    this.#stop();
  }

  #start(): void {
    const { clock, store, underway } = this.#context;
    underway.track(
      new Promise<void>((resolve) => {
        this.#settled = resolve;
      }),
    );
    const looking = repeat(
      clock,
      () => (store.signals && this.#looks > 0 ? idlePollMs : pollMs),
      async () => {
        const message = await this.#look();
        if (this.#looking !== looking) return; // its followers have left, and later ones look for themselves
        if (message) this.#see(message);
        if (this.ended) this.#stop();
        else this.#announce(); // after the look, or it would take the only connection that may be left
        for (const changed of this.#followers) changed();
      },
    );
    this.#looking = looking;
    this.#stopListening = store.signals?.listen("text", (id) => {
      if (id === this.id) looking.hurry();
    });
    this.#announce();
  }

  #stop(): void {
    this.#stopListening?.();
    this.#looking?.stop();
    this.#looking = undefined;
    this.#settled();
  }

  /** Tells the producer, now and then, that it is followed on another process. */
  #announce(): void {
    const { clock, store } = this.#context;
    const now = clock.now();
    if (Math.abs(now - this.#announcedAt) < announceMs) return;
    this.#announcedAt = now;
    store.signals?.notify("follow", this.id);
  }

  /** Adds what the store has: the text after the known text. */
  #see(message: MessageRecord): void {
    this.#text.append(message.content);
    if (message.status !== "in_progress") this.ended = { ...message, content: this.#text.toString() };
    else for (const _ of message.content) this.#characters++;
  }

  /** Reads what is new: saved text only grows. Undefined: that failed. */
  async #look(): Promise<MessageRecord | undefined> {
    const { store, clock, log } = this.#context;
    const { id, conversationId } = this.#message;
    this.#looks++;
    try {
      const message = await store.readOn({ owner: this.#owner }, conversationId, id, this.#characters);
      this.#failing = false;
      // A reply that is gone was deleted with its conversation, which cancels it.
      return message ?? { ...this.#message, ...cancelled, content: "", completedAt: clock.now() };
    } catch (error) {
      const level = this.#failing ? "debug" : "warn"; // an outage would have every reply say the same again and again
      log(level, "a reply could not be looked up; it will be tried again", { messageId: id, error });
      this.#failing = true;
      return undefined;
    }
  }
}

/** The followed replies. */
export interface Watching {
  /** A reply to follow. Later followers share the text, and the polling, of earlier ones. */
  feedOf(owner: string, reply: MessageRecord): SavedReply;
  /** Whether a reply is followed now. */
  follows(replyId: string): boolean;
  /** Releases all followers, also those that come later, because this process is shutting down. */
  release(): void;
}

export function createWatching(options: Omit<WatchContext, "followed" | "left">): Watching {
  const followed = new Set<SavedReply>(); // two of one reply, where both came before either was followed
  const shared = new Map<string, SavedReply>();
  let released = false;
  const context: WatchContext = {
    ...options,
    followed(saved) {
      followed.add(saved);
      shared.set(saved.id, saved);
      if (released) saved.release();
    },
    left(saved) {
      followed.delete(saved);
      if (shared.get(saved.id) === saved) shared.delete(saved.id);
    },
  };

  return {
    feedOf: (owner, reply) => shared.get(reply.id) ?? new SavedReply(context, owner, reply),
    follows: (replyId) => shared.has(replyId),
    release() {
      released = true;
      for (const saved of followed) saved.release();
    },
  };
}
