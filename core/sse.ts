/**
 * Server-Sent Events (WHATWG HTML, section 9.2): events as text, and an event stream as a response body.
 *
 * @module
 */

/** What ends silence on a stream, so that nothing between server and client takes it for dead. */
export const keepAliveComment = ": keep-alive\n\n";

/**
 * How long text that follows a write waits for more, in milliseconds: of a stream of 250 tokens a second and more,
 * some go together. A reader notices nothing, and most of what a token costs is its write.
 */
export const joinMs = 4;

/** A reader that takes nothing for this long is cut, in milliseconds. */
export const stallMs = 60_000;

/**
 * The text of an event stream, pulled by whoever sends it. Between two reads it keeps an offset, not a queue.
 * A sender reads until there is nothing, then waits for `ready`.
 */
export interface EventStream {
  /** The event text that is ready now, in handy pieces. Empty: nothing is. */
  read(): string;
  /** Whether the last event was read. End the body then. */
  readonly ended: boolean;
  /**
   * Whether what is there should leave at once: the first text does, unless the end is about to come, and the end. For
   * all else see {@link joinMs}.
   */
  readonly urgent: boolean;
  /**
   * Begins to call back. `ready`: reading pays again; once more if it has become urgent meanwhile. `cut`: the reader
   * took nothing for too long; drop it.
   */
  attach(ready: () => void, cut: () => void): void;
  /** The reader has gone, or the body has ended. Idempotent. */
  detach(): void;
}

/** One event: its id, and its JSON data on one line. */
export function encodeEvent(id: number, json: string): string {
  return `id: ${id}\ndata: ${json}\n\n`;
}

const lineBreaks = /[\u0085\u2028\u2029]/g;

/** JSON without the characters that some clients take for line ends, though SSE does not. */
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

/** A stream's own: in a worker a timer ends with the request that it was set in, so streams cannot share one. */
const ownTimer: JoinTimer = (callback) => void setTimeout(callback, joinMs);

/**
 * An event stream for hosts that take a web `Response`: its whole text, where all is there by the time that the first of it
 * leaves, because a runtime sends a text sooner than a stream; otherwise a web stream of its UTF-8.
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

  /** Has what can be read wait for more, if it may. */
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
