/**
 * The life of a reply: begun in one store transaction, produced independently of any connection, followed by any
 * number of clients, ended once. The store is the only state that processes share.
 *
 * @module
 */

import { InFlight, within } from "../base/clock.ts";
import type { Holder } from "../base/memory-budget.ts";
import type { MessageRecord } from "../store/records.ts";
import type { DeletedConversation, Reach } from "../store/store.ts";
import type { HistoryMessage, ReplyFormat } from "../twins/engine.ts";
import type { Twin } from "../twins/twins.ts";
import { shuttingDown, tooMuchAtOnce } from "../wire/errors.ts";
import type { ClientSignal } from "../wire/request.ts";
import type { EventStream } from "../wire/sse.ts";
import type { ReplyContext } from "./context.ts";
import { ConversationCache, type KnownConversation } from "./conversation-cache.ts";
import { ConversationChanges } from "./conversation-changes.ts";
import { type ConversationFollow, ConversationStreams } from "./conversation-stream.ts";
import { cancelled } from "./draft.ts";
import { endOf, type ReplyFeed } from "./feed.ts";
import { type FollowOptions, followReply } from "./follower.ts";
import { RunningCounts, tellReached, tooManyRunning } from "./limits.ts";
import { Recovery } from "./recovery.ts";
import { startRetention } from "./retention.ts";
import { RunningReplies, tellHost } from "./running.ts";
import {
  type Said,
  type Say,
  type Send,
  type SendOrWait,
  type Sent,
  sayMessage,
  sendMessage,
  sendOrWait,
} from "./send.ts";
import { StoredReplies } from "./stored-reply.ts";
import { replyUnstored, type UnstoredReply, type UnstoredTurn } from "./unstored.ts";

export type { KnownConversation } from "./conversation-cache.ts";
export type { ReplyFeed } from "./feed.ts";
export type { RunningLimit } from "./limits.ts";
export type { Said, Say, Send, Sent } from "./send.ts";

/** What replies need. */
export interface RepliesOptions
  extends Omit<ReplyContext, "conversations" | "changes" | "counts" | "inFlight"> {
  /** How many streams of conversations a key or an end user may have open. */
  readonly maxConversationStreams: number;
}

/** How long a shutdown waits for the store to take the last ends, in milliseconds. */
const lastStoreMs = 5000;

/** Begins, follows and ends replies. */
export class Replies {
  readonly #context: ReplyContext;
  readonly #stored: StoredReplies;
  readonly #running: RunningReplies;
  readonly #recovery: Recovery;
  readonly #conversationStreams: ConversationStreams;
  /** The replies that are not stored. */
  readonly #unstored = new Set<UnstoredReply>();
  readonly #stopListening: (() => void) | undefined;
  #stopRetention: (() => void) | undefined;
  #closing = false;

  constructor(options: RepliesOptions) {
    const conversations = new ConversationCache(options.store, options.guard !== undefined);
    const changes = new ConversationChanges(options.store.signals);
    const counts = new RunningCounts(tooManyRunning);
    this.#context = { ...options, conversations, changes, inFlight: new InFlight(), counts };
    this.#stored = new StoredReplies(this.#context);
    this.#running = new RunningReplies(this.#context, this.#stored);
    this.#recovery = new Recovery(this.#context, this.#running);
    this.#stopListening = options.store.signals?.listen("erased", (person) => void this.#eraseHere(person));
    const find = (holder: Holder, reply: MessageRecord) => this.find(holder, reply);
    this.#conversationStreams = new ConversationStreams(
      { ...this.#context, find },
      options.maxConversationStreams,
    );
  }

  /** Whether new sends are refused because {@link close} was called. */
  get closing(): boolean {
    return this.#closing;
  }

  /**
   * Settles what an earlier process has left, then looks for abandoned replies every two seconds, and deletes what was not used
   * for long. If it rejects, call it again.
   */
  async start(): Promise<void> {
    await this.#recovery.start();
    const { retentionDays: days } = this.#context;
    if (days === undefined || this.#closing) return;
    this.#stopRetention ??= startRetention({ ...this.#context, days, drop: (deleted) => this.drop(deleted) });
  }

  /** The twin that a conversation is with. Undefined: there is none within reach. */
  findConversation(reach: Reach, id: string): Promise<KnownConversation | undefined> {
    return this.#context.conversations.find(reach, id);
  }

  /** What a model would see before a question that is not stored, behind a message, oldest first. */
  historyBehind(
    owner: string,
    conversationId: string,
    after: string | null,
  ): Promise<readonly HistoryMessage[]> {
    return this.#context.conversations.historyBehind(owner, conversationId, after);
  }

  /** Begins a reply, which then runs to its end even if the client leaves. Refused while a person answers. */
  send(send: Send): Promise<Sent> {
    return this.#store(() => sendMessage(this.#context, this.#running, send));
  }

  /** Begins a reply, or, while a person answers, stores the question, which waits. */
  sendOrWait(send: SendOrWait): Promise<Sent | Said> {
    return this.#store(() => sendOrWait(this.#context, this.#running, send));
  }

  /** What is wrong with the form in which a twin is to reply, in words that go on from its name. Undefined: nothing. */
  async formatProblem(twin: Twin, format: ReplyFormat): Promise<string | undefined> {
    const engine = this.#context.engines[twin.engine];
    return engine?.checkFormat ? engine.checkFormat(format) : "must be text; this twin replies in words";
  }

  /** Stores a message without a reply: what a person says, or a question alone. */
  say(say: Say): Promise<Said> {
    return this.#store(() => sayMessage(this.#context, this.#running, say));
  }

  #store<Stored>(store: () => Promise<Stored>): Promise<Stored> {
    const stored = this.#closing ? Promise.reject(shuttingDown()) : store();
    this.#context.inFlight.track(stored);
    return stored;
  }

  /** Asks a twin without storing anything. The reply is cancelled once its follower leaves. */
  ask(turn: UnstoredTurn): Promise<ReplyFeed> {
    const asked = this.#closing ? Promise.reject(shuttingDown()) : this.#ask(turn);
    this.#context.inFlight.track(asked);
    return asked;
  }

  async #ask(turn: UnstoredTurn): Promise<ReplyFeed> {
    const { counts, inFlight } = this.#context;
    counts.enter(turn.limits);
    const reply = await this.#begin(turn);
    this.#unstored.add(reply);
    const held = reply.end.finally(() => {
      this.#unstored.delete(reply);
      counts.leave(turn.limits);
    });
    inFlight.track(held);
    tellHost(this.#context, reply.feed.id, held);
    return reply.feed;
  }

  async #begin(turn: UnstoredTurn): Promise<UnstoredReply> {
    try {
      return await replyUnstored(this.#context, turn);
    } catch (error) {
      this.#context.counts.leave(turn.limits);
      throw error;
    }
  }

  /** A reply to follow, wherever it runs. `holder`: who follows it. */
  find(holder: Holder, reply: MessageRecord): ReplyFeed {
    return this.#running.feedOf(reply) ?? this.#stored.feedOf(holder, reply);
  }

  /**
   * Follows a reply from an offset that it {@link ReplyFeed.reaches}, as an event stream, or as all of its events.
   *
   * @throws {ApiError} `unavailable`: its text would be too much.
   */
  stream(feed: ReplyFeed, options: FollowOptions): EventStream | string {
    if (!feed.fits()) throw tooMuchAtOnce();
    return followReply(feed, this.#context, options);
  }

  /** Follows all that happens in a conversation, as an event stream. */
  streamConversation(follow: ConversationFollow): Promise<EventStream> {
    return this.#conversationStreams.open(follow);
  }

  /** Tells those who follow a conversation that its title or path has changed. */
  changed(conversationId: string): void {
    this.#context.changes.tell(conversationId);
  }

  /** Resolves with a reply at its end. Rejects if the client leaves before that. */
  end(feed: ReplyFeed, signal?: ClientSignal): Promise<MessageRecord> {
    return endOf(feed, signal);
  }

  /** Cancels a reply in progress, wherever it runs, and resolves with the reply at its end. Idempotent. */
  async cancel(holder: Holder, reply: MessageRecord): Promise<MessageRecord> {
    if (reply.status !== "in_progress") return reply;
    const { store } = this.#context;
    const feed = this.find(holder, reply);
    await this.#running.stop(reply.id, cancelled);
    if (!feed.ended) {
      await store.requestCancel({ owner: holder.owner }, reply.id);
      store.signals?.notify("stop", reply.id);
    }
    return endOf(feed);
  }

  /** Forgets a conversation that was deleted, and stops its reply, wherever that runs. */
  drop({ id, replyId, reached }: Pick<DeletedConversation, "id" | "replyId" | "reached">): void {
    tellReached(this.#context, reached);
    this.#context.conversations.forget(id);
    this.#context.changes.tell(id);
    if (replyId === null || this.#running.stop(replyId, "lost")) return;
    for (const topic of ["stop", "text"] as const) this.#context.store.signals?.notify(topic, replyId);
  }

  /** Ends an end user's replies that are not stored, wherever they run. Resolves once those of this process are counted. */
  async erase(owner: string, endUser: string): Promise<void> {
    const person = this.#personOf({ owner, endUser });
    this.#context.store.signals?.notify("erased", person);
    await this.#eraseHere(person);
  }

  async #eraseHere(person: string): Promise<void> {
    const replies = [...this.#unstored].filter((reply) => this.#personOf(reply) === person);
    for (const reply of replies) reply.erase();
    await Promise.all(replies.map(({ end }) => end));
  }

  /** What a signal calls an end user: names may have spaces, and are nobody else's business. */
  #personOf({ owner, endUser }: Pick<UnstoredReply, "owner" | "endUser">): string {
    return this.#context.sha256(JSON.stringify([owner, endUser]));
  }

  /** Refuses new sends, gives running replies `graceMs`, then ends those left as interrupted. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    this.#conversationStreams.close();
    this.#recovery.stop();
    this.#stopRetention?.();
    await this.#settle(graceMs);
    this.#running.interrupt();
    for (const reply of this.#unstored) reply.interrupt();
    this.#stored.release();
    await this.#settle(lastStoreMs);
    this.#running.abandon();
    await this.#settle(lastStoreMs);
    this.#running.close();
    this.#stopListening?.();
    this.#context.changes.close();
  }

  /** Waits until nothing is in flight, or the time is up. */
  #settle(milliseconds: number): Promise<void> {
    const { clock, inFlight } = this.#context;
    return within(clock, milliseconds, inFlight.idle());
  }
}
