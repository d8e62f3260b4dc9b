/**
 * The buckets that two server processes share, under more requests than either takes at once. Part of `run.ts`.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import type { ClientTokenResource, UsageResource } from "../../core/wire/schemas.ts";
import { createDatabase, skipWithoutPostgres } from "../postgres/database.ts";
import { createPostgres, skipWithoutPrograms } from "../postgres/private-postgres.ts";
import { createRedis, type PrivateRedis, skipWithoutRedis } from "../redis/private-redis.ts";
import { dataOf } from "../support/harness.ts";
import { sendBytes } from "../support/raw-socket.ts";
import { call, newKey, type Servers } from "./clients.ts";
import { type Cluster, createCluster } from "./server.ts";

const requests = 20_000;
const requestsPerSocket = 20;

/** The tokens in a key's full bucket, and in an end user's. */
const capacity = 500;
const endUserCapacity = 300;

/** The most tokens that a bucket gains in a time. */
const gained = (elapsedMs: number, tokens: number) => Math.floor((elapsedMs * tokens) / 3_600_000);

const skip = await skipWithoutPostgres();

for (const limits of ["Redis", "PostgreSQL"]) {
  describe(`${requests} requests at once, limits in ${limits}`, {
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

    /** Sends requests with these credentials to the servers in turn, all at once, and returns the answers' statuses. */
    async function askAtOnce(count: number, ...credentials: readonly string[]): Promise<string[]> {
      const sockets = Array.from({ length: count / requestsPerSocket }, (_, n) =>
        askOnOneSocket(servers[n % 2 === 0 ? 0 : 1].url, credentials[n % credentials.length] ?? ""),
      );
      return (await Promise.all(sockets)).flat();
    }

    test("the two servers admit as many as an end user may send, not one more, and refused ones cost the key nothing", async (t) => {
      const { key } = await newKey(servers[0], "alice");
      const fields = { endUser: "ann", requestsPerHour: endUserCapacity };
      const tokens = await Promise.all(
        servers.map(async (server) => {
          const made = await call(server, "POST", "/client-tokens", key, fields);
          return (await dataOf<ClientTokenResource>(made)).token;
        }),
      );
      const startedAt = performance.now();
      const [statuses, others] = await Promise.all([askAtOnce(requests, ...tokens), askAtOnce(100, key)]);
      const elapsedMs = performance.now() - startedAt;
      const admitted = countOf(statuses, "200");
      t.diagnostic(`${admitted} admitted in ${Math.round(elapsedMs)} ms`);
      assert.equal(countOf(statuses, "429"), requests - admitted);
      assert.ok(admitted >= endUserCapacity);
      assert.ok(admitted <= endUserCapacity + gained(elapsedMs, endUserCapacity));
      assert.equal(countOf(others, "200"), others.length);
      const { remaining } = await dataOf<UsageResource>(await call(servers[0], "GET", "/usage", key));
      const left = capacity - tokens.length - others.length - admitted;
      assert.ok(remaining >= left, `${remaining} of ${left} are left`);
      assert.ok(remaining <= left + gained(performance.now() - startedAt, capacity) + 1);
    });
  });
}

function countOf(statuses: readonly string[], wanted: string): number {
  return statuses.filter((status) => status === wanted).length;
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
async function askOnOneSocket(url: string, credential: string): Promise<string[]> {
  const first = `GET /api/v1/twins/echo HTTP/1.1\r\nHost: ${new URL(url).host}\r\nAuthorization: Bearer ${credential}\r\n`;
  const rest = `${first}\r\n`.repeat(requestsPerSocket - 1);
  const text = await sendBytes(url, rest, `${first}Connection: close\r\n\r\n`);
  return Array.from(text.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status = ""]) => status);
}
