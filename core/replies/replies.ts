/**
 * The life of a reply: begun in one store transaction, produced independently of any connection, followed by anyone who
 * asks, ended once. The store is the only state that processes share.
 *
 * @module
 */

import { type Clock, within } from "../base/clock.ts";
import type { Sha256 } from "../base/crypto.ts";
import type { NewId } from "../base/ids.ts";
import { Underway } from "../base/in-flight.ts";
import type { Log } from "../base/log.ts";
import type { MessageRecord } from "../store/records.ts";
import type { IdempotencyClaim, MadeClaim, Reach, Store } from "../store/store.ts";
import type { TwinEngine } from "../twins/engine.ts";
import { type Twin, twinRevision } from "../twins/twins.ts";
import { conversationBusy, conversationNotFound, shuttingDown } from "../wire/errors.ts";
import type { ConversationMemory } from "./conversation-cache.ts";
import { endOf, type ReplyFeed } from "./feed.ts";
import { cancelled, type Ending } from "./outcome.ts";
import { Producer, type ProducerContext } from "./producer.ts";
import { newLease } from "./saver.ts";
import { beginStored, type NotBegun, newExchange } from "./send.ts";
import { createWatching } from "./stored-reply.ts";
import { createSweeper } from "./sweeper.ts";

/** What replies need. */
export interface RepliesOptions {
  readonly store: Store;
  readonly memory: ConversationMemory;
  readonly engines: Readonly<Record<string, TwinEngine>>;
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: NewId;
  readonly sha256: Sha256;
  readonly leaseMs: number;
  readonly maxReplyMs: number;
  readonly cancelOnDisconnect: boolean;
  readonly waitUntil: ((work: Promise<unknown>) => void) | undefined;
}

/** A message to send, checked. */
export interface Send extends Reach {
  readonly conversationId: string;
  /** How many messages the conversation has, as far as this process knows. */
  readonly position: number;
  /** The conversation's twin. */
  readonly twin: Twin;
  readonly content: string;
  readonly claim: IdempotencyClaim | undefined;
  /** The request that sends it, for the log. */
  readonly requestId: string;
}

/** The result of a send: the reply to follow, or the claim of an equal request that was made before. */
export type Sent = { readonly feed: ReplyFeed } | { readonly claim: MadeClaim };

/** Begins, follows and ends replies. */
export interface Replies {
  /**
   * Ends orphans of an earlier process, then looks for abandoned replies every two seconds. If it rejects, call it
   * again.
   */
  start(): Promise<void>;
  /** Begins a reply, which then runs to its end whatever happens to the client. */
  send(send: Send): Promise<Sent>;
  /** Whether this process produces a reply. */
  runs(replyId: string): boolean;
  /** A reply as a feed, wherever it runs. */
  feedOf(owner: string, reply: MessageRecord): ReplyFeed;
  /** Cancels a reply in progress, wherever it runs, and resolves with the reply at its end. Idempotent. */
  cancel(owner: string, reply: MessageRecord): Promise<MessageRecord>;
  /** Stops producing a reply whose conversation was deleted, wherever it runs. */
  drop(replyId: string): void;
  /** Whether new sends are refused because {@link Replies.close} was called. */
  readonly closing: boolean;
  /** Refuses new sends, gives running replies `graceMs`, then ends those left as interrupted. */
  close(graceMs: number): Promise<void>;
}

/**
 * A reply that runs on this process. Emptied at its end, because tables that the Map has outgrown may outlive it and
 * would keep the whole reply (see {@link Underway}).
 */
interface Running {
  producer: Producer | undefined;
}

/** A reply on its way to the store. Others may see it there first, and what they do is noted for its producer. */
interface Beginning {
  stoppedBy: Ending | undefined;
  isFollowedElsewhere: boolean;
}

/** How long a shutdown waits for the store to take the last endings, in milliseconds. */
const lastStoreMs = 5000;

export function createReplies(options: RepliesOptions): Replies {
  const { store, memory, engines, clock, log, newId, sha256 } = options;
  const { leaseMs, maxReplyMs, cancelOnDisconnect, waitUntil } = options;
  let holder: string | undefined; // created when first needed: a worker has no randomness before its first request
  const context: ProducerContext = {
    store,
    memory,
    clock,
    log,
    get holder() {
      holder ??= newId("run");
      return holder;
    },
    leaseMs,
    isWatched: (replyId) => watching.follows(replyId),
    maxReplyMs,
    cancelOnDisconnect,
  };
  const running = new Map<string, Running>();
  const beginning = new Map<string, Beginning>();
  /** What a shutdown waits for: beginnings on their way to the store, productions, and waits for replies' ends. */
  const underway = new Underway();
  const watching = createWatching({ store, clock, log, underway });
  let closing = false;
  let graceOver = false;
  const sweeper = createSweeper({ store, clock, log, isOurs: (id) => runs(id) || beginning.has(id) });
  const stopListening = [
    store.signals?.listen("follow", noteFollowerElsewhere),
    store.signals?.listen("stop", (id) => producerOf(id)?.checkStopped()),
  ];

  function runs(replyId: string): boolean {
    return running.has(replyId);
  }

  function producerOf(replyId: string): Producer | undefined {
    return running.get(replyId)?.producer;
  }

  function tellHost(messageId: string, work: Promise<unknown>): void {
    try {
      waitUntil?.(work.catch(() => {})); // whoever asked for the work gets the error
    } catch (error) {
      log("warn", "the host's waitUntil failed for a reply", { messageId, error });
    }
  }

  /** Runs a producer. `early`: what others did before it existed. */
  function produce(producer: Producer, early: Beginning): void {
    const entry: Running = { producer };
    running.set(producer.id, entry);
    const production = producer.run().finally(() => {
      running.delete(producer.id);
      entry.producer = undefined;
    });
    underway.track(production);
    tellHost(producer.id, production);
    if (graceOver) producer.interrupt();
    if (early.isFollowedElsewhere) producer.noteFollowerElsewhere();
    if (early.stoppedBy) producer.stop(early.stoppedBy);
  }

  /** Begins a reply, and runs its producer. */
  async function begin(send: Send): Promise<Sent> {
    const { owner, endUser, conversationId, twin, content, claim, requestId } = send;
    const { question, reply } = newExchange(
      { conversationId, content, twinRevision: twinRevision(twin, sha256) },
      newId,
      clock.now(),
    );
    const exchange = { owner, endUser, question, reply, lease: newLease(context), position: send.position };
    const early: Beginning = { stoppedBy: undefined, isFollowedElsewhere: false };
    beginning.set(reply.id, early);
    try {
      const begun = await beginStored(context, claim ? { ...exchange, claim } : exchange);
      if (begun.outcome !== "begun") return notBegun(send, begun);
      const { position } = begun;
      const engine = engines[twin.engine];
      const producer = new Producer(context, { owner, twin, engine, question, reply, position, requestId });
      produce(producer, early);
      return { feed: producer };
    } finally {
      beginning.delete(reply.id);
    }
  }

  /** Answers a send of which nothing was stored. */
  function notBegun(send: Send, begun: NotBegun): Sent {
    switch (begun.outcome) {
      case "claimed":
        return { claim: begun.claim };
      case "busy":
        throw conversationBusy(begun.replyId);
      case "not_found":
        memory.forget(send.conversationId);
        return conversationNotFound();
    }
  }

  /** Ends a reply of this process, even before it runs. False: there is none. */
  function stopHere(replyId: string, ending: Ending): boolean {
    const producer = producerOf(replyId);
    const early = beginning.get(replyId);
    if (producer) producer.stop(ending);
    else if (early) early.stoppedBy = ending;
    else return false;
    return true;
  }

  function noteFollowerElsewhere(replyId: string): void {
    const early = beginning.get(replyId);
    if (early) early.isFollowedElsewhere = true;
    producerOf(replyId)?.noteFollowerElsewhere();
  }

  /** Waits until nothing is under way, or the time is up. */
  function drain(milliseconds: number): Promise<void> {
    return within(clock, milliseconds, underway.idle());
  }

  return {
    get closing() {
      return closing;
    },

    start: sweeper.start,

    send(send) {
      const sent = closing ? Promise.reject(shuttingDown()) : begin(send);
      underway.track(sent);
      return sent;
    },

    runs,

    feedOf(owner, reply) {
      return producerOf(reply.id) ?? watching.feedOf(owner, reply);
    },

    async cancel(owner, reply) {
      const producer = producerOf(reply.id);
      if (!stopHere(reply.id, cancelled) && reply.status === "in_progress") {
        await store.requestCancel({ owner }, reply.id);
        store.signals?.notify("stop", reply.id);
      }
      return endOf(producer ?? watching.feedOf(owner, reply));
    },

    drop(replyId) {
      if (stopHere(replyId, "lost")) return;
      for (const topic of ["stop", "text"] as const) store.signals?.notify(topic, replyId);
    },

    async close(graceMs) {
      closing = true;
      sweeper.stop();
      await drain(graceMs);
      graceOver = true;
      for (const { producer } of running.values()) producer?.interrupt();
      watching.release();
      await drain(lastStoreMs);
      for (const { producer } of running.values()) producer?.abandon();
      await drain(lastStoreMs);
      for (const stop of stopListening) stop?.();
    },
  };
}
