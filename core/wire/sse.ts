/**
 * Server-Sent Events (WHATWG HTML, section 9.2): events as text, and streams of them.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { Held } from "../base/memory-budget.ts";

/** What is taken of an event stream at once. */
export interface EventPiece {
  readonly text: string;
  /** Whether it is the last one. Then end the body. */
  readonly last: boolean;
  /** Whether it ends within an event: the rest of that is ready, and nothing else may come before it. */
  readonly within?: boolean;
}

/**
 * The text of an event stream, as its sender takes it. Between two pieces it keeps an offset, not a queue, and knows nothing
 * of its client: silence, stalls and joining are the sender's.
 */
export interface EventStream {
  readonly clock: Clock;
  /** Silence after which the sender sends a keep-alive comment, in milliseconds. Undefined: none is needed. */
  readonly heartbeatMs: number | undefined;
  /**
   * What is held for the answer: what the stream has ready, which it counts and gives back as it is taken; then the piece
   * that is on its way to the client, which the sender counts, and all at the end.
   */
  readonly memory: Held;
  /** Takes what is ready. Undefined: nothing is. Throws if the rest cannot be had: then disconnect the client. */
  next(): EventPiece | undefined;
  /**
   * Calls back, from now on, whenever there is something to take. `urgent`: send it immediately, such as the first text,
   * unless the end is about to follow, what is left of a long text, and the end. Anything else may wait for more.
   */
  wake(callback: (urgent: boolean) => void): void;
  /** What is sent in silence instead of a comment, as clients that wait for events do not see one. Empty: a comment is. */
  silence?(): string;
  /** What the stream itself does from time to time. Called as often as it says: it returns how long it can wait, in milliseconds. */
  tick?(): number;
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
