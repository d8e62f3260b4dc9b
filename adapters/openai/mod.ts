/**
 * The engine that asks a model behind an OpenAI-compatible address: OpenAI, Ollama, vLLM, llama.cpp …
 *
 * @module
 */

import { type Clock, systemClock } from "../../core/base/clock.ts";
import {
  clockRule,
  functionThat,
  optional,
  type Rule,
  type RulesFor,
  requireOptions,
  textRule,
} from "../../core/base/rules.ts";
import type { ReplyOutput, Turn, TwinEngine } from "../../core/twins/engine.ts";
import { Attempt, type Outcome } from "./attempt.ts";
import { CompletionReader } from "./completion.ts";
import { Deadlines } from "./deadlines.ts";
import { fetchTransport, type ModelTransport } from "./transport.ts";

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
  /** Longest wait for the response headers, including the time to connect, in milliseconds. Default: 30,000. */
  readonly headersMs?: number | undefined;
  /** Longest silence during a response, in milliseconds. Default: 60,000. */
  readonly idleMs?: number | undefined;
  /** Longest time for the whole reply, retries included, in milliseconds. Default: the caller's signal alone. */
  readonly totalMs?: number | undefined;
  /** How often a request is repeated after a failed connection or a status 429, 502, 503, 504 or 529. Default: 2. */
  readonly retries?: number | undefined;
  /** The longest line or event of a response, in UTF-16 code units. Default: 1,048,576. */
  readonly maxEventLength?: number | undefined;
  /** The longest reply, in UTF-16 code units. Default: 4,194,304. */
  readonly maxReplyLength?: number | undefined;
  /** The clock for waits and pauses. Default: the system's. */
  readonly clock?: Clock | undefined;
  /** Spreads the pauses between retries: returns a number from 0 up to 1. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

const amount: Rule = {
  expected: "a number that is not negative",
  accepts: (value) => typeof value === "number" && value >= 0,
};
/** Checked where it is used, without ever showing it. */
const anything: Rule = { expected: "anything", accepts: () => true };

const rules: RulesFor<OpenAIOptions> = {
  baseUrl: anything,
  apiKey: anything,
  model: optional(textRule),
  transport: optional(functionThat("sends requests")),
  headersMs: optional(amount),
  idleMs: optional(amount),
  totalMs: optional(amount),
  retries: optional(amount),
  maxEventLength: optional(amount),
  maxReplyLength: optional(amount),
  clock: optional(clockRule),
  random: optional(functionThat("returns a number")),
};

/** The first pause is half to all of this, and doubles each time: three attempts take less than a second. */
const retryPauseMs = 250;
/** The longest `Retry-After` that is waited for. With a longer one, the reply fails immediately. */
const maxRetryAfterMs = 5_000;

/**
 * Creates an engine that streams chat completions (`POST {baseUrl}/chat/completions`).
 *
 * The model gets the twin's instructions as the system message, the history (its later part, if all of it is too long
 * for the model), and the question. Replies reject with a `ModelError`, or with the reason of the output's signal once
 * that has aborted. No error message contains the key, the address, or more of a response body than error codes.
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
  const { retries = 2, clock = systemClock, random = Math.random, totalMs } = options;
  const attempt = createAttempts(options);

  return {
    async reply(turn, output) {
      output.signal.throwIfAborted();
      const deadlines = new Deadlines({ clock, signal: output.signal, totalMs });
      try {
        for (let attempts = 1; ; attempts++) {
          const outcome = await attempt(turn, output, deadlines);
          if ("result" in outcome) return outcome.result;
          if (attempts > retries || outcome.retryAfterMs > maxRetryAfterMs) throw outcome.failure;
          const pauseMs = retryPauseMs * 2 ** (attempts - 1) * (0.5 + random() / 2);
          await deadlines.pause(Math.max(pauseMs, outcome.retryAfterMs));
        }
      } finally {
        deadlines.stop();
      }
    },
  };
}

/**
 * Sends a turn's request each time it is called: again without token counts if the server refuses to count, and with
 * fewer earlier messages if all of them are too long for the model.
 */
function createAttempts(options: OpenAIOptions) {
  const { transport = fetchTransport, clock = systemClock, headersMs = 30_000, idleMs = 60_000 } = options;
  const { maxEventLength = 1_048_576, maxReplyLength = 4_194_304 } = options;
  const url = completionsUrl(options.baseUrl);
  const headers = requestHeaders(options.apiKey);
  const limits = { maxEventLength, maxReplyLength };
  const shared = { headersMs, idleMs, clock };
  /** Models whose servers refuse requests for token counts. */
  const uncounted = new Set<string | undefined>();

  const attempt = (asking: Asking, output: ReplyOutput, deadlines: Deadlines): Promise<Outcome> =>
    new Promise((resolve) => {
      const reader = new CompletionReader(output, limits);
      new Attempt(reader, deadlines, shared, resolve).start((listener) => {
        // Created for each attempt, so that the conversation is not kept in memory twice during the reply.
        const body = JSON.stringify(completionRequest(asking));
        return transport(url, { method: "POST", headers, body }, listener);
      });
    });

  const attemptUntilItFits = async (
    asking: Asking,
    output: ReplyOutput,
    deadlines: Deadlines,
  ): Promise<Outcome> => {
    const outcome = await attempt(asking, output, deadlines);
    const { turn } = asking;
    if (!("tooLong" in outcome && outcome.tooLong) || turn.history.length === 0) return outcome;
    const shorter = { ...turn, history: laterHalf(turn.history) };
    return attemptUntilItFits({ ...asking, turn: shorter }, output, deadlines);
  };

  return async (turn: Turn, output: ReplyOutput, deadlines: Deadlines): Promise<Outcome> => {
    const model = turn.twin.model ?? options.model;
    const counted = !uncounted.has(model);
    const outcome = await attemptUntilItFits({ turn, model, counted }, output, deadlines);
    if (!counted || !("invalid" in outcome && outcome.invalid)) return outcome;
    const plain = await attemptUntilItFits({ turn, model, counted: false }, output, deadlines);
    if ("result" in plain) uncounted.add(model);
    return plain;
  };
}

/** At most half of the messages, in whole exchanges: many models accept only a question first. */
function laterHalf(history: Turn["history"]): Turn["history"] {
  return history.slice(2 * Math.ceil(history.length / 4));
}

/** What a model is asked, and whether its tokens are to be counted. */
interface Asking {
  readonly turn: Turn;
  readonly model: string | undefined;
  readonly counted: boolean;
}

/** The request's body. Tokens are counted only on request, which some servers, such as Mistral's, treat as an error. */
function completionRequest({ turn: { twin, history, content }, model, counted }: Asking) {
  const instructions =
    twin.instructions.trim() === "" ? [] : [{ role: "system", content: twin.instructions }];
  return {
    model,
    messages: [...instructions, ...history, { role: "user", content }],
    temperature: twin.temperature ?? undefined,
    stream: true,
    stream_options: counted ? { include_usage: true } : undefined,
  };
}

function completionsUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new TypeError("The model's address must be an http or https URL.");
  }
  // Some runtimes would put credentials and query into error messages.
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError("The model's address must have no credentials, query or fragment.");
  }
  return `${url.href.replace(/\/+$/, "")}/chat/completions`;
}

function requestHeaders(apiKey: string | undefined): Readonly<Record<string, string>> {
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    // Compressed data arrives later, in larger pieces.
    "accept-encoding": "identity",
  };
  if (apiKey === undefined || apiKey === "") return headers;
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new TypeError("The model's API key must be printable ASCII without spaces.");
  }
  return { ...headers, authorization: `Bearer ${apiKey}` };
}
