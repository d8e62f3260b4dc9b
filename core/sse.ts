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

/** A web stream of an event stream's UTF-8: the way for hosts that take a `Response`. */
export function toReadableStream(
  events: EventStream,
  afterJoin: JoinTimer = ownTimer,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  let left = false;
  let wake = () => {};
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

  return new ReadableStream(
    {
      start(controller) {
        events.attach(
          () => wake(),
          () => {
            controller.error(new Error("The reader took nothing for too long."));
            leave();
          },
        );
        return join(); // an end that is about to come goes along with the text
      },
      // Called once for each chunk that the reader wants, so a slow reader holds back only itself.
      async pull(controller) {
        let text = events.read();
        while (text === "" && !events.ended) {
          await woken();
          await join();
          if (left) return;
          text = events.read();
        }
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
