/**
 * Failures of a model's server: what its status and body say, and what may help.
 *
 * @module
 */

import type { Clock } from "../../core/base/clock.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { ModelError } from "../../core/twins/engine.ts";
import { parseBounded } from "../bounded-text.ts";
import type { Completion } from "./chunk.ts";
import type { ModelHeaders } from "./transport.ts";

/** What may help after a failure, if no text of the reply was written. */
export interface Remedy {
  /** The shortest pause before the same request may succeed, in milliseconds. {@link never}: it will not. */
  readonly retryAfterMs: number;
  /** Whether the server may accept the request without a request for token counts. */
  readonly withoutCounts: boolean;
  /** Whether the server may accept the request with fewer earlier messages. */
  readonly shorter: boolean;
  /** Whether it may accept the request without tools. */
  readonly withoutTools: boolean;
  /** Whether this is how servers refuse tools that their model does not know. */
  readonly isToolless: boolean;
  /** What the server says, as JSON, if its words are about tools. Else empty. */
  readonly aboutTools: string;
}

/** A failed attempt. */
export interface Failure extends Remedy {
  readonly failure: unknown;
}

/** For failures that no other attempt can avoid. */
export const never = Number.POSITIVE_INFINITY;
/** Nothing helps. */
export const noRemedy: Remedy = {
  retryAfterMs: never,
  withoutCounts: false,
  shorter: false,
  withoutTools: false,
  isToolless: false,
  aboutTools: "",
};
/** The same request may succeed later. */
export const sameAgain: Remedy = { ...noRemedy, retryAfterMs: 0 };

/** Statuses below 500 for a request that may succeed later. From 500 on, all may, as OpenAI's own clients see it. */
const passing: ReadonlySet<number> = new Set([408, 409, 429]);
/** Statuses for a request that the server does not understand. */
const invalid: ReadonlySet<number> = new Set([400, 422]);
/**
 * Statuses of servers whose model's context is too short for the conversation. Their messages say so in too many ways
 * to know them all, and some do not say it: only another attempt shows it.
 */
const perhapsTooLong: ReadonlySet<number> = new Set([400, 413, 422, 500]);

/** Statuses of servers whose model knows no tools. */
const toolless: ReadonlySet<number> = new Set([400, 404, 422, 501]);

/** What may help after this status. */
function remedyFor(status: number, retryAfterMs = 0): Remedy {
  const passes = status >= 500 || passing.has(status);
  return {
    retryAfterMs: passes ? retryAfterMs : never,
    withoutCounts: invalid.has(status),
    shorter: perhapsTooLong.has(status),
    withoutTools: toolless.has(status) || status === 500, // llama.cpp's, if it was not started for tools
    isToolless: toolless.has(status),
    aboutTools: "",
  };
}

/** The longest body that is read for its codes, and how much of an error's words is looked at, in UTF-16 code units. */
const maxLength = 16_384;

/** A response without a reply. Its body is read as far as it may say why. */
export class ErrorResponse {
  /** A sentence, without its full stop. */
  readonly #what: string;
  readonly #remedy: Remedy;
  readonly #decoder = new TextDecoder();
  #rest: number;
  #body = "";

  constructor(what: string, remedy: Remedy, mediaType: string) {
    this.#what = what;
    this.#remedy = remedy;
    this.#rest = /[/+]json$/.test(mediaType) ? maxLength : 0;
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

  /** What came instead of a reply, according to what was read of the body: its refusal by a filter, or a failure. */
  result(): { readonly result: Completion } | Failure {
    const report = parseBounded(this.#body);
    if (isFiltered(report)) {
      return { result: { finishReason: "content_filter", usage: null, calls: [], thoughts: {} } };
    }
    const failure = new ModelError("model_error", `${this.#what}${codesOf(report)}.`);
    return { failure, ...withWords(this.#remedy, report) };
  }
}

/**
 * What is wrong with a response, according to its headers. Undefined: it should contain a reply. Its content type is no
 * sign of that: servers send event streams under many names.
 */
export function errorResponseOf(
  status: number,
  headers: ModelHeaders,
  clock: Clock,
): ErrorResponse | undefined {
  const mediaType = headers.get("content-type")?.toLowerCase().split(";")[0]?.trim() ?? "";
  if (status < 200 || status > 299 || status === 204) {
    const remedy = remedyFor(status, readRetryAfter(headers, clock));
    return new ErrorResponse(`The model answered with status ${status}`, remedy, mediaType);
  }
  if (mediaType !== "text/html") return undefined;
  return new ErrorResponse("The model's answer is not an event stream but text/html", noRemedy, mediaType);
}

/** The wait that a server asks for, in seconds, until a date, or in milliseconds. 0: none. */
function readRetryAfter(headers: ModelHeaders, clock: Clock): number {
  const milliseconds = readNumber(headers.get("retry-after-ms"));
  if (milliseconds !== undefined) return milliseconds;
  const value = headers.get("retry-after");
  const seconds = readNumber(value);
  if (seconds !== undefined) return seconds * 1_000;
  return Math.max(0, Date.parse(value ?? "") - clock.now()) || 0;
}

function readNumber(text: string | null): number | undefined {
  return text !== null && /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** An error's simple codes, as the end of a sentence about it. `value` is the JSON that was received. */
export function codesOf(value: unknown): string {
  const { code, status, type, status_code } = errorIn(value);
  const codes = new Set([code, status, type, status_code].filter(isPlainCode)); // OpenAI's code and type are often the same
  return codes.size === 0 ? "" : `: ${[...codes].join(", ")}`;
}

/** Words of errors that pass by themselves, where a code of the server's own does not say so. */
const passingWords =
  /rate|limit|busy|overload|capacity|time ?-?out|timed out|unavailable|again|internal|throttl/i;

/** Words of errors about tools. */
const toolWords =
  /\btools?\b|tool.?(call|use|choice)|function.?call|\bfunctions?\b.{0,40}(schema|param|declar)|schema.{0,40}\bfunctions?\b/i;

/** Words of errors that name tools only as a part of what is too long. */
const lengthWords = /tokens|context.?(length|window)|too (long|large)/i;

/** Words of errors about a call that the model wrote wrongly (Ollama, Groq, Gemini): the next one may be right. */
const wrongCallWords =
  /pars(e|ing) tool.?call|failed_generation|tool_use_failed|tool_call_parse|malformed.function.call/i;

/** What may help after an error, by its words, too. */
function withWords(remedy: Remedy, report: unknown): Remedy {
  const words = report === undefined ? "" : JSON.stringify(report).slice(0, maxLength);
  if (!toolWords.test(words) || lengthWords.test(words)) return remedy;
  if (!wrongCallWords.test(words)) return { ...remedy, aboutTools: words };
  return { ...remedy, aboutTools: words, isToolless: false, retryAfterMs: 0 };
}

/** What may help after an error in a body: what would help after the status that it would have had as a response. */
export function remedyAfter(report: unknown): Remedy {
  return withWords(remedyLike(report), report);
}

function remedyLike(report: unknown): Remedy {
  const { code, status, status_code, http_status_code, type, message, status_msg } = errorIn(report);
  const found = [code, status, status_code, http_status_code].map(Number);
  const number = found.find((value) => Number.isInteger(value) && value >= 400 && value <= 599);
  if (number !== undefined) return remedyFor(number);
  if (type === "invalid_request_error") return remedyFor(400);
  if (isJsonObject(report) && (report.error ?? report.object) !== undefined) return remedyFor(500);
  const passes = passingWords.test([code, message, status_msg].join(" ").slice(0, maxLength));
  return passes || errorIn(report) === nothing ? remedyFor(500) : noRemedy;
}

/** Codes of a filter that has refused a question: Azure's, those of gateways, and Alibaba's. */
const filterCodes = new Set<unknown>([
  "content_filter",
  "content_policy_violation",
  "data_inspection_failed",
]);

/** Whether an error says that a filter has refused the question. */
export function isFiltered(report: unknown): boolean {
  const { code, type } = errorIn(report);
  return filterCodes.has(code) || filterCodes.has(type);
}

const nothing: JsonObject = {};

function errorIn(value: unknown): JsonObject {
  const said: unknown = Array.isArray(value) ? value[0] : value; // Gemini sends a list
  const { errors, base_resp, error = base_resp ?? said } = isJsonObject(said) ? said : {};
  const found: unknown = Array.isArray(errors) ? errors[0] : error; // Cloudflare has a list within its answer
  return isJsonObject(found) ? found : nothing;
}

/** An identifier, or a number like an HTTP status, which some servers write as text. */
function isPlainCode(value: unknown): boolean {
  const isCode = typeof value === "string" || typeof value === "number";
  return isCode && /^(?:[a-z_.]{1,64}|\d{1,5})$/i.test(String(value));
}
