/**
 * Replies of the reference server under its settings, and when it is told to stop.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { delta, hangAfter, refuse } from "../openai-models/model-server.ts";
import { withoutSignals } from "../support/child-process.ts";
import { readEvents } from "../support/event-reader.ts";
import { dataOf } from "../support/harness.ts";
import { until } from "../support/until.ts";
import { call, converse, createKey, createScratch, mint, openTalker } from "./fixture.ts";
import { startServer } from "./process.ts";

const scratch = await createScratch();

test("a reply that the model's server refuses is logged with address, model and status", async () => {
  const { model, server, send, close } = await openTalker(scratch, { MODEL_NAME: "small" }, refuse(404));
  assert.equal((await send()).status, 502);
  const entry = await server.logged("a reply failed");
  assert.equal(entry.address, model.baseUrl);
  assert.equal(entry.model, "small");
  assert.match(JSON.stringify(entry.error), /status 404/);
  await close();
});

test("MODEL_NAME and MODEL_API_KEY go along with what the model is asked", async () => {
  const { model, send, close } = await openTalker(scratch, {
    MODEL_NAME: "small",
    MODEL_API_KEY: "sk-0123456789",
  });
  await dataOf(await send());
  const { headers, body } = await model.received(0);
  assert.equal(headers.authorization, "Bearer sk-0123456789");
  assert.equal((body as { model: string }).model, "small");
  await close();
});

test("a reply ends after MAX_REPLY_MS, and its silence is filled every HEARTBEAT_MS until then", async () => {
  const limits = { MAX_REPLY_MS: "1000", HEARTBEAT_MS: "100" };
  const { stream, close } = await openTalker(scratch, limits, hangAfter(delta("Well")));
  const text = await (await stream()).text();
  assert.match(text, /\n: keep-alive\n\n[\s\S]*"type":"error","error":\{"code":"model_timeout"/);
  await close();
});

test("with ON_DISCONNECT=cancel, a reply is cancelled when its follower leaves", async () => {
  const { stream, lastStatus, close } = await openTalker(
    scratch,
    { ON_DISCONNECT: "cancel" },
    hangAfter(delta("Well")),
  );
  await (await stream()).body?.cancel();
  await until("the reply is cancelled", 10_000, async () => (await lastStatus()) === "cancelled");
  await close();
});

test("pages from CORS_ORIGINS may read the answers", async () => {
  const { flags } = await scratch();
  const server = await startServer(flags, { CORS_ORIGINS: "https://app.example.com" });
  const { headers } = await fetch(`${server.url}/healthz`, {
    headers: { Origin: "https://app.example.com" },
  });
  assert.equal(headers.get("access-control-allow-origin"), "https://app.example.com");
  await server.stop();
});

describe("a server that is told to stop while a reply runs", { skip: withoutSignals }, () => {
  async function streaming(variables: Record<string, string>) {
    const { server, model, stream } = await openTalker(scratch, variables, hangAfter(delta("Well")));
    const events = readEvents(await stream());
    while ((await events.next()).data.type !== "delta");
    const assertInterrupted = async () => {
      const last = (await events.rest()).at(-1)?.data;
      assert.ok(last?.type === "error" && last.error.code === "interrupted");
    };
    return { server, model, assertInterrupted };
  }

  test("after the grace period the reply ends as interrupted, the stream ends properly, and the process exits with 0", async () => {
    const { server, model, assertInterrupted } = await streaming({ SHUTDOWN_GRACE_MS: "50" });
    const ended = server.stop();
    await assertInterrupted();
    assert.equal((await ended).code, 0);
    await model.close();
  });

  test("a second signal ends the process at once, with 1", async () => {
    const { server, model } = await streaming({ SHUTDOWN_GRACE_MS: "60000" });
    server.signal("SIGTERM");
    await server.logged("stopping");
    const { code } = await server.stop();
    await model.close();
    assert.equal(code, 1);
  });

  test("a terminal that closes says so more than once: the reply goes on to its end", async () => {
    const { server, model, assertInterrupted } = await streaming({ SHUTDOWN_GRACE_MS: "50" });
    server.signal("SIGHUP");
    await server.logged("stopping");
    const ended = server.stop("SIGHUP");
    await assertInterrupted();
    assert.equal((await ended).code, 0);
    await model.close();
  });

  test("a signal that arrives twice, as when npm signals a whole group, counts as one", async () => {
    const startedByNpm = { npm_lifecycle_event: "start" };
    const { server, model, assertInterrupted } = await streaming({
      SHUTDOWN_GRACE_MS: "50",
      ...startedByNpm,
    });
    server.signal("SIGTERM");
    const { code } = await server.stop("SIGINT"); // two of one kind could be merged on their way
    await model.close();
    assert.equal(code, 0);
    await assertInterrupted();
  });
});

test("for SHUTDOWN_DELAY_MS it is not ready, and serves all", { skip: withoutSignals }, async () => {
  const { flags } = await scratch();
  const server = await startServer(flags, { SHUTDOWN_DELAY_MS: "1500" });
  const key = await createKey(server, await mint(flags));
  server.signal("SIGTERM");
  await server.logged("stopping");
  const ready = await fetch(`${server.url}/readyz`, { headers: { Connection: "close" } });
  assert.deepEqual([ready.status, ready.headers.get("retry-after")], [503, "1"]);
  const messages = await converse(server, key, "echo");
  assert.equal((await call(messages, "POST", key, { content: "Hello" })).status, 200);
  assert.equal((await server.stop()).code, 1, "a second signal ends it immediately");
});
