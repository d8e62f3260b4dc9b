/**
 * What the log and the observer are told of a reply, whether it is stored or not.
 *
 * @module
 */

import { isString } from "../base/json.ts";
import type { LogLevel } from "../base/log.ts";
import type { FinalState, ReplyFailure } from "../store/records.ts";
import { type EngineProgress, ModelError } from "../twins/engine.ts";
import { isOwn } from "../twins/twins.ts";
import type { Production, ReplyContext } from "./context.ts";

/** What a report needs to know of a reply. */
export type Reported = Pick<Production, "twin" | "engine" | "reply" | "requestId" | "traceparent">;

/** The report of one attempt at a reply. */
export class ReplyReport {
  readonly #context: Pick<ReplyContext, "observe" | "clock" | "log">;
  readonly #reported: Reported;
  #startedAt = 0;
  /** The calls of tools that have not ended, by id. */
  readonly #calls = new Map<string, { readonly tool: string; readonly calledAt: number }>();

  constructor(context: Pick<ReplyContext, "observe" | "clock" | "log">, reported: Reported) {
    this.#context = context;
    this.#reported = reported;
  }

  began(): void {
    const { observe, clock } = this.#context;
    const { requestId, reply } = this.#reported;
    const { conversationId, attempt } = reply;
    this.#startedAt = clock.now();
    observe.replyBegan?.({ conversationId, requestId, attempt, ...this.#names() });
  }

  firstText(): void {
    this.#context.observe.replyFirstText?.({ durationMs: this.#elapsed(), ...this.#names() });
  }

  /** A call of a tool begins or ends. */
  tool({ name, callId, state }: EngineProgress): void {
    if (!isString(name) || !isString(callId)) return;
    if (state === "called") this.#calls.set(callId, { tool: name, calledAt: this.#context.clock.now() });
    else if (state === "done" || state === "failed") this.#endCall(callId, state);
  }

  #endCall(callId: string, status: "done" | "failed"): void {
    const call = this.#calls.get(callId);
    this.#calls.delete(callId);
    if (!call) return;
    const durationMs = this.#context.clock.now() - call.calledAt;
    this.#context.observe.toolCalled?.({ tool: call.tool, callId, status, durationMs, ...this.#names() });
  }

  /** `state`: how this process ended the reply. Undefined: it did not. */
  ended(state: FinalState | undefined): void {
    for (const callId of [...this.#calls.keys()]) this.#endCall(callId, "failed"); // it was stopped
    this.#context.observe.replyEnded?.({
      status: state?.status ?? "lost",
      finishReason: state?.status === "completed" ? state.finishReason : null,
      errorCode: state?.error?.code ?? null,
      usage: state?.usage ?? null,
      durationMs: this.#elapsed(),
      ...this.#names(),
    });
  }

  /** The trace context for the model's request: the observer's, else the one that came with the send. */
  traceparent(): string | undefined {
    const { reply, traceparent } = this.#reported;
    return this.#context.observe.traceparentOf?.(reply.id) ?? traceparent;
  }

  /** Logs why a reply failed, and returns the code that stands for it. */
  failed(error: unknown): ReplyFailure["code"] {
    const { engine, twin } = this.#reported;
    this.log("error", "a reply failed", { ...engine?.logFields?.(twin), error });
    const isTimeout = error instanceof ModelError && error.code === "model_timeout";
    return isTimeout ? "model_timeout" : "model_error";
  }

  /** Logs that this process stops before the reply has ended. */
  interrupted(): void {
    this.log("warn", "a reply was interrupted, because the server stops");
  }

  log(level: LogLevel, message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    const { reply, requestId, twin } = this.#reported;
    const { id: messageId } = reply;
    this.#context.log(level, message, {
      messageId,
      requestId,
      twinId: twin.id,
      engine: twin.engine,
      ...fields,
    });
  }

  #names() {
    const { reply, twin } = this.#reported;
    return { messageId: reply.id, twinId: twin.id, isOwn: isOwn(twin), engine: twin.engine };
  }

  #elapsed(): number {
    return this.#context.clock.now() - this.#startedAt;
  }
}
