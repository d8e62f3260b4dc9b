/**
 * Asks a model to go on with a reply that an earlier process has begun.
 *
 * @module
 */

import type { ReplyOutput } from "../../core/twins/engine.ts";

/**
 * How a model is asked to go on. `never`: it is not. `prefix`: the text is the last message, marked as the beginning of the
 * answer (DeepSeek, Mistral). `continue_final_message`: the server is told so (vLLM). `prompt`: a message asks for it, which
 * any model understands, and some obey.
 */
export const continuationModes = ["never", "prefix", "continue_final_message", "prompt"] as const;
/** How a model is asked to go on with a reply that another process began. */
export type ContinuationMode = (typeof continuationModes)[number];

/** What a request has besides, so that the model goes on from a text. */
export interface Continuation {
  readonly messages: readonly object[];
  readonly members: Readonly<Record<string, unknown>>;
}

const request =
  "Your last message was cut off. Continue it exactly where it ends, with the very next character. " +
  "Do not repeat anything, and do not comment on it.";

/** `partial`: the text so far. Undefined: the reply begins. */
export function continuationOf(partial: string | undefined, mode: ContinuationMode): Continuation {
  if (partial === undefined) return { messages: [], members: {} };
  const message = { role: "assistant", content: partial };
  switch (mode) {
    case "prefix":
      return { messages: [{ ...message, prefix: true }], members: {} };
    case "continue_final_message":
      return {
        messages: [message],
        members: { continue_final_message: true, add_generation_prompt: false },
      };
    default:
      return { messages: [message, { role: "user", content: request }], members: {} };
  }
}

/** The longest text that a model is expected to repeat, in UTF-16 code units. */
const longestOverlap = 200;

/** A repeated text that ends inside a word is one only from this length on: shorter ones happen by chance. */
const leastOverlap = 8;

/**
 * Writes what a model adds to a text, without what it repeats of the text's end. Holds back the beginning, as long as it
 * may be such a repetition.
 */
export class OverlapFilter implements Pick<ReplyOutput, "write"> {
  readonly #output: Pick<ReplyOutput, "write">;
  /** The end of the text so far. */
  readonly #tail: string;
  /** What is held back. Undefined: the model is past the overlap. */
  #held: string | undefined = "";

  constructor(output: Pick<ReplyOutput, "write">, partial: string) {
    this.#output = output;
    this.#tail = partial.slice(-longestOverlap);
  }

  write(text: string): void {
    if (this.#held === undefined) {
      this.#output.write(text);
      return;
    }
    this.#held += text;
    if (!this.#tail.includes(this.#held)) this.end();
  }

  /** No more text comes, or no more of it can be a repetition. */
  end(): void {
    const held = this.#held ?? "";
    this.#held = undefined;
    const rest = held.slice(overlapOf(this.#tail, held));
    if (rest !== "") this.#output.write(rest);
  }
}

/** The length of the longest end of `tail` that `text` begins with, and that is no chance. */
function overlapOf(tail: string, text: string): number {
  for (let length = Math.min(tail.length, text.length); length > 0; length--) {
    if (!tail.endsWith(text.slice(0, length))) continue;
    // Short, it is no chance if a word ends there, or begins.
    const before = /[\p{L}\p{M}\p{N}_]$/u.test(text.slice(0, length));
    const after = /^[\p{L}\p{M}\p{N}_]/u.test(text.slice(length));
    if (length >= leastOverlap || before !== after) return length;
  }
  return 0;
}
