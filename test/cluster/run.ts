/**
 * Two server processes on one PostgreSQL and one Redis behave as one server. `npm run test:cluster`.
 *
 * Tests that break nothing use the machine's own PostgreSQL and Redis, if they answer on the standard ports, with
 * a scratch database. Tests that break things have private ones, in a temporary folder. `CLUSTER_LOG=1` shows the
 * servers' warnings.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { MessageResource } from "../../core/mod.ts";
import { createDatabase, skipWithoutPostgres } from "../postgres/database.ts";
import { createPostgres, skipWithoutPrograms } from "../postgres/private-postgres.ts";
import { createRedis, skipWithoutRedis } from "../redis/private-redis.ts";
import { createGate } from "../support/gate.ts";
import { dataOf, errorOf, parseEvents, textOf } from "../support/harness.ts";
import { until } from "../support/until.ts";
import { useWholeApi } from "./api.ts";
import {
  beginReply,
  call,
  either,
  historyOf,
  newConversation,
  newKey,
  read,
  type Servers,
  settings,
} from "./clients.ts";
import { type Cluster, createCluster, createSlowModel, type SlowModel, token } from "./server.ts";
import "./limits.ts";
import "./outages.ts";
import "./proxies.ts";

const standardRedis = "redis://127.0.0.1:6379/9";

const leaseMs = Number(settings.LEASE_MS);

const noPostgres = await skipWithoutPostgres();
const skip = (noPostgres && skipWithoutPrograms) || false;
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
    const redisUrl = await standardRedisOrPrivate(cleanUps);
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
      ...(redisUrl && { REDIS_URL: redisUrl }),
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

  test("a broken stream is resumed on the other server, with no text lost or duplicated", async () => {
    const [here, there] = servers;
    const path = await newConversation(here, key, "slow");
    const { reading, replyPath } = await beginReply(here, key, path, 40);
    await until("some text has arrived", 5000, () => reading.text().length > 100);
    reading.stop();
    await reading.done;
    const text = reading.text();
    const rest = read(
      await call(there, "GET", `${replyPath}/stream`, key, undefined, {
        "Last-Event-ID": String(text.length),
      }),
    );
    await rest.done;
    const stored = await dataOf<MessageResource>(await call(there, "GET", replyPath, key));
    assert.equal(text + rest.text(), stored.content);
    assert.equal(stored.status, "completed");
  });

  test("identical sends with one idempotency key produce one reply, wherever they arrive", async () => {
    const path = await newConversation(servers[0], key, "slow");
    const headers = { "Idempotency-Key": "once" };
    const sends = Array.from({ length: 12 }, (_, n) =>
      call(servers[n % 2 === 0 ? 0 : 1], "POST", `${path}/messages`, key, { content: "10" }, headers),
    );
    const replies = await Promise.all(sends.map(async (sent) => dataOf<MessageResource>(await sent)));
    assert.equal(new Set(replies.map(({ id }) => id)).size, 1);
    assert.equal(new Set(replies.map(({ content }) => content)).size, 1);
    assert.equal((await historyOf(servers[1], key, path)).length, 2);
  });

  test("of concurrent sends into one conversation one begins a reply, and the others are told which", async () => {
    const path = await newConversation(servers[0], key, "slow");
    const answers: Response[] = [];
    const othersAnswered = createGate();
    const sends = Array.from({ length: 8 }, async (_, n) => {
      const server = servers[n % 2 === 0 ? 0 : 1];
      answers.push(await call(server, "POST", `${path}/messages`, key, { content: "400" }));
      if (answers.length === 7) othersAnswered.open();
    });
    await othersAnswered.opened; // the reply runs until then, however late they arrive
    const replyIds = await Promise.all(
      answers.map(async (answer) => (await errorOf(answer)).details?.messageId),
    );
    await call(servers[1], "POST", `${path}/messages/${replyIds[0]}/cancel`, key);
    await Promise.all(sends);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [...Array(7).fill(409), 200],
    );
    for (const last of answers.slice(7)) replyIds.push((await dataOf<MessageResource>(last)).id);
    assert.equal(new Set(replyIds).size, 1);
    assert.equal((await historyOf(servers[1], key, path)).length, 2);
  });

  test("deleting a conversation on the other server stops its reply", async (t) => {
    const [here, there] = servers;
    const path = await newConversation(here, key, "slow");
    const { reading } = await beginReply(here, key, path, 400);
    assert.equal((await call(there, "DELETE", path, key)).status, 204);
    const stoppedMs = await until("the model has stopped", 5000, () => model.streaming === 0);
    await reading.done;
    for (const server of servers) assert.equal((await call(server, "GET", path, key)).status, 404);
    t.diagnostic(`the model had stopped after ${stoppedMs} ms`);
  });

  test("a revoked key is refused by the other server", async (t) => {
    const [here, there] = servers;
    const revoked = await newKey(here, "bob");
    assert.equal((await call(there, "GET", "/twins", revoked.key)).status, 200);
    await call(here, "DELETE", `/auth/api-keys/${revoked.id}`, await token("bob"));
    const refusedMs = await until("the key is refused", 5500, async () => {
      return (await call(there, "GET", "/twins", revoked.key)).status === 401;
    });
    t.diagnostic(`the key was refused after ${refusedMs} ms`);
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

  test("both servers share one bucket, and admit not one request too many", async () => {
    const { key: reader } = await newKey(servers[0], "carol", "read_only");
    const startedAt = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 300 }, () => call(either(servers), "GET", "/twins", reader)),
    );
    const refilled = Math.floor((performance.now() - startedAt) / 18_000);
    const admitted = answers.filter(({ status }) => status === 200).length;
    assert.ok(admitted >= 200 && admitted <= 200 + refilled, `${admitted} admitted`);
    assert.ok(answers.every(({ status }) => status === 200 || status === 429));
  });

  test("conversations whose requests go to either server are as complete as on one", async () => {
    const { key: talker } = await newKey(servers[0], "dave");
    await Promise.all(
      Array.from({ length: 20 }, async (_, number) => {
        const path = await newConversation(either(servers), talker, "echo");
        for (const word of ["one", "two", "three"]) {
          const content = `${word} ${number}`;
          const sent = await call(either(servers), "POST", `${path}/messages`, talker, { content });
          assert.equal((await dataOf<MessageResource>(sent)).content, content);
        }
        const contents = (await historyOf(either(servers), talker, path)).map(({ content }) => content);
        const expected = ["one", "two", "three"].flatMap((word) => Array(2).fill(`${word} ${number}`));
        assert.deepEqual(contents, expected);
      }),
    );
    const list = await call(servers[1], "GET", "/conversations", talker);
    assert.equal(((await list.json()) as { pagination: { total: number } }).pagination.total, 20);
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

  test("a server that is told to stop finishes its replies while the other keeps serving, and exits with 0", async () => {
    const [here, there] = servers;
    const path = await newConversation(here, key, "slow");
    const { reading } = await beginReply(here, key, path, 30);
    const stopping = here.kill("SIGTERM");
    const elsewhere = await newConversation(there, key, "echo");
    assert.equal((await call(there, "POST", `${elsewhere}/messages`, key, { content: "Hi" })).status, 200);
    await reading.done;
    assert.match(reading.raw(), /"type":"complete"/);
    assert.equal(await stopping, 0);
    assert.equal(await there.kill("SIGTERM"), 0);
  });
});

/** The address of the machine's own Redis, of a private one, or none. */
async function standardRedisOrPrivate(cleanUps: (() => void | Promise<void>)[]): Promise<string | undefined> {
  const { createClient } = await import("redis");
  const client = createClient({
    url: standardRedis,
    socket: { reconnectStrategy: false, connectTimeout: 1000 },
  });
  const failed = new Promise<boolean>((resolve) => client.once("error", () => resolve(false)));
  const connected = client.connect().then(
    () => true,
    () => false,
  );
  const found = await Promise.race([failed, connected]);
  client.destroy();
  if (found) return standardRedis;
  if (skipWithoutRedis) {
    console.log(`# The limits are shared in PostgreSQL: ${skipWithoutRedis}.`);
    return undefined;
  }
  const redis = await createRedis();
  await redis.start();
  cleanUps.push(() => redis.dispose());
  return redis.url;
}
