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

test("a shutdown does not wait for connections that never asked for anything", {
  timeout: 20_000,
}, async () => {
  const service = createService({
    store: createMemoryStore(),
    twins: createTwinList([]),
    engines: { echo: createEchoEngine() },
    limiter: createMemoryLimiter(),
    verifyToken: async () => "alice",
  });
  const server = await serve(service, { port: 0 });
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
