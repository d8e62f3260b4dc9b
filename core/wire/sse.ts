/**
 * Server-Sent Events (WHATWG HTML, section 9.2): events as text, and an event stream as a response body.
 *
 * @module
 */

/** Sent during silence, so that nothing between server and client takes the connection for dead. */
export const keepAliveComment = ": keep-alive\n\n";

/**
 * How long text that follows a write waits for more, in milliseconds: at 250 tokens a second or more, some share a
 * write, which is most of what a token costs. A reader does not notice.
 */
export const joinMs = 4;

/**
 * A reader that takes nothing for this long is disconnected, in milliseconds: of a stream by its follower, of a text or
 * of a stream's last piece by the adapter (`node-text.ts`).
 */
export const stallMs = 60_000;

/**
 * The text of an event stream, pulled by whoever sends it. Between two reads it keeps an offset, not a queue. A sender
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
   * Starts calling back. `ready`: there is something to read, called again if it has become urgent. `cut`: the reader
   * took nothing for too long; disconnect it.
   */
  attach(ready: () => void, cut: () => void): void;
  /** The reader has left, or the body has ended. Idempotent. */
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

/**
 * An event stream as the body of a web `Response`: its whole text if it is complete when the first part is due, because
 * a runtime sends text faster than a stream; otherwise a web stream of its UTF-8.
 */
export async function toTextOrStream(
  events: EventStream,
  afterJoin: JoinTimer = ownTimer,
): Promise<string | ReadableStream<Uint8Array<ArrayBuffer>>> {
  let left = false;
  let wake = () => {};
  let cut = () => {};
  let writtenAt = performance.now();

  function woken(): Promise<void> {
    return new Promise((resolve) => {
      wake = resolve;
    });
  }

  /** Waits for more to read, unless it is urgent. */
  async function join(): Promise<void> {
    if (left || events.urgent || performance.now() - writtenAt >= joinMs) return;
    const waking = woken();
    afterJoin(wake);
    await waking;
  }

  function leave(): void {
    left = true;
    events.detach();
    wake();
  }

  events.attach(
    () => wake(),
    () => cut(),
  );
  await join(); // an end that is about to come goes along with the text
  let unsent = events.read();
  if (events.ended) {
    events.detach();
    return unsent;
  }

  async function next(): Promise<string> {
    let text = unsent || events.read();
    unsent = "";
    while (text === "" && !events.ended && !left) {
      await woken();
      await join();
      if (!left) text = events.read();
    }
    return text;
  }

  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      start(controller) {
        cut = () => {
          controller.error(new Error("The reader took nothing for too long."));
          leave();
        };
      },
      // Called once for each chunk that the reader wants, so a slow reader holds back only itself.
      async pull(controller) {
        const text = await next();
        if (left) return;
        writtenAt = performance.now();
        if (text !== "") controller.enqueue(encoder.encode(text));
        if (!events.ended) return;
        controller.close();
        events.detach();
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
}
