/**
 * Follows a reply that this process does not produce: it has ended, or another process runs it. Only what the store has
 * can be seen.
 *
 * @module
 */

import { type Repetition, repeat } from "../base/clock.ts";
import type { Holder } from "../base/memory-budget.ts";
import {
  type EndReply,
  type FinalState,
  type MessageRecord,
  mostCharactersRead,
  questionKey,
} from "../store/records.ts";
import { hearsSignals, type Store } from "../store/store.ts";
import type { ReplyContext } from "./context.ts";
import { cancelled } from "./draft.ts";
import { ReplyFeed } from "./feed.ts";
import { announceMs } from "./saver.ts";

/** Pause between two looks at a reply that another process runs, in milliseconds. */
const pollMs = 250;

/** That pause after the first look, if signals announce changes: only lost signals wait for it. */
const idlePollMs = 1000;

/** A reply as it is stored, and its question. */
export async function exchangeOf(
  store: Pick<Store, "getMessage">,
  { owner, id }: Pick<EndReply, "owner" | "id">,
): Promise<{ readonly reply: MessageRecord | undefined; readonly question: MessageRecord | undefined }> {
  const whole = { characters: mostCharactersRead };
  const reply = await store.getMessage({ owner }, id, whole);
  const question = reply && (await store.getMessage({ owner }, reply.after ?? "", whole));
  return { reply, question };
}

/** How a reply ends that this process does not produce: with the text and the sources that are stored by then. */
export async function endOfStored(
  { store, clock, sha256, tells }: ReplyContext,
  { owner, conversationId, id }: Pick<EndReply, "owner" | "conversationId" | "id">,
  state: FinalState,
): Promise<EndReply> {
  const { question } = await exchangeOf(store, { owner, id });
  const unanswered = question && questionKey(question.content, sha256);
  return { owner, conversationId, id, ...state, completedAt: clock.now(), unanswered, tells };
}

/** The replies that are followed through the store. */
export class StoredReplies {
  readonly #context: ReplyContext;
  /** Two of one reply, where both came before either was followed. */
  readonly #followed = new Set<ReplyFeed>();
  readonly #shared = new Map<string, ReplyFeed>();
  #released = false;

  constructor(context: ReplyContext) {
    this.#context = context;
  }

  /** A reply to follow. Later followers share the text, and the polling, of earlier ones. */
  feedOf(holder: Holder, reply: MessageRecord): ReplyFeed {
    const known = this.#shared.get(reply.id);
    if (known && known.attempt >= reply.attempt) return known; // else its next look will find the next attempt
    const feed = new ReplyFeed(reply, this.#context.memory.hold(holder));
    this.#feed(feed, holder.owner, reply);
    return feed;
  }

  /** Shows the followers of a feed what the store has, because this process does not produce the reply any more. */
  follow(feed: ReplyFeed, owner: string, reply: MessageRecord): void {
    feed.show(reply);
    this.#feed(feed, owner, reply);
  }

  /** Whether a reply is followed now. */
  follows(replyId: string): boolean {
    return this.#shared.has(replyId);
  }

  /** Releases all followers, also those that come later, because this process is shutting down. */
  release(): void {
    this.#released = true;
    for (const feed of this.#followed) feed.release();
  }

  #feed(feed: ReplyFeed, owner: string, message: MessageRecord): void {
    const reader = feed.ended ? undefined : new StoredReply(this.#context, { feed, owner, message });
    feed.feedFrom({
      delayed: reader !== undefined,
      followed: () => {
        this.#followed.add(feed);
        this.#shared.set(feed.id, feed);
        reader?.start();
        if (this.#released) feed.release();
      },
      left: () => {
        this.#followed.delete(feed);
        if (this.#shared.get(feed.id) === feed) this.#shared.delete(feed.id);
        reader?.stop();
      },
    });
  }
}

/** What is read: a reply in progress, as it was first read, and the feed that shows it. */
interface Reading {
  readonly feed: ReplyFeed;
  readonly owner: string;
  readonly message: MessageRecord;
}

/** Polls the store for a reply in progress, while it is followed. */
class StoredReply {
  readonly #context: ReplyContext;
  readonly #reading: Reading;
  /** The length of the text that is known, in characters, as stores count it. */
  #characters: number;
  /** Set while the reply is followed and in progress. */
  #looking: Repetition | undefined;
  #stopListening: (() => void) | undefined;
  #settle: () => void = () => {};
  #looks = 0;
  #failing = false;
  #announcedAt = 0;

  constructor(context: ReplyContext, reading: Reading) {
    this.#context = context;
    this.#reading = reading;
    this.#characters = countCharacters(reading.message.content);
  }

  start(): void {
    const { clock, store, inFlight } = this.#context;
    const { feed } = this.#reading;
    if (feed.ended || this.#looking) return;
    inFlight.track(
      new Promise<void>((resolve) => {
        this.#settle = resolve;
      }),
    );
    const looking = repeat(
      clock,
      () => (hearsSignals(store) && this.#looks > 0 ? idlePollMs : pollMs),
      async () => {
        const message = await this.#look();
        if (this.#looking === looking) this.#see(message); // if not, later followers look for themselves
      },
    );
    this.#looking = looking;
    this.#stopListening = store.signals?.listen("text", (id) => {
      if (id === feed.id) looking.hurry();
    });
    this.#announce();
  }

  stop(): void {
    this.#stopListening?.();
    this.#looking?.stop();
    this.#looking = undefined;
    this.#settle();
  }

  /** Shows what was found. Undefined: the look failed. */
  #see(message: MessageRecord | undefined): void {
    const { feed } = this.#reading;
    if (message) {
      feed.extend(message);
      this.#characters += countCharacters(message.content);
    }
    if (feed.ended) this.stop();
    else this.#announce(); // after the look, or it would take the only connection that may be left
    feed.tell();
  }

  /** Tells the producer, now and then, that it is followed on another process. */
  #announce(): void {
    const { clock, store } = this.#context;
    const now = clock.now();
    if (Math.abs(now - this.#announcedAt) < announceMs) return;
    this.#announcedAt = now;
    store.signals?.notify("follow", this.#reading.feed.id);
  }

  /** Reads what is new: saved text only grows. Undefined: that failed. */
  async #look(): Promise<MessageRecord | undefined> {
    const { store, clock, log } = this.#context;
    const { owner, message } = this.#reading;
    const { id } = message;
    this.#looks++;
    try {
      const found = await store.getMessage({ owner }, id, {
        skip: this.#characters,
        characters: mostCharactersRead,
      });
      this.#failing = false;
      // A reply that is gone was deleted with its conversation, which cancels it.
      return found ?? { ...message, ...cancelled, content: "", completedAt: clock.now() };
    } catch (error) {
      const level = this.#failing ? "debug" : "warn"; // an outage would have every reply say the same again and again
      log(level, "a reply could not be looked up; it will be tried again", { messageId: id, error });
      this.#failing = true;
      return undefined;
    }
  }
}

function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
