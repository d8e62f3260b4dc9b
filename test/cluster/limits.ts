/**
 * The buckets that two server processes share, under more requests than either takes at once. Part of `run.ts`.
 */

import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { createDatabase, skipWithoutPostgres } from "../postgres/database.ts";
import { createPostgres, skipWithoutPrograms } from "../postgres/private-postgres.ts";
import { createRedis, type PrivateRedis, skipWithoutRedis } from "../redis/private-redis.ts";
import { newKey, type Servers } from "./clients.ts";
import { type Cluster, createCluster } from "./server.ts";

const requests = 20_000;
const requestsPerSocket = 20;

/** The tokens in a key's full bucket, and how long it takes to gain another, in milliseconds. */
const capacity = 500;
const intervalMs = 7200;

const skip = await skipWithoutPostgres();

for (const limits of ["Redis", "PostgreSQL"]) {
  describe(`${requests} requests at once with one key, limits in ${limits}`, {
    skip: skip || (limits === "Redis" && skipWithoutRedis),
  }, () => {
    let redis: PrivateRedis | undefined;
    let database: Awaited<ReturnType<typeof createDatabase>>;
    let cluster: Cluster;
    let servers: Servers;

    before(async () => {
      database = await createDatabase();
      if (limits === "Redis") {
        redis = await createRedis();
        await redis.start();
      }
      cluster = await createCluster({ DATABASE_URL: database.url, ...(redis && { REDIS_URL: redis.url }) });
      servers = await Promise.all([cluster.start(), cluster.start()]);
    });
    after(async () => {
      await cluster.dispose();
      await redis?.dispose();
      await database.drop();
    });

    test("the two servers admit as many requests as the key allows, and not one more", async (t) => {
      const { key } = await newKey(servers[0], "alice");
      const startedAt = performance.now();
      const sockets = Array.from({ length: requests / requestsPerSocket }, (_, n) =>
        askOnOneSocket(servers[n % 2 === 0 ? 0 : 1].url, key),
      );
      const statuses = (await Promise.all(sockets)).flat();
      const elapsedMs = performance.now() - startedAt;
      const admitted = statuses.filter((status) => status === "200").length;
      t.diagnostic(`${admitted} admitted in ${Math.round(elapsedMs)} ms`);
      assert.equal(statuses.length, requests);
      assert.equal(statuses.filter((status) => status === "429").length, requests - admitted);
      assert.ok(admitted >= capacity && admitted <= capacity + Math.floor(elapsedMs / intervalMs));
    });
  });
}

test("no token that was taken is forgotten when PostgreSQL crashes", {
  skip: skipWithoutPrograms,
}, async (t) => {
  const postgres = await createPostgres();
  t.after(() => postgres.dispose());
  postgres.start();
  const ids = Array.from({ length: 20 }, (_, n) => `key ${n}`);
  const before = await openPostgres(postgres.url);
  t.after(() => before.close());
  await Promise.all(ids.map((id) => before.limiter.take(id, { capacity: 200 })));
  postgres.crash();
  postgres.start();
  const after = await openPostgres(postgres.url);
  t.after(() => after.close());
  for (const id of ids) assert.ok((await after.limiter.peek(id, { capacity: 200 })).debt > 0, id);
});

/** Sends many requests down one socket without waiting, and resolves with the statuses of the answers. */
function askOnOneSocket(url: string, key: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const { hostname, port, host } = new URL(url);
    const socket = connect(Number(port), hostname);
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.once("error", reject);
    socket.once("close", () =>
      resolve(Array.from(text.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status = ""]) => status)),
    );
    const head = `GET /api/v1/twins/echo HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\n`;
    socket.write(`${head}\r\n`.repeat(requestsPerSocket - 1));
    socket.write(`${head}Connection: close\r\n\r\n`);
  });
}
