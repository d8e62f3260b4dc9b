/**
 * The thoughts in a completion that its server wants back with the results of calls, else it begins to think anew, or refuses
 * (DeepSeek, Claude, Gemini).
 *
 * @module
 */

import { isJsonObject, isString, type JsonObject } from "../../core/base/json.ts";

/** The members of a message that have thoughts, or signatures of them. */
const names = [
  "reasoning",
  "reasoning_content", // DeepSeek, vLLM
  "reasoning_details", // OpenRouter
  "thinking_blocks", // LiteLLM
  "extra_content", // Gemini
] as const;

/** The most that is kept of them, in UTF-16 code units of JSON. More is not given back, as a part would be refused. */
const mostThoughts = 1_048_576;

/** Joins the parts of thoughts, under the names that the server gives them: texts and lists as they come. */
export class ThoughtReader {
  readonly #texts = new Map<string, string[]>();
  readonly #lists = new Map<string, unknown[]>();
  readonly #objects = new Map<string, Map<string, unknown>>();
  #length = 0;

  /** The members for a message. Empty: there were none, or too many. */
  get thoughts(): JsonObject {
    if (this.#length > mostThoughts) return {};
    const texts = [...this.#texts].map(([name, pieces]) => [name, pieces.join("")]);
    const objects = [...this.#objects].map(([name, members]) => [name, Object.fromEntries(members)]);
    return Object.fromEntries([...texts, ...this.#lists, ...objects]);
  }

  /** Reads what a chunk's choice has of them. A message with all of them may come besides the deltas. */
  read({ delta, message }: JsonObject): void {
    for (const name of names) {
      const isKnown = [this.#texts, this.#lists, this.#objects].some((kept) => kept.has(name));
      const streamed = isJsonObject(delta) ? delta[name] : undefined;
      const whole = isJsonObject(message) && !isKnown ? message[name] : undefined;
      this.#add(name, streamed ?? whole);
    }
  }

  #add(name: string, value: unknown): void {
    if (value === undefined || value === null || value === "" || this.#length > mostThoughts) return;
    this.#length += JSON.stringify(value).length;
    if (isString(value)) this.#texts.set(name, append(this.#texts.get(name), [value]));
    else if (Array.isArray(value)) this.#lists.set(name, append(this.#lists.get(name), value));
    else if (isJsonObject(value)) {
      const members = this.#objects.get(name) ?? new Map<string, unknown>();
      for (const [member, inner] of Object.entries(value)) members.set(member, inner);
      this.#objects.set(name, members);
    }
  }
}

function append<Item>(list: Item[] = [], items: readonly Item[]): Item[] {
  for (const item of items) list.push(item);
  return list;
}
