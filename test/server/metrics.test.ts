/**
 * What Prometheus reads, over HTTP, after a service has told what it did; and that the dashboard and the alerts use these
 * names.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, describe, test } from "node:test";
import { createTwinReader } from "../../adapters/twin-text/mod.ts";
import { createMetrics, type Metrics, serveMetrics } from "../../server/metrics.ts";
import { inProcess, openFixture } from "../support/harness.ts";
import { freePort } from "../support/ports.ts";
import { runServer, startServer } from "./process.ts";

const countWaiting = async () => ({ count: 0, since: null });

const reply = { messageId: "msg_1", twinId: "ada", isOwn: false, engine: "openai" };

/** A listener with these metrics, closed at the end of the tests. */
async function serve(metrics: Metrics) {
  const server = await serveMetrics(metrics, "127.0.0.1", 0);
  after(() => server.close());
  return server.url;
}

/** The samples of one metric. */
async function samplesOf(url: string, name: string): Promise<string[]> {
  const text = await (await fetch(url)).text();
  return text.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
}

/** Fails unless these are the samples of a metric, all of them. */
async function assertSamples(url: string, ...samples: readonly string[]): Promise<void> {
  const [name = ""] = /^\w+/.exec(samples[0] ?? "") ?? [];
  assert.deepEqual(await samplesOf(url, name), samples);
}

describe("metrics", () => {
  test("they say whether limits are shared, and whether the store answers", async () => {
    let isShared = true;
    let pingStore = () => Promise.resolve();
    const storage = { countWaiting, limitsAreShared: () => isShared, pingStore: () => pingStore() };
    const url = await serve(createMetrics(storage));
    await assertSamples(url, "twin_limits_shared 1");
    await assertSamples(url, "twin_store_available 1");
    isShared = false;
    pingStore = () => Promise.reject(new Error("away"));
    await assertSamples(url, "twin_limits_shared 0");
    await assertSamples(url, "twin_store_available 0");
  });

  test("they say how many wait for a person, and for how long", async () => {
    let countWaiting = () => Promise.resolve({ count: 2, since: 0 as number | null });
    const storage = { limitsAreShared: () => true, pingStore: async () => {} };
    const url = await serve(createMetrics({ ...storage, countWaiting: () => countWaiting() }));
    await assertSamples(url, "twin_conversations_waiting 2");
    const [seconds] = await samplesOf(url, "twin_longest_wait_seconds");
    assert.ok(Number(seconds?.split(" ")[1]) > 1e9, seconds);
    countWaiting = async () => ({ count: 0, since: null });
    await assertSamples(url, "twin_conversations_waiting 0");
    await assertSamples(url, "twin_longest_wait_seconds 0");
    countWaiting = () => Promise.reject(new Error("away"));
    assert.deepEqual(await samplesOf(url, "twin_conversations_waiting"), []);
    assert.deepEqual(await samplesOf(url, "twin_longest_wait_seconds"), []);
  });

  test("they say how many deliveries to webhooks are pending, unless that cannot be told", async () => {
    let countPending = () => Promise.resolve(3);
    const storage = { limitsAreShared: () => true, pingStore: async () => {}, countWaiting };
    const url = await serve(createMetrics({ ...storage, countPending: () => countPending() }));
    await assertSamples(url, "twin_webhook_pending 3");
    countPending = () => Promise.reject(new Error("away"));
    assert.deepEqual(await samplesOf(url, "twin_webhook_pending"), []);
    assert.deepEqual(await samplesOf(await serve(createMetrics(storage)), "twin_webhook_pending"), []);
  });

  test("tries of deliveries to webhooks are counted, by event and by what became of the delivery", async () => {
    const metrics = createMetrics();
    const url = await serve(metrics);
    for (const status of ["pending", "failed", "pending"] as const)
      metrics.observe.webhookTried?.({ event: "message.said", status });
    await assertSamples(
      url,
      'twin_webhook_deliveries_total{event="message.said",status="pending"} 2',
      'twin_webhook_deliveries_total{event="message.said",status="failed"} 1',
    );
  });

  test("a reply is counted while it runs, and by how it ended", async () => {
    const metrics = createMetrics();
    const url = await serve(metrics);
    metrics.observe.replyBegan?.({ ...reply, conversationId: "conv_1", requestId: "req_1", attempt: 1 });
    await assertSamples(url, "twin_replies_running 1");
    metrics.observe.replyFirstText?.({ ...reply, durationMs: 200 });
    metrics.observe.replyEnded?.({
      ...reply,
      status: "completed",
      finishReason: "stop",
      errorCode: null,
      usage: { inputTokens: 30, outputTokens: 12, cachedInputTokens: 20 },
      durationMs: 1500,
    });
    await assertSamples(url, "twin_replies_running 0");
    await assertSamples(url, 'twin_replies_total{twin="ada",engine="openai",status="completed"} 1');
    await assertSamples(url, "twin_reply_first_text_seconds_sum 0.2");
    await assertSamples(url, "twin_reply_duration_seconds_sum 1.5");
    await assertSamples(
      url,
      'twin_tokens_total{twin="ada",type="input"} 30',
      'twin_tokens_total{twin="ada",type="output"} 12',
      'twin_tokens_total{twin="ada",type="cached_input"} 20',
    );
    await assertSamples(url, "twin_replies_taken_over_total 0");
  });

  test("twins that owners make are counted as one: their ids have no bound, and may name people", async () => {
    const metrics = createMetrics();
    await using fixture = await openFixture(inProcess, {
      observe: metrics.observe,
      ownTwins: { reader: createTwinReader(), defaultEngine: "echo" },
    });
    const key = await fixture.key();
    const authorization = `Bearer ${await fixture.token()}`;
    for (const id of ["ann-of-lyon", "bob-of-bern"]) {
      const init = { method: "PUT", headers: { authorization, "content-type": "text/markdown" } };
      await fixture.send(`/api/v1/twins/${id}/file`, { ...init, body: `---\nname: ${id}\n---\nYou are.\n` });
      const conversation = await fixture.conversation(key, id);
      await fixture.call("POST", `/conversations/${conversation}/messages`, key, { content: "Hi?" });
    }
    await fixture.call("POST", `/conversations/${await fixture.conversation(key, "echo")}/messages`, key, {
      content: "Hi?",
    });
    const url = await serve(metrics);
    await assertSamples(
      url,
      'twin_replies_total{twin="(own)",engine="echo",status="completed"} 2',
      'twin_replies_total{twin="echo",engine="echo",status="completed"} 1',
    );
    assert.doesNotMatch(await metrics.text(), /ann-of-lyon|bob-of-bern/);
  });

  test("calls of tools are counted and measured", async () => {
    const metrics = createMetrics();
    const call = { ...reply, tool: "orders/find", callId: "call_1", durationMs: 250 };
    metrics.observe.toolCalled?.({ ...call, status: "done" });
    metrics.observe.toolCalled?.({ ...call, status: "failed" });
    const url = await serve(metrics);
    await assertSamples(
      url,
      'twin_tool_calls_total{tool="orders/find",status="done"} 1',
      'twin_tool_calls_total{tool="orders/find",status="failed"} 1',
    );
    await assertSamples(url, 'twin_tool_call_seconds_sum{tool="orders/find"} 0.5');
  });

  test("a second attempt counts as taken over", async () => {
    const metrics = createMetrics();
    metrics.observe.replyBegan?.({ ...reply, conversationId: "conv_1", requestId: "req_1", attempt: 2 });
    await assertSamples(await serve(metrics), "twin_replies_taken_over_total 1");
  });

  test("requests are counted by method, route and status, and unknown ones under one name", async () => {
    const metrics = createMetrics();
    const request = { requestId: "req_1", durationMs: 4 };
    metrics.observe.requestEnded?.({ ...request, method: "GET", route: "/api/v1/twins/{id}", status: 200 });
    metrics.observe.requestEnded?.({ ...request, method: "BREW", route: undefined, status: 404 });
    await assertSamples(
      await serve(metrics),
      'http_server_request_duration_seconds_count{method="GET",route="/api/v1/twins/{id}",status="200"} 1',
      'http_server_request_duration_seconds_count{method="other",route="none",status="404"} 1',
    );
  });

  test("streams and refusals by the limit are counted", async () => {
    const metrics = createMetrics();
    const stream = { requestId: "req_1", messageId: "msg_1" };
    metrics.observe.streamOpened?.(stream);
    metrics.observe.streamOpened?.(stream);
    metrics.observe.streamClosed?.(stream);
    metrics.observe.rateLimited?.({ scope: "read_only" });
    metrics.observe.credentialRefused?.({ requestId: "req_1", reason: "expired" });
    const url = await serve(metrics);
    await assertSamples(url, "twin_streams_open 1");
    await assertSamples(url, 'twin_refused_credentials_total{reason="expired"} 1');
    await assertSamples(url, 'twin_rate_limited_total{scope="read_only"} 1');
  });

  test("nothing but GET /metrics is served", async () => {
    const url = await serve(createMetrics());
    assert.equal((await fetch(`${url}?collect=all`)).status, 200);
    assert.equal((await fetch(url, { method: "POST" })).status, 405);
    assert.equal((await fetch(new URL("/", url))).status, 404);
    assert.equal((await fetch(new URL("/api/v1/twins", url))).status, 404);
  });

  for (const file of ["grafana-dashboard.json", "alerts.yaml"]) {
    test(`deploy/${file} uses only metrics that exist`, async () => {
      const text = await readFile(new URL(`../../deploy/${file}`, import.meta.url), "utf8");
      const storage = {
        ...{ limitsAreShared: () => true, pingStore: async () => {} },
        ...{ countWaiting, countPending: async () => 0 },
      };
      const shown = await (await fetch(await serve(createMetrics(storage)))).text();
      const names = [...shown.matchAll(/^# TYPE (\S+) (\w+)$/gm)].flatMap(([, name = "", kind]) =>
        kind === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      );
      const used = text.match(/\b(?:twin|http_server|process|nodejs)_\w+\b/g) ?? [];
      assert.ok(used.length > 5);
      assert.deepEqual(
        used.filter((name) => !names.includes(name)),
        [],
      );
    });
  }
});

describe("a server with METRICS_PORT", () => {
  test("shows what it served on that port, and nothing of it on the API's", async () => {
    const port = String(await freePort());
    const server = await startServer(["--database", "memory:"], { METRICS_PORT: port });
    assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
    assert.equal((await fetch(`${server.url}/metrics`)).status, 404);
    const url = `http://127.0.0.1:${port}/metrics`;
    const counted = await samplesOf(url, "http_server_request_duration_seconds_count");
    assert.ok(
      counted.includes(
        'http_server_request_duration_seconds_count{method="GET",route="/healthz",status="200"} 1',
      ),
    );
    assert.equal((await server.stop()).code, 0);
  });

  test("does not start if the port is in use", async () => {
    const server = await startServer(["--database", "memory:"]);
    const { port } = new URL(server.url);
    const { code, stderr } = await runServer(["--port", "0", "--database", "memory:"], {
      METRICS_PORT: port,
    });
    assert.equal(code, 1);
    assert.equal(
      stderr,
      `twin-service: METRICS_PORT (--metrics-port): port ${port} on 127.0.0.1 is in use; choose another.\n`,
    );
    await server.stop();
  });
});
