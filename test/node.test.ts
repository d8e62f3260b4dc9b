import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { mock, test } from "node:test";
import { serve } from "../adapters/node.ts";
import {
  createEchoEngine,
  createMemoryLimiter,
  createMemoryStore,
  createService,
  createTwinList,
} from "../core/mod.ts";

function newService(verifyToken: () => Promise<string>) {
  return createService({
    store: createMemoryStore(),
    twins: createTwinList([]),
    engines: { echo: createEchoEngine() },
    limiter: createMemoryLimiter(),
    verifyToken,
  });
}

test("a shutdown does not wait for connections that never asked for anything", {
  timeout: 20_000,
}, async () => {
  const server = await serve(
    newService(async () => "alice"),
    { port: 0 },
  );
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  const closed = once(socket, "close");
  await once(socket, "connect");
  assert.equal((await fetch(`${server.url}/healthz`)).status, 200); // the server has accepted both by now
  mock.timers.enable({ apis: ["setTimeout"] }); // the time limit for last answers never comes
  try {
    await server.close();
    await closed;
  } finally {
    mock.timers.reset();
  }
});

test("an answer that a shutdown overtakes tells that its connection closes", async () => {
  let release = (_owner: string) => {};
  let asked = () => {};
  const wasAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const service = newService(() => {
    asked();
    return new Promise((resolve) => {
      release = resolve;
    });
  });
  const server = await serve(service, { port: 0 });
  const answer = fetch(`${server.url}/api/v1/auth/api-keys`, { headers: { Authorization: "Bearer a.b.c" } });
  await wasAsked;
  const closed = server.close({ graceMs: 0 });
  release("alice");
  const { status, headers } = await answer;
  assert.deepEqual([status, headers.get("connection")], [200, "close"]);
  await closed;
});
