/**
 * What two server processes do while their PostgreSQL or their Redis is down. Part of `run.ts`.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { MessageResource } from "../../core/mod.ts";
import { connect } from "../postgres/database.ts";
import { createPostgres, type PrivatePostgres, skipWithoutPrograms } from "../postgres/private-postgres.ts";
import { createRedis, type PrivateRedis, skipWithoutRedis } from "../redis/private-redis.ts";
import { dataOf } from "../support/harness.ts";
import { until } from "../support/until.ts";
import {
  beginReply,
  call,
  either,
  historyOf,
  newConversation,
  newKey,
  ready,
  type Servers,
  settings,
} from "./clients.ts";
import { type Cluster, createCluster, createSlowModel, type SlowModel } from "./server.ts";

const skipBreaking = skipWithoutPrograms || skipWithoutRedis;
if (skipBreaking) console.log(`# Outages are not tested: ${skipBreaking}.`);

describe("two servers whose PostgreSQL and Redis fail", { skip: skipBreaking }, () => {
  let model: SlowModel;
  let postgres: PrivatePostgres;
  let redis: PrivateRedis;
  let cluster: Cluster;
  let servers: Servers;
  let key = "";

  before(async () => {
    model = await createSlowModel();
    postgres = await createPostgres();
    postgres.start();
    redis = await createRedis();
    await redis.start();
    cluster = await createCluster({
      ...settings,
      LEASE_MS: "30000", // the default: a reply survives shorter outages
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      MODEL_BASE_URL: model.url,
    });
    servers = await Promise.all([cluster.start(), cluster.start()]);
    ({ key } = await newKey(servers[0], "alice"));
  });
  after(async () => {
    await cluster.dispose();
    await redis.dispose();
    await postgres.dispose();
    model.close();
  });

  /** Sends until told to stop, and counts the answers. All that was acknowledged must be stored in the end. */
  async function sendAlong() {
    const { key: sender } = await newKey(servers[0], "sender");
    const paths = await Promise.all(servers.map((server) => newConversation(server, sender, "echo")));
    const statuses = new Map<number, number>();
    const sent: { readonly path: string; readonly id: string }[] = [];
    let going = true;
    const done = (async () => {
      for (let number = 0; going && number < 400; number++) {
        const path = paths[number % 2] ?? "";
        const answer = await call(either(servers), "POST", `${path}/messages`, sender, {
          content: `${number}`,
        });
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        if (answer.status === 200) sent.push({ path, id: (await dataOf<MessageResource>(answer)).id });
        else await answer.arrayBuffer();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    return {
      statuses,
      async stop() {
        going = false;
        await done;
        for (const path of new Set(sent.map((each) => each.path))) {
          const ids = new Set<string>();
          for (let page = 1, more = true; more; page++) {
            const answer = await call(servers[0], "GET", `${path}/messages?limit=100&page=${page}`, sender);
            const list = (await answer.json()) as {
              data: MessageResource[];
              pagination: { hasMore: boolean };
            };
            for (const { id } of list.data) ids.add(id);
            more = list.pagination.hasMore;
          }
          for (const each of sent)
            if (each.path === path) assert.ok(ids.has(each.id), "an acknowledged reply is stored");
        }
      },
    };
  }

  test("killed connections cost at most a few 503s", async (t) => {
    const admin = await connect(postgres.url);
    const sending = await sendAlong();
    for (let round = 0; round < 30; round++) {
      await admin.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'twin-service'",
      );
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await until("both servers are ready", 5000, async () =>
      (await Promise.all(servers.map(ready))).every(Boolean),
    );
    await sending.stop();
    await admin.end();
    t.diagnostic(`answers: ${JSON.stringify(Object.fromEntries(sending.statuses))}`);
    // 409: the previous reply could not be stored at first, and is still being stored.
    for (const status of sending.statuses.keys()) assert.ok([200, 409, 503].includes(status), `${status}`);
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

  test("each server limits alone while Redis is down, and both share one bucket again once it is back", async (t) => {
    const { key: reader } = await newKey(servers[0], "eve", "read_only");
    await redis.stop();
    const alone = await Promise.all(
      Array.from({ length: 450 }, (_, n) => call(servers[n % 2 === 0 ? 0 : 1], "GET", "/twins", reader)),
    );
    const admitted = alone.filter(({ status }) => status === 200).length;
    assert.ok(admitted >= 400 && admitted <= 402, `${admitted} admitted`);
    assert.ok(alone.every(({ status }) => status === 200 || status === 429));
    await redis.start();
    const sharedMs = await until("the bucket is shared again", 5000, async () => {
      const answers = await Promise.all(servers.map((server) => call(server, "GET", "/twins", reader)));
      return answers.every(({ status }) => status === 200);
    });
    t.diagnostic(`the bucket was shared again ${sharedMs} ms after Redis`);
  });

  test("both servers have survived all of it", async () => {
    const codes = await Promise.all(servers.map((server) => server.kill("SIGTERM")));
    assert.deepEqual(codes, [0, 0]);
  });
});
