import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, rmdir, stat, symlink, writeFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { openBucketLog } from "../../adapters/sqlite/bucket-log.ts";
import { openSqliteBuckets } from "../../adapters/sqlite/buckets.ts";
import { connect } from "../../adapters/sqlite/connection.ts";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { createMemoryLimiter } from "../../core/limits/memory-limiter.ts";
import type { Bucket } from "../../core/limits/token-bucket.ts";
import { StoreUnavailable } from "../../core/store/store.ts";
import { start } from "../contracts/store-records.ts";
import { createManualClock } from "../support/clock.ts";
import { type Folder, killAfter, makeFolder, runProcess, startProcess } from "./fixture.ts";

let folder: Folder;
before(async () => {
  folder = await makeFolder();
});
after(() => folder.remove());

/** Damages a table of a closed file. */
async function damage(path: string, name: string): Promise<void> {
  const file = await connect(path);
  const [table] = file.all("SELECT rootpage FROM sqlite_schema WHERE name = $1", [name]);
  file.close();
  const bytes = await readFile(path);
  bytes.fill(0xff, (Number(table?.rootpage) - 1) * 4096, Number(table?.rootpage) * 4096);
  await writeFile(path, bytes);
}

describe("buckets in SQLite", () => {
  const policy = { capacity: 200 };

  test("a token that was taken stays taken after kill -9", async () => {
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

  test("of many saves for an id the last one counts, at once and after kill -9", async () => {
    const path = folder.newPath();
    const saves = 16_321; // more than the log holds before it is folded
    const child = startProcess(
      path,
      `const { buckets } = await openSqlite(path);
      for (let n = 1; n <= ${saves}; n++) await buckets.save("id " + (n % 7), { debt: n, at: ${start} });
      const loaded = [];
      for (let n = 0; n < 8; n++) loaded.push(await buckets.load("id " + n));
      say("loaded " + JSON.stringify(loaded.map((bucket) => bucket?.debt)));
      setInterval(() => {}, 1000);`,
    );
    const expected = [16317, 16318, 16319, 16320, 16321, 16315, 16316];
    await killAfter(child, `loaded ${JSON.stringify([...expected, null])}`);
    for (let opening = 0; opening < 2; opening++) {
      const { buckets, close } = await openSqlite(path);
      if (opening === 1) await buckets.save("id 7", { debt: 1, at: start });
      const loaded = await Promise.all(expected.map((_, index) => buckets.load(`id ${index}`)));
      assert.deepEqual(
        loaded.map((bucket) => bucket?.debt),
        expected,
      );
      await close();
    }
  });

  test("the last save for an id counts even while the log is being folded, and if the process ends meanwhile", async () => {
    const path = folder.newPath();
    const ids = Array.from({ length: 1000 }, (_, index) => `id ${index}`);
    const expected = new Map<string, Bucket>();
    let buckets = await openSqliteBuckets(path);

    async function assertKept(turn: number): Promise<void> {
      const loaded = await Promise.all(ids.map((id) => buckets.load(id)));
      const wrong = ids.filter((id, index) => loaded[index]?.debt !== expected.get(id)?.debt);
      assert.deepEqual(wrong, [], `turn ${turn}`);
    }

    for (let turn = 0; turn < 480; turn++) {
      const changed = ids.slice((turn * 50) % 1000).slice(0, 50);
      for (const id of changed) expected.set(id, { debt: turn, at: start });
      await Promise.all(changed.map((id) => buckets.save(id, { debt: turn, at: start })));
      if (turn < 320) continue; // too little to fold yet
      await assertKept(turn);
      if (turn % 13 > 0 && turn % 31 > 0) continue; // a fold takes 10 turns, so that some finish
      await buckets.close();
      buckets = await openSqliteBuckets(path);
      await assertKept(turn);
    }
    await buckets.close();
  });

  for (const { turns, saves } of [
    { turns: 40_000, saves: 1 },
    { turns: 1000, saves: 100 },
    { turns: 150, saves: 1000 },
  ]) {
    test(`the log does not grow with the number of saves, ${saves} in a turn`, async () => {
      const path = folder.newPath();
      const buckets = await openSqliteBuckets(path);
      const ids = Array.from({ length: 1000 }, (_, index) => `id ${index}`);
      for (let turn = 0; turn < turns; turn++) {
        const changed = ids.slice((turn * saves) % 1000).slice(0, saves);
        await Promise.all(changed.map((id) => buckets.save(id, { debt: turn, at: start })));
      }
      await buckets.close();
      const files = [`${path}-log`, `${path}-log-aside`].filter((file) => existsSync(file));
      const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
      const saved = texts.join("").match(/"id /g)?.length ?? 0;
      assert.ok(saved <= 32_000, `${saved} saves`);
    });
  }

  test("what a process leaves unfolded counts, however often the next ones end before they have folded it", async () => {
    const path = folder.newPath();
    const ids = Array.from({ length: 2000 }, (_, index) => `id ${index}`);
    let buckets = await openSqliteBuckets(path);
    await buckets.save("first", { debt: 1, at: start }); // folded immediately, unlike the next ones
    await Promise.all(ids.map((id) => buckets.save(id, { debt: 1, at: start })));
    for (const id of ["id 3", "id 4", "id 5"]) {
      await buckets.close();
      buckets = await openSqliteBuckets(path);
      await buckets.save(id, { debt: 2, at: start }); // folds a hundred
    }
    await buckets.close();
    buckets = await openSqliteBuckets(path);
    const loaded = await Promise.all(ids.map((id) => buckets.load(id)));
    const debts = loaded.map((bucket) => bucket?.debt);
    assert.deepEqual(
      debts,
      ids.map((_, index) => (index >= 3 && index <= 5 ? 2 : 1)),
    );
    await buckets.close();
  });

  test("a log that cannot be put aside loses nothing", async () => {
    const path = folder.newPath();
    const buckets = await openSqliteBuckets(path);
    await mkdir(`${path}-log-aside`);
    await assert.rejects(buckets.save("a", { debt: 1, at: start }), StoreUnavailable); // the first one folds
    await buckets.save("b", { debt: 2, at: start });
    await buckets.close();
    await rmdir(`${path}-log-aside`);
    const next = await openSqliteBuckets(path);
    assert.deepEqual(await next.load("b"), { debt: 2, at: start });
    await next.save("c", { debt: 3, at: start });
    assert.deepEqual(await next.load("b"), { debt: 2, at: start });
    await next.close();
  });

  test("the log belongs to the file, not to the link by which it was opened", {
    skip: process.platform === "win32" && "Windows requires a privilege to create links",
  }, async () => {
    const path = folder.newPath();
    const link = folder.newPath();
    await symlink(path, link);
    for (const [round, opened] of [path, link, path, link].entries()) {
      const buckets = await openSqliteBuckets(opened);
      for (const debt of [2 * round, 2 * round + 1]) await buckets.save("a", { debt, at: start });
      await buckets.close();
      const again = await openSqliteBuckets(path);
      assert.deepEqual(await again.load("a"), { debt: 2 * round + 1, at: start });
      await again.close();
    }
  });

  test("a line of the log that was cut off is left out, with a warning, and those around it count", async () => {
    const path = folder.newPath();
    const warnings: unknown[] = [];
    const open = () => openSqliteBuckets(path, (...warning) => warnings.push(warning));
    const ids = Array.from({ length: 500 }, (_, index) => `id ${index}`);
    let buckets = await open();
    await buckets.save("first", { debt: 1, at: start }); // folded immediately, unlike the next ones
    await Promise.all(ids.map((id) => buckets.save(id, { debt: 2, at: start })));
    await buckets.close();
    const log = await readFile(`${path}-log`, "utf8");
    for (const cut of ['[["id 1",3,17', '[["id 1",3]]', '"id 1"', "\0\0"]) {
      await rm(`${path}-log-aside`, { force: true });
      await writeFile(`${path}-log`, `${log}\n${cut}`);
      buckets = await open();
      await buckets.save("the last", { debt: 4, at: start }); // a hundred others are folded first
      await buckets.close();
      buckets = await open();
      const loaded = await Promise.all([...ids, "the last"].map((id) => buckets.load(id)));
      const debts = loaded.map((bucket) => bucket?.debt);
      assert.deepEqual(debts, [...ids.map(() => 2), 4]);
      await buckets.close();
    }
    const message = "a part of the limits' log cannot be read; some tokens may be taken again";
    assert.deepEqual(warnings[0], ["warn", message, { unreadable: 1 }]);
  });

  /** Limits the size of a process's files, as a full disk does: of what is too long, a part is written. */
  const limitFiles = `
    const { openBucketLog } = await import("./adapters/sqlite/bucket-log.ts");
    const { execFileSync } = await import("node:child_process");
    const { statSync } = await import("node:fs");
    const limitFiles = (size) => execFileSync("prlimit", ["--pid", process.pid, "--fsize=" + size + ":"]);
    const some = (from) => new Map(Array.from({ length: 50 }, (_, n) => ["id " + (from + n), { debt: 1, at: 2 }]));
    const attempt = (act) => {
      try {
        act();
        say("done");
      } catch (error) {
        say(error.name);
      }
    };
    const { log } = openBucketLog(path);`;
  const skip = spawnSync("prlimit", ["--version"]).status !== 0 && "there is no prlimit";

  test("of a line that the disk takes only in part, the save is refused, and the next one counts", {
    skip,
  }, () => {
    const path = folder.newPath();
    const said = runProcess(
      path,
      `${limitFiles}
      log.append(some(0));
      limitFiles(statSync(path).size + 100);
      attempt(() => log.append(some(50)));
      limitFiles("unlimited");
      attempt(() => log.append(some(100)));`,
    );
    assert.equal(said, "StoreUnavailable\ndone\n");
    const { logged, unreadable } = openBucketLog(path);
    assert.deepEqual([logged.size, logged.has("id 149"), unreadable], [100, true, 1]);
  });

  test("a full disk puts aside all or nothing, so that it does not fill up with one attempt after the other", {
    skip,
  }, () => {
    const path = folder.newPath();
    const said = runProcess(
      path,
      `${limitFiles}
      log.append(some(0));
      log.putAside();
      log.append(some(50));
      const { size } = statSync(path + "-aside");
      limitFiles(size + 100);
      attempt(() => log.putAside());
      attempt(() => log.putAside());
      say(statSync(path + "-aside").size - size + " more");
      limitFiles("unlimited");
      attempt(() => log.putAside());`,
    );
    assert.equal(said, "StoreUnavailable\nStoreUnavailable\n0 more\ndone\n");
    const { logged, unreadable } = openBucketLog(path);
    assert.deepEqual([logged.size, unreadable, existsSync(path)], [100, 0, false]);
  });

  test("a log that cannot be written refuses saves as unavailable, until it can", async () => {
    const path = folder.newPath();
    const buckets = await openSqliteBuckets(path);
    await mkdir(`${path}-log`);
    await assert.rejects(buckets.save("a", { debt: 1, at: start }), StoreUnavailable);
    await rmdir(`${path}-log`);
    await buckets.save("a", { debt: 2, at: start });
    assert.deepEqual(await buckets.load("a"), { debt: 2, at: start });
    await buckets.close();
  });

  test("the log is readable by its owner alone, like the table", {
    skip: process.platform === "win32" && "Windows has no modes",
  }, async () => {
    const path = folder.newPath();
    const buckets = await openSqliteBuckets(path);
    await buckets.save("a", { debt: 1, at: start }); // the first one is folded
    await buckets.save("a", { debt: 2, at: start });
    for (const file of [path, `${path}-log`]) assert.equal((await stat(file)).mode & 0o777, 0o600);
    await buckets.close();
  });

  test("full buckets are swept, and others stay", async () => {
    const path = folder.newPath();
    let buckets = await openSqliteBuckets(path);
    await buckets.save("full", { debt: 10, at: 90 });
    await buckets.save("nearly", { debt: 11, at: 90 });
    await buckets.save("ahead", { debt: 1, at: 200 });
    await buckets.close();
    buckets = await openSqliteBuckets(path);
    for (const debt of [4, 5]) await buckets.save("new", { debt, at: 100 }); // the first folds the log
    assert.equal(await buckets.load("full"), undefined);
    assert.deepEqual(await buckets.load("nearly"), { debt: 11, at: 90 });
    assert.deepEqual(await buckets.load("ahead"), { debt: 1, at: 200 });
    assert.deepEqual(await buckets.load("new"), { debt: 5, at: 100 });
    await buckets.close();
  });

  test("buckets that fill up are swept again and again while the process runs", async () => {
    const buckets = await openSqliteBuckets(folder.newPath());
    const ids = Array.from({ length: 2500 }, (_, index) => `${index}`);
    const inBetween = `${ids.toSorted()[998]} full`; // the last of those that are checked together
    for (const full of ["0 early", "zero", inBetween, "late", "zero", "0 late"]) {
      await buckets.save(full, { debt: 10, at: 90 });
      for (let turn = 0; turn < 20; turn++) {
        await Promise.all(ids.map((id) => buckets.save(id, { debt: 1000, at: 100 })));
      }
      assert.equal(await buckets.load(full), undefined, full);
    }
    assert.deepEqual(await buckets.load("1"), { debt: 1000, at: 100 });
    await buckets.close();
  });

  test("a save that fails rejects, and so does the load of an unreadable bucket", async () => {
    const path = folder.newPath();
    let buckets = await openSqliteBuckets(path);
    await buckets.save("a", { debt: 1, at: 2 });
    await buckets.close();
    await damage(path, "buckets");
    buckets = await openSqliteBuckets(path);
    await assert.rejects(buckets.load("a"), /malformed/);
    await assert.rejects(buckets.save("a", { debt: 2, at: 2 }), /malformed/);
    await buckets.close();
  });

  test("of several saves for an id in one turn the last one counts", async () => {
    const buckets = await openSqliteBuckets(folder.newPath());
    const at = start * 1000;
    await Promise.all([1, 2, 3].map((debt) => buckets.save("a", { debt, at })));
    assert.deepEqual(await buckets.load("a"), { debt: 3, at });
    await buckets.close();
  });

  test("a file of an earlier version keeps its buckets: the first had no log, that of the second was a table", async () => {
    for (const version of [1, 2]) {
      const path = folder.newPath();
      await (await openSqliteBuckets(path)).close();
      const file = await connect(path);
      file.exec(`INSERT INTO buckets (id, debt, at) VALUES ('a', 1, 2), ('b', 1, 2)`);
      if (version === 2) {
        file.exec("CREATE TABLE log (turn INTEGER PRIMARY KEY, changed TEXT NOT NULL)");
        file.exec(
          `INSERT INTO log (turn, changed) VALUES (9, '[["c",9,2]]'), (10, '[["b",8,2],["c",10,2]]')`,
        );
      }
      file.exec(`PRAGMA user_version = ${version}`);
      file.close();
      const buckets = await openSqliteBuckets(path);
      await buckets.save("d", { debt: 3, at: 2 });
      const loaded = await Promise.all(["a", "b", "c", "d"].map((id) => buckets.load(id)));
      const debts = version === 1 ? [1, 1, undefined, 3] : [1, 8, 10, 3];
      assert.deepEqual(
        loaded.map((bucket) => bucket?.debt),
        debts,
      );
      await buckets.close();
    }
  });

  test("closing completes pending saves; later calls are refused as unavailable", async () => {
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
