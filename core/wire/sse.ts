/**
 * Server-Sent Events (WHATWG HTML, section 9.2): events as text, and an event stream as a response body.
 *
 * @module
 */

/** Sent during silence, so that nothing between server and client takes the connection for dead. */
export const keepAliveComment = ": keep-alive\n\n";

/**
 * How long text that follows other text waits for more, in milliseconds: at 250 tokens a second or more, some share a
 * write, which is most of what a token costs. A client does not notice.
 */
export const joinMs = 4;

/**
 * A client that takes nothing for this long is disconnected, in milliseconds: of a stream by its follower, of a text or
 * of a stream's last piece by the adapter.
 */
export const stallMs = 60_000;

/**
 * The text of an event stream, pulled by its sender. Between two reads it keeps an offset, not a queue. A sender
 * reads until nothing is left, then waits for `ready`.
 */
export interface EventStream {
  /** The next piece of event text that is ready. Empty if there is none. */
  read(): string;
  /** Whether the last event has been read. Then end the body. */
  readonly ended: boolean;
  /**
   * Whether to send what is ready immediately: the first text, unless the end is about to follow, and the end. Anything
   * else may wait for {@link joinMs}.
   */
  readonly urgent: boolean;
  /**
   * Starts calling back. `ready`: there is something to read, called again if it has become urgent. `cut`: the client
   * took nothing for too long; disconnect it.
   */
  attach(ready: () => void, cut: () => void): void;
  /** The client has left, or the body has ended. Idempotent. */
  detach(): void;
}

/** One event: its id, and its JSON data on one line. */
export function encodeEvent(id: number, json: string): string {
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

function endJoin(): void {
  const callbacks = joining;
  joining = [];
  for (const callback of callbacks) callback();
}

/**
 * One timer for many streams, which calls back within {@link joinMs}. For servers, where timers outlive the requests that
 * set them: on Deno, a timer for each stream adds a quarter to a reply's CPU time.
 */
export const sharedTimer: JoinTimer = (callback) => {
  if (joining.push(callback) === 1) setTimeout(endJoin, joinMs);
};

/**
 * Reads an event stream in the parts in which it is to be written. Every adapter writes what this returns, as it
 * returns it: here alone is decided what is sent at once, and what waits for more.
 */
export class EventReader {
  readonly #events: EventStream;
  readonly #afterJoin: JoinTimer;
  #readAt = performance.now();
  #left = false;
  #wake = () => {};

  /** `cut`: the client took nothing for too long; disconnect it. */
  constructor(events: EventStream, cut: () => void, afterJoin: JoinTimer = ownTimer) {
    this.#events = events;
    this.#afterJoin = afterJoin;
    events.attach(() => this.#wake(), cut);
  }

  /** Whether the last part has been read: end the body with it. */
  get ended(): boolean {
    return this.#events.ended;
  }

  /** Whether the client has left: write nothing more. */
  get left(): boolean {
    return this.#left;
  }

  /** The first part, which may be empty. An end that is about to come goes along with it. */
  async first(): Promise<string> {
    await this.#join();
    return this.#read();
  }

  /** The next part, once there is one. Empty if the client has left, or if nothing precedes the end. */
  async next(): Promise<string> {
    let text = this.#read();
    while (text === "" && !this.ended && !this.#left) {
      await this.#woken();
      await this.#join();
      text = this.#read();
    }
    return text;
  }

  /** The client has left. Idempotent. */
  leave(): void {
    this.#left = true;
    this.#events.detach();
    this.#wake();
  }

  #read(): string {
    if (this.#left) return "";
    const text = this.#events.read();
    if (text !== "") this.#readAt = performance.now();
    if (this.ended) this.#events.detach();
    return text;
  }

  /** Waits for more to read, unless what is there is urgent, or came long enough after the part before. */
  async #join(): Promise<void> {
    if (this.#left || this.#events.urgent || performance.now() - this.#readAt >= joinMs) return;
    const woken = this.#woken();
    this.#afterJoin(this.#wake);
    await woken;
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/**
 * An event stream as the body of a web `Response`: its whole text if the first part is all of it, because a runtime
 * sends text faster than a stream; otherwise a web stream of its UTF-8.
 */
export async function toTextOrStream(
  events: EventStream,
  afterJoin?: JoinTimer,
): Promise<string | ReadableStream<Uint8Array<ArrayBuffer>>> {
  let cut = () => {};
  const reader = new EventReader(events, () => cut(), afterJoin);
  let unsent = await reader.first();
  if (reader.ended) return unsent;
  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      start(controller) {
        cut = () => {
          controller.error(new Error("The client took nothing for too long."));
          reader.leave();
        };
      },
      // Called once for each chunk that the client wants, so a slow client holds back only itself.
      async pull(controller) {
        const text = unsent || (await reader.next());
        unsent = "";
        if (reader.left) return;
        if (text !== "") controller.enqueue(encoder.encode(text));
        if (reader.ended) controller.close();
      },
      cancel: () => reader.leave(),
    },
    { highWaterMark: 0 },
  );
}
