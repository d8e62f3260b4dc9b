/**
 * Following a reply that this process does not produce: it has ended, or another process runs it.
 * All there is to see is what the store has.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import type { ReplyFeed } from "./follower.ts";
import type { Log } from "./log.ts";
import { cancelled } from "./producer.ts";
import type { MessageRecord, Store } from "./store.ts";

/** Pause between two looks at a reply that another process runs, in milliseconds. */
const pollMs = 250;

/** What a watched reply is looked up with. */
export interface WatchContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/** A stored reply as a feed. While it is in progress, the store is asked again as long as somebody follows. */
export class SavedReply implements ReplyFeed {
  readonly id: string;
  readonly questionId: string;
  readonly progress = [];
  readonly #context: WatchContext;
  readonly #owner: string;
  readonly #followers = new Set<() => void>();
  #message: MessageRecord;
  #stopTimer: (() => void) | undefined;

  constructor(context: WatchContext, owner: string, message: MessageRecord) {
    this.#context = context;
    this.#owner = owner;
    this.#message = message;
    this.id = message.id;
    this.questionId = message.inReplyTo ?? "";
  }

  get length(): number {
    return this.#message.content.length;
  }

  get ended(): MessageRecord | undefined {
    return this.#message.status === "in_progress" ? undefined : this.#message;
  }

  slice(from: number, to: number): string {
    return this.#message.content.slice(from, to);
  }

  subscribe(changed: () => void): void {
    this.#followers.add(changed);
    if (!this.ended && !this.#stopTimer) this.#schedule();
  }

  unsubscribe(changed: () => void): void {
    this.#followers.delete(changed);
    if (this.#followers.size === 0) this.#stop();
  }

  #schedule(): void {
    this.#stopTimer = this.#context.clock.after(pollMs, async () => {
      await this.#look();
      if (this.#stopTimer && !this.ended) this.#schedule();
      for (const changed of this.#followers) changed();
    });
  }

  #stop(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  async #look(): Promise<void> {
    const { store, clock, log } = this.#context;
    const { id, conversationId } = this.#message;
    try {
      const message = await store.getMessage(this.#owner, conversationId, id);
      // A reply that is gone was deleted with its conversation, which cancels it.
      this.#message = message ?? { ...this.#message, ...cancelled, completedAt: clock.now() };
    } catch (error) {
      log("warn", "a reply could not be looked up; it will be tried again", { messageId: id, error });
    }
  }
}
