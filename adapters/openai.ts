/**
 * The engine that asks a model behind an OpenAI-compatible address: OpenAI, Ollama, vLLM, llama.cpp …
 *
 * @module
 */

import { type Clock, systemClock } from "../core/clock.ts";
import {
  type EngineResult,
  ModelError,
  type ReplyOutput,
  type Turn,
  type TwinEngine,
} from "../core/engine.ts";
import { createPatience, type Patience } from "./openai-patience.ts";
import { type CompletionReader, createCompletionReader } from "./openai-stream.ts";
import { fetchTransport, type ModelResponse, type ModelTransport } from "./openai-transport.ts";

export type { ModelRequest, ModelResponse, ModelTransport } from "./openai-transport.ts";

/** Options of {@link createOpenAIEngine}. */
export interface OpenAIOptions {
  /**
   * The API's address up to and including its version, such as `https://api.openai.com/v1`. Without
   * credentials, query and fragment.
   */
  readonly baseUrl: string;
  /** Sent as a bearer token. Default: none is sent. */
  readonly apiKey?: string | undefined;
  /** The model of twins that name none. Default: none is named, and the server decides. */
  readonly model?: string | undefined;
  /** How requests reach the model. Default: `fetch`. */
  readonly transport?: ModelTransport;
  /** Longest wait for an answer's header, connecting included, in milliseconds. Default: 30,000. */
  readonly headersMs?: number;
  /** Longest silence within an answer, in milliseconds. Default: 60,000. */
  readonly idleMs?: number;
  /** Longest time for the whole reply, retries included, in milliseconds. Default: the caller's signal alone. */
  readonly totalMs?: number;
  /** How often a request that failed before its answer began is sent again. Default: 2. */
  readonly retries?: number;
  /** The longest line or event of an answer, in UTF-16 code units. Default: 1,048,576. */
  readonly maxEventLength?: number;
  /** The longest reply, in UTF-16 code units. Default: 4,194,304. */
  readonly maxReplyLength?: number;
  /** The clock that waits and pauses run on. Default: the system's. */
  readonly clock?: Clock;
  /** Spreads pauses between retries: a number from 0 up to 1. Default: `Math.random`. */
  readonly random?: () => number;
}

/** A first pause of half to all of this, doubled each time: three attempts take less than a second. */
const retryPauseMs = 250;
/** A `Retry-After` up to this long is waited for. With a longer one, the reply fails at once. */
const maxRetryAfterMs = 5_000;
/** How long to wait for token counts and the end marker when the finish reason has come. */
const trailerMs = 5_000;
/** How long to wait for the body's end behind the end marker, which lets the connection be used again. */
const bodyEndMs = 100;
/** Answers that another attempt may improve: overload, and gateways without their server. */
const retriedStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);

const noBody: AsyncIterable<Uint8Array> = { async *[Symbol.asyncIterator]() {} };

/** What came of one attempt: a reply, or a failure that another attempt may get round. */
type Attempt =
  | { readonly result: EngineResult }
  | { readonly failure: ModelError; readonly retryAfterMs: number };

/**
 * An engine that streams chat completions (`POST {baseUrl}/chat/completions`).
 *
 * The model gets the twin's instructions as the system message, the history, and the question. Replies reject
 * with a {@link ModelError}, or with the reason of the output's signal once that has aborted. No error message
 * carries the key, the address or anything of an answer's body.
 *
 * @example
 * ```ts
 * import { createOpenAIEngine } from "twin-service/openai";
 *
 * const openai = createOpenAIEngine({ baseUrl: "http://127.0.0.1:11434/v1", model: "llama3.2" });
 * const engines = { openai };
 * ```
 *
 * @throws {TypeError} if the address or the key can't be used
 */
export function createOpenAIEngine(options: OpenAIOptions): TwinEngine {
  const { model, retries = 2, clock = systemClock, random = Math.random, totalMs } = options;
  const attempt = createAttempt(options);

  return {
    async reply(turn, output) {
      output.signal.throwIfAborted();
      const body = JSON.stringify(completionRequest(turn, model));
      const patience = createPatience({ clock, signal: output.signal, totalMs });
      try {
        for (let attempts = 1; ; attempts++) {
          const outcome = await attempt(body, output, patience);
          if ("result" in outcome) return outcome.result;
          if (attempts > retries || outcome.retryAfterMs > maxRetryAfterMs) throw outcome.failure;
          const pauseMs = retryPauseMs * 2 ** (attempts - 1) * (0.5 + random() / 2);
          await patience.pause(Math.max(pauseMs, outcome.retryAfterMs));
        }
      } finally {
        patience.stop();
      }
    },
  };
}

/** What is posted. Tokens are counted only if asked for. */
function completionRequest({ twin, history, content }: Turn, model: string | undefined) {
  const instructions =
    twin.instructions.trim() === "" ? [] : [{ role: "system", content: twin.instructions }];
  return {
    model: twin.model ?? model,
    messages: [
      ...instructions,
      ...history.map((message) => ({ role: message.role, content: message.content })),
      { role: "user", content },
    ],
    temperature: twin.temperature ?? undefined,
    stream: true,
    stream_options: { include_usage: true },
  };
}

function createAttempt(options: OpenAIOptions) {
  const { transport = fetchTransport, clock = systemClock } = options;
  const { headersMs = 30_000, idleMs = 60_000 } = options;
  const { maxEventLength = 1_048_576, maxReplyLength = 4_194_304 } = options;
  const url = completionsUrl(options.baseUrl);
  const headers = requestHeaders(options.apiKey);

  /** Sends the request once. Whatever happens, nothing of the connection is held when it returns. */
  return async (body: string, output: ReplyOutput, patience: Patience): Promise<Attempt> => {
    const exchange = new AbortController();
    const write = (text: string) => output.write(text);
    const reader = createCompletionReader({ write, maxEventLength, maxReplyLength });
    try {
      const sent = transport(url, { method: "POST", headers, body, signal: exchange.signal });
      const response = await patience.wait(sent, headersMs, "The model's answer");
      const refusal = refuse(response, clock.now());
      if (refusal) return refusal;
      return { result: await readReply(response.body ?? noBody, reader, patience, idleMs) };
    } catch (error) {
      if (patience.over || reader.begun || error instanceof ModelError) throw error;
      const failure = new ModelError("model_error", "The model's connection failed.", { cause: error });
      return { failure, retryAfterMs: 0 };
    } finally {
      exchange.abort();
    }
  };
}

/** An answer that holds no reply: what may be tried again is returned, what may not is thrown. */
function refuse({ status, headers }: ModelResponse, now: number): Attempt | undefined {
  const failure = new ModelError("model_error", `The model answered with status ${status}.`);
  if (retriedStatuses.has(status)) {
    return { failure, retryAfterMs: readRetryAfter(headers.get("retry-after"), now) };
  }
  if (status !== 200) throw failure;
  const [mediaType = ""] = (headers.get("content-type") ?? "text/event-stream").toLowerCase().split(";");
  if (mediaType.trim() === "text/event-stream") return undefined;
  const found = /^[\w./+-]{1,100}$/.test(mediaType) ? `, but ${mediaType}` : "";
  throw new ModelError("model_error", `The model's answer is no event stream${found}.`);
}

/** Milliseconds that a `Retry-After` field asks to wait, in seconds or until a date. 0: it asks for nothing. */
function readRetryAfter(value: string | null, now: number): number {
  if (value === null) return 0;
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  return Math.max(0, Date.parse(value) - now) || 0;
}

/** Reads a reply to its end. Rejects with the connection's own error if it breaks before the first byte. */
async function readReply(
  body: AsyncIterable<Uint8Array>,
  reader: CompletionReader,
  patience: Patience,
  idleMs: number,
): Promise<EngineResult> {
  const pieces = body[Symbol.asyncIterator]();
  while (!reader.done) {
    const piece = await nextPiece(pieces, reader, patience, idleMs);
    if (piece === undefined) break;
    reader.read(piece);
  }
  // Reading on to the body's end keeps the connection for the next reply. It matters little if that fails.
  if (reader.done) await patience.wait(drain(pieces), bodyEndMs, "The answer's end").catch(() => undefined);
  else if (!reader.result) reader.end();
  if (reader.result) return reader.result;
  throw new ModelError("model_error", "The model's answer ended before the reply did.");
}

/** The next piece of the body, or undefined at its end. */
async function nextPiece(
  pieces: AsyncIterator<Uint8Array>,
  reader: CompletionReader,
  patience: Patience,
  idleMs: number,
): Promise<Uint8Array | undefined> {
  try {
    const limitMs = reader.result ? Math.min(idleMs, trailerMs) : idleMs;
    const { done, value } = await patience.wait(
      pieces.next(),
      limitMs,
      "The next piece of the model's answer",
    );
    return done ? undefined : value;
  } catch (error) {
    // The finish reason has said that the text is whole: only token counts and the end marker are missing.
    if (reader.result && !patience.over) return undefined;
    if (patience.over || error instanceof ModelError || !reader.begun) throw error;
    throw new ModelError("model_error", "The model's connection broke within a reply.", { cause: error });
  }
}

async function drain(pieces: AsyncIterator<Uint8Array>): Promise<void> {
  for (let ended = false; !ended; ) ended = (await pieces.next()).done === true;
}

function completionsUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new TypeError("The model's address must be an http or https URL.");
  }
  // Credentials and query would turn up in the error messages of some runtimes.
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError("The model's address must have no credentials, query or fragment.");
  }
  return `${url.href.replace(/\/+$/, "")}/chat/completions`;
}

function requestHeaders(apiKey: string | undefined): Readonly<Record<string, string>> {
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    // What is compressed arrives in larger pieces, later.
    "accept-encoding": "identity",
  };
  if (apiKey === undefined || apiKey === "") return headers;
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new TypeError("The model's API key must be printable ASCII without spaces.");
  }
  return { ...headers, authorization: `Bearer ${apiKey}` };
}
