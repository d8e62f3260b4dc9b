import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { after, before, describe, type TestContext, test } from "node:test";
import { setImmediate as turnEnd } from "node:timers/promises";
import { createClient } from "redis";
import { createRedisLimiter, type RedisScriptClient } from "../../adapters/redis/limiter.ts";
import { openRedis } from "../../adapters/redis/mod.ts";
import type { Log } from "../../core/base/log.ts";
import { limiterContract } from "../contracts/limiter.contract.ts";
import { openNetwork } from "../postgres/faults.ts";
import { createGate } from "../support/gate.ts";
import { freePort } from "../support/ports.ts";
import { until } from "../support/until.ts";
import { createRedis, type PrivateRedis, skipWithoutRedis } from "./private-redis.ts";

const policy = { capacity: 200 };

/** For many requests at once, on machines that are busy with other tests. */
const patient = { timeoutMs: 30_000 };

/** A private Redis, which runs, and is removed after the test. */
async function startRedis(t: TestContext, ...flags: string[]): Promise<PrivateRedis> {
  const redis = await createRedis(...flags);
  t.after(() => redis.dispose());
  await redis.start();
  return redis;
}

/** A connection that is closed after the test, and what it logs. */
async function open(t: TestContext, url: string) {
  const entries: string[] = [];
  const log: Log = (level, message) => {
    if (level !== "debug") entries.push(`${level}: ${message}`);
  };
  const { limiter, close } = await openRedis(url, { log });
  t.after(close);
  return { limiter, entries };
}

const failed = "warn: the connection to Redis failed";
const alone = "warn: the shared rate limiter cannot be reached; this process limits alone";
const back = "info: the shared rate limiter is back";

/** A limiter on a client whose calls are all answered by this function. */
function limiterOn(evalSha: RedisScriptClient["evalSha"], options?: { readonly timeoutMs: number }) {
  return createRedisLimiter({ evalSha, eval: evalSha }, options);
}

async function becomeReplica({ url }: PrivateRedis): Promise<void> {
  const admin = createClient({ url });
  await admin.connect();
  await admin.replicaOf("127.0.0.1", 1);
  admin.destroy();
}

describe("Redis", { skip: skipWithoutRedis }, () => {
  let redis: PrivateRedis;
  before(async () => {
    redis = await createRedis();
    await redis.start();
  });
  after(() => redis.dispose());

  async function connect() {
    const client = createClient({ url: redis.url, commandOptions: { timeout: patient.timeoutMs } });
    await client.connect();
    return client;
  }

  async function connectFor(t: TestContext) {
    const client = await connect();
    t.after(() => client.destroy());
    return { client, limiter: createRedisLimiter(client, patient) };
  }

  limiterContract("Redis", async () => {
    let clients = await Promise.all([connect(), connect()]);
    return {
      limiter: createRedisLimiter(clients[0], patient),
      other: createRedisLimiter(clients[1], patient),
      async reopen() {
        for (const client of clients) client.destroy();
        clients = await Promise.all([connect(), connect()]);
        return createRedisLimiter(clients[0], patient);
      },
      async dispose() {
        for (const client of clients) client.destroy();
      },
    };
  });

  test("the process's own clock does not matter", async (t) => {
    const { limiter } = await connectFor(t);
    for (let n = 0; n < 200; n++) await limiter.take("clock", policy);
    t.mock.timers.enable({ apis: ["Date"], now: Date.now() + 3_600_000 });
    assert.equal((await limiter.take("clock", policy)).allowed, false);
  });

  test("a bucket from before Redis' clock was set back counts down again once it is looked at", async (t) => {
    const { client, limiter } = await connectFor(t);
    const inTwoHours = (Date.now() + 7_200_000) * 1000;
    await client.hSet("twins:limit:ahead", { debt: "3600000000", at: String(inTwoHours) });
    assert.deepEqual(await limiter.peek("ahead", policy), { allowed: false, debt: 3_600_000_000 });
    assert.ok((await limiter.peek("ahead", policy)).debt < 3_600_000_000);
    assert.ok((await client.pTTL("twins:limit:ahead")) > 3_500_000);
  });

  test("a Redis that has forgotten the script is sent it again", async (t) => {
    const { client, limiter } = await connectFor(t);
    await limiter.take("script", policy);
    await client.scriptFlush();
    assert.equal((await limiter.take("script", policy)).debt > 18_000_000, true);
  });

  test("a bucket's key expires when the bucket is full", async (t) => {
    const { client, limiter } = await connectFor(t);
    await limiter.take("expiry", policy);
    const left = await client.pTTL("twins:limit:expiry");
    assert.ok(left > 17_000 && left <= 18_001, `${left} ms`);
  });

  test("a process that was busy for longer than the time-out does not blame Redis for it", async () => {
    const evalSha = async () => {
      for (let turn = 0; turn < 3; turn++) await turnEnd(); // sent, read
      return [1, 0];
    };
    const limiter = limiterOn(evalSha, { timeoutMs: 400 });
    const taken = limiter.take("busy", policy);
    const busyUntil = performance.now() + 450;
    while (performance.now() < busyUntil);
    assert.equal((await taken).allowed, true);
  });

  test("a request that waits behind others that are answered does not time out", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const answers: (() => void)[] = [];
    const evalSha = () => new Promise((resolve) => answers.push(() => resolve([1, 0])));
    const limiter = limiterOn(evalSha, { timeoutMs: 80 });
    const taken = Promise.all(Array.from({ length: 12 }, (_, n) => limiter.take(`key ${n}`, policy)));
    await turnEnd();
    assert.equal(answers.length, 12);
    for (const answer of answers) {
      t.mock.timers.tick(40);
      answer();
      await turnEnd();
    }
    assert.ok((await taken).every(({ allowed }) => allowed));
  });

  test("requests with one key that arrive during a call for it share the next call", async () => {
    const asked: (string | undefined)[] = [];
    const evalSha: RedisScriptClient["evalSha"] = async (_, { arguments: [count] }) => {
      asked.push(count);
      await turnEnd();
      return [2, 36_000_000];
    };
    const limiter = limiterOn(evalSha);
    const decisions = await Promise.all(Array.from({ length: 4 }, () => limiter.take("key", policy)));
    assert.deepEqual(asked, ["1", "3"]);
    assert.deepEqual(decisions.slice(1), [
      { allowed: true, debt: 18_000_000 },
      { allowed: true, debt: 36_000_000 },
      { allowed: false, debt: 36_000_000 },
    ]);
  });

  test("a Redis that does not answer in time is an error", { timeout: 10_000 }, async () => {
    const limiter = limiterOn(() => new Promise(() => {}), { timeoutMs: 1 });
    for (const asked of [limiter.take("silent", policy), limiter.forget(["silent"])]) {
      await assert.rejects(asked, /Redis did not answer within 1 ms/);
    }
  });

  test("by default, Redis has half a second: on a busy machine it may have to wait for a processor", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const answer = createGate();
    const taken = limiterOn(() => answer.opened.then(() => [1, 0])).take("slow", policy);
    await turnEnd();
    for (let waited = 0; waited < 475; waited += 25) t.mock.timers.tick(25);
    await turnEnd();
    answer.open();
    assert.equal((await taken).allowed, true);
  });

  test("a Redis that hangs after an answer is an error for those still waiting for theirs", {
    timeout: 10_000,
  }, async () => {
    const answers: Promise<unknown>[] = [Promise.resolve([1, 0]), new Promise(() => {})];
    const limiter = limiterOn(async () => answers.shift(), { timeoutMs: 4 });
    const [answered, silent] = [limiter.take("answered", policy), limiter.take("silent", policy)];
    await assert.rejects(silent, /Redis did not answer within 4 ms/);
    assert.equal((await answered).allowed, true);
  });

  test("an answer that is not a count and a debt is an error", async () => {
    for (const answer of ["OK", ["1", 0], [1, null], [1, Number.NaN], [1, -5], [0.5, 0]]) {
      const limiter = limiterOn(async () => answer);
      await assert.rejects(limiter.take("odd", policy), /something other than 2 counts/);
    }
  });
});

describe("a connection to Redis", { skip: skipWithoutRedis }, () => {
  test("while Redis is down the process limits alone, and afterwards with the others again", async (t) => {
    const redis = await startRedis(t);
    const { limiter, entries } = await open(t, redis.url);
    for (let n = 0; n < 200; n++) await limiter.take("key", policy);
    assert.equal((await limiter.take("key", policy)).allowed, false);

    await redis.stop();
    assert.equal((await limiter.take("key", policy)).allowed, true);
    await redis.start();
    const other = createClient({ url: redis.url });
    await other.connect();
    await until("the limiter uses Redis", 5000, async () => {
      await limiter.take("other key", policy);
      return (await other.exists("twins:limit:other key")) === 1;
    });
    assert.equal(await other.exists("twins:limit:key"), 0, "takes decided alone are not sent later");
    assert.deepEqual(entries.sort(), [back, failed, alone]);
    other.destroy();
    await redis.stop();
    await until("the next outage is logged, too", 5000, () => {
      return entries.filter((entry) => entry === failed).length === 2;
    });
  });

  test("a Redis that hangs makes one request time out, and is used again when it continues", async (t) => {
    const redis = await startRedis(t);
    const { limiter, entries } = await open(t, redis.url);
    await limiter.take("key", policy);
    redis.pause();
    for (let n = 0; n < 100; n++) assert.equal((await limiter.take("key", policy)).allowed, true);
    assert.equal(entries.length, 1);
    redis.goOn();
    await until("the limiter uses Redis", 5000, () => entries.length === 2);
  });

  test("a Redis that is down at the start is found when it comes up", async (t) => {
    const redis = await createRedis();
    t.after(() => redis.dispose());
    const { limiter, entries } = await open(t, redis.url);
    assert.equal((await limiter.take("key", policy)).allowed, true);
    assert.deepEqual(entries, [failed, alone]);
    await redis.start();
    await until("the limiter uses Redis", 5000, () => entries.includes(back));
  });

  test("a Redis that refuses to be connected to again says why in the log, once", async (t) => {
    const redis = await startRedis(t);
    const reasons: unknown[] = [];
    const refused = /NOAUTH/;
    let attempts = 0;
    const log: Log = (level, message, { error } = {}) => {
      if (refused.test(String(error))) attempts++;
      if (level !== "debug" && message === "the connection to Redis failed") reasons.push(error);
    };
    t.after((await openRedis(redis.url, { log })).close);
    const admin = createClient({ url: redis.url });
    await admin.connect();
    await admin.configSet("requirepass", "new");
    await admin.sendCommand(["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    await until("it was tried again", 5000, () => attempts >= 2);
    admin.destroy();
    assert.equal(reasons.filter((reason) => refused.test(String(reason))).length, 1);
  });

  for (const [what, fail, atMostMs] of [
    ["became a replica", becomeReplica, 5000],
    ["fell silent for good", async (redis: PrivateRedis) => redis.pause(), 15_000],
  ] as const) {
    test(`a Redis that ${what} is abandoned for the one that its address now leads to`, async (t) => {
      const [first, second] = [await startRedis(t), await startRedis(t)];
      using address = await openNetwork(first.url);
      const { limiter, entries } = await open(t, address.url);
      await limiter.take("key", policy);
      await fail(first);
      await limiter.take("key", policy);
      address.moveTo(second.port);
      await until("the limiter uses the other Redis", atMostMs, () => entries.includes(back));
    });
  }

  test("a Redis that may evict limits causes a warning", async (t) => {
    const redis = await startRedis(t, "--maxmemory-policy", "allkeys-lru");
    const { entries } = await open(t, redis.url);
    await until("the warning is logged", 5000, () => entries.length > 0);
    assert.match(entries[0] ?? "", /^warn: Redis may evict rate limits/);
  });

  test("the user of the documents may do all that the limiter does", async (t) => {
    const document = await readFile(new URL("../../docs/scaling.md", import.meta.url), "utf8");
    const [, rights = ""] = /A user needs `([^`]+)`/.exec(document.replaceAll(/\s+/g, " ")) ?? [];
    const redis = await startRedis(t, "--user", "twins", "on", ">secret", ...rights.split(" "));
    const { limiter, entries } = await open(t, redis.url.replace("//", "//twins:secret@"));
    const [key, user] = ["key_1", "key_1/ann"].map((id) => ({ id, policy }));
    assert.ok(key && user);
    for (let n = 0; n < 2; n++) await limiter.takeBoth(user, key);
    await limiter.forget([user.id]);
    assert.equal((await limiter.peek(user.id, policy)).debt, 0);
    assert.equal((await limiter.peek(key.id, policy)).debt > 0, true);
    assert.deepEqual(entries, []);
  });

  test("requests are admitted even if Redis's memory is full", async (t) => {
    const { limiter } = await open(t, (await startRedis(t, "--maxmemory", "1")).url);
    assert.equal((await limiter.take("key", policy)).allowed, true);
  });
});

test("an invalid address is refused", async () => {
  await assert.rejects(openRedis("redis//127.0.0.1"), /Invalid URL/);
});

test("an empty address, as of a variable that is not set, is refused: it would mean the machine's own Redis", async () => {
  const message = 'openRedis: url must be an address such as redis://127.0.0.1:6379, not "".';
  const opening = openRedis("").then((redis) => redis.close());
  await assert.rejects(opening, { name: "TypeError", message });
});

test("a time-out that no timer can run is refused: every request would be limited alone", async () => {
  for (const timeoutMs of [Number.POSITIVE_INFINITY, Number.NaN, 0]) {
    const message = /timeoutMs must be milliseconds, more than 0 and up to 2147483647, not /;
    await assert.rejects(openRedis("redis://127.0.0.1:1", { timeoutMs }), { name: "TypeError", message });
  }
});

test("anything but a client is refused where the limiter is created", () => {
  const connecting = Promise.resolve() as unknown as Parameters<typeof createRedisLimiter>[0];
  assert.throws(() => createRedisLimiter(connecting), {
    name: "TypeError",
    message: "createRedisLimiter: client must be a client of the package redis, not [object Promise].",
  });
});

for (const kind of ["redis", "redis+cluster", "redis+sentinel"]) {
  test(`closing ends the attempts to connect, so that nothing keeps the process alive: ${kind}://`, async () => {
    const url = `${kind}://127.0.0.1:${await freePort()}${kind === "redis+sentinel" ? "/twins" : ""}`;
    const code = `import { openRedis } from "./adapters/redis/mod.ts";
      const log = (level, message) => console.log(level, message);
      const { close } = await openRedis("${url}", { log });
      close();
      console.log("closed");`;
    const args = ["--import", "tsx", "--input-type=module", "--eval", code];
    const cwd = new URL("../..", import.meta.url);
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd,
      encoding: "utf8",
      timeout: 10_000,
    });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /closed\n$/, "what is closed tells no failures");
  });
}
