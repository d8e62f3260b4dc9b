/**
 * Server-Sent Events (WHATWG HTML, section 9.2): events as text, and an event stream as a response body.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { Held } from "../base/memory-budget.ts";

/**
 * How long text that follows other text waits for more, in milliseconds: at 250 tokens a second or more, some share a
 * write, which is most of what a token costs. A client does not notice.
 */
export const joinMs = 4;

/**
 * A stalled reader, a client that takes nothing for this long, is disconnected, in milliseconds: of a stream by
 * {@link EventSender}, of what is wholly written by Node's adapter.
 */
export const stallMs = 60_000;

/** What is taken of an event stream at once. */
export interface EventPiece {
  readonly text: string;
  /** Whether it is the last one. Then end the body. */
  readonly last: boolean;
  /** Whether it ends within an event: the rest of that is ready, and nothing else may come before it. */
  readonly within?: boolean;
}

/**
 * The text of an event stream, pulled by its sender. Between two pieces it keeps an offset, not a queue, and knows nothing
 * of its client: silence, stalls and joining are the sender's.
 */
export interface EventStream {
  readonly clock: Clock;
  /** Silence after which the sender sends a keep-alive comment, in milliseconds. Undefined: none is needed. */
  readonly heartbeatMs: number | undefined;
  /**
   * What is held for the answer: what the stream has ready, which it counts and gives back as it is taken; then the piece
   * that is on its way to the client, which {@link EventSender} counts, and all at the end.
   */
  readonly memory: Held;
  /** Takes what is ready. Undefined: nothing is. Throws if the rest cannot be had: then disconnect the client. */
  next(): EventPiece | undefined;
  /**
   * Calls back, from now on, whenever there is something to take. `urgent`: send it immediately, such as the first text,
   * unless the end is about to follow, what is left of a long text, and the end. Anything else may wait for {@link joinMs}.
   */
  wake(callback: (urgent: boolean) => void): void;
  /** What is sent in silence instead of a comment, as clients that wait for events do not see one. Empty: a comment is. */
  silence?(): string;
  /** The client has left, or the body has ended. Idempotent. */
  close(): void;
}

/** One event: its id, and its JSON data on one line. */
export function encodeEvent(id: number | string, json: string): string {
  return `id: ${id}\ndata: ${json}\n\n`;
}

const lineBreaks = /[\u0085\u2028\u2029]/g;

/** JSON without the characters that some clients treat as line ends, although SSE does not. */
export function encodeJson(value: unknown): string {
  const json = JSON.stringify(value);
  // Three searches for one character each are many times as fast as one for a class, which is why they come first.
  if (!json.includes("\u2028") && !json.includes("\u2029") && !json.includes("\u0085")) return json;
  return json.replace(
    lineBreaks,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Calls back after {@link joinMs}. */
export type JoinTimer = (callback: () => void) => void;

/** A timer for each stream: in a worker, a timer ends with its request, so streams cannot share one. */
const ownTimer: JoinTimer = (callback) => void setTimeout(callback, joinMs);

let joining: (() => void)[] = [];

/**
 * One timer for many streams, which calls back within {@link joinMs}. For servers, where timers outlive the requests that
 * set them: on Deno, a timer for each stream adds a quarter to a reply's CPU time.
 */
export const sharedTimer: JoinTimer = (callback) => {
  if (joining.push(callback) > 1) return;
  setTimeout(() => {
    const callbacks = joining;
    joining = [];
    for (const each of callbacks) each();
  }, joinMs);
};

/**
 * Sends an event stream: every adapter writes the pieces that this returns, as it returns them. Here alone is decided what
 * is sent at once and what waits for more, when silence needs a comment, and when a stalled reader of a stream that goes on
 * is cut.
 */
export class EventSender {
  readonly #events: EventStream;
  readonly #cut: () => void;
  readonly #afterJoin: JoinTimer;
  #ready = false;
  #urgent = false;
  #keepAliveDue = false;
  #left = false;
  /** What the piece that is on its way takes, in bytes. */
  #sending = 0;
  #resume = () => {};
  /** When a piece was taken last, by the system's time, which joining uses. */
  #takenAt = performance.now();
  /** The same by the clock, which silence and stalls are measured by; and since when there is something to take. */
  #sentAt: number;
  #offeredAt: number | undefined;
  #stopTimer = () => {};

  /** `cut`: the client took nothing for too long, or the rest cannot be had; disconnect it. */
  constructor(events: EventStream, cut: () => void, afterJoin: JoinTimer = ownTimer) {
    this.#events = events;
    this.#cut = cut;
    this.#afterJoin = afterJoin;
    this.#sentAt = events.clock.now();
    events.wake(this.#offer);
    this.#tick();
  }

  /** The first piece, which may be empty. An end that is about to come goes along with it. Undefined: the client has left. */
  async first(): Promise<EventPiece | undefined> {
    await this.#join();
    return this.#take() ?? (this.#left ? undefined : { text: "", last: false });
  }

  /** The next piece, once there is one. Undefined: the client has left. */
  async next(): Promise<EventPiece | undefined> {
    while (!this.#left) {
      if (!this.#ready) await this.#resumed();
      await this.#join();
      const piece = this.#take();
      if (piece) return piece;
    }
    return undefined;
  }

  /** The client has left, or has all. Idempotent. */
  leave(): void {
    this.#left = true;
    this.#end();
    this.#events.memory.release();
    this.#resume();
  }

  #take(): EventPiece | undefined {
    if (this.#left) return undefined;
    this.#ready = false;
    this.#urgent = false;
    this.#offeredAt = undefined;
    let piece: EventPiece | undefined;
    try {
      piece = this.#events.next() ?? (this.#keepAliveDue ? this.#keepAlive() : undefined);
    } catch {
      this.leave();
      this.#cut();
    }
    this.#keepAliveDue = false;
    if (!piece) return undefined;
    const bytes = 2 * piece.text.length;
    this.#events.memory.count(bytes - this.#sending);
    this.#sending = bytes;
    this.#takenAt = performance.now();
    this.#sentAt = this.#events.clock.now();
    if (piece.last) this.#end();
    return piece;
  }

  #keepAlive(): EventPiece {
    const text = this.#events.silence?.();
    return text ? { text, last: false } : keepAlive;
  }

  #end(): void {
    this.#stopTimer();
    this.#stopTimer = () => {};
    this.#events.close();
  }

  readonly #offer = (urgent: boolean): void => {
    const isNews = !this.#ready || (urgent && !this.#urgent);
    this.#ready = true;
    this.#urgent ||= urgent;
    this.#offeredAt ??= this.#events.clock.now();
    if (isNews) this.#resume();
  };

  /** Waits for more, unless what is there is urgent, or came long enough after the piece before. */
  async #join(): Promise<void> {
    if (!this.#ready || this.#urgent || performance.now() - this.#takenAt >= joinMs) return;
    const resumed = this.#resumed();
    this.#afterJoin(this.#resume);
    await resumed;
  }

  #resumed(): Promise<void> {
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  /** One timer serves both kinds of silence: ours, which a comment ends, and the client's, which ends with a cut. */
  readonly #tick = (): void => {
    const { clock, heartbeatMs = Number.POSITIVE_INFINITY } = this.#events;
    const now = clock.now();
    this.#offeredAt &&= Math.min(this.#offeredAt, now); // the clock may have been set back
    const stalled = now - (this.#offeredAt ?? now);
    if (stalled >= stallMs) {
      this.#cut();
      return;
    }
    const silence = Math.abs(now - this.#sentAt); // for the same reason
    const isDue = silence >= heartbeatMs;
    const toHeartbeat = isDue ? heartbeatMs : heartbeatMs - silence;
    this.#stopTimer = clock.after(Math.min(toHeartbeat, stallMs - stalled), this.#tick);
    if (!isDue) return;
    this.#keepAliveDue = true;
    this.#offer(true); // last, because the sender may leave at once, which ends the timer
  };
}

/** Sent during silence, so that nothing between server and client takes the connection for dead. */
const keepAlive: EventPiece = { text: ": keep-alive\n\n", last: false };

/**
 * An event stream as the body of a web `Response`: its whole text if the first piece is all of it, because a runtime
 * sends text faster than a stream; otherwise a web stream of its UTF-8.
 */
export async function toTextOrStream(
  events: EventStream,
  afterJoin?: JoinTimer,
): Promise<string | ReadableStream<Uint8Array<ArrayBuffer>>> {
  let cut = () => {};
  const sender = new EventSender(events, () => cut(), afterJoin);
  const first = await sender.first();
  if (first?.last) {
    sender.leave(); // what the runtime does with it is not seen
    return first.text;
  }
  let unsent = first?.text;
  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      start(controller) {
        cut = () => {
          controller.error(new Error("The client took nothing for too long, or the rest could not be read."));
          sender.leave();
        };
      },
      // Called once for each chunk that the client wants, so a slow client holds back only itself.
      async pull(controller) {
        const piece = unsent ? { text: unsent, last: false } : await sender.next();
        unsent = "";
        if (!piece) return;
        if (piece.text !== "") controller.enqueue(encoder.encode(piece.text));
        if (!piece.last) return;
        controller.close();
        sender.leave();
      },
      cancel: () => sender.leave(),
    },
    { highWaterMark: 0 },
  );
}
