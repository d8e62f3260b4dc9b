/**
 * Turns a service's callbacks into OpenTelemetry spans and metrics, through `@opentelemetry/api`: the SDK, the exporter
 * and the sampling are the host's.
 *
 * Names follow the semantic conventions for HTTP servers and for generative AI, v0.1.0
 * (https://github.com/open-telemetry/semantic-conventions-genai).
 *
 * @module
 */

import {
  type Attributes,
  isSpanContextValid,
  type Meter,
  metrics,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type {
  CredentialRefused,
  Observer,
  ReplyBegan,
  ReplyEnded,
  ReplyEvent,
  ReplyFirstText,
  RequestBegan,
  RequestEnded,
  ToolCalled,
} from "../../core/base/observe.ts";

/** Options of {@link createOpenTelemetryObserver}. */
export interface OpenTelemetryOptions {
  /** Default: `twin-service` of the global tracer provider. */
  readonly tracer?: Tracer;
  /** Default: `twin-service` of the global meter provider. */
  readonly meter?: Meter;
}

/**
 * Creates callbacks for `createService({ observe })`.
 *
 * Spans: one for each request (a child of the `traceparent` that came with it), and `invoke_agent <twin>` for each reply
 * (a child of the request that sent the question). The model's request carries the reply's span as its parent.
 *
 * Metrics: `http.server.request.duration`, `gen_ai.client.operation.duration` and
 * `gen_ai.client.operation.time_to_first_chunk` (seconds), `gen_ai.client.token.usage`, `twin.replies.running`,
 * `twin.streams.open`, `twin.replies.taken_over`, `twin.rate_limited` and `twin.refused_credentials`. No attribute names
 * an owner, a key or an end user, and none of a metric a twin that an owner made.
 *
 * @example
 * ```ts
 * import { createService } from "twin-service";
 * import { createOpenTelemetryObserver } from "twin-service/otel";
 *
 * const service = createService({ ...options, observe: createOpenTelemetryObserver() });
 * ```
 */
export function createOpenTelemetryObserver(options: OpenTelemetryOptions = {}): Observer {
  const scope = ["twin-service", undefined, { schemaUrl }] as const;
  const { tracer = trace.getTracerProvider().getTracer(...scope), meter = metrics.getMeter(...scope) } =
    options;
  return new OpenTelemetryObserver(tracer, createInstruments(meter));
}

/** The conventions that the names follow: https://github.com/open-telemetry/semantic-conventions-genai, v0.1.0. */
const schemaUrl = "https://opentelemetry.io/schemas/gen-ai/0.1.0";

const seconds = { unit: "s" };

function createInstruments(meter: Meter) {
  return {
    requestDuration: meter.createHistogram("http.server.request.duration", seconds),
    replyDuration: meter.createHistogram("gen_ai.client.operation.duration", seconds),
    firstChunk: meter.createHistogram("gen_ai.client.operation.time_to_first_chunk", seconds),
    tokens: meter.createHistogram("gen_ai.client.token.usage", { unit: "{token}" }),
    repliesRunning: meter.createUpDownCounter("twin.replies.running", { unit: "{reply}" }),
    streamsOpen: meter.createUpDownCounter("twin.streams.open", { unit: "{stream}" }),
    takenOver: meter.createCounter("twin.replies.taken_over", { unit: "{reply}" }),
    rateLimited: meter.createCounter("twin.rate_limited", { unit: "{request}" }),
    refusedCredentials: meter.createCounter("twin.refused_credentials", { unit: "{request}" }),
  };
}

class OpenTelemetryObserver implements Observer {
  readonly #tracer: Tracer;
  readonly #instruments: ReturnType<typeof createInstruments>;
  readonly #requests = new Map<string, Span>();
  readonly #replies = new Map<string, Span>();

  constructor(tracer: Tracer, instruments: ReturnType<typeof createInstruments>) {
    this.#tracer = tracer;
    this.#instruments = instruments;
  }

  requestBegan({ requestId, method, traceparent }: RequestBegan): void {
    const attributes = { "http.request.method": shownMethod(method) };
    // A remote parent: version, trace, parent and flags. It was checked.
    const [, traceId = "", spanId = "", flags = "00"] = traceparent?.split("-") ?? [];
    const remote = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
    const parent = traceparent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote);
    const span = this.#tracer.startSpan(shownMethod(method), { kind: SpanKind.SERVER, attributes }, parent);
    this.#requests.set(requestId, span);
  }

  requestEnded({ requestId, method, route, status, durationMs }: RequestEnded): void {
    const attributes: Attributes = {
      "http.request.method": shownMethod(method),
      "http.response.status_code": status,
      ...(route !== undefined && { "http.route": route }),
      ...(status >= 500 && { "error.type": String(status) }),
    };
    this.#instruments.requestDuration.record(durationMs / 1000, attributes);
    const span = this.#requests.get(requestId);
    this.#requests.delete(requestId);
    if (!span) return;
    if (route !== undefined) span.updateName(`${shownMethod(method)} ${route}`);
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.setAttributes(attributes).end();
  }

  replyBegan(event: ReplyBegan): void {
    const request = this.#requests.get(event.requestId ?? "");
    const parent = request ? trace.setSpan(ROOT_CONTEXT, request) : ROOT_CONTEXT;
    const named = { "gen_ai.agent.id": event.twinId, "gen_ai.conversation.id": event.conversationId };
    const attributes = { ...agentAttributes(event), ...named };
    const span = this.#tracer.startSpan(`invoke_agent ${event.twinId}`, { attributes }, parent);
    this.#replies.set(event.messageId, span);
    this.#instruments.repliesRunning.add(1);
    if (event.attempt > 1) this.#instruments.takenOver.add(1);
  }

  replyFirstText(event: ReplyFirstText): void {
    this.#replies.get(event.messageId)?.addEvent("first_text");
    this.#instruments.firstChunk.record(event.durationMs / 1000, agentAttributes(event));
  }

  /** The span begins in the past, since a call is told once it has ended. */
  toolCalled({ messageId, tool, callId, status, durationMs }: ToolCalled): void {
    const reply = this.#replies.get(messageId);
    if (!reply) return;
    const attributes: Attributes = {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
      "gen_ai.tool.call.id": callId,
      ...(status === "failed" && { "error.type": "tool_failed" }),
    };
    const endTime = Date.now();
    const options = { attributes, startTime: endTime - durationMs };
    const span = this.#tracer.startSpan(`execute_tool ${tool}`, options, trace.setSpan(ROOT_CONTEXT, reply));
    if (status === "failed") span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(endTime);
  }

  replyEnded(event: ReplyEnded): void {
    const { messageId, status, finishReason, errorCode, usage, durationMs } = event;
    const failure: Attributes = errorCode === null ? {} : { "error.type": errorCode };
    const attributes = { ...agentAttributes(event), ...failure };
    this.#instruments.repliesRunning.add(-1);
    this.#instruments.replyDuration.record(durationMs / 1000, attributes);
    for (const [type, count] of [
      ["input", usage?.inputTokens],
      ["output", usage?.outputTokens],
    ] as const) {
      if (count === undefined) continue;
      this.#instruments.tokens.record(count, { ...attributes, "gen_ai.token.type": type });
    }
    const span = this.#replies.get(messageId);
    this.#replies.delete(messageId);
    if (!span) return;
    span.setAttributes({ ...failure, "twin.reply.status": status });
    if (finishReason !== null) span.setAttribute("gen_ai.response.finish_reasons", [finishReason]);
    if (usage) {
      span.setAttribute("gen_ai.usage.input_tokens", usage.inputTokens);
      span.setAttribute("gen_ai.usage.output_tokens", usage.outputTokens);
      if (usage.cachedInputTokens !== null)
        span.setAttribute("gen_ai.usage.cache_read.input_tokens", usage.cachedInputTokens);
    }
    if (errorCode !== null) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }

  streamOpened(): void {
    this.#instruments.streamsOpen.add(1);
  }

  streamClosed(): void {
    this.#instruments.streamsOpen.add(-1);
  }

  rateLimited({ scope }: { readonly scope: string | undefined }): void {
    this.#instruments.rateLimited.add(1, { "twin.scope": scope ?? "none" });
  }

  credentialRefused({ reason }: CredentialRefused): void {
    this.#instruments.refusedCredentials.add(1, { "twin.reason": reason });
  }

  traceparentOf(messageId: string): string | undefined {
    const context = this.#replies.get(messageId)?.spanContext();
    if (!context || !isSpanContextValid(context)) return undefined;
    return `00-${context.traceId}-${context.spanId}-${context.traceFlags.toString(16).padStart(2, "0")}`;
  }
}

const knownMethods = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "DELETE",
  "CONNECT",
  "OPTIONS",
  "TRACE",
  "PATCH",
]);

/** As the conventions want it: a client may send any token, which must not make as many time series. */
function shownMethod(method: string): string {
  return knownMethods.has(method) ? method : "_OTHER";
}

/** What metrics say of a reply. Twins that owners make have no name there: it would make any number of time series. */
function agentAttributes({ twinId, isOwn, engine }: ReplyEvent): Attributes {
  return {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.provider.name": engine,
    ...(!isOwn && { "gen_ai.agent.id": twinId }),
  };
}
