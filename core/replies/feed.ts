/**
 * A reply as followers see it, wherever it is produced.
 *
 * @module
 */

import type { MessageRecord } from "../store/records.ts";
import { ApiError, shuttingDown } from "../wire/errors.ts";
import type { ClientSignal } from "../wire/request.ts";
import { ReplyText } from "./text.ts";

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
  /** The id of the user's message that the reply answers. */
  readonly questionId: string;
  readonly conversationId: string;
  /** When the reply was begun, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** The text so far. It is replaced where another attempt goes on from less than what was sent. */
  text = new ReplyText();
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
  /** Followers were notified of something that none of them has read yet. */
  #notified = false;

  constructor(message: MessageRecord) {
    this.id = message.id;
    this.questionId = message.inReplyTo ?? "";
    this.conversationId = message.conversationId;
    this.createdAt = message.createdAt;
    this.extend(message);
  }

  /** The UTF-16 code units that can be read. Counts as reading them: more is news again. */
  readLength(): number {
    this.#notified = false;
    return this.text.length;
  }

  /** Whether the reply may have more text than this. */
  get delayed(): boolean {
    return this.#source.delayed && !this.ended;
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
    this.text.append(message.content);
    this.attempt = message.attempt;
    this.continuedFrom = message.continuedFrom;
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
    this.#followers.clear();
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
    if (first && !this.ended) this.#source.followed();
  }

  /** Doing so twice is harmless. */
  unsubscribe(changed: () => void): void {
    if (this.#followers.delete(changed) && !this.isFollowed) this.#source.left();
  }

  /** Notifies followers, unless they already know that there is something to read. */
  changed(): void {
    if (this.#notified) return;
    this.#notified = true;
    this.tell();
  }

  /** Notifies followers. */
  tell(): void {
    for (const changed of this.#followers) changed();
  }
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
