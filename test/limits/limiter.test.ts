import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { type BucketStore, createMemoryLimiter } from "../../core/limits/memory-limiter.ts";
import {
  type Bucket,
  type RateDecision,
  remainingTokens,
  secondsToNextToken,
  takeToken,
} from "../../core/limits/token-bucket.ts";
import { limiterContract } from "../contracts/limiter.contract.ts";
import { createManualClock, settle } from "../support/clock.ts";

const policy = { capacity: 200 };
const interval = 18_000_000;

limiterContract("memory", async () => {
  const clock = createManualClock();
  return { limiter: createMemoryLimiter({ clock }), clock, dispose: async () => {} };
});

for (const cached of [10_000, 1]) {
  limiterContract(`memory over SQLite, ${cached} cached`, async () => {
    const clock = createManualClock();
    const folder = await mkdtemp(join(tmpdir(), "twins-limit-"));
    const path = join(folder, "twins.db");
    let { buckets, close } = await openSqlite(path);
    return {
      limiter: createMemoryLimiter({ clock, buckets, cached }),
      clock,
      async reopen() {
        await close();
        ({ buckets, close } = await openSqlite(path));
        return createMemoryLimiter({ clock, buckets, cached });
      },
      async dispose() {
        await close();
        await rm(folder, { recursive: true });
      },
    };
  });
}

describe("bucket arithmetic", () => {
  test("the last token can be taken when the debt is one interval below the hour, not a microsecond above", () => {
    const last = 3_600_000_000 - interval;
    assert.deepEqual(takeToken(last, policy), { allowed: true, debt: 3_600_000_000 });
    assert.deepEqual(takeToken(last + 1, policy), { allowed: false, debt: last + 1 });
  });

  test("a token that has begun to refill does not count as remaining", () => {
    assert.equal(remainingTokens(0, policy), 200);
    assert.equal(remainingTokens(1, policy), 199);
    assert.equal(remainingTokens(interval, policy), 199);
    assert.equal(remainingTokens(interval + 1, policy), 198);
  });

  test("the seconds to the next token are rounded up, and 0 for a full bucket", () => {
    assert.equal(secondsToNextToken(0, policy), 0);
    assert.equal(secondsToNextToken(1, policy), 1);
    assert.equal(secondsToNextToken(interval, policy), 18);
    assert.equal(secondsToNextToken(3 * interval + 1_000_001, policy), 2);
  });
});

describe("a memory limiter without a bucket store", () => {
  test("it never forgets a bucket that is not full, however many there are", async () => {
    const clock = createManualClock();
    const limiter = createMemoryLimiter({ clock });
    const ids = Array.from({ length: 5000 }, (_, n) => `id ${n}`);
    for (const id of ids) await limiter.take(id, policy);
    await clock.advance(17_999);
    for (const id of ids) assert.equal((await limiter.peek(id, policy)).debt, 1000);
  });
});

/** A bucket store whose loads and saves wait until the test answers them. */
function createManualBuckets() {
  const kept = new Map<string, Bucket>();
  const waiting: { readonly call: string; readonly run: () => void; readonly fail: () => void }[] = [];
  const ask = <Result>(call: string, effect: () => Result) =>
    new Promise<Result>((resolve, reject) => {
      waiting.push({ call, run: () => resolve(effect()), fail: () => reject(new Error(`${call} failed`)) });
    });
  const answer = async (how: "run" | "fail", only?: string) => {
    for (const each of waiting.splice(0)) {
      if (only === undefined || each.call === only) each[how]();
      else waiting.push(each);
    }
    await settle();
  };
  return {
    kept,
    calls: () => waiting.map(({ call }) => call),
    answer,
    store: {
      load: (id) => ask(`load ${id}`, () => kept.get(id)),
      save: (id, bucket) => ask(`save ${id}`, () => void kept.set(id, bucket)),
      forget: (ids) => ask(`forget ${ids}`, () => ids.forEach((id) => void kept.delete(id))),
    } satisfies BucketStore,
  };
}

/** The state of a promise, seen without waiting for it. */
function watch(promise: Promise<RateDecision>) {
  const seen: { state: "pending" | "resolved" | "rejected"; allowed?: boolean } = { state: "pending" };
  promise.then(
    ({ allowed }) => Object.assign(seen, { state: "resolved", allowed }),
    () => Object.assign(seen, { state: "rejected" }),
  );
  return seen;
}

describe("a memory limiter over a bucket store", () => {
  const full = 3_600_000_000;

  function open(cached = 100) {
    const clock = createManualClock();
    const buckets = createManualBuckets();
    const limiter = createMemoryLimiter({ clock, buckets: buckets.store, cached });
    return { clock, buckets, limiter };
  }

  test("a take resolves only once its token is saved", async () => {
    const { buckets, limiter } = open();
    const taken = watch(limiter.take("a", policy));
    await buckets.answer("run");
    assert.deepEqual([buckets.calls(), taken.state], [["save a"], "pending"]);
    await buckets.answer("run");
    assert.deepEqual([taken, buckets.kept.get("a")?.debt], [{ state: "resolved", allowed: true }, interval]);
  });

  test("takes during the load wait for it, load once, and share what is left", async () => {
    const { clock, buckets, limiter } = open();
    buckets.kept.set("a", { debt: full - 2 * interval, at: clock.now() * 1000 });
    const takes = Array.from({ length: 5 }, () => watch(limiter.take("a", policy)));
    await settle();
    assert.deepEqual(buckets.calls(), ["load a"]);
    await buckets.answer("run");
    await buckets.answer("run");
    assert.deepEqual(
      takes.map(({ allowed }) => allowed),
      [true, true, false, false, false],
    );
    assert.equal(buckets.kept.get("a")?.debt, full);
  });

  test("a refusal is not saved and does not wait", async () => {
    const { clock, buckets, limiter } = open();
    buckets.kept.set("a", { debt: full, at: clock.now() * 1000 });
    const taken = watch(limiter.take("a", policy));
    await buckets.answer("run");
    assert.deepEqual([buckets.calls(), taken], [[], { state: "resolved", allowed: false }]);
  });

  test("a bucket from before the clock was set back is saved once it is looked at", async () => {
    const { clock, buckets, limiter } = open();
    buckets.kept.set("a", { debt: interval, at: clock.now() * 1000 });
    clock.step(-60_000);
    const looked = watch(limiter.peek("a", policy));
    for (let n = 0; n < 2; n++) await buckets.answer("run");
    assert.equal(looked.state, "resolved");
    assert.deepEqual(buckets.kept.get("a"), { debt: interval, at: clock.now() * 1000, capacity: 200 });
  });

  test("an evicted bucket is loaded as it was saved", async () => {
    const { buckets, limiter } = open(1);
    for (const id of ["a", "b"]) {
      limiter.take(id, policy);
      for (let n = 0; n < 2; n++) await buckets.answer("run");
      await limiter.peek(id, policy);
    }
    const again = limiter.take("a", policy);
    await settle();
    assert.deepEqual(buckets.calls(), ["load a"]);
    for (let n = 0; n < 2; n++) await buckets.answer("run");
    assert.equal((await again).debt, 2 * interval);
  });

  test("a bucket that is not saved yet is not evicted", async () => {
    const { buckets, limiter } = open(1);
    limiter.take("a", policy);
    await buckets.answer("run");
    for (const id of ["b", "c"]) limiter.peek(id, policy);
    limiter.take("a", policy);
    await settle();
    assert.deepEqual(buckets.calls(), ["save a", "load b", "load c", "save a"]);
    await buckets.answer("run");
    assert.equal(buckets.kept.get("a")?.debt, 2 * interval);
  });

  test("an idle bucket that is used again when its eviction is due is not loaded a second time", async () => {
    const { buckets, limiter } = open(1);
    limiter.take("a", policy);
    for (let n = 0; n < 2; n++) await buckets.answer("run");
    limiter.take("a", policy); // its save waits
    limiter.peek("b", policy);
    await settle();
    assert.deepEqual(buckets.calls(), ["save a", "load b"]);
    await buckets.answer("run", "load b"); // now b is idle, and there is room for one
    limiter.take("a", policy);
    await settle();
    assert.deepEqual(buckets.calls(), ["save a", "save a"]);
    await buckets.answer("run");
    assert.equal(buckets.kept.get("a")?.debt, 3 * interval);
  });

  for (const [meanwhile, answered] of [
    ["loaded", 0],
    ["saved", 1],
  ] as const) {
    test(`a bucket that is forgotten while it is ${meanwhile} does not come back`, async () => {
      const { clock, buckets, limiter } = open();
      buckets.kept.set("a", { debt: 100 * interval, at: clock.now() * 1000 });
      limiter.take("a", policy);
      for (let n = 0; n < answered; n++) await buckets.answer("run");
      limiter.forget(["a"]);
      limiter.take("a", policy);
      for (let n = 0; n < 3; n++) await buckets.answer("run");
      const before = buckets.kept.get("a")?.debt ?? 0;
      assert.ok(before <= 2 * interval, `${before / interval} tokens are taken`);
      limiter.take("a", policy);
      for (let n = 0; n < 2; n++) await buckets.answer("run");
      assert.equal(buckets.kept.get("a")?.debt, before + interval);
    });
  }

  test("a failed load rejects the take, and the next take tries again", async () => {
    const { buckets, limiter } = open();
    const failed = watch(limiter.take("a", policy));
    await buckets.answer("fail");
    assert.equal(failed.state, "rejected");
    const taken = watch(limiter.take("a", policy));
    for (let n = 0; n < 2; n++) await buckets.answer("run");
    assert.deepEqual(taken, { state: "resolved", allowed: true });
  });

  test("a failed save rejects the take; its token stays taken and is saved with the next one", async () => {
    const { buckets, limiter } = open(1);
    const failed = watch(limiter.take("a", policy));
    await buckets.answer("run");
    await buckets.answer("fail");
    assert.equal(failed.state, "rejected");
    for (const id of ["b", "c"]) limiter.peek(id, policy);
    await buckets.answer("run");
    const taken = watch(limiter.take("a", policy));
    await buckets.answer("run");
    assert.equal(taken.state, "resolved");
    assert.equal(buckets.kept.get("a")?.debt, 2 * interval);
  });
});

test("a memory limiter refuses options that it would misunderstand: a restart would refill every bucket", () => {
  const buckets = createManualBuckets().store;
  const refused: readonly [options: object, message: RegExp][] = [
    [buckets, /^createMemoryLimiter: load is not known; the names are clock, buckets, cached\.$/],
    [{ bucket: buckets }, /^createMemoryLimiter: bucket is not known; /],
    [{ buckets: Promise.resolve(buckets) }, /buckets must be a bucket store, not \[object Promise\]\.$/],
    [{ buckets, cached: 0 }, /cached must be a whole number from 1 to 10000000, not 0\.$/],
  ];
  for (const [options, message] of refused) {
    assert.throws(() => createMemoryLimiter(options), { name: "TypeError", message });
  }
});
