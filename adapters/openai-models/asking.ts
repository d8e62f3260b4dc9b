/**
 * Asks a model until its server answers.
 *
 * @module
 */

import { type Clock, isWithin, systemClock } from "../../core/base/clock.ts";
import { consoleLog, type Log } from "../../core/base/log.ts";
import { requireBaseUrl } from "./address.ts";
import { Attempt, type AttemptResult, type Deadlines } from "./attempt.ts";
import type { Completion } from "./chunk.ts";
import { CompletionReader } from "./completion.ts";
import { OverlapFilter } from "./continuation.ts";
import type { Failure } from "./failure.ts";
import {
  type Asking,
  authorization,
  completionHeaders,
  completionRequest,
  type ModelQuestion,
  withLaterHalf,
} from "./request.ts";
import type { ToolDefinition } from "./tools.ts";
import { fetchTransport, type ModelTransport } from "./transport.ts";

/** How many unknown finish reasons are logged: a broken server may make up one for each reply. */
const mostWarnings = 20;
/** The first pause is half to all of this, and doubles each time: three attempts take less than a second. */
const retryPauseMs = 250;
/** The longest `Retry-After` that is waited for. With a longer one, the reply fails immediately. */
const maxRetryAfterMs = 5_000;

/** For how long a model is believed to take no tools, in milliseconds. */
const toollessMs = 5 * 60_000;

/** A model's server, and how it is asked. */
export interface ModelServer {
  /**
   * The API's address up to and including its version, such as `https://api.openai.com/v1`. Without
   * credentials, query and fragment.
   */
  readonly baseUrl: string;
  /** Sent as a bearer token. Default: none is sent. */
  readonly apiKey?: string | undefined;
  /** How requests reach the model. Default: `fetch`. */
  readonly transport?: ModelTransport | undefined;
  /** How often a request is repeated after a failed connection or an overload, before any text. Default: 2. */
  readonly retries?: number | undefined;
  /** The clock for waits and pauses. Default: the system's. */
  readonly clock?: Clock | undefined;
  /** Receives a warning for what a model's server does that may need an operator. Default: the console. */
  readonly log?: Log | undefined;
}

/** What a model's server is known to accept. Missing: not known yet. */
interface Known {
  /** Whether it counts tokens on request. */
  counts?: boolean;
  /** It has answered a request with tools. */
  takesTools?: true;
  /** When it refused tools, and answered without. */
  toollessAt?: number;
}

/** Creates a function that repeats a request that may succeed later, and simplifies one that is refused. */
export function createAskModel(options: ModelServer) {
  const { retries = 2, clock = systemClock, log = consoleLog } = options;
  const attempt = createAttempts(options);
  const servers = new Map<string | undefined, Known>();
  const warned = new Set<string>();

  /** Says once of each model, and of each tool that its server refuses by name, that it is asked without. */
  function warn(model: string | undefined, refused: readonly string[], failure: unknown): void {
    const key = JSON.stringify([model, refused]);
    if (warned.has(key) || warned.size === mostWarnings) return;
    warned.add(key);
    const error = failure instanceof Error ? failure.message : undefined;
    const [what, fields] =
      refused.length === 0
        ? ["a model's server refuses tools, so it is asked without them", {}]
        : ["a model's server refuses some tools, so it is asked without these", { tools: refused }];
    log("warn", what, { model: model ?? null, ...fields, error });
  }

  return async (question: ModelQuestion, deadlines: Deadlines): Promise<Completion> => {
    const { model } = question;
    const known = servers.get(model) ?? {};
    servers.set(model, known);
    const isToolless = isWithin(toollessMs, known.toollessAt ?? -Infinity, clock.now());
    let asking: Asking = { counted: known.counts !== false, ...question };
    if (isToolless) asking = { ...asking, ...toolless };
    let hasRefusedTools = false;
    for (let repeated = 0; ; ) {
      const hasTools = asking.tools.length > 0;
      const tried = await attempt(asking, deadlines);
      if ("result" in tried) {
        known.counts = asking.counted;
        if (hasTools) known.takesTools = true;
        // Words alone are no reason to keep tools from other replies: this answer without them is the second sign.
        else if (hasRefusedTools && !known.takesTools) known.toollessAt = clock.now();
        return tried.result;
      }
      const refusesTools = hasTools && tried.aboutTools !== "";
      const helpsAtOnce = refusesTools && tried.withoutTools && tried.retryAfterMs !== 0 && !known.takesTools;
      if (!helpsAtOnce && repeated < retries && tried.retryAfterMs <= maxRetryAfterMs) {
        const pauseMs = retryPauseMs * 2 ** repeated++ * (0.5 + Math.random() / 2);
        await deadlines.pause(Math.max(pauseMs, tried.retryAfterMs));
        continue;
      }
      if (refusesTools) {
        const refused = namedIn(tried.aboutTools, asking.tools);
        const left = refused.length > 0 ? asking.tools.filter((tool) => !refused.includes(tool)) : [];
        asking = left.length > 0 ? { ...asking, tools: left } : { ...asking, ...toolless };
        hasRefusedTools ||= left.length === 0 && tried.isToolless;
        const names = left.length > 0 ? refused.map((tool) => tool.function.name) : [];
        warn(model, names, tried.failure);
        continue;
      }
      const simpler = simplified(asking, question, tried, known, isToolless);
      if (simpler.tools.length < asking.tools.length) warn(model, [], tried.failure);
      asking = simpler;
    }
  };
}

/** What is asked for where no tools are offered. */
const toolless = { tools: [], isTool: undefined };

/** A request that the server may accept after this failure, whose words are not about tools. Throws if there is none. */
function simplified(
  asking: Asking,
  question: ModelQuestion,
  failure: Failure,
  known: Known,
  isToolless: boolean,
): Asking {
  const { counted } = asking;
  const counts = known.counts !== false;
  if (failure.withoutCounts && counted && known.counts === undefined) return { ...asking, counted: false };
  if (failure.withoutTools && asking.tools.length > 0 && !known.takesTools) {
    return { ...asking, counted: counts, ...toolless };
  }
  if (!failure.shorter || asking.turn.history.length === 0) throw failure.failure;
  const { tools, isTool } = isToolless ? toolless : question;
  return { ...withLaterHalf(asking), counted: counts, tools, isTool };
}

/** The tools that an error names, by their names or their places in the list. */
function namedIn(words: string, tools: readonly ToolDefinition[]): readonly ToolDefinition[] {
  const placesIn = (list: RegExp) => [...words.matchAll(list)].map(([, place]) => Number(place));
  const named = tools.filter(({ function: { name } }) => {
    // A name that may be a word counts between quotes.
    const quoted = ["'", '\\"', "`"].some((mark) => words.includes(`${mark}${name}${mark}`));
    return quoted || (/[_\d-]/.test(name) && words.split(/[^\w-]+/).includes(name));
  });
  if (named.length > 0) return named;
  const declared = placesIn(/function_declarations\W{1,3}(\d+)/gi); // Gemini's, within its one tool
  const places = declared.length > 0 ? declared : placesIn(/\b(?:tools|functions)\W{1,3}(\d+)/gi);
  return tools.filter((_, place) => places.includes(place));
}

/** Sends a request each time it is called, and passes the reply's text to the output. */
function createAttempts(options: ModelServer) {
  const { transport = fetchTransport, clock = systemClock, log = consoleLog } = options;
  const unknownReasons = new Set<string>();
  const url = `${requireBaseUrl(options.baseUrl)}/chat/completions`;
  const common = { ...completionHeaders, ...authorization(options.apiKey) };

  return (asking: Asking, deadlines: Deadlines): Promise<AttemptResult> =>
    new Promise((resolve) => {
      const { partial, hasText, isTool } = asking;
      const overlap =
        partial !== undefined && asking.continuation === "prompt"
          ? new OverlapFilter(asking, partial)
          : undefined;
      const end = (result: AttemptResult) => {
        overlap?.end();
        resolve(result);
      };
      const reader = new CompletionReader(overlap ?? asking, {
        mayBeEmpty: hasText,
        isTool,
        unknownReason(reason) {
          if (unknownReasons.has(reason) || unknownReasons.size === mostWarnings) return;
          unknownReasons.add(reason);
          log("warn", "a model ended a reply with an unknown finish reason; it counts as length", { reason });
        },
      });
      new Attempt(reader, deadlines, clock, end).start((listener) => {
        // Created for each attempt, so that the conversation is not kept in memory twice during the reply.
        const body = JSON.stringify(completionRequest(asking));
        const { traceparent } = asking.turn;
        const headers = traceparent === undefined ? common : { traceparent, ...common };
        return transport(url, { method: "POST", headers, body }, listener);
      });
    });
}
