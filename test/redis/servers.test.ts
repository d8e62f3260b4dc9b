/**
 * Several servers of Redis: a cluster, and a primary that sentinels know.
 */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { parseRedisAddress } from "../../adapters/redis/address.ts";
import { openRedis } from "../../adapters/redis/mod.ts";
import type { Log } from "../../core/base/log.ts";
import { freePort, untilListening } from "../support/ports.ts";
import { until } from "../support/until.ts";
import { createRedis, type PrivateRedis, skipWithoutCluster, skipWithoutRedis } from "./private-redis.ts";

const policy = { capacity: 20 };

async function startRedis(t: TestContext, ...flags: string[]): Promise<PrivateRedis> {
  const redis = await createRedis(...flags);
  t.after(() => redis.dispose());
  await redis.start();
  return redis;
}

async function open(t: TestContext, url: string) {
  const entries: string[] = [];
  const log: Log = (level, message) => {
    if (level !== "debug") entries.push(`${level}: ${message}`);
  };
  const { limiter, close } = await openRedis(url, { log, timeoutMs: 5_000 });
  t.after(close);
  return { limiter, entries };
}

test("addresses of one server, of a cluster and of sentinels are read, and others are refused", () => {
  const login = { username: "me", password: "p@ss" };
  const none = { username: undefined, password: undefined };
  assert.deepEqual(parseRedisAddress("redis://127.0.0.1:6379/1"), {
    kind: "single",
    url: "redis://127.0.0.1:6379/1",
  });
  assert.deepEqual(parseRedisAddress("rediss+cluster://me:p%40ss@a:1,[::1]:2,c"), {
    kind: "cluster",
    tls: true,
    hosts: [
      { host: "a", port: 1 },
      { host: "::1", port: 2 },
      { host: "c", port: 6379 },
    ],
    ...login,
  });
  assert.deepEqual(parseRedisAddress("redis+sentinel://a,b:26380/mymaster/2"), {
    kind: "sentinel",
    tls: false,
    hosts: [
      { host: "a", port: 26379 },
      { host: "b", port: 26380 },
    ],
    name: "mymaster",
    database: 2,
    ...none,
  });
  for (const wrong of [
    "redis+sentinel://a:26379",
    "redis+cluster://a:6379/name",
    "redis+cluster://",
    "redis+cluster://a:99999",
    "redis+cluster://a,,b",
    "redis+more://a",
    "http://a",
    "redis//a",
  ]) {
    assert.equal(parseRedisAddress(wrong), undefined, wrong);
  }
});

describe("several servers of Redis", { skip: skipWithoutRedis }, () => {
  test("a wrong password stops the start, and is not told", async (t) => {
    const { port } = await startRedis(t, "--requirepass", "right");
    for (const url of [`redis://:wr0ng@127.0.0.1:${port}`, `redis+cluster://:wr0ng@127.0.0.1:${port}`]) {
      await assert.rejects(openRedis(url), (error: Error) => {
        assert.match(error.message, /^Redis refuses the user and password of the address.+WRONGPASS/);
        assert.doesNotMatch(error.message, /wr0ng/);
        return true;
      });
    }
  });

  test("processes share the limits of a cluster; a node that is given as the only one is told", {
    timeout: 60_000,
    skip: skipWithoutCluster,
  }, async (t) => {
    const enabled = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"];
    const nodes = await Promise.all(
      [1, 2, 3].map(async () => startRedis(t, ...enabled, "--cluster-port", String(await freePort()))),
    );
    const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
    const made = spawnSync("redis-cli", ["--cluster", "create", ...addresses, "--cluster-yes"], {
      encoding: "utf8",
    });
    assert.equal(made.status, 0, made.stdout + made.stderr);
    const state = (port: number) =>
      spawnSync("redis-cli", ["-p", String(port), "cluster", "info"], { encoding: "utf8" }).stdout;
    await until("the nodes know each other", 20_000, () =>
      nodes.every(({ port }) => state(port).includes("cluster_state:ok")),
    );
    const url = `redis+cluster://${addresses.slice(0, 2).join(",")}`;
    const [one, other] = [await open(t, url), await open(t, url)];
    for (const id of ["a", "b", "c", "d"]) {
      const takes = Array.from({ length: 30 }, (_, n) => (n % 2 ? one : other).limiter.take(id, policy));
      const allowed = (await Promise.all(takes)).filter((decision) => decision.allowed).length;
      assert.equal(allowed, 20, id);
    }
    const [first, second] = await one.limiter.takeBoth({ id: "a/7", policy }, { id: "a", policy });
    assert.deepEqual([first.allowed, second.allowed], [true, false]);
    assert.deepEqual([one.entries, other.entries], [[], []]);

    const single = await open(t, nodes[0]?.url ?? "");
    await until("the warning is logged", 5_000, () => single.entries.length > 0);
    assert.match(single.entries.join(), /node of a cluster: its address must begin with redis\+cluster:\/\//);
  });

  test("after a failover, the primary that the sentinels name has the limits", {
    timeout: 60_000,
  }, async (t) => {
    const primary = await startRedis(t);
    const replica = await startRedis(t, "--replicaof", "127.0.0.1", String(primary.port));
    const folder = await mkdtemp(join(tmpdir(), "twins-sentinel-"));
    const port = await freePort();
    const settings = [
      `port ${port}`,
      "bind 127.0.0.1",
      `sentinel monitor twins 127.0.0.1 ${primary.port} 1`,
      "sentinel down-after-milliseconds twins 500",
      "sentinel failover-timeout twins 3000",
    ];
    await writeFile(join(folder, "sentinel.conf"), `${settings.join("\n")}\n`);
    const sentinel = spawn("redis-server", [join(folder, "sentinel.conf"), "--sentinel"], {
      stdio: "ignore",
    });
    t.after(async () => {
      sentinel.kill("SIGKILL");
      await rm(folder, { recursive: true });
    });
    await untilListening(port);
    const known = () =>
      spawnSync("redis-cli", ["-p", String(port), "sentinel", "replicas", "twins"], { encoding: "utf8" })
        .stdout;
    await until("the sentinel knows the replica", 20_000, () => known().includes(String(replica.port)));

    const { limiter } = await open(t, `redis+sentinel://127.0.0.1:${port}/twins`);
    for (let n = 0; n < 20; n++) await limiter.take("key", policy);
    assert.equal((await limiter.take("key", policy)).allowed, false);
    await primary.stop();
    await limiter.take("key", policy); // perhaps with buckets of its own
    await until("the limits are shared again", 30_000, async () => {
      if (!limiter.isShared()) return false;
      const { allowed } = await limiter.take("key", policy);
      return limiter.isShared() && !allowed;
    });
  });
});
