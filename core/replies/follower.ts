/**
 * A follower: one client reading a reply from an offset to its end.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { Held } from "../base/memory-budget.ts";
import type { ReplyEvents } from "../wire/resources.ts";
import { type EventPiece, type EventStream, encodeJson } from "../wire/sse.ts";
import type { ReplyContext } from "./context.ts";
import { type ReplyFeed, splitsSurrogatePair } from "./feed.ts";

/** Options of {@link followReply}. */
export interface FollowOptions {
  /** Offset to start from, in UTF-16 code units of the reply. */
  readonly from: number;
  /** How the stream tells what happens. */
  readonly events: ReplyEvents;
  /** Called if the client leaves before the last event. */
  readonly left?: (() => void) | undefined;
  /** The request that follows, for whoever observes. */
  readonly requestId: string;
  /** What is held for its answer. */
  readonly memory: Held;
}

/** What a follower needs of what replies share. */
type FollowContext = Pick<ReplyContext, "clock" | "observe" | "heartbeatMs">;

/** The maximum length of a delta, in code units: what a stalled client may cost. */
const deltaLength = 16_384;

/** Up to this length, in code units, all events of a reply that has ended are one text: its last one has all of it, too. */
const shortReply = 4096;

/** Follows a reply as an event stream. If it has ended, and is short: all of its events as text. */
export function followReply(
  feed: ReplyFeed,
  context: FollowContext,
  options: FollowOptions,
): EventStream | string {
  const follower = new ReplyFollower(feed, context, options);
  if (!feed.ended || feed.text.length > shortReply) return follower;
  let text = "";
  for (let piece = follower.next(); piece; piece = piece.last ? undefined : follower.next())
    text += piece.text;
  return text;
}

/** Remembers only an offset, and what was sent besides the text: it has nothing ready that would count. */
class ReplyFollower implements EventStream {
  readonly clock: Clock;
  readonly heartbeatMs: number;
  readonly memory: Held;
  readonly #feed: ReplyFeed;
  readonly #options: FollowOptions;
  readonly #observe: FollowContext["observe"];
  #offset: number;
  /** The attempt whose text the client has. */
  #attempt: number;
  #progressSent = 0;
  /** Whether the `accepted` event was sent, or is to be left out. */
  #acceptedSent: boolean;
  /** The last events, once the first of their pieces was sent. */
  #last: Iterator<string> | undefined;
  /** What comes next of them: the piece with the end of the last event says that it is the stream's. */
  #ahead: IteratorResult<string> | undefined;
  #ended = false;
  /** Undefined: nobody reads yet, or any more. */
  #wake: ((urgent: boolean) => void) | undefined;

  constructor(feed: ReplyFeed, { clock, heartbeatMs, observe }: FollowContext, options: FollowOptions) {
    this.clock = clock;
    this.heartbeatMs = heartbeatMs;
    this.memory = options.memory;
    this.#observe = observe;
    this.#feed = feed;
    this.#options = options;
    this.#offset = options.from;
    this.#acceptedSent = feed.cutsBack(options.from); // such a stream begins with what its client has too much
    this.#attempt = this.#acceptedSent ? feed.attempt - 1 : feed.attempt;
  }

  wake(callback: (urgent: boolean) => void): void {
    this.#wake = callback;
    this.#feed.subscribe(this.#changed);
    this.#observe.streamOpened?.({ requestId: this.#options.requestId, messageId: this.#feed.id });
    this.#changed();
  }

  readonly #changed = (): void => {
    const { ended, released, whole } = this.#feed;
    this.#wake?.(ended !== undefined || released || (this.#offset === this.#options.from && !whole));
  };

  silence(): string {
    return this.#options.events.silence?.() ?? "";
  }

  close(): void {
    this.#feed.unsubscribe(this.#changed);
    if (!this.#wake) return;
    this.#wake = undefined;
    if (!this.#ended) this.#options.left?.();
    this.#observe.streamClosed?.({ requestId: this.#options.requestId, messageId: this.#feed.id });
  }

  next(): EventPiece | undefined {
    if (this.#ended) return undefined;
    const feed = this.#feed;
    const { events } = this.#options;
    let text = "";
    if (!this.#acceptedSent) {
      this.#acceptedSent = true;
      // A client that has more than an interrupted reply, which may have lost text, gets its error alone.
      const isBeyond = feed.ended && this.#offset > feed.text.length;
      if (!isBeyond) text += events.accepted(feed, this.#offset);
    }
    let { length } = feed.text;
    if (this.#attempt < feed.attempt) {
      const from = feed.continuedFrom ?? 0;
      if (this.#offset < from) length = from;
      else text += this.#continuation(from);
    }
    if (this.#attempt === feed.attempt) {
      for (; this.#progressSent < feed.progress.length; this.#progressSent++) {
        text += events.progress(feed.progress[this.#progressSent] ?? "", this.#offset);
      }
    }
    if (this.#offset < length) text += this.#delta(length);
    if (this.#offset < feed.text.length || this.#attempt < feed.attempt) {
      this.#wake?.(true); // the rest is the next piece
    } else if (feed.ended) {
      // It was cancelled for a process that had sent more than it could save.
      const isLost = feed.ended.status === "cancelled" && this.#offset > feed.text.length;
      if (isLost) text += this.#continuation(feed.text.length);
      this.#last ??= events.ended(feed.ended, this.#offset)[Symbol.iterator]();
      text += this.#nextOfLast(this.#last);
    }
    if (feed.released && !feed.ended) {
      this.#ended = true;
      text += events.released();
    }
    if (text === "" && !this.#ended) return undefined;
    return { text, last: this.#ended, within: this.#last !== undefined && !this.#ended };
  }

  /** Each of the last events may have all of the text: no more of them is made than is sent, and one piece ahead. */
  #nextOfLast(last: Iterator<string>): string {
    let text = "";
    let next = this.#ahead ?? last.next();
    for (; !next.done && text.length < deltaLength; next = last.next()) text += next.value;
    this.#ahead = next;
    this.#ended = next.done === true;
    if (!this.#ended) this.#wake?.(true);
    return text;
  }

  /** Tells the client to cut its text back to where the reply goes on without it, if it can be told. */
  #continuation(from: number): string {
    this.#attempt = this.#feed.attempt;
    const event = this.#options.events.continued(from, this.#attempt);
    if (event === undefined) return "";
    this.#offset = from;
    return event;
  }

  /** The next text, up to a length of the reply. */
  #delta(length: number): string {
    let end = Math.min(length, this.#offset + deltaLength);
    if (end < length && splitsSurrogatePair(this.#feed.text, end)) end--; // `length` never does
    // A client that chose its offset before the text was there may have chosen one inside a surrogate pair.
    const content = this.#feed.text.slice(this.#offset, end).toWellFormed();
    this.#offset = end;
    return this.#options.events.delta(encodeJson(content), end);
  }
}
