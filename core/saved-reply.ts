/**
 * Following a reply that this process does not produce: it has ended, or another process runs it.
 * All there is to see is what the store has.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import { cancelled } from "./ending.ts";
import type { ReplyFeed } from "./follower.ts";
import type { Log } from "./log.ts";
import { type Repetition, repeat } from "./repeat.ts";
import { announceMs } from "./reply-keeper.ts";
import { ReplyText } from "./reply-text.ts";
import type { MessageRecord, Store } from "./store.ts";
import type { Underway } from "./underway.ts";

/** Pause between two looks at a reply that another process runs, in milliseconds. */
const pollMs = 250;

/** That pause where signals tell of changes, behind the first look: only lost signals wait for it. */
const idlePollMs = 1000;

/** What a watched reply is looked up with. */
export interface WatchContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the first follower of one has come, and when the last has gone. */
  followed(saved: SavedReply): void;
  left(saved: SavedReply): void;
  /** Counts those whose end somebody waits for. */
  readonly underway: Underway;
}

/** A stored reply as a feed. While it is in progress, the store is asked again as long as somebody follows. */
export class SavedReply implements ReplyFeed {
  readonly id: string;
  readonly questionId: string;
  readonly progress = [];
  readonly ending = false;
  readonly #context: WatchContext;
  readonly #owner: string;
  readonly #followers = new Set<() => void>();
  /** As it was read first. */
  readonly #message: MessageRecord;
  readonly #text = new ReplyText();
  /** The text's length as stores count it, as long as there may be more. */
  #characters = 0;
  #ended: MessageRecord | undefined;
  /** Set while somebody follows and there is something to wait for. */
  #looking: Repetition | undefined;
  #stopListening: () => void = () => {};
  #settled: () => void = () => {};
  #released = false;
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

  get ended(): MessageRecord | undefined {
    return this.#ended;
  }

  get released(): boolean {
    return this.#released;
  }

  /** Lets everybody go who waits for the end of what another process runs: this one stops. */
  release(): void {
    this.#released = true;
    for (const changed of [...this.#followers]) changed();
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
        await this.#look();
        if (this.ended) this.#stop();
        else if (this.#looking) this.#announce(); // behind the look, or it takes the one connection that may be left
        for (const changed of this.#followers) changed();
      },
    );
    this.#looking = looking;
    this.#stopListening =
      store.signals?.listen("text", (id) => {
        if (id === this.id) looking.hurry();
      }) ?? this.#stopListening;
    this.#announce();
  }

  #stop(): void {
    this.#stopListening();
    this.#looking?.stop();
    this.#looking = undefined;
    this.#settled();
  }

  /** Tells the producer, now and then, that it is followed from afar. */
  #announce(): void {
    const { clock, store } = this.#context;
    const now = clock.now();
    if (Math.abs(now - this.#announcedAt) < announceMs) return;
    this.#announcedAt = now;
    store.signals?.notify("follow", this.id);
  }

  /** Takes in what the store has: text behind the text that is known. */
  #see(message: MessageRecord): void {
    this.#text.append(message.content);
    if (message.status !== "in_progress") this.#ended = { ...message, content: this.#text.toString() };
    else for (const _ of message.content) this.#characters++;
  }

  /** Reads what is new. Text that was saved does not change any more, it only grows. */
  async #look(): Promise<void> {
    const { store, clock, log } = this.#context;
    const { id, conversationId } = this.#message;
    this.#looks++;
    try {
      const message = await store.readOn(this.#owner, conversationId, id, this.#characters);
      // A reply that is gone was deleted with its conversation, which cancels it.
      const gone = { ...this.#message, ...cancelled, content: "", completedAt: clock.now() };
      this.#see(message ?? gone);
      this.#failing = false;
    } catch (error) {
      const level = this.#failing ? "debug" : "warn"; // an outage would have every reply say the same again and again
      log(level, "a reply could not be looked up; it will be tried again", { messageId: id, error });
      this.#failing = true;
    }
  }
}
