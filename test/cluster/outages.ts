/**
 * What two server processes do while their PostgreSQL is down. Part of `run.ts`.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createPostgres, type PrivatePostgres, skipWithoutPrograms } from "../postgres/private-postgres.ts";
import { until } from "../support/until.ts";
import {
  beginReply,
  call,
  historyOf,
  newConversation,
  newKey,
  ready,
  type Servers,
  settings,
} from "./clients.ts";
import { type Cluster, createCluster, createSlowModel, type SlowModel } from "./server.ts";

if (skipWithoutPrograms) console.log(`# Outages are not tested: ${skipWithoutPrograms}.`);

describe("two servers whose PostgreSQL fails", { skip: skipWithoutPrograms }, () => {
  let model: SlowModel;
  let postgres: PrivatePostgres;
  let cluster: Cluster;
  let servers: Servers;
  let key = "";

  before(async () => {
    model = await createSlowModel();
    postgres = await createPostgres();
    postgres.start();
    cluster = await createCluster({
      ...settings,
      LEASE_MS: "30000", // the default: a reply survives shorter outages
      DATABASE_URL: postgres.url,
      MODEL_BASE_URL: model.url,
    });
    servers = await Promise.all([cluster.start(), cluster.start()]);
    ({ key } = await newKey(servers[0], "alice"));
  });
  after(async () => {
    await cluster.dispose();
    await postgres.dispose();
    model.close();
  });

  test("running replies survive three seconds without PostgreSQL", async (t) => {
    const path = await newConversation(servers[0], key, "slow");
    const { reading } = await beginReply(servers[0], key, path, 100);
    postgres.stop();
    await until("a server is not ready", 5000, async () => !(await ready(servers[0])));
    const refused = await call(servers[1], "POST", "/conversations", key, { twinId: "echo" });
    assert.equal(refused.status, 503);
    assert.ok(Number(refused.headers.get("Retry-After")) >= 1);
    await new Promise((resolve) => setTimeout(resolve, 2000));
    postgres.start();
    const readyMs = await until("both servers are ready", 5000, async () => {
      return (await Promise.all(servers.map(ready))).every(Boolean);
    });
    await reading.done;
    t.diagnostic(`both servers were ready ${readyMs} ms after PostgreSQL`);
    assert.match(reading.raw(), /"type":"complete"/);
    const [, reply] = await historyOf(servers[1], key, path);
    assert.deepEqual([reply?.status, reply?.content], ["completed", reading.text()]);
  });

  test("both servers have survived all of it", async () => {
    const codes = await Promise.all(servers.map((server) => server.kill("SIGTERM")));
    assert.deepEqual(codes, [0, 0]);
  });
});
