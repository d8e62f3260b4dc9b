/**
 * Answers of a model that hold no reply: what they come to, and what their bodies say of it.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { ModelError } from "../core/engine.ts";
import { codesOf } from "./openai-codes.ts";
import type { ModelHeaders } from "./openai-transport.ts";

/** A failure, which another attempt may get round after a while. */
export interface Failure {
  readonly failure: unknown;
  readonly retryAfterMs: number;
  /** Whether the server did not take what it was asked, and may take less. */
  readonly invalid?: boolean;
}

/** Answers that another attempt may improve: overload, and gateways without their server. */
const retriedStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** Answers to a request that holds what the server does not know, or does not like. */
const invalidStatuses: ReadonlySet<number> = new Set([400, 422]);
/** What no other attempt can get round. */
export const never = Number.POSITIVE_INFINITY;
/** The longest body that is read for its codes, in UTF-16 code units. */
const maxLength = 16_384;

/** An answer that holds no reply. Its body is read as far as that may tell why. */
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

  /** Whether more of the body tells nothing more. */
  get isWhole(): boolean {
    return this.#rest <= 0;
  }

  read(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    this.#rest -= text.length;
    this.#body = this.isWhole ? "" : this.#body + text;
  }

  /** What the answer comes to, by what was read of it. */
  tell(): Failure {
    const failure = new ModelError("model_error", `${this.#what}${codesOf(parseJson(this.#body))}.`);
    return { failure, ...this.#retry };
  }
}

/** What is wrong with an answer by its header. Undefined: it should hold a reply. */
export function refusalOf(status: number, headers: ModelHeaders, clock: Clock): Refusal | undefined {
  const contentType = headers.get("content-type");
  const mediaType = contentType?.toLowerCase().split(";")[0]?.trim() ?? "";
  const isJson = mediaType === "application/json";
  if (status !== 200) {
    const retried = retriedStatuses.has(status);
    const retryAfterMs = retried ? readRetryAfter(headers.get("retry-after"), clock) : never;
    const retry = { retryAfterMs, invalid: invalidStatuses.has(status) };
    return new Refusal(`The model answered with status ${status}`, retry, isJson);
  }
  if (contentType === null || mediaType === "text/event-stream") return undefined;
  const found = /^[\w./+-]{1,100}$/.test(mediaType) ? ` but ${mediaType}` : "";
  return new Refusal(`The model's answer is not an event stream${found}`, { retryAfterMs: never }, isJson);
}

/** Milliseconds that a `Retry-After` field asks to wait, in seconds or until a date. 0: it asks for nothing. */
function readRetryAfter(value: string | null, clock: Clock): number {
  if (value === null) return 0;
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  return Math.max(0, Date.parse(value) - clock.now()) || 0;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // it was cut off, or is none
  }
}
