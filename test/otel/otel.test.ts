/**
 * Spans and metrics of a service, with OpenTelemetry's own SDK and exporters in memory.
 */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { SpanStatusCode, trace } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { createOpenAIEngine } from "../../adapters/openai-models/mod.ts";
import { createOpenTelemetryObserver } from "../../adapters/otel/mod.ts";
import { createTwinReader } from "../../adapters/twin-text/mod.ts";
import { createTwinList, type Tool } from "../../core/mod.ts";
import {
  endMarker,
  event,
  finish,
  hang,
  reply,
  send,
  startModelServer,
} from "../openai-models/model-server.ts";
import { inProcess, newTwin, openFixture } from "../support/harness.ts";

const orders: Tool = {
  name: "orders/find",
  description: "Finds an order.",
  inputSchema: { type: "object" },
  run: () => "It is sent.",
};

const traceId = "0af7651916cd43dd8448eb211c80319c";
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

/** A service whose twin asks a model on this machine, and what its observer exports. */
async function openObserved(t: TestContext) {
  const model = await startModelServer();
  t.after(() => model.close());
  const spans = new InMemorySpanExporter();
  const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 });
  const meters = new MeterProvider({ readers: [reader] });
  t.after(() => meters.shutdown());
  const observe = createOpenTelemetryObserver({
    tracer: tracers.getTracer("test"),
    meter: meters.getMeter("test"),
  });
  const fixture = await openFixture(inProcess, {
    observe,
    twins: createTwinList([
      newTwin({ id: "ada", name: "Ada", engine: "openai", model: "small", tools: ["orders"] }),
    ]),
    engines: { openai: createOpenAIEngine({ baseUrl: model.baseUrl, tools: [orders] }) },
    ownTwins: { reader: createTwinReader() },
  });
  t.after(() => fixture[Symbol.asyncDispose]());
  const key = await fixture.key();
  const conversation = await fixture.conversation(key, "ada");
  return {
    model,
    fixture,
    key,
    conversation,
    spanNamed: (name: string) => spans.getFinishedSpans().find((span) => span.name === name),
    ask(headers: Readonly<Record<string, string>> = {}) {
      return fixture.call(
        "POST",
        `/conversations/${conversation}/messages`,
        key,
        { content: "Hi?" },
        headers,
      );
    },
    async metrics() {
      await reader.forceFlush();
      const [latest] = exporter.getMetrics().slice(-1);
      const all = latest?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
      return new Map(all.map((metric) => [metric.descriptor.name, metric.dataPoints]));
    },
  };
}

const requestSpan = "POST /api/v1/conversations/{id}/messages";

describe("spans", () => {
  test("one trace leads from the client's traceparent through the reply to the model's request", async (t) => {
    const { ask, spanNamed, model } = await openObserved(t);
    assert.equal((await ask({ traceparent })).status, 200);
    const request = spanNamed(requestSpan);
    const reply = spanNamed("invoke_agent ada");
    assert.equal(request?.spanContext().traceId, traceId);
    assert.equal(request?.parentSpanContext?.spanId, "b7ad6b7169203331");
    assert.equal(reply?.spanContext().traceId, traceId);
    assert.equal(reply?.parentSpanContext?.spanId, request?.spanContext().spanId);
    const { headers } = await model.received(0);
    assert.equal(headers.traceparent, `00-${traceId}-${reply?.spanContext().spanId}-01`);
  });

  test("a request without a trace begins one", async (t) => {
    const { ask, spanNamed } = await openObserved(t);
    await ask({ traceparent: "00-0-0-00" });
    assert.equal(spanNamed(requestSpan)?.parentSpanContext, undefined);
    assert.notEqual(spanNamed(requestSpan)?.spanContext().traceId, traceId);
  });

  test("a reply's span says which twin replied, and how", async (t) => {
    const { ask, spanNamed, conversation } = await openObserved(t);
    await ask();
    assert.deepEqual(spanNamed("invoke_agent ada")?.attributes, {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.provider.name": "openai",
      "gen_ai.agent.id": "ada",
      "gen_ai.conversation.id": conversation,
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": 7,
      "gen_ai.usage.output_tokens": 2,
      "twin.reply.status": "completed",
    });
  });

  test("a call of a tool is a span of its reply", async (t) => {
    const { ask, spanNamed, model } = await openObserved(t);
    const call = { index: 0, id: "call_1", function: { name: "orders_find", arguments: "{}" } };
    model.script(
      send(event({ choices: [{ delta: { tool_calls: [call] } }] }) + finish("tool_calls") + endMarker),
      reply("It is sent."),
    );
    await ask();
    const span = spanNamed("execute_tool orders/find");
    assert.equal(span?.parentSpanContext?.spanId, spanNamed("invoke_agent ada")?.spanContext().spanId);
    assert.deepEqual(span?.attributes, {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "orders/find",
      "gen_ai.tool.call.id": "call_1",
    });
  });

  test("a reply that fails has its code, and an error status", async (t) => {
    const { ask, spanNamed, model } = await openObserved(t);
    model.script((response) => void response.writeHead(400).end());
    assert.equal((await ask()).status, 502);
    const span = spanNamed("invoke_agent ada");
    assert.equal(span?.attributes["error.type"], "model_error");
    assert.equal(span?.status.code, SpanStatusCode.ERROR);
    assert.equal(spanNamed(requestSpan)?.status.code, SpanStatusCode.ERROR);
  });
});

describe("metrics", () => {
  test("requests and replies are measured under the conventions' names", async (t) => {
    const { ask, metrics } = await openObserved(t);
    await ask();
    const recorded = await metrics();
    for (const name of [
      "http.server.request.duration",
      "gen_ai.client.operation.duration",
      "gen_ai.client.operation.time_to_first_chunk",
      "twin.replies.running",
    ]) {
      assert.ok(recorded.has(name), name);
    }
    assert.equal(recorded.get("twin.replies.running")?.[0]?.value, 0);
  });

  test("streams and replies count while they run", async (t) => {
    const { fixture, key, conversation, model, metrics } = await openObserved(t);
    model.script(hang);
    const path = `/conversations/${conversation}/messages/stream`;
    const response = await fixture.call("POST", path, key, { content: "Hi?" });
    await model.received(0);
    const running = await metrics();
    assert.equal(running.get("twin.streams.open")?.[0]?.value, 1);
    assert.equal(running.get("twin.replies.running")?.[0]?.value, 1);
    await response.body?.cancel();
    assert.equal((await metrics()).get("twin.streams.open")?.[0]?.value, 0);
  });

  test("no attribute of a metric names a twin that an owner made, whose span does", async (t) => {
    const { fixture, key, metrics, spanNamed } = await openObserved(t);
    const headers = {
      authorization: `Bearer ${await fixture.token()}`,
      "content-type": "text/markdown",
    };
    const body = "---\nname: Odd\nengine: openai\n---\nYou are odd.\n";
    await fixture.send("/api/v1/twins/odd/file", { method: "PUT", headers, body });
    const conversation = await fixture.conversation(key, "odd");
    await fixture.call("POST", `/conversations/${conversation}/messages`, key, { content: "Hi?" });
    const points = (await metrics()).get("gen_ai.client.operation.duration") ?? [];
    assert.deepEqual(
      points.map(({ attributes }) => attributes["gen_ai.agent.id"]),
      [undefined],
    );
    assert.equal(spanNamed("invoke_agent odd")?.attributes["gen_ai.agent.id"], "odd");
  });

  test("no attribute has the owner or the key", async (t) => {
    const { ask, metrics, spanNamed } = await openObserved(t);
    await ask();
    const attributes = [...(await metrics()).values()].flat().map((point) => point.attributes);
    const told = JSON.stringify([attributes, spanNamed(requestSpan)?.attributes]);
    assert.doesNotMatch(told, /alice|key_/);
  });
});

test("spans and metrics of the global providers carry the address of the conventions' schema", async (t) => {
  const spans = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
  );
  t.after(() => trace.disable());
  await using fixture = await openFixture(inProcess, { observe: createOpenTelemetryObserver() });
  await fixture.send("/healthz");
  const [span] = spans.getFinishedSpans();
  assert.deepEqual(
    [span?.instrumentationScope.name, span?.instrumentationScope.schemaUrl],
    ["twin-service", "https://opentelemetry.io/schemas/gen-ai/0.1.0"],
  );
});
