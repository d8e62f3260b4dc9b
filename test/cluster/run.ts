/**
 * Two server processes on one PostgreSQL and one Redis behave as one server. `npm run test:cluster`.
 *
 * Tests that break nothing use the machine's own PostgreSQL, if it answers on the standard port, with a scratch
 * database. Tests that break things have a private one, in a temporary folder. `CLUSTER_LOG=1` shows the servers'
 * warnings.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { createDatabase, skipWithoutPostgres } from "../postgres/database.ts";
import { createPostgres, skipWithoutPrograms } from "../postgres/private-postgres.ts";
import { createRedis, skipWithoutRedis } from "../redis/private-redis.ts";
import { dataOf, parseEvents, textOf } from "../support/harness.ts";
import { until } from "../support/until.ts";
import { useWholeApi } from "./api.ts";
import {
  beginReply,
  call,
  historyOf,
  newConversation,
  newKey,
  read,
  type Servers,
  settings,
} from "./clients.ts";
import { type Cluster, createCluster, createSlowModel, type SlowModel } from "./server.ts";
import "./limits.ts";
import "./outages.ts";
import "./proxies.ts";

const leaseMs = Number(settings.LEASE_MS);

const noPostgres = await skipWithoutPostgres();
const skip = (noPostgres && skipWithoutPrograms) || false;
if (skipWithoutRedis) console.log(`# The limits are shared in PostgreSQL: ${skipWithoutRedis}.`);
if (skip) console.log(`# Nothing is tested: ${noPostgres}, and ${skip}.`);

describe("two servers on one PostgreSQL and one Redis", { skip }, () => {
  const cleanUps: (() => void | Promise<void>)[] = [];
  let model: SlowModel;
  let cluster: Cluster;
  let servers: Servers;
  let key = "";

  before(async () => {
    model = await createSlowModel();
    cleanUps.push(() => model.close());
    const redis = skipWithoutRedis ? undefined : await createRedis();
    cleanUps.push(async () => redis?.dispose());
    await redis?.start();
    let serverUrl: string | undefined;
    if (noPostgres) {
      const postgres = await createPostgres();
      postgres.start();
      cleanUps.push(() => postgres.dispose());
      serverUrl = postgres.url;
    }
    const database = await createDatabase(serverUrl);
    cleanUps.push(() => database.drop());
    cluster = await createCluster({
      ...settings,
      DATABASE_URL: database.url,
      MODEL_BASE_URL: model.url,
      ...(redis && { REDIS_URL: redis.url }),
    });
    cleanUps.push(() => cluster.dispose());
    servers = await Promise.all([cluster.start(), cluster.start()]);
    ({ key } = await newKey(servers[0], "alice"));
  });
  after(async () => {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  });

  test("a reply that one server produces is followed live on the other", async (t) => {
    const [here, there] = servers;
    const path = await newConversation(here, key, "slow");
    const { reading, replyPath } = await beginReply(here, key, path, 60);
    const lags: number[] = [];
    let seen = 0;
    const following = read(await call(there, "GET", `${replyPath}/stream`, key), (text) => {
      const words = text.trimEnd().split(" ");
      const newest = Number(words.at(-1));
      if (words.length > seen && seen > 0) lags.push(Date.now() - newest);
      seen = words.length;
    });
    await Promise.all([reading.done, following.done]);
    assert.equal(following.text(), reading.text());
    assert.match(following.raw(), /"type":"complete"/);
    lags.sort((one, other) => one - other);
    const [median = 0, last = 0] = [lags[Math.floor(lags.length / 2)], lags.at(-1)];
    t.diagnostic(
      `new text reached the other server after ${median} ms (median), ${last} ms at most, ${lags.length} times`,
    );
    assert.ok(median < 300 && lags.length > 8);
  });

  test("a cancel on the other server stops the model and answers with the reply", async (t) => {
    const [here, there] = servers;
    const path = await newConversation(here, key, "slow");
    const { reading, replyPath } = await beginReply(here, key, path, 400);
    const cancelling = call(there, "POST", `${replyPath}/cancel`, key);
    const stoppedMs = await until("the model has stopped", 5000, () => model.streaming === 0);
    const reply = await dataOf<MessageResource>(await cancelling);
    assert.equal(reply.status, "cancelled");
    await reading.done;
    assert.equal(reading.text(), reply.content);
    t.diagnostic(`the model had stopped after ${stoppedMs} ms`);
  });

  test("erasing an end user on the other server stops their reply, and their client token is refused", async (t) => {
    const [here, there] = servers;
    const made = await call(here, "POST", "/client-tokens", key, { endUser: "ann" });
    const { token: clientToken } = await dataOf<{ token: string }>(made);
    const path = await newConversation(here, clientToken, "slow");
    const { reading } = await beginReply(here, clientToken, path, 400);
    const erased = await dataOf(await call(there, "DELETE", "/end-users/ann", key));
    assert.deepEqual(erased, { endUser: "ann", conversations: 1, messages: 2, clientTokens: 1 });
    const stoppedMs = await until("the model has stopped", 5000, () => model.streaming === 0);
    await reading.done;
    const last = parseEvents(reading.raw()).at(-1)?.data;
    assert.equal(last?.type === "complete" && last.message.status, "cancelled");
    const refusedMs = await until("the client token is refused", 5500, async () => {
      return (await call(here, "GET", "/twins", clientToken)).status === 401;
    });
    t.diagnostic(`the model had stopped after ${stoppedMs} ms, the token was refused after ${refusedMs} ms`);
    for (const server of servers) assert.equal((await call(server, "GET", path, key)).status, 404);
  });

  test("the whole API answers as its document says when each request goes to either server", () =>
    useWholeApi(servers));

  test("when a server is killed, the other ends its reply as interrupted and frees the conversation", async (t) => {
    const [here, there] = servers;
    const path = await newConversation(here, key, "slow");
    const { reading, replyPath } = await beginReply(here, key, path, 400);
    const following = read(await call(there, "GET", `${replyPath}/stream`, key));
    await until("the other server sees text", 5000, () => following.text() !== "");
    const cut = assert.rejects(reading.done);
    await here.kill("SIGKILL");
    const startedAt = performance.now();
    await following.done;
    const toldMs = Math.round(performance.now() - startedAt);
    t.diagnostic(`the follower was told after ${toldMs} ms, the lease is ${leaseMs} ms`);
    assert.ok(toldMs < 20_000, "the lease is LEASE_MS, and not the default of 30 seconds");
    await cut;
    const events = parseEvents(following.raw());
    const last = events.at(-1)?.data;
    assert.equal(last?.type === "error" && last.error.code, "interrupted");
    const [, reply] = await historyOf(there, key, path);
    assert.deepEqual([reply?.status, reply?.content], ["failed", textOf(events)]);
    const next = await call(there, "POST", `${path}/messages`, key, { content: "1" });
    assert.equal((await dataOf<MessageResource>(next)).status, "completed");
    servers[0] = await cluster.start();
  });
});
