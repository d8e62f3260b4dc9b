/**
 * The calls of tools in a completion, in the forms that servers give them.
 *
 * @module
 */

import { isCount, isJsonObject, isString, type JsonObject } from "../../core/base/json.ts";
import { ModelError } from "../../core/twins/engine.ts";
import { type ModelCall, parseJson } from "./chunk.ts";

/** The most calls at once, and the longest arguments of all of them, in UTF-16 code units. */
const mostCalls = 64;
const longestArguments = 1_048_576;

interface PartialCall {
  index: number | undefined;
  id: string;
  name: string;
  arguments: string;
  others: JsonObject;
}

/** Joins the parts of calls, which may be spread over chunks, with and without indexes and ids. */
export class CallReader {
  readonly #calls: PartialCall[] = [];
  #length = 0;

  get calls(): readonly ModelCall[] {
    return this.#calls;
  }

  /**
   * Reads what a chunk's choice says of calls, and returns whether that was something.
   *
   * @throws {ModelError} if there are too many of them.
   */
  read({ delta, message }: JsonObject): boolean {
    const streamed = partsIn(delta);
    // A message with all the calls may come besides the deltas.
    const parts = streamed.length > 0 || this.#calls.length > 0 ? streamed : partsIn(message);
    for (const part of parts) this.#add(part);
    return parts.length > 0;
  }

  #add(part: JsonObject): void {
    const { index, id, type: _, function: called, ...others } = part;
    const { name, arguments: given } = isJsonObject(called) ? called : {};
    const call = this.#callOf(isCount(index) ? index : undefined, textOf(id), textOf(name));
    call.id ||= textOf(id);
    if (name !== call.name && call.arguments === "") call.name += textOf(name); // some servers repeat it
    const text = isJsonObject(given) ? JSON.stringify(given) : textOf(given);
    if (text !== call.arguments || parseJson(text) === undefined) call.arguments += text; // likewise
    call.others = { ...call.others, ...others };
    this.#length += text.length;
    if (this.#calls.length > mostCalls || this.#length > longestArguments) {
      throw new ModelError(
        "model_error",
        `The model called more than ${mostCalls} tools at once, or with too much.`,
      );
    }
  }

  /** The call that a part goes on with, or a new one. Some servers give every call the index 0, others none. */
  #callOf(index: number | undefined, id: string, name: string): PartialCall {
    const known =
      index === undefined
        ? (this.#calls.find((call) => id !== "" && call.id === id) ?? this.#calls.at(-1))
        : this.#calls.findLast((call) => call.index === index);
    if (known && !isOther(known, id, name)) return known;
    const call = { index, id: "", name: "", arguments: "", others: {} };
    this.#calls.push(call);
    return call;
  }
}

/** Whether a part with this id and name begins another call, for which it needs a name: older vLLM gives each part another id. */
function isOther(known: PartialCall, id: string, name: string): boolean {
  if (name === "") return false;
  if (id !== "" && known.id !== "") return id !== known.id;
  return known.arguments !== "" && parseJson(known.arguments) !== undefined;
}

/** The parts in a `delta` or `message`. The one in `function_call` is of servers older than November 2023. */
function partsIn(message: unknown): JsonObject[] {
  if (!isJsonObject(message)) return [];
  const { tool_calls: calls, function_call: called } = message;
  if (Array.isArray(calls)) return calls.filter(isJsonObject);
  return isJsonObject(called) ? [{ function: called }] : [];
}

function textOf(value: unknown): string {
  return isString(value) ? value : "";
}
