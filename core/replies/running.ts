/**
 * The replies that this process produces.
 *
 * @module
 */

import type { Production, ReplyContext } from "./context.ts";
import type { Outcome } from "./outcome.ts";
import { Producer } from "./producer.ts";
import type { StoredReplies } from "./stored-reply.ts";

/**
 * A reply that runs on this process. Emptied at its end, because tables that the Map has outgrown may outlive it and
 * would keep the whole reply (see {@link InFlight}).
 */
interface Running {
  producer: Producer | undefined;
}

/** The replies that this process produces, or is about to. */
export class RunningReplies {
  readonly #context: ReplyContext;
  readonly #stored: StoredReplies;
  readonly #running = new Map<string, Running>();
  readonly #stopListening: readonly ((() => void) | undefined)[];

  /** `stored`: where followers go on whose reply this process does not produce any more. */
  constructor(context: ReplyContext, stored: StoredReplies) {
    this.#context = context;
    this.#stored = stored;
    const { signals } = context.store;
    this.#stopListening = [
      signals?.listen("follow", (id) => this.find(id)?.saver.noteFollowerElsewhere()),
      signals?.listen("stop", (id) => this.find(id)?.saver.checkStopped()),
    ];
  }

  find(replyId: string): Producer | undefined {
    return this.#running.get(replyId)?.producer;
  }

  /**
   * A producer for a reply that is on its way to the store. It is found at once, because others may see the reply in
   * the store before this process hears that it is there. {@link start} or {@link discard} must follow.
   */
  prepare(production: Production): Producer {
    const { id } = production.reply;
    const producer = new Producer(this.#context, production, () => this.#stored.follows(id));
    this.#running.set(id, { producer });
    return producer;
  }

  /** Runs the producer of a reply that was stored after `position` messages. */
  start(producer: Producer, position: number): void {
    const work = this.#produce(producer, position);
    this.#context.inFlight.track(work);
    this.#tellHost(producer.feed.id, work);
  }

  /** The reply was not stored, as far as this process knows. */
  discard({ feed, production }: Producer): void {
    this.#remove(feed.id);
    if (feed.isFollowed) this.#stored.follow(feed, production.owner, production.reply);
  }

  /** Ends a reply of this process. False: there is none. */
  stop(replyId: string, outcome: Outcome): boolean {
    const producer = this.find(replyId);
    producer?.draft.stop(outcome);
    return producer !== undefined;
  }

  /** Ends all replies because this process stops. */
  interrupt(): void {
    for (const { producer } of this.#running.values()) producer?.interrupt();
  }

  /** Gives up storing the ends that the store does not take. */
  abandon(): void {
    for (const { producer } of this.#running.values()) producer?.saver.abandon();
  }

  /** Stops listening to other processes. */
  close(): void {
    for (const stop of this.#stopListening) stop?.();
  }

  async #produce(producer: Producer, position: number): Promise<void> {
    const { feed, production } = producer;
    const lost = await producer.run(position);
    this.#remove(feed.id);
    if (lost) this.#stored.follow(feed, production.owner, lost);
  }

  #remove(replyId: string): void {
    const entry = this.#running.get(replyId);
    if (entry) entry.producer = undefined;
    this.#running.delete(replyId);
  }

  #tellHost(messageId: string, work: Promise<void>): void {
    const { waitUntil, log } = this.#context;
    try {
      waitUntil?.(work);
    } catch (error) {
      log("warn", "the host's waitUntil failed for a reply", { messageId, error });
    }
  }
}
