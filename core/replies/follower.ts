/**
 * A follower: one client reading a reply from an offset to its end.
 *
 * @module
 */

import type { MessageRecord } from "../store/records.ts";
import type { ReplyEvents, WrittenText } from "../wire/resources.ts";
import { type EventStream, encodeJson, keepAliveComment, stallMs } from "../wire/sse.ts";
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
}

/** What a follower needs of what replies share. */
type FollowContext = Pick<ReplyContext, "clock" | "observe" | "heartbeatMs" | "joinTokens">;

/** The maximum length of a delta, in code units: what a stalled client may cost. */
const deltaLength = 16_384;

/** Follows a reply as an event stream. If it has ended, and the rest is one delta at most: all of its events as text. */
export function followReply(
  feed: ReplyFeed,
  context: FollowContext,
  options: FollowOptions,
): EventStream | string {
  const follower = new ReplyFollower(feed, context, options);
  const from = feed.cutsBack(options.from) ? (feed.continuedFrom ?? 0) : options.from;
  return feed.ended && feed.text.length - from <= deltaLength ? follower.read() : follower;
}

/** Remembers only an offset and a count of what was sent, and the text of a reply that is about to end. */
class ReplyFollower implements EventStream {
  readonly #feed: ReplyFeed;
  readonly #context: FollowContext;
  readonly #options: FollowOptions;
  #offset: number;
  /** The attempt whose text the client has. */
  #attempt: number;
  #progressSent = 0;
  /** The reply's text, if one delta contained all of it and the last event is about to follow. */
  #wholeText: WrittenText | undefined;
  /** Whether the `accepted` event was sent, or is to be left out. */
  #acceptedSent: boolean;
  #ended = false;
  /** There was silence for long enough, and the keep-alive comment has not been read yet. */
  #keepAliveDue = false;
  #readAt: number;
  /** Since when there is something that the client has not taken. */
  #offeredAt: number | undefined;
  #isOpen = false;
  #ready: () => void = () => {};
  #cut: () => void = () => {};
  #stopTimer: () => void = () => {};

  constructor(feed: ReplyFeed, context: FollowContext, options: FollowOptions) {
    this.#feed = feed;
    this.#context = context;
    this.#options = options;
    this.#offset = options.from;
    this.#acceptedSent = feed.cutsBack(options.from); // such a stream begins with what its client has too much
    this.#attempt = this.#acceptedSent ? feed.attempt - 1 : feed.attempt;
    this.#readAt = context.clock.now();
  }

  get ended(): boolean {
    return this.#ended;
  }

  get urgent(): boolean {
    const { from } = this.#options;
    if (!this.#context.joinTokens || this.#feed.ended) return true;
    return this.#offset === from && !this.#feed.whole;
  }

  attach(ready: () => void, cut: () => void): void {
    this.#ready = ready;
    this.#cut = cut;
    this.#feed.subscribe(this.#offer);
    this.#tellOpen(true);
    this.#tick();
  }

  detach(): void {
    this.#feed.unsubscribe(this.#offer);
    if (this.#isOpen && !this.#ended) this.#options.left?.();
    this.#tellOpen(false);
    this.#stopTimer();
    this.#stopTimer = () => {};
    this.#ready = () => {};
    this.#cut = () => {};
  }

  #tellOpen(isOpen: boolean): void {
    if (isOpen === this.#isOpen) return;
    this.#isOpen = isOpen;
    const { observe } = this.#context;
    const event = { requestId: this.#options.requestId, messageId: this.#feed.id };
    if (isOpen) observe.streamOpened?.(event);
    else observe.streamClosed?.(event);
  }

  read(): string {
    this.#offeredAt = undefined;
    if (this.#ended) return "";
    let text = this.#nextEvents() || (this.#keepAliveDue ? keepAliveComment : "");
    if (this.#feed.released && !this.#feed.ended) {
      text += this.#options.events.released();
      this.#ended = true;
    }
    if (text !== "") this.#readAt = this.#context.clock.now();
    this.#keepAliveDue = false;
    return text;
  }

  #nextEvents(): string {
    let text = this.#firstEvent();
    const { attempt, continuedFrom } = this.#feed;
    if (this.#attempt < attempt) {
      const from = continuedFrom ?? 0;
      if (this.#offset < from) return text + this.#delta(from);
      text += this.#continuation(from, attempt);
    }
    for (; this.#progressSent < this.#feed.progress.length; this.#progressSent++) {
      text += this.#progressEvent(this.#feed.progress[this.#progressSent] ?? "");
    }
    const { ended } = this.#feed;
    const length = this.#feed.readLength();
    if (this.#offset < length) text += this.#delta(length);
    if (ended && this.#offset >= length) text += this.#lastEvent(ended);
    return text;
  }

  /** Nothing for a client that has more than an interrupted reply, which may have lost text: only its error is left. */
  #firstEvent(): string {
    if (this.#acceptedSent) return "";
    this.#acceptedSent = true;
    const { ended, text } = this.#feed;
    return ended && this.#offset > text.length ? "" : this.#options.events.accepted(this.#feed, this.#offset);
  }

  #progressEvent(progress: string): string {
    return this.#options.events.progress(progress, this.#offset);
  }

  /** Tells the client to cut its text back to where another attempt goes on, if it can be told. */
  #continuation(from: number, attempt: number): string {
    this.#attempt = attempt;
    const event = this.#options.events.continued(from, attempt);
    if (event === undefined) return "";
    this.#offset = from;
    this.#wholeText = undefined;
    return event;
  }

  /** The next text, up to a length of the reply. */
  #delta(length: number): string {
    let end = Math.min(length, this.#offset + deltaLength);
    if (end < length && splitsSurrogatePair(this.#feed.text, end)) end--; // `length` never does
    // A client that chose its offset before the text was there may have chosen one inside a surrogate pair.
    const content = this.#feed.text.slice(this.#offset, end).toWellFormed();
    const json = encodeJson(content);
    if (this.#offset === 0 && (this.#feed.whole || this.#feed.ended)) this.#wholeText = { content, json };
    this.#offset = end;
    return this.#options.events.delta(json, this.#offset);
  }

  #lastEvent(message: MessageRecord): string {
    this.#ended = true;
    return this.#options.events.ended(message, this.#offset, this.#wholeText);
  }

  /** Notifies the sender once until it reads, and again at the reply's end. */
  readonly #offer = (): void => {
    if (this.#offeredAt !== undefined && !this.#feed.ended) return;
    this.#offeredAt ??= this.#context.clock.now();
    this.#ready();
  };

  /** One timer serves both kinds of silence: ours, which a keep-alive ends, and the client's, which ends with a cut. */
  readonly #tick = (): void => {
    const { clock, heartbeatMs } = this.#context;
    const now = clock.now();
    if (this.#offeredAt !== undefined) {
      this.#offeredAt = Math.min(this.#offeredAt, now); // the clock may have been set back
      if (now - this.#offeredAt >= stallMs) {
        this.#cut();
        return;
      }
    }
    const silence = Math.abs(now - this.#readAt); // for the same reason
    const isDue = silence >= heartbeatMs;
    const toHeartbeat = isDue ? heartbeatMs : heartbeatMs - silence;
    const toCut = stallMs - (now - (this.#offeredAt ?? now));
    this.#stopTimer = clock.after(Math.min(toHeartbeat, toCut), this.#tick);
    if (!isDue) return;
    this.#keepAliveDue = true;
    this.#offer(); // last, because a sender may detach at once, which ends the timer
  };
}
