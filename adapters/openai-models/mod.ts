/**
 * The engine that asks a model behind an OpenAI-compatible address: OpenAI, Ollama, vLLM, llama.cpp …
 *
 * @module
 */

import { type Clock, systemClock } from "../../core/base/clock.ts";
import { consoleLog, type Log } from "../../core/base/log.ts";
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
import type { EngineResult, ReplyOutput, TwinEngine } from "../../core/twins/engine.ts";
import { createBriefings } from "../../knowledge/mod.ts";
import { Attempt, type AttemptResult } from "./attempt.ts";
import { CompletionReader } from "./completion.ts";
import { type ContinuationMode, continuationModes, OverlapFilter } from "./continuation.ts";
import { Deadlines } from "./deadlines.ts";
import type { Failure } from "./failure.ts";
import {
  type Asking,
  authorization,
  completionHeaders,
  completionRequest,
  requireBaseUrl,
  withLaterHalf,
} from "./request.ts";
import { fetchTransport, type ModelTransport } from "./transport.ts";

export type { ContinuationMode } from "./continuation.ts";
export type { ModelHeaders, ModelListener, ModelRequest, ModelTransport } from "./transport.ts";

/** Options of {@link createOpenAIEngine}. */
export interface OpenAIOptions {
  /**
   * The API's address up to and including its version, such as `https://api.openai.com/v1`. Without
   * credentials, query and fragment.
   */
  readonly baseUrl: string;
  /** Sent as a bearer token. Default: none is sent. */
  readonly apiKey?: string | undefined;
  /** The model for twins that do not name one. Default: none is named, and the server decides. */
  readonly model?: string | undefined;
  /** How requests reach the model. Default: `fetch`. */
  readonly transport?: ModelTransport | undefined;
  /**
   * How the model is asked to go on with a reply whose process has died: `prefix` (DeepSeek, Mistral),
   * `continue_final_message` (vLLM), or `prompt`, for any model. Default `never`: such a reply ends as interrupted, unless it
   * has no text yet.
   */
  readonly continueReplies?: ContinuationMode | undefined;
  /** How often a request is repeated after a failed connection or an overload, before any text. Default: 2. */
  readonly retries?: number | undefined;
  /** The clock for waits and pauses. Default: the system's. */
  readonly clock?: Clock | undefined;
  /** Receives a warning for what a model's server does that may need an operator. Default: the console. */
  readonly log?: Log | undefined;
}

/** Checked where it is used, without ever showing it. */
const anything: Rule = { expected: "anything", accepts: () => true };

const rules: RulesFor<OpenAIOptions> = {
  baseUrl: anything,
  apiKey: anything,
  model: optional(textRule),
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

/** How many unknown finish reasons are logged: a broken server may make up one for each reply. */
const mostWarnings = 20;
/** The first pause is half to all of this, and doubles each time: three attempts take less than a second. */
const retryPauseMs = 250;
/** The longest `Retry-After` that is waited for. With a longer one, the reply fails immediately. */
const maxRetryAfterMs = 5_000;

/**
 * Creates an engine that streams chat completions (`POST {baseUrl}/chat/completions`).
 *
 * The model gets the twin's instructions as the system message, the history (its later part, if the server refuses all
 * of it), and the question. Of a long text, or where the twin's `knowledge` is `search`, the system message has the persona
 * alone, and the sections that fit the question stand before it in its message; a `sources` progress event names them. Replies reject with a `ModelError`, or
 * with the reason of the output's signal once that has aborted. No error message contains the key, or more of a response
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
  const { continueReplies: continuation = "never", clock = systemClock } = options;
  const address = requireBaseUrl(options.baseUrl);
  const ask = createRetries(options);
  const brief = createBriefings({ clock });
  return {
    continues: continuation === "never" ? undefined : "partial",
    async reply(turn, output) {
      const model = turn.twin.model ?? options.model;
      const { instructions, findings, sources } = await brief(turn);
      output.signal.throwIfAborted(); // after the wait: what follows listens for later aborts alone
      if (sources) output.progress({ stage: "sources", sources });
      const deadlines = new Deadlines(clock, output.signal);
      try {
        return await ask({ turn, instructions, findings, model, continuation }, output, deadlines);
      } finally {
        deadlines.stop();
      }
    },
    logFields: (twin) => ({ address, model: twin.model ?? options.model ?? null }),
  };
}

/** Asks until the server answers: repeats a request that may succeed later, and simplifies one that it refuses. */
function createRetries(options: OpenAIOptions) {
  const { retries = 2 } = options;
  const attempt = createAttempts(options);
  /** By model: whether its server counts tokens on request. Missing: not known yet. */
  const counting = new Map<string | undefined, boolean>();

  return async (
    question: Omit<Asking, "counted">,
    output: ReplyOutput,
    deadlines: Deadlines,
  ): Promise<EngineResult> => {
    const { model } = question;
    let asking: Asking = { ...question, counted: counting.get(model) !== false };
    for (let repeated = 0; ; ) {
      const tried = await attempt(asking, output, deadlines);
      if ("result" in tried) {
        counting.set(model, asking.counted);
        return tried.result;
      }
      if (repeated < retries && tried.retryAfterMs <= maxRetryAfterMs) {
        const pauseMs = retryPauseMs * 2 ** repeated++ * (0.5 + Math.random() / 2);
        await deadlines.pause(Math.max(pauseMs, tried.retryAfterMs));
        continue;
      }
      asking = simplified(asking, tried, counting.get(model));
    }
  };
}

/** A request that the server may accept after this failure. `counts`: whether it counts tokens. Throws if there is none. */
function simplified(asking: Asking, failure: Failure, counts: boolean | undefined): Asking {
  if (failure.withoutCounts && asking.counted && counts === undefined) return { ...asking, counted: false };
  if (!failure.shorter || asking.turn.history.length === 0) throw failure.failure;
  return { ...withLaterHalf(asking), counted: counts !== false };
}

/** Sends a request each time it is called, and passes the reply's text to the output. */
function createAttempts(options: OpenAIOptions) {
  const { transport = fetchTransport, clock = systemClock, log = consoleLog } = options;
  const unknownReasons = new Set<string>();
  const url = `${requireBaseUrl(options.baseUrl)}/chat/completions`;
  const common = { ...completionHeaders, ...authorization(options.apiKey) };

  return (asking: Asking, output: ReplyOutput, deadlines: Deadlines): Promise<AttemptResult> =>
    new Promise((resolve) => {
      const { partial } = asking.turn;
      const overlap =
        partial !== undefined && asking.continuation === "prompt"
          ? new OverlapFilter(output, partial)
          : undefined;
      const end = (result: AttemptResult) => {
        overlap?.end();
        resolve(result);
      };
      const reader = new CompletionReader(overlap ?? output, {
        mayBeEmpty: partial !== undefined,
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
        const headers = traceparent === undefined ? common : { ...common, traceparent };
        return transport(url, { method: "POST", headers, body }, listener);
      });
    });
}
