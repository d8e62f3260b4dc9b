/**
 * The calls of tools in a completion, in the forms that servers give them.
 *
 * @module
 */

import { isCount, isJsonObject, isString, type JsonObject } from "../../core/base/json.ts";
import { ModelError } from "../../core/twins/engine.ts";
import { parseBounded } from "../bounded-text.ts";
import type { ModelCall } from "./chunk.ts";

/** The most calls in one completion: those behind are not read. */
export const mostCalls = 64;
/** The longest arguments of all of them, with their ids and what else is said of them, in UTF-16 code units. */
const longestArguments = 1_048_576;

/** How much of a name is kept, in UTF-16 code units: no tool's is as long. */
const longestName = 1_000;

/** How many indexes are known, and parts are read of one chunk. Parts under other indexes go on with the call before. */
const mostIndexes = 1_000;

/** What a server says at once of one call. */
interface CallPart {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  /** A piece of the arguments. */
  readonly text: string;
  readonly others: JsonObject;
}

/**
 * Joins the parts of calls. Servers give them indexes that are late, the same for all or missing; ids for all, some or
 * each part; names in pieces, again and again or behind the arguments; and arguments in pieces or, each time, as far as
 * they are known. So names, and where an object of arguments ends, say what belongs together, too.
 */
export class CallReader {
  readonly #isTool: (name: string) => boolean;
  readonly #calls: PartialCall[] = [];
  readonly #byIndex = new Map<number, PartialCall>();
  #length = 0;

  /** `isTool`: whether a name is a whole one. */
  constructor(isTool: (name: string) => boolean) {
    this.#isTool = isTool;
  }

  get calls(): readonly ModelCall[] {
    return this.#calls.filter((call) => call.name !== "" || call.hasArguments).map((call) => call.finish());
  }

  /**
   * Reads what a chunk's choice says of calls, and returns whether that was something.
   *
   * @throws {ModelError} if their arguments are too long.
   */
  read({ delta, message }: JsonObject): boolean {
    const streamed = partsIn(delta);
    // A message with all the calls may come besides the deltas.
    const parts = streamed.length > 0 || this.#calls.length > 0 ? streamed : partsIn(message);
    for (const part of parts) this.#add(part);
    return parts.length > 0;
  }

  #add(part: CallPart): void {
    this.#count(part.text.length + JSON.stringify(part.others).length - 2); // without its brackets
    const known = this.#findCall(part);
    const call = known && !this.#beginsAnother(known, part) ? known : new PartialCall();
    if (call !== known && this.#calls.length === mostCalls) return;
    if (call !== known) this.#calls.push(call);
    if (part.index !== undefined && (this.#byIndex.size < mostIndexes || this.#byIndex.has(part.index)))
      this.#byIndex.set(part.index, call);
    if (call.id === "") {
      this.#count(part.id.length);
      call.id = part.id;
    }
    if (part.name !== "") this.#addName(call, part.name);
    call.addArguments(part.text);
    Object.assign(call.others, part.others);
  }

  #count(length: number): void {
    this.#length += length;
    if (this.#length > longestArguments) {
      throw new ModelError("model_error", "The model called tools with more than 1 Mi characters.");
    }
  }

  /** The call that a part seems to go on with. */
  #findCall({ index, id, name }: CallPart): PartialCall | undefined {
    const last = this.#calls.at(-1);
    if (index === undefined) return this.#calls.find((call) => id !== "" && call.id === id) ?? last;
    const known = this.#byIndex.get(index);
    if (known || id !== "" || name !== "") return known;
    // Arguments under an index that is new: their call was named without one, or with another's.
    const named = this.#calls[index];
    if (named && !named.hasArguments) return named;
    return last?.isWhole ? this.#calls.find((call) => !call.hasArguments) : last;
  }

  /** Whether a part that seems to belong to a call is of the next one, which has no index of its own. */
  #beginsAnother(known: PartialCall, { index, id, name, text }: CallPart): boolean {
    const isNamed = name !== "" && known.name !== "";
    // Without a name, another id says nothing: older vLLM gives each part one.
    if (isNamed && id !== "" && known.id !== "" && id !== known.id) return true;
    const isUnmarked = index === undefined && id === "";
    if (known.isWhole && /^\s*["{]/.test(text)) {
      if (isUnmarked && isNamed) return true;
      // Gateways to Claude send an empty object before the arguments.
      if (!known.isEmptyObject && !known.isSaidAgainBy(text)) return true;
    }
    if (!isNamed || name === known.name || !this.#isTool(known.name) || !this.#isTool(name)) return false;
    return isUnmarked || known.hasArguments || !name.startsWith(known.name);
  }

  /** A name may come in pieces, of which the first ones may be another tool's, or again as far as it is known. */
  #addName(call: PartialCall, name: string): void {
    const { name: known } = call;
    if (call.namePieces.length < longestName) call.namePieces += name;
    if (this.#isTool(call.namePieces)) call.name = call.namePieces;
    else if (this.#isTool(known + name)) call.name = known + name;
    else if (this.#isTool(name) || name.startsWith(known)) call.name = name;
    else if (!this.#isTool(known) && known.length < longestName) call.name = known + name;
  }
}

/** A call as far as it has come. */
class PartialCall {
  id = "";
  name = "";
  /** All that was said of the name, joined. */
  namePieces = "";
  readonly others: Record<string, unknown> = {};
  readonly #pieces: string[] = [];
  /** The last piece that says the arguments again, and those behind it. */
  #latest: string[] = [];
  #latestLength = 0;
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  #isWhole = false;

  get hasArguments(): boolean {
    return this.#pieces.length > 0;
  }

  /** Whether the arguments seem to end here, with an object or a text. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  get isEmptyObject(): boolean {
    return this.#isWhole && this.#latestLength < 16 && /^\s*\{\s*\}\s*$/.test(this.#said);
  }

  get #said(): string {
    if (this.#latest.length > 1) this.#latest = [this.#latest.join("")];
    return this.#latest[0] ?? "";
  }

  /** The call at its end. Only now is it known whether a piece that says all again is no part of what it looks like. */
  finish(): ModelCall {
    const all = this.#pieces.join("");
    const given = argumentsOf(all) === undefined && argumentsOf(this.#said) ? this.#said : all;
    return { id: this.id, name: this.name, arguments: given, others: this.others };
  }

  /** Whether a text has all the arguments so far, perhaps with more. It takes time in proportion to the text alone. */
  isSaidAgainBy(text: string): boolean {
    if (!this.hasArguments || 2 * text.length < this.#latestLength || !/^\s*["{`]/.test(text)) return false;
    if (text.startsWith(this.#said)) return true;
    const value = this.#isWhole ? argumentsOf(text) : undefined; // perhaps with other blanks
    const known = value && argumentsOf(this.#said);
    if (!known) return false;
    return Object.entries(known).every(([key, of]) => JSON.stringify(value[key]) === JSON.stringify(of));
  }

  addArguments(text: string): void {
    if (text === "") return;
    if (this.isSaidAgainBy(text) || (this.isEmptyObject && text.trim() !== "")) {
      this.#latest = [];
      this.#latestLength = 0;
    }
    this.#pieces.push(text);
    this.#latest.push(text);
    this.#latestLength += text.length;
    for (const character of text) this.#follow(character);
  }

  /** Looks only for the end of an object or a text, so that arguments in many pieces need not be parsed with each. */
  #follow(character: string): void {
    const wasInString = this.#inString;
    if (this.#isEscaped) this.#isEscaped = false;
    else if (wasInString && character === "\\") this.#isEscaped = true;
    else if (character === '"') this.#inString = !wasInString;
    else if (wasInString) return;
    else if (character === "{" || character === "[") this.#depth++;
    else if (character === "}" || character === "]") this.#depth--;
    else if (character.trim() === "") return;
    this.#isWhole = this.#depth === 0 && !this.#inString && /["}\]`]/.test(character);
  }
}

/**
 * The object that a model wrote as a call's arguments: nothing, JSON, JSON in a JSON text, either in a code fence, or with an
 * empty object before or behind. Undefined: it is none of these.
 */
export function argumentsOf(text: string): JsonObject | undefined {
  const bare = withoutFence(text.trim());
  if (bare === "" || bare === "null") return {};
  const candidates = [bare];
  if (bare.startsWith("{}")) candidates.push(bare.slice(2));
  if (bare.endsWith("{}")) candidates.push(bare.slice(0, -2));
  for (const candidate of candidates) {
    const once = parseBounded(candidate);
    const value = isString(once) ? parseBounded(withoutFence(once.trim())) : once;
    if (isJsonObject(value)) return value;
  }
  return undefined;
}

function withoutFence(text: string): string {
  if (!text.startsWith("```")) return text;
  const inner = text.endsWith("```") ? text.slice(3, -3) : text.slice(3);
  return inner.replace(/^[a-z]+/i, "").trim();
}

/** The parts in a `delta` or `message`. The one in `function_call` is of servers older than November 2023. */
function partsIn(message: unknown): CallPart[] {
  if (!isJsonObject(message)) return [];
  const { tool_calls: calls, function_call: called } = message;
  const listed = Array.isArray(calls) ? calls : isJsonObject(called) ? [{ function: called }] : [];
  const parts = listed.slice(0, mostIndexes).filter(isJsonObject);
  return parts.map(({ index, id, type: _, function: named, ...others }, place) => {
    const { name, arguments: given } = isJsonObject(named) ? named : {};
    const number = isString(index) && /^\d{1,9}$/.test(index) ? Number(index) : index;
    const unnumbered = parts.length > 1 ? place : undefined;
    return {
      index: isCount(number) ? number : unnumbered,
      id: textOf(id),
      name: textOf(name).slice(0, longestName),
      text: isJsonObject(given) ? JSON.stringify(given) : textOf(given),
      others,
    };
  });
}

function textOf(value: unknown): string {
  return isString(value) ? value : "";
}
