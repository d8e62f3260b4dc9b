/**
 * The port for tools: what a model may do besides writing, if its twin's owner allows it.
 *
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { TurnOrigin } from "./engine.ts";
import type { Twin } from "./twins.ts";

/** A function that a model may call. */
export interface Tool {
  /** Such as `orders/find`: twins name it, or what comes before the slash, under `tools`. Unique. */
  readonly name: string;
  /** Tells the model what the tool does, and when to use it. */
  readonly description: string;
  /** A JSON Schema (2020-12, or the draft that `$schema` names) of an object: the input. */
  readonly inputSchema: JsonObject;
  /**
   * Runs the tool with an input that fits the schema. Returns, possibly as a promise, what the model is told: a string as it
   * is, anything else as JSON. What it throws fails the call, and the model is told the error's message.
   */
  run(input: JsonObject, context: ToolContext): unknown;
}

/** Who a tool runs for, as far as that is known, and until when. */
export interface ToolContext extends Partial<TurnOrigin> {
  /** Aborts when the call takes too long, or the reply is not wanted any more. Release everything then. */
  readonly signal: AbortSignal;
  /** The model's id for the call, unique in the reply. */
  readonly callId: string;
  /** Whether a person has allowed this call, which must not run twice. Absent: nobody was asked. */
  readonly isAllowed?: boolean;
}

/** Tools that come and go, such as those of other servers. */
export interface ToolSource {
  /** Those that can be used now. */
  list(): readonly Tool[];
}

/**
 * The tools that a twin may use, in one order, whatever the order of the others.
 *
 * @example
 * ```ts
 * import { createTwinList, type Tool, toolsOf } from "twin-service";
 *
 * const clock: Tool = {
 *   name: "clock/now",
 *   description: "Tells the time.",
 *   inputSchema: { type: "object" },
 *   run: () => new Date(),
 * };
 * const twins = createTwinList([{ id: "ada", name: "Ada", engine: "openai", tools: ["clock"] }]);
 * const twin = await twins.get("alice", "ada");
 * const tools = twin ? toolsOf(twin, [clock]) : []; // [clock]
 * ```
 */
export function toolsOf({ tools: names }: Pick<Twin, "tools">, tools: readonly Tool[]): Tool[] {
  const isNamed = ({ name }: Tool) => names.includes(name) || names.includes(name.split("/", 1)[0] ?? "");
  return tools.filter(isNamed).sort((one, other) => (one.name < other.name ? -1 : 1));
}
