/**
 * Runs the tools that a model calls: checks what it asks for, and puts what came of it into words.
 *
 * @module
 */

import type { ValidateFunction } from "ajv";
import type { Clock } from "../../core/base/clock.ts";
import { isJsonObject, isString, type JsonObject } from "../../core/base/json.ts";
import type { Log } from "../../core/base/log.ts";
import type { ReplyOutput, Turn } from "../../core/twins/engine.ts";
import type { Tool } from "../../core/twins/tools.ts";
import { type ModelCall, parseJson } from "./chunk.ts";

/** How long a tool may take, in milliseconds. */
const toolMs = 30_000;
/** How many run at once. */
const mostAtOnce = 4;
/** The longest result, in bytes of UTF-8. */
const longestResult = 64 * 1024;

/** A tool as a model knows it. */
interface OfferedTool {
  readonly tool: Tool;
  readonly modelName: string;
  readonly check: ValidateFunction;
}

/** The tools of one reply. */
export interface OfferedTools {
  /** What a request says of them. Empty: there are none. */
  readonly definitions: readonly object[];
  /**
   * Runs calls, and resolves with the messages that tell the model so: its own, and a result for each call. `text`: what it
   * wrote before them. Rejects if the reply is over.
   */
  run(calls: readonly ModelCall[], text: string, reasoning: string): Promise<readonly object[]>;
}

/** Creates a function that offers a turn's model the tools of its twin. */
export function createToolbox({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
  const checks = new WeakMap<Tool, Promise<ValidateFunction | undefined>>();

  /** Compiles a tool's schema once. Undefined: it is none, and the log says so. */
  function checkOf(tool: Tool): Promise<ValidateFunction | undefined> {
    const known =
      checks.get(tool) ??
      compile(tool.inputSchema).catch((error: unknown) => {
        log("warn", "a tool is not offered to models, because its schema cannot be used", {
          tool: tool.name,
          error,
        });
        return undefined;
      });
    checks.set(tool, known);
    return known;
  }

  return async (turn: Turn, tools: readonly Tool[], output: ReplyOutput): Promise<OfferedTools> => {
    const offered: OfferedTool[] = [];
    for (const tool of tools) {
      const check = await checkOf(tool);
      if (check) offered.push({ tool, check, modelName: freeName(tool, offered) });
    }
    const used = new Set<string>();
    let acting: Promise<void> | undefined;

    /** What the model is told of a call. */
    async function call(call: ModelCall, callId: string): Promise<string> {
      const found = offered.find(({ modelName }) => modelName === call.name);
      const name = found?.tool.name ?? "unknown";
      output.progress({ stage: "tool", name, callId, state: "called" });
      let [state, told]: [state: "done" | "failed", told: string] = ["failed", ""];
      try {
        const input = inputOf(call, found);
        if (isString(input) || !found) told = String(input);
        else {
          acting ??= output.beginActing();
          await acting;
          const result = await within(clock, output.signal, (signal) =>
            found.tool.run(input, { ...turn.origin, signal, callId }),
          );
          [state, told] = ["done", isString(result) ? result : (JSON.stringify(result) ?? "")];
        }
      } catch (error) {
        output.signal.throwIfAborted();
        if (acting) await acting; // it rejects if the reply is over
        told = `The tool failed: ${error instanceof Error ? error.message : String(error)}`;
        log("warn", "a tool that a model called has failed", {
          tool: name,
          callId,
          messageId: turn.origin?.messageId,
        });
      }
      output.progress({ stage: "tool", name, callId, state });
      return cut(told.toWellFormed());
    }

    return {
      definitions: offered.map(({ tool, modelName: name }) => {
        const { $schema: _, ...schema } = tool.inputSchema;
        const parameters = { type: "object", properties: {}, ...schema }; // OpenAI wants both
        return { type: "function", function: { name, description: tool.description, parameters } };
      }),
      async run(calls, text, reasoning) {
        const ids = calls.map(({ id }) => freeId(id, used));
        const results: string[] = [];
        const waiting = [...calls.entries()];
        const work = async () => {
          for (let next = waiting.shift(); next; next = waiting.shift()) {
            const [at, asked] = next;
            results[at] = await call(asked, ids[at] ?? "");
          }
        };
        await Promise.all(Array.from({ length: mostAtOnce }, work));
        return [
          {
            role: "assistant",
            content: text === "" ? null : text,
            // Some models that think want their thoughts back, else they begin anew or refuse (DeepSeek).
            ...(reasoning !== "" && { reasoning_content: reasoning }),
            tool_calls: calls.map(({ name, arguments: given, others }, at) => {
              const called = { name, arguments: isJsonObject(parseJson(given)) ? given : "{}" };
              return { ...others, id: ids[at], type: "function", function: called };
            }),
          },
          ...ids.map((id, at) => ({ role: "tool", tool_call_id: id, content: results[at] })),
        ];
      },
    };
  };
}

/** The ajv of the draft that a schema names. Loaded when a tool is first offered. */
async function compile(schema: JsonObject): Promise<ValidateFunction> {
  // Schemas come from other people: what is unknown in them is no fault, and a format no reason to refuse.
  const options = { strict: false, validateFormats: false, allErrors: false } as const;
  const isOlder = isString(schema.$schema) && /draft-0[4-7]/.test(schema.$schema);
  const { $schema: _, $id: __, ...rest } = schema;
  if (isOlder) return new (await import("ajv")).Ajv(options).compile(rest);
  return new (await import("ajv/dist/2020.js")).Ajv2020(options).compile(rest);
}

/** Models know tools under names of letters, digits, `_` and `-`, at most 64. */
function freeName({ name }: Tool, taken: readonly OfferedTool[]): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "tool";
  for (let number = 1; ; number++) {
    const free = number === 1 ? plain : `${plain.slice(0, 60)}_${number}`;
    if (!taken.some(({ modelName }) => modelName === free)) return free;
  }
}

/** An id that is unique in the reply. Nine letters and digits, which Mistral's models want, if the model's cannot be used. */
function freeId(id: string, used: Set<string>): string {
  let free = id;
  for (let number = used.size; !/^[\w.:-]{1,128}$/.test(free) || used.has(free); number++) {
    free = `call${String(number).padStart(5, "0")}`;
  }
  used.add(free);
  return free;
}

/** The input of a call, or why it is refused. */
function inputOf({ name, arguments: given }: ModelCall, found: OfferedTool | undefined): JsonObject | string {
  if (!found) return `There is no tool ${JSON.stringify(name.slice(0, 64))}.`;
  const input = given.trim() === "" ? {} : parseJson(given);
  if (!isJsonObject(input)) return "The arguments were refused: they are not a JSON object.";
  if (found.check(input)) return input;
  const [{ instancePath = "", message = "they are not valid" } = {}] = found.check.errors ?? [];
  return `The arguments were refused: ${instancePath} ${message}.`.slice(0, 1_000);
}

/** Runs work that may take {@link toolMs}. Rejects once that is over, or with the signal's reason once it aborts. */
async function within(
  clock: Clock,
  signal: AbortSignal,
  work: (signal: AbortSignal) => unknown,
): Promise<unknown> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const stop = (reason: unknown) => controller.abort(reason);
  const aborted = () => stop(signal.reason);
  signal.addEventListener("abort", aborted, { once: true });
  const cancel = clock.after(toolMs, () => stop(new Error(`it took more than ${toolMs / 1_000} s.`)));
  try {
    return await Promise.race([
      (async () => work(controller.signal))(),
      new Promise((_, reject) => {
        controller.signal.addEventListener("abort", () => reject(controller.signal.reason), { once: true });
      }),
    ]);
  } finally {
    cancel();
    signal.removeEventListener("abort", aborted);
  }
}

/** Cuts a result at its longest, between characters. */
function cut(text: string): string {
  if (text.length * 3 <= longestResult) return text; // a code unit takes at most three bytes
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= longestResult) return text;
  const kept = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, longestResult), {
    stream: true,
  }); // leaves out a part at the end
  return `${kept}\n\n[Cut here: the result has ${bytes.length} bytes, of which these are the first ${longestResult}.]`;
}
