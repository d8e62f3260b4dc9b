/**
 * Sends event streams to their clients.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { EventPiece, EventStream } from "./sse.ts";

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

/**
 * What a piece takes on its way, in bytes for each code unit: it is there as a text, as the chunk around it and as the bytes of
 * that, which are 3 together in ASCII, and up to 7.
 */
const bytesPerCodeUnit = 4;

/** The timers of senders. */
export interface SenderTimers {
  /** Calls back after {@link joinMs}. */
  join(callback: () => void): void;
  /**
   * Calls `tick` again and again, until it returns undefined or the function that this returns is called: at the latest
   * {@link beatMs} later than it said, in milliseconds from its last call.
   */
  watch(clock: Clock, tick: () => number | undefined): () => void;
}

/** Timers for each stream: in a worker, a timer ends with its request, so streams cannot share one. */
const ownTimers: SenderTimers = {
  join: (callback) => void setTimeout(callback, joinMs),
  watch(clock, tick) {
    let stop = () => {};
    const tickOn = () => {
      const milliseconds = tick();
      if (milliseconds !== undefined) stop = clock.after(milliseconds, tickOn);
    };
    tickOn();
    return () => stop();
  },
};

/** How often streams that share a timer are looked at, in milliseconds. */
const beatMs = 100;

let joining: (() => void)[] = [];

/** By clock: what its beat calls. */
const beats = new WeakMap<Clock, { readonly ticks: Set<() => void>; stop: () => void }>();

function beat(clock: Clock): void {
  const known = beats.get(clock);
  if (!known) return;
  known.stop = clock.after(beatMs, () => beat(clock));
  for (const tick of known.ticks) tick();
}

/**
 * Two timers for all streams, for servers, where timers outlive the requests that set them: each join of its own would add
 * a quarter to a reply's CPU time on Deno, and timers of silent streams are most of what a garbage collection copies.
 */
export const sharedTimers: SenderTimers = {
  join(callback) {
    if (joining.push(callback) > 1) return;
    setTimeout(() => {
      const callbacks = joining;
      joining = [];
      for (const each of callbacks) each();
    }, joinMs);
  },
  watch(clock, tick) {
    const known = beats.get(clock) ?? { ticks: new Set(), stop: () => {} };
    beats.set(clock, known);
    known.ticks.add(tick);
    if (known.ticks.size === 1) known.stop = clock.after(beatMs, () => beat(clock));
    return () => {
      if (known.ticks.delete(tick) && known.ticks.size === 0) known.stop();
    };
  },
};

/** The body that an event stream is written to. */
export interface EventBody {
  /**
   * Writes a piece. The first one comes with the head and may be empty. False: the client is to take this one first; then call
   * {@link EventSender.resume}.
   */
  write(text: string): boolean;
  /** Writes the last piece, and ends the body. It may be the first one, too. */
  end(text: string): void;
  /** Disconnects the client: it took nothing for too long, or the rest cannot be had. */
  cut(): void;
}

/**
 * Sends an event stream: writes its pieces to a body as they come, in the turn in which there is something to take. Here alone
 * is decided what is sent at once and what waits for more, when silence needs a comment, and when a stalled reader of a
 * stream that goes on is cut.
 */
export class EventSender {
  readonly #events: EventStream;
  readonly #body: EventBody;
  readonly #timers: SenderTimers;
  /** Whether there is something to take, and whether that is urgent. */
  #ready = false;
  #urgent = false;
  #keepAliveDue = false;
  #begun = false;
  /** Whether the client is to take what was written before there is more. */
  #full = false;
  /** Whether more is about to be written in this turn. */
  #isSoon = false;
  /** Until when what waits for more does so, as far as its timer was not lost with the request that set it, as in a worker. */
  #joinsUntil = 0;
  #left = false;
  /** What the piece that is on its way takes, in bytes. */
  #sending = 0;
  /** When a piece was taken last, by the system's time, which joining uses. */
  #takenAt = performance.now();
  /** The same by the clock, which silence and stalls are measured by; and since when there is something to take. */
  #sentAt: number;
  #offeredAt: number | undefined;
  #stopTimer = () => {};

  /** `body`: is given this sender, and writes nothing before its first piece, which follows in this turn of the event loop. */
  constructor(
    events: EventStream,
    body: (sender: EventSender) => EventBody,
    timers: SenderTimers = ownTimers,
  ) {
    this.#events = events;
    this.#body = body(this);
    this.#timers = timers;
    this.#sentAt = events.clock.now();
    events.wake(this.#offer);
    this.#stopTimer = timers.watch(events.clock, this.#tick);
    if (!this.#ready) this.#writeSoon(); // the head
  }

  /** The client has taken what was written. */
  resume(): void {
    this.#full = false;
    if (this.#ready) this.#schedule();
  }

  /** The client has left, or has all. Idempotent. */
  leave(): void {
    this.#left = true;
    this.#end();
    this.#events.memory.release();
  }

  readonly #offer = (urgent: boolean): void => {
    this.#ready = true;
    this.#urgent ||= urgent;
    this.#offeredAt ??= this.#events.clock.now();
    if (!this.#full) this.#schedule();
  };

  /** What came soon after the piece before waits for more, unless it is urgent. */
  #schedule(): void {
    const now = performance.now();
    if (this.#urgent || now - this.#takenAt >= joinMs) this.#writeSoon();
    else if (now >= this.#joinsUntil) {
      this.#joinsUntil = now + joinMs;
      this.#timers.join(this.#joined);
    }
  }

  readonly #joined = (): void => {
    this.#joinsUntil = 0;
    if (this.#ready) this.#writeSoon(); // alone, as what a body throws must not reach the streams that share the timer
  };

  /** Not at once: who offers may be about to offer more. */
  #writeSoon(): void {
    if (this.#isSoon) return;
    this.#isSoon = true;
    queueMicrotask(this.#write);
  }

  readonly #write = (): void => {
    this.#isSoon = false;
    if (this.#left || this.#full) return;
    const piece = this.#take() ?? (this.#begun ? undefined : head);
    if (!piece || this.#left) return;
    this.#begun = true;
    this.#full = true; // a body may resume while it writes
    if (piece.last) this.#body.end(piece.text);
    else if (this.#body.write(piece.text)) this.#full = false;
  };

  #take(): EventPiece | undefined {
    this.#ready = false;
    this.#urgent = false;
    this.#offeredAt = undefined;
    let piece: EventPiece | undefined;
    try {
      piece = this.#events.next() ?? (this.#keepAliveDue ? this.#keepAlive() : undefined);
    } catch {
      this.#cut();
    }
    this.#keepAliveDue = false;
    if (!piece) return undefined;
    const bytes = bytesPerCodeUnit * piece.text.length;
    this.#events.memory.count(bytes - this.#sending);
    this.#sending = bytes;
    this.#takenAt = performance.now();
    this.#sentAt = this.#events.clock.now();
    if (piece.last) this.#end();
    return piece;
  }

  #cut(): void {
    this.leave();
    this.#body.cut();
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

  /** Looks at both kinds of silence: ours, which a comment ends, and the client's, which ends with a cut. */
  readonly #tick = (): number | undefined => {
    const { clock, heartbeatMs = Number.POSITIVE_INFINITY } = this.#events;
    const now = clock.now();
    this.#offeredAt &&= Math.min(this.#offeredAt, now); // the clock may have been set back
    const stalled = now - (this.#offeredAt ?? now);
    if (stalled >= stallMs) {
      this.#cut();
      return undefined;
    }
    const silence = Math.abs(now - this.#sentAt); // for the same reason
    const isDue = silence >= heartbeatMs;
    if (isDue) {
      this.#keepAliveDue = true;
      this.#offer(true);
    }
    const toHeartbeat = isDue ? heartbeatMs : heartbeatMs - silence;
    return Math.min(toHeartbeat, stallMs - stalled, this.#events.tick?.() ?? toHeartbeat);
  };
}

/** The first piece where nothing is ready. */
const head: EventPiece = { text: "", last: false };

/** Sent during silence, so that nothing between server and client takes the connection for dead. */
const keepAlive: EventPiece = { text: ": keep-alive\n\n", last: false };
