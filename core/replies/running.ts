/**
 * The replies that this process produces.
 *
 * @module
 */

import { isWithin, within } from "../base/clock.ts";
import type { EndReply, MessageRecord } from "../store/records.ts";
import type { YieldResult } from "../store/store.ts";
import { tooMuchAtOnce } from "../wire/errors.ts";
import type { Production, ReplyContext } from "./context.ts";
import { cancelled, type Outcome } from "./draft.ts";
import type { ReplyFeed } from "./feed.ts";
import { holdTwin, questionBytes, tellReached } from "./limits.ts";
import { Producer } from "./producer.ts";
import { type Replaced, yieldMs } from "./saver.ts";
import { endOfStored, type StoredReplies } from "./stored-reply.ts";

/** Pause between two looks whether another process has yielded a reply, in milliseconds, if no signal says so. */
const pollMs = 250;

/**
 * A reply that runs on this process. Emptied at its end, because tables that the Map has outgrown may outlive it and
 * would keep the whole reply (see {@link InFlight}).
 */
interface Running {
  producer: Producer | undefined;
  /** Resolves once this process does not produce the reply any more. */
  readonly finished: Promise<void>;
  finish(): void;
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
   * The feed of a reply that runs here. Undefined: it does not, or its record says that another process has taken it over,
   * which its producer then need not find out by itself.
   */
  feedOf({ id, attempt }: MessageRecord): ReplyFeed | undefined {
    const producer = this.find(id);
    if (!producer || attempt <= producer.feed.attempt) return producer?.feed;
    producer.draft.stop("lost");
    return undefined;
  }

  /**
   * A producer for a reply that is on its way to the store. It is found at once, because others may see the reply in
   * the store before this process hears that it is there. {@link start} or {@link discard} must follow. `replaces`: it comes
   * in the place of a running reply, and so is not one more.
   *
   * @throws {ApiError} `too_many_running`, `unavailable`
   */
  prepare(production: Production, replaces = false): Producer {
    const { limits, twin, reply, question, history, format } = production;
    const { id } = reply;
    const { counts } = this.#context;
    if (limits && replaces) counts.add(limits);
    else if (limits) counts.enter(limits);
    const producer = new Producer(this.#context, production, () => this.#stored.follows(id));
    const { memory } = producer;
    const asked = questionBytes(question.content, history, format);
    const hasTwin = holdTwin(memory, twin);
    if (!limits) memory.count(asked);
    else if (!hasTwin || !memory.reserve(asked)) {
      memory.release();
      counts.leave(limits);
      throw tooMuchAtOnce();
    }
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    this.#running.set(id, { producer, finished, finish });
    return producer;
  }

  /** Runs the producer of a reply that was stored. `memory`: what the twin knows of the person, if it was read. */
  start(producer: Producer, memory?: string | null): void {
    const work = this.#produce(producer, memory);
    this.#context.inFlight.track(work);
    tellHost(this.#context, producer.feed.id, work);
  }

  /** The reply was not stored, as far as this process knows. Who has found it follows it through the store. */
  discard({ feed, production }: Producer): void {
    this.#stored.follow(feed, production.owner, production.reply);
    this.#remove(feed.id);
  }

  /**
   * Ends a reply of this process. Resolves once that is stored, or another process turns out to have the reply.
   * Undefined: there is none.
   */
  stop(replyId: string, outcome: Outcome): Promise<void> | undefined {
    const entry = this.#running.get(replyId);
    entry?.producer?.draft.stop(outcome);
    return entry?.finished;
  }

  /**
   * Stops a reply in whose place a message comes, and which ends in the transaction that stores that one, with all of its text;
   * one of another process that does not answer, with what is stored. Undefined: it ends by itself.
   */
  async replace(owner: string, conversationId: string, id: string): Promise<Replaced | undefined> {
    const { inFlight, store } = this.#context;
    const entry = this.#running.get(id);
    if (entry?.producer) {
      const replaced = entry.producer.replace();
      if (!replaced) await entry.finished;
      return replaced;
    }
    if ((await this.#askToYield(owner, id)) === "over") return undefined;
    const ending = await endOfStored(this.#context, { owner, conversationId, id }, cancelled);
    const end = { ...ending, reserved: true as const }; // whether it is, is not known of a reply of another process
    let isSettled = false;
    const settle = (isStored: boolean) => {
      if (isSettled) return;
      isSettled = true;
      if (isStored) for (const topic of ["stop", "text"] as const) store.signals?.notify(topic, id);
      else inFlight.track(this.#endYielded(end));
    };
    return { end, settle };
  }

  /** Asks the process that produces a reply to yield it, until it has, or has not answered for so long that it may be dead. */
  async #askToYield(owner: string, id: string): Promise<YieldResult> {
    const { clock, store, leaseMs } = this.#context;
    const began = clock.now();
    let hurry = () => {};
    const stopListening = store.signals?.listen("text", (told) => {
      if (told === id) hurry();
    });
    try {
      for (let isAsked = false; ; isAsked = true) {
        const result = await store.requestYield(owner, id);
        if (result !== "asked" || !isWithin(Math.min(yieldMs, leaseMs), began, clock.now())) return result;
        if (!isAsked) store.signals?.notify("stop", id);
        const heard = new Promise<void>((resolve) => {
          hurry = resolve;
        });
        await within(clock, pollMs, heard);
      }
    } finally {
      stopListening?.();
    }
  }

  /** Ends a reply in whose place nothing was stored after all. If that fails, whoever finds it abandoned does. */
  async #endYielded(end: EndReply): Promise<void> {
    const { log, store } = this.#context;
    try {
      tellReached(this.#context, await store.endReply(end));
      for (const topic of ["stop", "text"] as const) store.signals?.notify(topic, end.id);
    } catch (error) {
      log("warn", "a cancelled reply's end could not be stored", { messageId: end.id, error });
    }
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

  async #produce(producer: Producer, memory: string | null | undefined): Promise<void> {
    const { feed, production } = producer;
    const lost = await producer.run(memory);
    if (lost) this.#stored.follow(feed, production.owner, lost);
    this.#remove(feed.id);
  }

  #remove(replyId: string): void {
    const entry = this.#running.get(replyId);
    if (!entry) return;
    const { producer } = entry;
    if (producer?.production.limits) this.#context.counts.leave(producer.production.limits);
    producer?.memory.release();
    producer?.feed.letGo();
    entry.producer = undefined;
    this.#running.delete(replyId);
    entry.finish();
  }
}

/** Tells the host of work for a reply that goes on after an answer. */
export function tellHost(
  { waitUntil, log }: Pick<ReplyContext, "waitUntil" | "log">,
  messageId: string,
  work: Promise<unknown>,
): void {
  try {
    waitUntil?.(work);
  } catch (error) {
    log("warn", "the host's waitUntil failed for a reply", { messageId, error });
  }
}
