/**
 * A reply as followers see it, wherever it is produced: its text, and its end.
 *
 * @module
 */

import type { Held } from "../base/memory-budget.ts";
import type { MessageRecord } from "../store/records.ts";
import { ApiError, shuttingDown } from "../wire/errors.ts";
import type { ClientSignal } from "../wire/request.ts";

/**
 * The text of a growing reply, in UTF-16 code units. What is read is always well-formed: no half surrogate pair, no NUL.
 *
 * JavaScript engines append to a string lazily and copy all of it at the next read, so one long string would cost its whole
 * length for each token. Here only the end is appended to, and settled now and then.
 */
export class ReplyText {
  #settled = "";
  #end = "";
  /** A high surrogate that waits for its other half. */
  #half = "";

  get length(): number {
    return this.#settled.length + this.#end.length;
  }

  /** Appends text that may be split anywhere. */
  append(written: string): void {
    if (this.#end.length >= endLength) {
      // Joins what was appended, unless followers that keep up have read it: each word takes 56 bytes besides its text until then.
      this.#end.charCodeAt(0);
      this.#settled += this.#end;
      this.#end = "";
    }
    const text = this.#half + written;
    this.#half = isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.slice(-1) : "";
    this.#end += storable(this.#half === "" ? text : text.slice(0, -1));
  }

  /** No more text comes: half a surrogate pair will not be completed. */
  end(): void {
    this.#end += storable(this.#half);
    this.#half = "";
  }

  /** The text between two offsets. Reading near the end costs only what is read. */
  slice(from: number, to: number): string {
    const { length } = this.#settled;
    if (from >= length) return this.#end.slice(from - length, to - length);
    const text = this.#settled.slice(from, to);
    return to <= length ? text : text + this.#end.slice(0, to - length);
  }

  toString(): string {
    return this.#settled + this.#end;
  }
}

/** The length from which the end of a text is settled. */
const endLength = 512;

/** Whether an offset lies between the halves of a surrogate pair. */
export function splitsSurrogatePair(text: Pick<ReplyText, "slice">, offset: number): boolean {
  return offset > 0 && isHighSurrogate(text.slice(offset - 1, offset).charCodeAt(0));
}

/** A code unit that opens a surrogate pair (NaN, for "no code unit", does not). */
function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

// No database stores lone surrogates, and PostgreSQL refuses NUL.
function storable(text: string): string {
  const wellFormed = text.toWellFormed();
  return wellFormed.includes("\0") ? wellFormed.replaceAll("\0", "\ufffd") : wellFormed;
}

/** How long a reply may be, in UTF-16 code units. One that would be longer ends there. */
export const mostReplyLength = 4 * 1024 * 1024;

/** Who feeds a feed. */
export interface FeedSource {
  /** Whether the reply may have more text than the feed, because it is read from the store. */
  readonly delayed: boolean;
  /** The first follower has come. */
  followed(): void;
  /** The last follower has left. */
  left(): void;
}

/** The source of a reply that has ended. */
const noSource: FeedSource = { delayed: false, followed() {}, left() {} };

/** A reply that can be followed: its text, its progress events, and its end. */
export class ReplyFeed {
  readonly id: string;
  /** The id of the user's message that the reply answers. Null: none, a person has said it. */
  readonly questionId: string | null;
  readonly conversationId: string;
  /** When the reply was begun, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** The text so far. */
  #text = new ReplyText();
  /** The engine's progress events, each as JSON, in order. Only grows. */
  readonly progress: string[] = [];
  /** Whether the text is complete and only its end is still to be stored. */
  whole = false;
  /** The reply as stored at its end. Once this is set, nothing changes. */
  ended: MessageRecord | undefined;
  /** Whether this process stops following: it is shutting down, and another process produces or ends the reply. */
  released = false;
  /** The number of the attempt that writes the text, and the length that it went on from. */
  attempt = 1;
  continuedFrom: number | null = null;
  #source = noSource;
  readonly #followers = new Set<() => void>();
  /** What the text holds, while it is kept. */
  readonly #memory: Held;
  #keepers = 0;
  #counted = 0;

  constructor(message: MessageRecord, memory: Held) {
    this.#memory = memory;
    this.id = message.id;
    this.questionId = message.alone ? null : message.after;
    this.conversationId = message.conversationId;
    this.createdAt = message.createdAt;
    this.extend(message);
  }

  /**
   * Whether a client may resume behind this offset, its `Last-Event-ID` or `?after=`. Beyond the text, it may where more
   * may still arrive, because only saved text can be seen, or where text that was sent was lost: the reply was
   * interrupted, or another attempt went on before it.
   */
  reaches(offset: number): boolean {
    if (this.cutsBack(offset)) return true;
    if (offset <= this.text.length) return !splitsSurrogatePair(this.text, offset);
    return this.ended ? this.ended.error?.code === "interrupted" : this.#source.delayed;
  }

  /** Whether a client may have text that was sent, but is not part of the reply: a later attempt went on before it. */
  cutsBack(offset: number): boolean {
    return this.continuedFrom !== null && offset > this.continuedFrom;
  }

  get text(): ReplyText {
    return this.#text;
  }

  /** Another attempt goes on from less than what was sent. */
  set text(text: ReplyText) {
    this.#text = text;
    this.#recount();
  }

  /** Adds what an engine has written. False: the reply would be too long, or hold too much memory. */
  append(written: string): boolean {
    const bytes = bytesOf(written);
    if (this.#text.length + written.length > mostReplyLength || !this.#memory.reserve(bytes)) return false;
    this.#counted += bytes;
    this.#text.append(written);
    return true;
  }

  /** Whether there is memory for the text. */
  fits(): boolean {
    if (this.#keepers > 0) return true;
    const bytes = bytesOf(this.#text);
    const fits = this.#memory.reserve(bytes);
    if (fits) this.#memory.count(-bytes);
    return fits;
  }

  /** Counts the text from now on, for a follower or the producer. */
  keep(): void {
    this.#keepers++;
    this.#recount();
  }

  /** Ends a {@link keep}. */
  letGo(): void {
    this.#keepers--;
    this.#recount();
  }

  #recount(): void {
    const bytes = this.#keepers > 0 ? bytesOf(this.#text) : 0;
    this.#memory.count(bytes - this.#counted);
    this.#counted = bytes;
  }

  get isFollowed(): boolean {
    return this.#followers.size > 0;
  }

  /** Takes its news from this source from now on. */
  feedFrom(source: FeedSource): void {
    this.#source = source;
    if (this.isFollowed) source.followed();
  }

  /** Adds the text of a record that begins where this text ends, and notes whether it has ended. */
  extend(message: MessageRecord): void {
    this.#text.append(message.content);
    this.attempt = message.attempt;
    this.continuedFrom = message.continuedFrom;
    this.#recount();
    if (message.status === "in_progress") return;
    this.text.end();
    this.ended = { ...message, content: this.text.toString() };
  }

  /** Shows a reply as the store has it, in place of what was shown before. */
  show(message: MessageRecord): void {
    this.text = new ReplyText();
    this.whole = false;
    this.extend(message);
    this.tell();
  }

  /** The reply was stored with this end. */
  end(message: MessageRecord): void {
    this.ended = message;
    this.tell();
  }

  /** Lets followers go, because this process is shutting down. */
  release(): void {
    this.released = true;
    this.tell();
  }

  /** Calls back after each change. */
  subscribe(changed: () => void): void {
    const first = !this.isFollowed;
    this.#followers.add(changed);
    this.keep();
    if (first) this.#source.followed();
  }

  /** Doing so twice is harmless. */
  unsubscribe(changed: () => void): void {
    if (!this.#followers.delete(changed)) return;
    this.letGo();
    if (!this.isFollowed) this.#source.left();
  }

  /** Notifies followers. */
  tell(): void {
    for (const changed of this.#followers) changed();
  }
}

/** What a text takes in memory, in bytes. */
function bytesOf({ length }: { readonly length: number }): number {
  return 2 * length;
}

/**
 * Resolves with the reply as stored at its end. Rejects as soon as the signal aborts because the client has left, which
 * then no longer counts as a follower.
 */
export function endOf(feed: ReplyFeed, signal?: ClientSignal): Promise<MessageRecord> {
  return new Promise((resolve, reject) => {
    function leave(): void {
      feed.unsubscribe(changed);
      signal?.removeEventListener("abort", aborted);
    }
    function changed(): void {
      if (!feed.ended && !feed.released) return;
      leave();
      if (feed.ended) resolve(feed.ended);
      else reject(shuttingDown({ messageId: feed.id }));
    }
    function aborted(): void {
      leave();
      reject(new ApiError("invalid_request", "The client left before the reply had ended."));
    }
    feed.subscribe(changed);
    signal?.addEventListener("abort", aborted);
    if (signal?.aborted) aborted();
    else changed();
  });
}
