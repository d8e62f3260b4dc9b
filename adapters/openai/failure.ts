/**
 * Responses of a model without a reply: what they mean, and what their bodies say about it.
 *
 * @module
 */

import type { Clock } from "../../core/base/clock.ts";
import { isJsonObject } from "../../core/base/json.ts";
import { ModelError } from "../../core/twins/engine.ts";
import type { ModelHeaders } from "./transport.ts";

/** A failure, and whether another attempt may succeed. */
export interface Failure {
  readonly failure: unknown;
  readonly retryAfterMs: number;
  /** Whether the server did not accept the request, and may accept a simpler one. */
  readonly invalid?: boolean;
  /** Whether the conversation is too long for the model, and nothing was written yet: a shorter one may not be. */
  readonly tooLong?: boolean;
}

/** Statuses for which another attempt may succeed: overload (529 is Anthropic's), and gateways without their server. */
const retriedStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504, 529]);
/** Statuses for a request that the server does not understand or accept. */
const invalidStatuses: ReadonlySet<number> = new Set([400, 422]);
/** For failures that no other attempt can avoid. */
export const never = Number.POSITIVE_INFINITY;
/** The longest body that is read for its codes, in UTF-16 code units. */
const maxLength = 16_384;

/** A response without a reply. Its body is read as far as it may say why. */
export class Refusal {
  /** A sentence, without its full stop. */
  readonly #what: string;
  readonly #retry: Omit<Failure, "failure">;
  readonly #decoder = new TextDecoder();
  #rest: number;
  #body = "";

  constructor(what: string, retry: Omit<Failure, "failure">, isJson: boolean) {
    this.#what = what;
    this.#retry = retry;
    this.#rest = isJson ? maxLength : 0;
  }

  /** Whether nothing more of the body is needed. */
  get isWhole(): boolean {
    return this.#rest <= 0;
  }

  read(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    this.#rest -= text.length;
    this.#body = this.isWhole ? "" : this.#body + text;
  }

  /** The failure, according to what was read of the body. */
  tell(): Failure {
    const said = parseJson(this.#body);
    const failure = new ModelError("model_error", `${this.#what}${codesOf(said)}.`);
    if (this.#retry.retryAfterMs === never && saysTooLong(said)) {
      return { failure, retryAfterMs: never, tooLong: true };
    }
    return { failure, ...this.#retry };
  }
}

/** What is wrong with a response, according to its headers. Undefined: it should contain a reply. */
export function refusalOf(status: number, headers: ModelHeaders, clock: Clock): Refusal | undefined {
  const contentType = headers.get("content-type");
  const mediaType = contentType?.toLowerCase().split(";")[0]?.trim() ?? "";
  const isJson = mediaType === "application/json";
  if (status !== 200) {
    const retried = retriedStatuses.has(status);
    const retryAfterMs = retried ? readRetryAfter(headers.get("retry-after"), clock) : never;
    const retry = { retryAfterMs, invalid: invalidStatuses.has(status), tooLong: status === 413 };
    return new Refusal(`The model answered with status ${status}`, retry, isJson);
  }
  if (contentType === null || mediaType === "text/event-stream") return undefined;
  const found = /^[\w./+-]{1,100}$/.test(mediaType) ? ` but ${mediaType}` : "";
  return new Refusal(`The model's answer is not an event stream${found}`, { retryAfterMs: never }, isJson);
}

/** The wait that a `Retry-After` asks for, in seconds or until a date, as milliseconds. 0: none. */
function readRetryAfter(value: string | null, clock: Clock): number {
  if (value === null) return 0;
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  return Math.max(0, Date.parse(value) - clock.now()) || 0;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // it was cut off, or is not JSON
  }
}

/** An error's simple codes, as the end of a sentence about it. `value` is the JSON that was received. */
export function codesOf(value: unknown): string {
  const error = errorIn(value);
  const { code, status, type } = isJsonObject(error) ? error : {};
  const codes = new Set([code, status, type].filter(isPlainCode)); // OpenAI's code and type are often the same
  return codes.size === 0 ? "" : `: ${[...codes].join(", ")}`;
}

/**
 * How servers say that a conversation has more tokens than their model's context: some with a code, most of them only
 * in the message.
 */
const tooLong = new RegExp(
  [
    "context[ _]?(?:length|size|window)", // most: OpenAI, llama.cpp, vLLM, LM Studio, LiteLLM …
    "(?:is|are) too (?:long|large)", // Anthropic, Bedrock; not what "took too long"
    "(?:input|prompt) length", // xAI, Z.ai
    "(?:input|model) token (?:count|limit)", // Gemini, Moonshot
    "too many tokens(?!(?: per day)?, please wait)", // Cohere; not Bedrock's limits per minute and per day
    "reduce the length", // Groq
    "`inputs`", // Text Generation Inference
  ].join("|"),
  "i",
);

/** Whether the error in the JSON that was received is that the conversation is too long for the model. */
export function saysTooLong(value: unknown): boolean {
  const error = errorIn(value);
  const said = isJsonObject(error) ? [error.code, error.type, error.message] : [error];
  return said.some((text) => typeof text === "string" && tooLong.test(text));
}

function errorIn(value: unknown): unknown {
  const said: unknown = Array.isArray(value) ? value[0] : value; // Gemini sends a list
  const { errors, error = said } = isJsonObject(said) ? said : {};
  return Array.isArray(errors) ? errors[0] : error; // Cloudflare has a list within its answer
}

/** An identifier, or a number like an HTTP status, which some servers write as text. */
function isPlainCode(value: unknown): boolean {
  const isCode = typeof value === "string" || typeof value === "number";
  return isCode && /^(?:[a-z_]{1,64}|\d{1,5})$/i.test(String(value));
}
