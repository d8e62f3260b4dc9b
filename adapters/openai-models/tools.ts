/**
 * Runs the tools that a model calls: checks what it asks for, and puts what came of it into words.
 *
 * @module
 */

import type { Clock } from "../../core/base/clock.ts";
import { yieldThread } from "../../core/base/in-parts.ts";
import { isJsonObject, isString, type JsonObject } from "../../core/base/json.ts";
import type { Log } from "../../core/base/log.ts";
import type { PendingCall, PendingCalls } from "../../core/store/records.ts";
import type { ReplyOutput, Turn } from "../../core/twins/engine.ts";
import { type Tool, toolsOf } from "../../core/twins/tools.ts";
import { parseBounded } from "../bounded-text.ts";
import { argumentsOf, mostCalls } from "./calls.ts";
import type { Completion, ModelCall } from "./chunk.ts";
import { compileInputCheck, type InputCheck } from "./input-check.ts";
import { inTurn, type Told } from "./told.ts";
import { createToolFinder, type NamedTool, nameTools, plainName } from "./tool-names.ts";

/** How long a tool may take, in milliseconds. */
const toolMs = 30_000;
/** How many run at once. */
const mostAtOnce = 4;
/** The longest result, in bytes of UTF-8. */
const longestResult = 64 * 1024;
/** What is held for a result before it is known, in bytes of memory. */
const bytesOfResult = 2 * longestResult;
/** What a reply's rounds may hold: results in bytes of UTF-8, and the model's words, arguments and thoughts in code units. */
const mostHeld = 1024 * 1024;
/** The longest arguments of the calls of a reply that wait for the person, in UTF-16 code units of JSON: they are shown. */
const longestShown = 16 * 1024;
/** The most that is said of tools in a request, in UTF-16 code units of JSON. */
const mostDefinitions = 1024 * 1024;

/** How tools are told in a request. */
export interface ToolDefinition {
  readonly type: "function";
  readonly function: { readonly name: string; readonly description: string; readonly parameters: JsonObject };
}

/** The tools of one reply. */
export interface OfferedTools {
  /** What a request says of them. Empty: there are none. */
  readonly definitions: readonly ToolDefinition[];
  /** Whether the reply has had as many calls, or holds as much of them, as it may. */
  readonly isSpent: boolean;
  /** Whether a model means one of these by a name. */
  isTool(name: string): boolean;
  /**
   * Runs calls, and resolves with the messages that tell the model so: its own, and a result for each call. `text`: what it
   * wrote before them. Rejects if the reply is over.
   */
  run(completion: Pick<Completion, "calls" | "thoughts">, text: string): Promise<Round>;
  /** Runs those calls of the reply before that are allowed, and resolves with what tells the model of all of them. */
  goOn(decided: NonNullable<Turn["decided"]>): Promise<DecidedRounds>;
}

/** What came of a model's calls. */
export interface Round {
  /** What tells the model so. */
  readonly messages: readonly object[];
  /** The calls that wait for the person. Undefined: none do. */
  readonly pending: PendingCalls | undefined;
}

/** What a model has called for a question whose last calls are decided, and the results. */
export interface DecidedRounds {
  readonly rounds: readonly object[];
  /** The question of the reply that has called, where the history does not tell it. */
  readonly untold: readonly Told[];
  /** A history and what was asked, with these rounds. */
  tell(history: readonly Told[], asked: readonly Told[]): readonly object[];
}

/** What is kept of a round whose calls wait. */
interface KeptRound {
  /** The model's own message, without a text. */
  readonly message: Readonly<Record<string, unknown>>;
  readonly ids: readonly string[];
  /** The results of the calls that do not wait, by their ids. */
  readonly results: Readonly<Record<string, string>>;
  /** The question of the reply, as the model was told it. */
  readonly question: string;
  /** What the model called before behind the same question, and the results. Absent: it was kept by an earlier version. */
  readonly earlier?: readonly object[];
}

/** Creates a function that offers a turn's model the tools of its twin. */
export function createToolbox({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
  const checks = new WeakMap<JsonObject, Promise<InputCheck>>();
  const definitions = new WeakMap<Tool, { readonly parameters: JsonObject; readonly length: number }>();
  /** Settled once no schema is being compiled. */
  let compiling: Promise<unknown> = Promise.resolve();

  /** Compiles a tool's schema when it is first called: one after another, with others in between, as each may hold the thread. */
  function checkOf(tool: Tool): Promise<InputCheck> {
    const known = checks.get(tool.inputSchema);
    if (known) return known;
    const unchecked = new Set<string>();
    const compile = () => compileInputCheck(tool.inputSchema, (what) => unchecked.add(what));
    const check = compiling
      .then(yieldThread, yieldThread)
      .then(compile)
      .finally(() => {
        if (unchecked.size === 0) return;
        const reasons = [...unchecked].slice(0, 5);
        log("warn", "a tool's input is not checked, or not all of it: its server must do that", {
          tool: tool.name,
          reasons,
        });
      });
    compiling = check;
    checks.set(tool.inputSchema, check);
    return check;
  }

  /** The parameters of a tool for a model, and how long its definition is. A schema that is no JSON is longer than any. */
  function parametersOf(tool: Tool) {
    const known = definitions.get(tool);
    if (known) return known;
    const { $schema: _, ...schema } = tool.inputSchema;
    const parameters = { type: "object", properties: {}, ...schema }; // OpenAI wants both
    let length = Number.POSITIVE_INFINITY;
    try {
      length = tool.description.length + JSON.stringify(parameters).length + 200;
    } catch {
      // It is nested too deep.
    }
    const found = { parameters, length };
    definitions.set(tool, found);
    return found;
  }

  /**
   * The tools that fit into a request, of which each server has its share: what one needs less than that, the longer ones have
   * more. The log names the others.
   */
  function offerable(tools: readonly Tool[]): readonly Tool[] {
    const servers = new Map<string, { total: number; readonly tools: Tool[] }>();
    for (const tool of tools) {
      const [name = ""] = tool.name.split("/", 1);
      const server = servers.get(name) ?? { total: 0, tools: [] };
      servers.set(name, server);
      server.tools.push(tool);
      server.total += parametersOf(tool).length;
    }
    let rest = mostDefinitions;
    let waiting = servers.size;
    const fitting = new Set<Tool>();
    for (const server of [...servers.values()].sort((one, other) => (one.total < other.total ? -1 : 1))) {
      let share = rest / waiting--;
      for (const tool of server.tools) {
        const { length } = parametersOf(tool);
        if (length > share) continue;
        share -= length;
        rest -= length;
        fitting.add(tool);
      }
    }
    const offered = tools.filter((tool) => fitting.has(tool));
    const left = tools.filter((tool) => !fitting.has(tool)).map(({ name }) => name);
    if (left.length > 0) {
      log("warn", "tools are not offered to a model, because there are too many, or they are too long", {
        tools: left.slice(0, 20),
        count: left.length,
      });
    }
    return offered;
  }

  return (turn: Turn, tools: readonly Tool[], output: ReplyOutput): OfferedTools => {
    const offered = nameTools(offerable(tools));
    const findTool = createToolFinder(offered);
    const used = new Set<string>();
    let acting: Promise<void> | undefined;
    let heldBytes = 0;
    /** Whether the owner, or its end user, may hold no more. */
    let isFull = false;

    const confirmed = new Set(toolsOf({ tools: turn.twin.confirm }, tools));
    let shown = 0;

    /** A call that waits for the person, or why it does not run. Undefined: it runs without being asked about. */
    async function waiting(asked: ModelCall, callId: string): Promise<PendingCall | string | undefined> {
      const found = findTool(asked.name);
      if (!found || !confirmed.has(found.tool)) return undefined;
      const input = await inputOf(asked, found, checkOf);
      if (isString(input)) return undefined; // it is refused as any other
      if (!turn.mayAsk) return "The call was denied: it needs a person's yes, and nobody can be asked here.";
      shown += JSON.stringify(input).length;
      if (shown > longestShown)
        return "The call was denied: its arguments are too long to be shown to a person.";
      return { callId, name: found.tool.name, arguments: input };
    }

    /** What the model is told of a call. */
    async function call(asked: ModelCall | PendingCall, callId: string): Promise<string> {
      // What was shown to the person is a tool's own name, which may be another one's for the model.
      const isAllowed = "callId" in asked;
      const found = isAllowed ? offered.find(({ tool }) => tool.name === asked.name) : findTool(asked.name);
      const name = found?.tool.name ?? "unknown";
      output.progress({ stage: "tool", name, callId, state: "called" });
      let [state, told]: [state: "done" | "failed", told: string] = ["failed", ""];
      const isHeld = output.hold(bytesOfResult);
      isFull ||= !isHeld;
      try {
        // What was shown to the person fitted the tool as it was then.
        const given = isString(asked.arguments) ? asked.arguments : JSON.stringify(asked.arguments);
        const input = await inputOf({ name: asked.name, arguments: given }, found, checkOf);
        if (isString(input) || !found) told = isString(input) ? input : noTool(asked.name);
        else if (!isHeld) told = "The tool was not run: too much is held for this person already.";
        else {
          acting = output.beginActing();
          await acting;
          const result = await within(clock, output.signal, (signal) =>
            found.tool.run(input, { ...turn.origin, signal, callId, ...(isAllowed && { isAllowed }) }),
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
      const { text, bytes } = cut(told.toWellFormed(), Math.min(longestResult, mostHeld - heldBytes));
      heldBytes += bytes;
      if (isHeld) output.hold(2 * text.length - bytesOfResult);
      return text;
    }

    /** What no history tells the model: the question, and rounds behind it. */
    let question = turn.content;
    let earlier: readonly object[] = [];

    return {
      definitions: offered.map(({ tool, modelName }) => {
        const { parameters } = parametersOf(tool);
        return { type: "function", function: { name: modelName, description: tool.description, parameters } };
      }),
      isTool: (name) => findTool(name) !== undefined,
      get isSpent() {
        return isFull || used.size >= mostCalls || heldBytes >= mostHeld;
      },
      async run({ calls: all, thoughts }, text) {
        const calls = all.slice(0, mostCalls - used.size);
        if (calls.length < all.length) {
          log("warn", "a model called more tools than a reply may: the calls behind are left out", {
            messageId: turn.origin?.messageId,
          });
        }
        const ids = calls.map(({ id }) => freeId(id, used));
        const message = {
          role: "assistant",
          content: text === "" ? null : text,
          ...thoughts,
          tool_calls: calls.map((asked, at) => ({
            ...asked.others,
            id: ids[at],
            type: "function",
            function: calledAgain(asked, findTool(asked.name)),
          })),
        };
        const { length } = JSON.stringify(message);
        heldBytes += length;
        isFull ||= !output.hold(2 * length);
        const results: Record<string, string> = {};
        const pending: PendingCall[] = [];
        const running: (readonly [asked: ModelCall, id: string])[] = [];
        for (const [at, asked] of calls.entries()) {
          const id = ids[at] ?? "";
          const waits = await waiting(asked, id);
          if (waits === undefined) running.push([asked, id]);
          else if (isString(waits)) results[id] = waits;
          else pending.push(waits);
        }
        await eachOf(running, async ([asked, id]) => {
          results[id] = await call(asked, id);
        });
        const silent = { ...message, content: null }; // its text is the reply's, as far as a guard lets it pass
        if (pending.length === 0) {
          const told = resultsOf(ids, results);
          earlier = [...earlier, silent, ...told];
          return { messages: [message, ...told], pending: undefined };
        }
        const kept: KeptRound = { message: silent, ids, results, question, earlier };
        return { messages: [], pending: { calls: pending, state: JSON.stringify(kept) } };
      },
      async goOn({ calls, state, isTold }) {
        isFull ||= !output.hold(2 * state.length);
        heldBytes += state.length;
        const kept = JSON.parse(state) as KeptRound;
        const results = { ...kept.results };
        for (const id of kept.ids) used.add(id);
        await eachOf(calls, async (asked) => {
          const { callId, decision } = asked;
          results[callId] =
            decision === "approve" ? await call(asked, callId) : notAllowed[decision ?? "none"];
        });
        const told = resultsOf(kept.ids, results);
        const rounds = [...(kept.earlier ?? []), kept.message, ...told];
        earlier = isTold ? [kept.message, ...told] : rounds;
        if (!isTold) question = [kept.question, question].filter((words) => words !== "").join("\n\n");
        const untold = isTold || kept.question === "" ? [] : [{ role: "user", content: kept.question }];
        return { rounds, untold, tell: (history, asked) => tellDecided(kept, told, isTold, history, asked) };
      },
    };
  };
}

/**
 * A history and what was asked, with the calls that were made for it behind them: a person's words behind results are refused
 * by chat templates that accept only users and assistants in turn, such as those of Mistral's models and Gemma. A reply's text
 * that stands next to a call is told as the text of its message.
 */
function tellDecided(
  { question, earlier = [], message }: KeptRound,
  results: readonly object[],
  isTold: boolean,
  history: readonly Told[],
  asked: readonly Told[],
): readonly object[] {
  const said = [...history];
  const text = isTold && said.at(-1)?.role === "assistant" ? said.pop()?.content : undefined;
  if (question !== "") {
    if (text !== undefined && said.at(-1)?.role === "user") said.pop(); // it stands as the model was told it
    said.push({ role: "user", content: question });
  }
  const told = inTurn([...said, ...asked]);
  const rounds = [...earlier, { ...message, content: text ?? null }, ...results];
  if (told.at(-1)?.role === "assistant") rounds[0] = { ...rounds[0], content: told.pop()?.content };
  return [...told, ...rounds];
}

/** What the model is told of a call that the person has not allowed. */
const notAllowed = {
  deny: "The call was denied by the person. It did not run.",
  none: "The person has not said whether the call may run, and went on. It did not run.",
} as const;

/** Works on all of a list, a few at once. */
async function eachOf<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const workOn = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: mostAtOnce }, workOn));
}

function resultsOf(ids: readonly string[], results: Readonly<Record<string, string>>): readonly object[] {
  return ids.map((id) => ({ role: "tool", tool_call_id: id, content: results[id] ?? "" }));
}

/** What the model called, so that servers accept it as a part of the conversation: other names and no JSON are refused. */
function calledAgain({ name, arguments: given }: ModelCall, found: NamedTool | undefined) {
  const isObject = isJsonObject(parseBounded(given));
  return {
    name: found?.modelName ?? (plainName(name.trim()) || "unknown"),
    arguments: isObject ? given : JSON.stringify(argumentsOf(given) ?? {}),
  };
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
async function inputOf(
  { name, arguments: given }: Pick<ModelCall, "name" | "arguments">,
  found: NamedTool | undefined,
  checkOf: (tool: Tool) => Promise<InputCheck>,
): Promise<JsonObject | string> {
  if (!found) return noTool(name);
  const input = argumentsOf(given);
  if (!input) return "The arguments were refused: they are not a JSON object.";
  const problem = (await checkOf(found.tool))(input);
  return problem === undefined ? input : `The arguments were refused: ${problem}.`.slice(0, 1_000);
}

function noTool(name: string): string {
  return `There is no tool ${JSON.stringify(name.slice(0, 64))}.`;
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
function cut(text: string, longest: number): { readonly text: string; readonly bytes: number } {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= longest) return { text, bytes: bytes.length };
  const most = Math.max(0, longest);
  const kept = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, most), {
    stream: true,
  }); // leaves out a part at the end
  const note = `[Cut here: the result has ${bytes.length} bytes, of which these are the first ${most}.]`;
  return { text: `${kept}\n\n${note}`, bytes: most };
}
