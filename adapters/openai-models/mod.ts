/**
 * The engine that asks a model behind an OpenAI-compatible address: OpenAI, Ollama, vLLM, llama.cpp …
 *
 * @module
 */

import { systemClock } from "../../core/base/clock.ts";
import { isJsonObject } from "../../core/base/json.ts";
import { consoleLog } from "../../core/base/log.ts";
import {
  clockRule,
  functionThat,
  logRule,
  optional,
  type Rule,
  type RulesFor,
  requireOptions,
  textRule,
} from "../../core/base/rules.ts";
import type { Usage } from "../../core/store/records.ts";
import {
  type EngineResult,
  ModelError,
  type ReplyOutput,
  type Turn,
  type TwinEngine,
} from "../../core/twins/engine.ts";
import { type Tool, type ToolSource, toolsOf } from "../../core/twins/tools.ts";
import type { createBriefings, Embed } from "../../knowledge/mod.ts";
import { requireBaseUrl } from "./address.ts";
import { createAskModel, type ModelServer } from "./asking.ts";
import { Deadlines } from "./attempt.ts";
import type { Completion } from "./chunk.ts";
import { type ContinuationMode, continuationModes } from "./continuation.ts";
import { handOverTools } from "./hand-over.ts";
import type { ModelQuestion } from "./request.ts";
import type { createToolbox, OfferedTools } from "./tools.ts";

export type { Embed } from "../../knowledge/mod.ts";
export type { ModelServer } from "./asking.ts";
export type { ContinuationMode } from "./continuation.ts";
export type { ModelHeaders, ModelListener, ModelRequest, ModelTransport } from "./transport.ts";

/** Options of {@link createOpenAIEngine}. */
export interface OpenAIOptions extends ModelServer {
  /** The model for twins that do not name one. Default: none is named, and the server decides. */
  readonly model?: string | undefined;
  /**
   * Tools, or where they come from, such as `connectTools` of `twin-service/mcp`. Models get those that their twin names.
   * Default: none.
   */
  readonly tools?: readonly Tool[] | ToolSource | undefined;
  /** Finds sections by their meaning, too, such as `createEmbeddings` of `twin-service/embeddings`. Default: by words alone. */
  readonly embed?: Embed | undefined;
  /**
   * How the model is asked to go on with a reply whose process has died: `prefix` (DeepSeek, Mistral),
   * `continue_final_message` (vLLM), or `prompt`, for any model. Default `never`: such a reply ends as interrupted, unless it
   * has no text yet.
   */
  readonly continueReplies?: ContinuationMode | undefined;
}

/** Checked where it is used, without ever showing it. */
const anything: Rule = { expected: "anything", accepts: () => true };

const rules: RulesFor<OpenAIOptions> = {
  baseUrl: anything,
  apiKey: anything,
  model: optional(textRule),
  tools: optional({
    expected:
      "a list of tools, each with a name, a description, an inputSchema and a function run, or an object that lists them",
    accepts: areTools,
  }),
  embed: optional(functionThat("makes vectors of texts")),
  transport: optional(functionThat("sends requests")),
  continueReplies: optional({
    expected: `one of ${continuationModes.join(", ")}`,
    accepts: (value) => continuationModes.some((mode) => mode === value),
  }),
  retries: optional({
    expected: "a number that is not negative",
    accepts: (value) => typeof value === "number" && value >= 0,
  }),
  clock: optional(clockRule),
  log: optional(logRule),
};

function areTools(value: unknown): boolean {
  if (!Array.isArray(value)) return isJsonObject(value) && typeof value.list === "function";
  return value.every(
    (tool: unknown) =>
      isJsonObject(tool) &&
      [tool.name, tool.description].every(textRule.accepts) &&
      isJsonObject(tool.inputSchema) &&
      typeof tool.run === "function",
  );
}

/** How many rounds of calls a reply may have. After them, the model is asked once more, and may not call. */
const mostRounds = 8;

/**
 * Creates an engine that streams chat completions (`POST {baseUrl}/chat/completions`).
 *
 * The model gets the twin's instructions as the system message, the history (its later part, if the server refuses all
 * of it), and the question. Of a long text, or where the twin's `knowledge` is `search`, the system message has the persona
 * alone, and the sections that fit the question stand before it in its message; a `sources` progress event names them. Replies reject with a `ModelError`, or
 * with the reason of the output's signal once that has aborted. What a model calls of its twin's `tools` runs, and `tool`
 * progress events say so. No error message contains the key, or more of a response
 * body than error codes.
 *
 * @example
 * ```ts
 * import { createOpenAIEngine } from "twin-service/openai";
 *
 * const openai = createOpenAIEngine({ baseUrl: "http://127.0.0.1:11434/v1", model: "llama3.2" });
 * const engines = { openai };
 * ```
 *
 * @throws {TypeError} if the address, the key or another option can't be used or is unknown.
 */
export function createOpenAIEngine(options: OpenAIOptions): TwinEngine {
  requireOptions("createOpenAIEngine", options, rules);
  const {
    continueReplies: continuation = "never",
    clock = systemClock,
    log = consoleLog,
    tools = [],
    embed,
  } = options;
  const address = requireBaseUrl(options.baseUrl);
  const ask = createAskModel(options);
  let briefings: Promise<ReturnType<typeof createBriefings>> | undefined;
  // Loaded once it is needed: what reads and searches texts is twenty times as large as all else here.
  const loadBriefings = () => {
    briefings ??= import("../../knowledge/mod.ts").then((module) => module.createBriefings({ clock, embed }));
    return briefings;
  };
  let toolbox: Promise<ReturnType<typeof createToolbox>> | undefined;
  const offer = async (turn: Turn, output: ReplyOutput) => {
    const named = toolsOf(turn.twin, "list" in tools ? tools.list() : tools);
    const own = [...handOverTools(turn, output), ...named]; // first, as it keeps its name where another has it
    if (own.length === 0 && !turn.decided) return undefined;
    toolbox ??= import("./tools.ts").then((module) => module.createToolbox({ clock, log }));
    return (await toolbox)(turn, own, output);
  };
  const formats = () => import("./reply-format.ts"); // loaded for who asks for a form
  return {
    continues: continuation === "never" ? undefined : "partial",
    checkFormat: async (format) => (await formats()).formatProblem(format),
    requireFormat: async (format, reply) => (await formats()).requireFormat(format, reply),
    prepare(twins) {
      if (twins.some(({ documents }) => documents.length > 0))
        void loadBriefings().then(({ prepare }) => prepare(twins));
    },
    async reply(turn, output) {
      const model = turn.twin.model ?? options.model;
      const { instructions, findings, sources } = await (await loadBriefings())(turn);
      const offered = await offer(turn, output);
      output.signal.throwIfAborted(); // after the waits: what follows listens for later aborts alone
      if (sources) output.progress({ stage: "sources", sources });
      const deadlines = new Deadlines(clock, output.signal);
      try {
        const decided = turn.decided && (await offered?.goOn(turn.decided));
        const asked = { turn, instructions, findings, model, decided, continuation };
        const { format } = turn;
        const whole = new WholeText(output, format !== undefined);
        const result = await converse(asked, offered, whole, (asking) => ask(asking, deadlines));
        // A reply that was cut off is not checked: its finish reason says so.
        if (format && result.finishReason === "stop")
          await (await formats()).requireFormat(format, whole.text);
        return result;
      } finally {
        deadlines.stop();
      }
    },
    logFields: (twin) => ({ address, model: twin.model ?? options.model ?? null }),
  };
}

/** Keeps what is written, where the whole of it is to be checked. */
class WholeText {
  readonly #output: ReplyOutput;
  readonly #isKept: boolean;
  text = "";

  constructor(output: ReplyOutput, isKept: boolean) {
    this.#output = output;
    this.#isKept = isKept;
  }

  write(piece: string): void {
    this.#output.write(piece);
    if (!this.#isKept) return;
    if (!this.#output.hold(2 * piece.length)) throw new ModelError("model_error", "there is no memory left");
    this.text += piece;
  }
}

/** Asks the model, and after each round of calls again, with what came of them. */
async function converse(
  asked: Pick<ModelQuestion, "turn" | "instructions" | "findings" | "model" | "decided" | "continuation">,
  offered: OfferedTools | undefined,
  output: Pick<ReplyOutput, "write">,
  ask: (question: ModelQuestion) => Promise<Completion>,
): Promise<EngineResult> {
  const rounds: object[] = [];
  let { partial } = asked.turn;
  let hasText = partial !== undefined;
  /** The end of what was written before the last calls. Empty: nothing. */
  let before = "";
  let usage: Usage | null = null;
  for (let round = 0; ; round++) {
    const tools = offered?.definitions ?? [];
    const isTool = round < mostRounds && !offered?.isSpent ? offered?.isTool : undefined;
    let text = partial ?? "";
    const write = (piece: string) => {
      const isNext = before !== "" && text === "";
      const more = isNext ? piece.trimStart() : piece;
      if (more === "") return;
      text += more;
      output.write(isNext ? `${blankLineAfter(before)}${more}` : more);
    };
    const completion = await ask({ tools, isTool, rounds, partial, hasText, write, ...asked });
    usage = round === 0 ? completion.usage : sumOf(usage, completion.usage);
    const { finishReason, calls } = completion;
    if (!offered || !isTool || calls.length === 0) return { finishReason, usage };
    hasText ||= text !== "";
    if (text.trim() !== "") before = text.slice(-2);
    partial = undefined;
    const { messages, pending } = await offered.run(completion, text);
    if (pending) return { finishReason: "tool_calls", usage, pending };
    rounds.push(...messages);
  }
}

/** What is missing between a text and the next paragraph. */
function blankLineAfter(text: string): string {
  if (text.endsWith("\n\n")) return "";
  return text.endsWith("\n") ? "\n" : "\n\n";
}

/** The tokens of two requests. Null: one of them was not counted. */
function sumOf(one: Usage | null, other: Usage | null): Usage | null {
  if (!one || !other) return null;
  const [cached, more] = [one.cachedInputTokens, other.cachedInputTokens];
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    totalTokens: one.totalTokens + other.totalTokens,
    cachedInputTokens: cached === null || more === null ? null : cached + more,
  };
}
