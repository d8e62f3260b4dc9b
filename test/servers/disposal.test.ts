/**
 * What has to be closed can be declared with `using` and `await using`.
 */

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { openRedis } from "../../adapters/redis/mod.ts";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { openTwinFiles } from "../../adapters/twin-files/mod.ts";
import {
  createFallbackLimiter,
  type createMemoryLimiter,
  createService,
  createTwinList,
} from "../../core/mod.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import { createDatabase, skipWithoutPostgres } from "../postgres/database.ts";
import { createManualClock } from "../support/clock.ts";
import { serve } from "../support/runtime.ts";

test("await using closes a server, its service, twins, limiter and file, the last first", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "twins-disposal-"));
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, "twins"));
  const file = join(folder, "twins.db");
  const clock = createManualClock();
  const opened = { url: "", pending: 0 };
  {
    await using sqlite = await openSqlite(file);
    using limiter = createFallbackLimiter({ shared: away, clock });
    await limiter.take("key_1", { capacity: 1 });
    await using twins = await openTwinFiles(join(folder, "twins"), { defaultEngine: "echo", clock });
    const authenticate = () => ({ owner: "alice" });
    await using service = createService({ store: sqlite.store, limiter, twins, authenticate });
    await using server = await serve(service, { port: 0 });
    assert.equal((await fetch(`${server.url}/api/v1/twins`)).status, 200);
    opened.url = server.url;
    opened.pending = clock.pending;
  }
  assert.equal(opened.pending, 2); // for the shared limiter, and for changes of the folder
  assert.equal(clock.pending, 0);
  await assert.rejects(fetch(`${opened.url}/healthz`));
  await (await openSqlite(file)).close(); // no other process may open it before
});

test("await using closes a service, which then refuses messages", async () => {
  const store = createMemoryStore();
  const unused = createService({
    store,
    twins: createTwinList([]),
    authenticate: () => ({ owner: "alice" }),
  });
  {
    await using service = unused;
    await using _store = store;
    assert.equal((await service.fetch(new Request("http://twins.test/readyz"))).status, 200);
  }
  assert.equal((await unused.fetch(new Request("http://twins.test/readyz"))).status, 503);
});

test("using closes a connection to Redis, also one that is not made yet", async () => {
  const redis = await openRedis("redis://127.0.0.1:1");
  {
    using declared = redis;
    assert.equal(declared.limiter.isShared(), true);
  }
  await redis.limiter.take("key_1", { capacity: 1 });
});

const skip = await skipWithoutPostgres();
test("await using closes connections to PostgreSQL", { skip }, async () => {
  await using fresh = await createDatabase();
  const database = await openPostgres(fresh.url);
  {
    await using declared = database;
    await declared.store.ping();
  }
  await assert.rejects(database.store.ping());
});

const away: ReturnType<typeof createMemoryLimiter> = {
  take: () => Promise.reject(new Error("away")),
  takeBoth: () => Promise.reject(new Error("away")),
  peek: () => Promise.reject(new Error("away")),
  forget: () => Promise.reject(new Error("away")),
};
