/**
 * The life of a reply: begun in one store transaction, produced independently of any connection, followed by any
 * number of clients, ended once. The store is the only state that processes share.
 *
 * @module
 */

import { InFlight, within } from "../base/clock.ts";
import type { MessageRecord } from "../store/records.ts";
import { shuttingDown } from "../wire/errors.ts";
import type { ReplyContext } from "./context.ts";
import { cancelled } from "./draft.ts";
import { endOf, type ReplyFeed } from "./feed.ts";
import { RunningReplies, tellHost } from "./running.ts";
import { type Send, type Sent, sendMessage } from "./send.ts";
import { StoredReplies } from "./stored-reply.ts";
import { Sweeper } from "./sweeper.ts";

/** What replies need. */
export type RepliesOptions = Omit<ReplyContext, "inFlight">;

/** How long a shutdown waits for the store to take the last ends, in milliseconds. */
const lastStoreMs = 5000;

/** Begins, follows and ends replies. */
export class Replies {
  readonly #context: ReplyContext;
  readonly #stored: StoredReplies;
  readonly #running: RunningReplies;
  readonly #sweeper: Sweeper;
  /** What interrupts the work that is held for others. */
  readonly #held = new Set<() => void>();
  #closing = false;

  constructor(options: RepliesOptions) {
    this.#context = { ...options, inFlight: new InFlight() };
    this.#stored = new StoredReplies(this.#context);
    this.#running = new RunningReplies(this.#context, this.#stored);
    this.#sweeper = new Sweeper(this.#context, this.#running);
  }

  /** Whether new sends are refused because {@link close} was called. */
  get closing(): boolean {
    return this.#closing;
  }

  /**
   * Settles what an earlier process has left, then looks for abandoned replies every two seconds. If it rejects, call it
   * again.
   */
  start(): Promise<void> {
    return this.#sweeper.start();
  }

  /** Begins a reply, which then runs to its end even if the client leaves. */
  send(send: Send): Promise<Sent> {
    const sent = this.#closing
      ? Promise.reject(shuttingDown())
      : sendMessage(this.#context, this.#running, send);
    this.#context.inFlight.track(sent);
    return sent;
  }

  /** A reply as a feed, wherever it runs. */
  follow(owner: string, reply: MessageRecord): ReplyFeed {
    return this.#running.feedOf(reply) ?? this.#stored.feedOf(owner, reply);
  }

  /** Cancels a reply in progress, wherever it runs, and resolves with the reply at its end. Idempotent. */
  async cancel(owner: string, reply: MessageRecord): Promise<MessageRecord> {
    const { store } = this.#context;
    const feed = this.follow(owner, reply);
    await this.#running.stop(reply.id, cancelled);
    if (!feed.ended) {
      await store.requestCancel({ owner }, reply.id);
      store.signals?.notify("stop", reply.id);
    }
    return endOf(feed);
  }

  /** Stops producing a reply whose conversation was deleted, wherever it runs. */
  drop(replyId: string): void {
    if (this.#running.stop(replyId, "lost")) return;
    for (const topic of ["stop", "text"] as const) this.#context.store.signals?.notify(topic, replyId);
  }

  /**
   * Has the host, and a shutdown, wait for work for a reply that is produced elsewhere. It ends by itself, or is interrupted
   * when a shutdown's time is up.
   */
  hold(messageId: string, work: Promise<unknown>, interrupt: () => void): void {
    this.#held.add(interrupt);
    const held = work.finally(() => this.#held.delete(interrupt));
    this.#context.inFlight.track(held);
    tellHost(this.#context, messageId, held);
  }

  /** Refuses new sends, gives running replies `graceMs`, then ends those left as interrupted. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    this.#sweeper.stop();
    await this.#settle(graceMs);
    this.#running.interrupt();
    for (const interrupt of this.#held) interrupt();
    this.#stored.release();
    await this.#settle(lastStoreMs);
    this.#running.abandon();
    await this.#settle(lastStoreMs);
    this.#running.close();
  }

  /** Waits until nothing is in flight, or the time is up. */
  #settle(milliseconds: number): Promise<void> {
    const { clock, inFlight } = this.#context;
    return within(clock, milliseconds, inFlight.idle());
  }
}
