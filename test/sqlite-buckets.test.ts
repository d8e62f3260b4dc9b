import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openSqlite } from "../adapters/sqlite.ts";
import { openSqliteBuckets } from "../adapters/sqlite-buckets.ts";
import { createMemoryLimiter } from "../core/limit.ts";
import { StoreUnavailable } from "../core/store.ts";
import { createManualClock } from "./clock.ts";
import { type Folder, killAfter, makeFolder, start, startProcess } from "./sqlite-fixture.ts";

let folder: Folder;
before(async () => {
  folder = await makeFolder();
});
after(() => folder.remove());

describe("buckets in SQLite", () => {
  const policy = { capacity: 200 };

  test("a token that was taken stays taken over kill -9", async () => {
    const path = folder.newPath();
    const child = startProcess(
      path,
      `const { buckets } = await openSqlite(path);
      const limiter = createMemoryLimiter({ buckets, clock: { now: () => ${start}, after: () => () => {} } });
      for (let n = 1; n <= 200; n++) {
        await limiter.take("a", { capacity: 200 });
        say("taken " + n);
      }
      setInterval(() => {}, 1000);`,
    );
    await killAfter(child, "taken 200");
    const sqlite = await openSqlite(path);
    const limiter = createMemoryLimiter({ buckets: sqlite.buckets, clock: createManualClock(start) });
    assert.equal((await limiter.take("a", policy)).allowed, false);
    await sqlite.close();
  });

  test("what filled up is swept, what is not full stays", async () => {
    const path = folder.newPath();
    let buckets = await openSqliteBuckets(path);
    await buckets.save("full", { debt: 10, at: 90 });
    await buckets.save("nearly", { debt: 11, at: 90 });
    await buckets.save("ahead", { debt: 1, at: 200 });
    await buckets.close();
    buckets = await openSqliteBuckets(path);
    await buckets.save("new", { debt: 5, at: 100 });
    assert.equal(await buckets.load("full"), undefined);
    assert.deepEqual(await buckets.load("nearly"), { debt: 11, at: 90 });
    assert.deepEqual(await buckets.load("ahead"), { debt: 1, at: 200 });
    assert.deepEqual(await buckets.load("new"), { debt: 5, at: 100 });
    await buckets.close();
  });

  test("of saves in one turn the last one of an id counts", async () => {
    const buckets = await openSqliteBuckets(folder.newPath());
    const at = start * 1000;
    await Promise.all([1, 2, 3].map((debt) => buckets.save("a", { debt, at })));
    assert.deepEqual(await buckets.load("a"), { debt: 3, at });
    await buckets.close();
  });

  test("closing saves what was begun; later calls are refused as unavailable", async () => {
    const path = folder.newPath();
    let buckets = await openSqliteBuckets(path);
    const begun = buckets.save("a", { debt: 1, at: 2 });
    await buckets.close();
    await begun;
    await assert.rejects(buckets.save("a", { debt: 2, at: 2 }), StoreUnavailable);
    await assert.rejects(buckets.load("a"), StoreUnavailable);
    buckets = await openSqliteBuckets(path);
    assert.deepEqual(await buckets.load("a"), { debt: 1, at: 2 });
    await buckets.close();
  });
});
