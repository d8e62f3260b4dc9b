/**
 * One attempt to get a reply from a model: listens to the answer, and tells what came of it.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { type EngineResult, ModelError } from "../core/engine.ts";
import { type Patience, timeout, type Waiter } from "./openai-patience.ts";
import type { CompletionReader } from "./openai-stream.ts";
import type { ModelHeaders, ModelListener } from "./openai-transport.ts";

/** What came of an attempt: a reply, or a failure, which another attempt may get round after a while. */
export type Outcome =
  | { readonly result: EngineResult }
  | {
      readonly failure: unknown;
      readonly retryAfterMs: number;
      /** Whether the server did not take what it was asked, and may take less. */
      readonly invalid?: boolean;
    };

/** What all attempts of an engine share. */
export interface AttemptOptions {
  /** Longest wait for the answer's header, in milliseconds. */
  readonly headersMs: number;
  /** Longest wait for the next piece of its body, in milliseconds. */
  readonly idleMs: number;
  readonly clock: Clock;
}

/** How long to wait for token counts and the end marker when the finish reason has come. */
const trailerMs = 5_000;
/** How long to wait for the body's end behind the end marker, which lets the connection be used again. */
const bodyEndMs = 100;
/** Answers that another attempt may improve: overload, and gateways without their server. */
const retriedStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** Answers to a request that holds what the server does not know, or does not like. */
const invalidStatuses: ReadonlySet<number> = new Set([400, 422]);
/** What no other attempt can get round. */
const never = Number.POSITIVE_INFINITY;
const nothing = () => {};

/** An attempt. However it ends, nothing of the connection is held then. */
export class Attempt implements ModelListener, Waiter {
  readonly #reader: CompletionReader;
  readonly #patience: Patience;
  readonly #options: AttemptOptions;
  readonly #resolve: (outcome: Outcome) => void;
  #close: () => void = nothing;
  #answered = false;
  #over = false;

  /** Gives the model's text to `reader`. `resolve` is called once, with what came of it. */
  constructor(
    reader: CompletionReader,
    patience: Patience,
    options: AttemptOptions,
    resolve: (outcome: Outcome) => void,
  ) {
    this.#reader = reader;
    this.#patience = patience;
    this.#options = options;
    this.#resolve = resolve;
  }

  /** Begins. `send` sends the request, and returns what closes the connection. */
  start(send: (listener: ModelListener) => () => void): void {
    this.#patience.wait(this.#options.headersMs, this);
    if (this.#over) return;
    try {
      this.#close = send(this);
    } catch (error) {
      this.fail(error);
    }
  }

  begin(status: number, headers: ModelHeaders): void {
    if (this.#over) return;
    this.#answered = true;
    const refusal = refuse(status, headers, this.#options.clock);
    if (refusal) this.#settle(refusal);
    else this.#patience.wait(this.#options.idleMs, this);
  }

  read(bytes: Uint8Array): void {
    // Behind the end marker only the body's end matters, which keeps the connection for the next reply.
    if (this.#over || this.#reader.done) return;
    try {
      this.#reader.read(bytes);
      this.#patience.wait(this.#nextMs(), this);
    } catch (error) {
      this.#giveUp(error);
    }
  }

  end(): void {
    if (this.#over) return;
    try {
      if (!this.#reader.result) this.#reader.end();
      this.#endWithout(new ModelError("model_error", "The model's answer ended before the reply did."));
    } catch (error) {
      this.#giveUp(error);
    }
  }

  fail(cause: unknown): void {
    if (this.#reader.begun) {
      this.#endWithout(
        new ModelError("model_error", "The model's connection broke within a reply.", { cause }),
      );
    } else {
      const failure = new ModelError("model_error", "The model's connection failed.", { cause });
      this.#settle({ failure, retryAfterMs: 0 });
    }
  }

  late(): void {
    const { headersMs, idleMs } = this.#options;
    this.#endWithout(
      this.#answered
        ? timeout("The next piece of the model's answer", idleMs)
        : timeout("The model's answer", headersMs),
    );
  }

  interrupted(reason: unknown): void {
    if (this.#reader.done) this.#endWithout(reason);
    else this.#giveUp(reason);
  }

  #nextMs(): number {
    if (this.#reader.done) return bodyEndMs;
    const { idleMs } = this.#options;
    return this.#reader.result ? Math.min(idleMs, trailerMs) : idleMs;
  }

  /**
   * Nothing more comes, and `failure` is why. Behind the finish reason that is none: the text is whole, and only
   * token counts and the end marker are missing.
   */
  #endWithout(failure: unknown): void {
    const { result } = this.#reader;
    if (result) this.#settle({ result });
    else this.#giveUp(failure);
  }

  #giveUp(failure: unknown): void {
    this.#settle({ failure, retryAfterMs: never });
  }

  #settle(outcome: Outcome): void {
    if (this.#over) return;
    this.#over = true;
    this.#resolve(outcome);
    this.#close(); // last: it is the host's, and may throw
  }
}

/** An answer that holds no reply. */
function refuse(status: number, headers: ModelHeaders, clock: Clock): Outcome | undefined {
  if (status !== 200) {
    const failure = new ModelError("model_error", `The model answered with status ${status}.`);
    const retried = retriedStatuses.has(status);
    const retryAfterMs = retried ? readRetryAfter(headers.get("retry-after"), clock) : never;
    return { failure, retryAfterMs, invalid: invalidStatuses.has(status) };
  }
  const [mediaType = ""] = (headers.get("content-type") ?? "text/event-stream").toLowerCase().split(";");
  if (mediaType.trim() === "text/event-stream") return undefined;
  const found = /^[\w./+-]{1,100}$/.test(mediaType) ? `, but ${mediaType}` : "";
  const failure = new ModelError("model_error", `The model's answer is no event stream${found}.`);
  return { failure, retryAfterMs: never };
}

/** Milliseconds that a `Retry-After` field asks to wait, in seconds or until a date. 0: it asks for nothing. */
function readRetryAfter(value: string | null, clock: Clock): number {
  if (value === null) return 0;
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  return Math.max(0, Date.parse(value) - clock.now()) || 0;
}
