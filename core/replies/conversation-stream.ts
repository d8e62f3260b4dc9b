/**
 * A conversation as one event stream: the log of its messages, read on from any place, with the running reply at its end.
 * An id `<n>.<m>` is the offset m in the message with the number n; m is the length and one more for who has a reply's end.
 *
 * @module
 */

import { longestTimerMs, type Repetition, repeat } from "../base/clock.ts";
import type { Held, Holder } from "../base/memory-budget.ts";
import type { FollowedStream } from "../base/observe.ts";
import { messagesAfter } from "../store/portions.ts";
import { type ConversationRecord, type MessageRecord, mostCharactersRead } from "../store/records.ts";
import { hearsSignals, type Listing, type Reach } from "../store/store.ts";
import { ApiError, conversationNotFound, shuttingDown, validationError } from "../wire/errors.ts";
import { ConversationEvents } from "../wire/resources.ts";
import type { EventPiece, EventStream } from "../wire/sse.ts";
import type { ReplyContext } from "./context.ts";
import { type ReplyFeed, splitsSurrogatePair } from "./feed.ts";
import { followReply } from "./follower.ts";
import { RunningCounts, tooManyStreams } from "./limits.ts";

/** Options of {@link ConversationStreams.open}. */
export interface ConversationFollow {
  readonly reach: Reach;
  /** Whether its caller may see a conversation with such a twin, which a new one of `/v1` gets later. */
  readonly isInReach: (conversation: ConversationRecord) => boolean;
  readonly conversation: ConversationRecord;
  /** The id of an event, or of a message, to begin behind. Undefined: from now on. */
  readonly after: string | undefined;
  /** The parameter or header field that names it. */
  readonly path: string;
  /** Whose streams count together. */
  readonly caller: string;
  /** The request that follows. */
  readonly requestId: string;
  /** Names the credential: one look at it is for all streams of the same name. */
  readonly credential: string;
  /** Looks at it again. Rejects with an {@link ApiError} once it has ended. */
  readonly recheck: (maxAgeMs: number) => Promise<unknown>;
  /** What is held for its answer. */
  readonly memory: Held;
}

/** How many messages are read at once, and how many characters, if one has no more by itself. */
const messagesAtOnce = 10;
const charactersAtOnce = 64 * 1024;

/** The length from which on waiting events are sent in several pieces, in code units. */
const longPiece = 16_384;

/** Pause between two looks at the log, in milliseconds, where another process may change it without a signal. */
const pollMs = 1000;

/** That pause if signals tell of changes: only lost signals wait for it. */
const idlePollMs = 15_000;

/** Pause between two looks at a credential, in milliseconds, and how old its record may be then: less than 5 seconds together. */
const recheckMs = 3900;
const recordMs = 900;

/** Where a stream begins. */
interface Start {
  /** The id of its first event. Undefined: there is no message yet. */
  readonly id: string | undefined;
  /** The number of the next message to tell. */
  readonly next: number;
  /** The running reply to go on with, and from which offset. */
  readonly within?: { readonly reply: MessageRecord; readonly from: number };
}

/** What a stream shares with the others of this process. */
interface StreamContext
  extends Pick<
    ReplyContext,
    "store" | "clock" | "log" | "heartbeatMs" | "changes" | "observe" | "retentionDays"
  > {
  readonly find: (holder: Holder, reply: MessageRecord) => ReplyFeed;
}

/** The streams of conversations that are open in this process. */
export class ConversationStreams {
  readonly #context: StreamContext;
  readonly #most: number;
  /** The credentials of those that are open, by name. */
  readonly #credentials = new Map<string, WatchedCredential>();
  readonly #counts = new RunningCounts(tooManyStreams);
  #closed = false;

  /** `most`: how many a caller may have open. */
  constructor(context: StreamContext, most: number) {
    this.#context = context;
    this.#most = most;
  }

  /**
   * Follows a conversation.
   *
   * @throws {ApiError} `validation_error` for an id that the conversation does not have, `too_many_streams`, `shutting_down`.
   */
  async open(follow: ConversationFollow): Promise<EventStream> {
    const limits = [{ id: follow.caller, most: this.#most }];
    this.#counts.enter(limits);
    const release = () => this.#counts.leave(limits);
    try {
      const start = await findStart(this.#context, follow);
      if (this.#closed) throw shuttingDown(); // nothing would end it
      const { credential: name, recheck } = follow;
      const credential = this.#credentials.get(name) ?? new WatchedCredential(recheck);
      this.#credentials.set(name, credential);
      const { streams } = credential;
      const stream = new ConversationStream(this.#context, follow, start, credential, () => {
        if (!streams.delete(stream)) return;
        release();
        if (streams.size === 0) this.#credentials.delete(name);
      });
      streams.add(stream);
      return stream;
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Ends all streams, because this process stops. */
  close(): void {
    this.#closed = true;
    for (const { streams } of this.#credentials.values()) for (const stream of streams) stream.end();
  }
}

/** A credential that is looked at for all of its streams, whichever of them finds that it is time. */
class WatchedCredential {
  readonly streams = new Set<ConversationStream>();
  readonly #recheck: ConversationFollow["recheck"];
  /**
   * When the last look began: its end may never come, as in a worker, if the request that it began in has ended. At first, what
   * is known of a credential may be older than a look takes it.
   */
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(recheck: ConversationFollow["recheck"]) {
    this.#recheck = recheck;
  }

  /** Looks at it if it is time. Returns how long it can wait, in milliseconds. */
  tick(now: number): number {
    const wait = recheckMs - Math.abs(now - this.#lookedAt); // the clock may have been set back
    if (wait > 0) return wait;
    this.#lookedAt = now;
    void this.#look();
    return recheckMs;
  }

  async #look(): Promise<void> {
    try {
      await this.#recheck(recordMs);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) return;
      for (const stream of this.streams) stream.end();
    }
  }
}

/** Checks the `Last-Event-ID`, or `?after=`, of a conversation's stream, and finds where it begins. */
async function findStart(context: StreamContext, follow: ConversationFollow): Promise<Start> {
  const { reach, conversation, after, path } = follow;
  const { id, logLength } = conversation;
  const refuse = (): never => {
    const message = "must be the id of an event or a message of this conversation";
    throw validationError([{ path, message }]);
  };
  if (after === undefined) {
    const log = await readLog(context, reach, id, Math.max(0, logLength - 2), 2);
    const [before, last = before] = log ?? conversationNotFound();
    if (!last) return { id: undefined, next: 0 };
    if (last.status !== "in_progress") return { id: endId(last), next: last.seq + 1 };
    return { id: before && endId(before), next: last.seq };
  }
  const [, n, m] = /^(\d+)\.(\d+)$/.exec(after) ?? [];
  if (n === undefined) {
    const characters = mostCharactersRead;
    const message = await context.store.getMessage(reach, after, { conversationId: id, characters });
    if (!message) return refuse();
    const next = message.seq + 1;
    if (message.status !== "in_progress") return { id: endId(message), next };
    return { id: `${message.seq}.0`, next, within: { reply: message, from: 0 } };
  }
  const offset = Number(m);
  const log = await readLog(context, reach, id, Number(n), 1);
  const [message = refuse()] = log ?? conversationNotFound();
  const { seq, role, content, status } = message;
  if (status === "in_progress") {
    if (!context.find(reach, message).reaches(offset)) refuse();
    return { id: after, next: seq + 1, within: { reply: message, from: offset } };
  }
  const end = role === "user" ? content.length : content.length + 1;
  // Text that was sent may have been lost: then the message is told again, as it has become.
  const mayBeBeyond = message.continuedFrom !== null || message.error?.code === "interrupted";
  if (!mayBeBeyond && (offset > end || splitsSurrogatePair(content, offset))) refuse();
  return { id: after, next: offset === end ? seq + 1 : seq };
}

/** Messages in the order they were stored, from a number on. Undefined: the conversation was deleted a moment ago. */
async function readLog(
  { store }: StreamContext,
  reach: Reach,
  id: string,
  from: number,
  limit: number,
): Promise<readonly MessageRecord[] | undefined> {
  const characters = mostCharactersRead;
  const log = await store.listMessages(reach, id, {
    path: "all",
    order: "asc",
    offset: from,
    limit,
    characters,
  });
  return log?.items;
}

/** The id of the event after which a client has all of a message. */
function endId({ seq, role, content }: MessageRecord): string {
  return `${seq}.${content.length + (role === "user" ? 0 : 1)}`;
}

/** The pieces of several events, one after the other. */
function* piecesOf(events: readonly Iterable<string>[]): Generator<string> {
  for (const event of events) yield* event;
}

/** One client that follows a conversation. It remembers its place in the log, and follows the running reply. */
class ConversationStream implements EventStream {
  readonly clock: StreamContext["clock"];
  readonly heartbeatMs: number;
  readonly memory: Held;
  readonly #context: StreamContext;
  readonly #reach: Reach;
  readonly #isInReach: ConversationFollow["isInReach"];
  readonly #requestId: string;
  readonly #credential: WatchedCredential;
  readonly #events: ConversationEvents;
  readonly #closed: () => void;
  /** The conversation as the client knows it: of a message that it is told, it takes the path to end there. */
  #known: ConversationRecord;
  #next: number;
  /** Events that wait to be taken, in pieces that are made as they are, and what they hold in memory, in bytes. */
  #unsent: Iterator<string> | undefined;
  #unsentBytes = 0;
  /** Whether the client has the beginning of a reply's event: the rest is next. */
  #within = false;
  /** How many messages are read next. */
  #atOnce = messagesAtOnce;
  /** Whether the log may have more than was read. */
  #hasMore = false;
  /** The running reply. */
  #reply: EventStream | undefined;
  #ended = false;
  #wake: ((urgent: boolean) => void) | undefined;
  #looking: Repetition | undefined;
  #stopWatching = () => {};
  #failing = false;

  constructor(
    context: StreamContext,
    follow: ConversationFollow,
    start: Start,
    credential: WatchedCredential,
    closed: () => void,
  ) {
    this.clock = context.clock;
    this.heartbeatMs = context.heartbeatMs;
    this.memory = follow.memory;
    this.#context = context;
    this.#reach = follow.reach;
    this.#isInReach = follow.isInReach;
    this.#requestId = follow.requestId;
    this.#credential = credential;
    this.#closed = closed;
    this.#known = follow.conversation;
    this.#next = start.next;
    this.#events = new ConversationEvents(follow.requestId, start.id, context.retentionDays);
    const text = this.#events.conversation(this.#known);
    const { within } = start;
    this.#wait([text + (within ? this.#followReply(within.reply, within.from) : "")], 2 * text.length);
  }

  wake(callback: (urgent: boolean) => void): void {
    const { clock, store, changes } = this.#context;
    this.#wake = callback;
    this.#looking = repeat(
      clock,
      () =>
        this.#failing ? pollMs : store.exclusive ? longestTimerMs : hearsSignals(store) ? idlePollMs : pollMs,
      () => this.#look(),
    );
    this.#stopWatching = changes.watch(this.#known.id, () => this.#looking?.hurry());
    this.#reply?.wake(this.#replyWoke);
    this.#context.observe.streamOpened?.(this.#observed);
    this.#looking.hurry(); // for what was stored since the start was found
    callback(true);
  }

  get #observed(): FollowedStream {
    return { requestId: this.#requestId, messageId: undefined };
  }

  readonly #replyWoke = (urgent: boolean): void => this.#wake?.(urgent);

  next(): EventPiece | undefined {
    const text = this.#within ? "" : this.#takeUnsent();
    if (text !== "" || (this.#ended && !this.#within)) return { text, last: this.#ended && !this.#unsent };
    if (this.#hasMore) this.#looking?.hurry(); // its client has taken what was read before
    const piece = this.#reply?.next();
    if (!piece) return undefined;
    this.#within = piece.within ?? false;
    if (piece.last) {
      this.#reply?.close();
      this.#reply = undefined;
      this.#ended ||= this.#events.released;
      if (!this.#ended) this.#looking?.hurry();
    }
    if (this.#unsent) this.#wake?.(true);
    return { text: piece.text, last: this.#ended && !this.#within && !this.#unsent };
  }

  /** Has events wait to be taken. `bytes`: what they hold in memory until then. */
  #wait(events: readonly Iterable<string>[], bytes: number): void {
    this.#unsent = piecesOf(events);
    this.#unsentBytes = bytes;
    this.memory.count(bytes);
  }

  #takeUnsent(): string {
    let text = "";
    while (this.#unsent && text.length < longPiece) {
      const next = this.#unsent.next();
      if (!next.done) {
        text += next.value;
        continue;
      }
      this.#unsent = undefined;
      this.memory.count(-this.#unsentBytes);
    }
    if (text !== "" && (this.#unsent || this.#reply || this.#hasMore)) this.#wake?.(true);
    return text;
  }

  /** Ends the stream without a last event. */
  end(): void {
    this.#ended = true;
    this.#wake?.(true);
  }

  close(): void {
    this.#ended = true;
    if (this.#wake) this.#context.observe.streamClosed?.(this.#observed);
    this.#wake = undefined;
    this.#stopWatching();
    this.#looking?.stop();
    this.#reply?.close();
    this.#reply = undefined;
    this.#closed();
  }

  tick(): number {
    return this.#credential.tick(this.clock.now());
  }

  async #look(): Promise<void> {
    const { log } = this.#context;
    try {
      await this.#readOn();
    } catch (error) {
      const level = this.#failing ? "debug" : "warn"; // an outage would have every stream say the same again and again
      log(level, "a conversation could not be looked up; it will be tried again", {
        conversationId: this.#known.id,
        error,
      });
      this.#failing = true;
    }
  }

  /** Reads what has changed, once what was read before has been taken. */
  async #readOn(): Promise<void> {
    const { store } = this.#context;
    const { id } = this.#known;
    if (this.#unsent) {
      this.#hasMore = true;
      return;
    }
    const conversation = await store.getConversation(this.#reach, id);
    // A log has no fewer messages than were told, unless its store lost some, as in a failover: ids begin anew there.
    if (conversation && (!this.#isInReach(conversation) || conversation.logLength < this.#next))
      return this.end();
    const isFollowing = this.#reply !== undefined; // then no message can have been stored behind it
    const isToRead = conversation && !isFollowing;
    const log = isToRead ? await this.#readLog(id) : undefined;
    const found = log?.items ?? [];
    if (this.#ended) return;
    const bytes = found.reduce((sum, { content }) => sum + 2 * content.length, 0);
    if (!this.memory.reserve(bytes)) {
      this.#failing = true; // it will be tried again
      return;
    }
    this.#failing = false;
    const events: Iterable<string>[] = [];
    if (!conversation) {
      this.#ended = true;
      events.push([this.#events.deleted()]);
    } else {
      for (const message of found) events.push(...this.#tell(message));
      // The log was read after the conversation: more may have been stored in between.
      const isRead = log === undefined || this.#next >= log.total;
      this.#hasMore = !isRead || this.#next !== conversation.logLength;
      this.#atOnce = isRead ? messagesAtOnce : messagesAfter(found.length, messagesAtOnce);
      if (!this.#hasMore) events.push(...this.#changesIn(conversation, isFollowing));
    }
    this.memory.count(-bytes);
    if (events.length === 0) return;
    this.#wait(events, bytes);
    this.#wake?.(true);
  }

  #readLog(id: string): Promise<Listing<MessageRecord> | undefined> {
    const slice = { offset: this.#next, limit: this.#atOnce, characters: charactersAtOnce };
    return this.#context.store.listMessages(this.#reach, id, { path: "all", order: "asc", ...slice });
  }

  #tell(message: MessageRecord): readonly Iterable<string>[] {
    this.#next = message.seq + 1;
    this.#known = { ...this.#known, lastMessageId: message.id };
    if (message.status !== "in_progress") return [this.#events.message(message, endId(message))];
    const begun = this.#events.message({ ...message, content: "" }, `${message.seq}.0`);
    return [begun, [this.#followReply(message, 0)]];
  }

  /** Follows the running reply; returns what is to be sent first. */
  #followReply(reply: MessageRecord, from: number): string {
    const feed = this.#context.find(this.#reach, reply);
    const { clock, heartbeatMs } = this.#context;
    const requestId = this.#requestId;
    const options = { from, events: this.#events.ofReply(reply), requestId, memory: this.memory };
    const followed = followReply(feed, { clock, heartbeatMs, observe: {} }, options); // part of this stream
    if (typeof followed === "string") return followed;
    this.#reply = followed;
    if (this.#wake) followed.wake(this.#replyWoke);
    return "";
  }

  /** An event if the title, metadata, who answers, or the path otherwise than by a message, is not as the client knows it. */
  #changesIn(conversation: ConversationRecord, isFollowing: boolean): readonly Iterable<string>[] {
    const { title, metadata, lastMessageId, answeredBy, waitingSince } = this.#known;
    const isChanged =
      conversation.title !== title ||
      JSON.stringify(conversation.metadata) !== JSON.stringify(metadata) ||
      conversation.answeredBy !== answeredBy ||
      conversation.waitingSince !== waitingSince;
    const isMoved = !isFollowing && conversation.lastMessageId !== lastMessageId;
    this.#known = isFollowing ? { ...conversation, lastMessageId } : conversation;
    return isChanged || isMoved ? [[this.#events.conversation(conversation)]] : [];
  }
}
