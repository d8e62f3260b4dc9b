import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SqlStatement } from "../../adapters/sql/driver.ts";
import { createSqliteBuckets } from "../../adapters/sqlite/buckets.ts";
import { createSqliteDriver } from "../../adapters/sqlite/driver.ts";
import { openSqliteFile } from "../../adapters/sqlite/file.ts";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { StoreUnavailable } from "../../core/store/store.ts";
import { start } from "../contracts/store-records.ts";
import { damage, killAfter, makeFolder, quickDisk, slowDisk, startProcess, watched } from "./fixture.ts";

const folder = await makeFolder();

/** A statement of the store, to be committed together with buckets. */
const storeStatement: SqlStatement = {
  sql: "INSERT INTO totals (owner, list, total) VALUES ($1, 'keys', 1)",
  params: ["alice"],
};

describe("buckets in SQLite", () => {
  test("of several saves for an id the last one counts, in one turn or in several, at once and after kill -9", async () => {
    const path = folder.newPath();
    const child = startProcess(
      path,
      `const { buckets } = await openSqlite(path);
      const save = (n) => buckets.save("id " + (n % 7), { debt: n, at: ${start} });
      for (let n = 0; n < 100; n++) await save(n);
      await Promise.all(Array.from({ length: 21 }, (_, n) => save(100 + n)));
      const loaded = await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((n) => buckets.load("id " + n)));
      say("loaded " + JSON.stringify(loaded.map((bucket) => bucket?.debt)));
      setInterval(() => {}, 1000);`,
    );
    const expected = [119, 120, 114, 115, 116, 117, 118];
    await killAfter(child, `loaded ${JSON.stringify([...expected, null])}`);
    const { buckets, close } = await openSqlite(path);
    const loaded = await Promise.all(expected.map((_, index) => buckets.load(`id ${index}`)));
    assert.deepEqual(
      loaded.map((bucket) => bucket?.debt),
      expected,
    );
    await close();
  });

  test("no save or load waits for a disk that is busy with a batch", async () => {
    const disk = slowDisk();
    const driver = createSqliteDriver(await openSqliteFile(folder.newPath()), disk);
    const buckets = createSqliteBuckets(driver.unsynced);
    let stored = false;
    const storing = driver.batch([storeStatement]).then(() => {
      stored = true;
    });
    for (const debt of [1, 2, 3]) await buckets.save("a", { debt, at: start });
    assert.deepEqual(await buckets.load("a"), { debt: 3, at: start });
    assert.equal(stored, false);
    disk.finish();
    await storing;
    await driver.close();
  });

  test("all that changed in a turn is one statement, in the transaction of the turn's batches", async () => {
    const ran: string[] = [];
    const connection = watched(await openSqliteFile(folder.newPath()), (sql) => {
      ran.push(sql.split(" ", 3).join(" "));
    });
    const driver = createSqliteDriver(connection, quickDisk);
    const buckets = createSqliteBuckets(driver.unsynced);
    await buckets.save("first", { debt: 1, at: start }); // the first save also sweeps
    ran.length = 0;
    const saves = ["a", "b", "c"].map((id) => buckets.save(id, { debt: 1, at: start }));
    await Promise.all([...saves, driver.batch([storeStatement])]);
    const batch = (statement: string) => ["SAVEPOINT batch", statement, "RELEASE batch"];
    const both = [...batch("INSERT INTO rate_buckets"), ...batch("INSERT INTO totals")];
    assert.deepEqual(ran, ["BEGIN IMMEDIATE", ...both, "COMMIT"]);
    await driver.close();
  });

  test("full buckets are swept, and others stay", async () => {
    const path = folder.newPath();
    let { buckets, close } = await openSqlite(path);
    await buckets.save("new", { debt: 3, at: 100 }); // sweeps
    await buckets.save("full", { debt: 10, at: 90 });
    await buckets.save("nearly", { debt: 11, at: 90 });
    await buckets.save("ahead", { debt: 1, at: 200 });
    await close();
    ({ buckets, close } = await openSqlite(path));
    assert.deepEqual(await buckets.load("full"), { debt: 10, at: 90 });
    await buckets.save("new", { debt: 5, at: 100 });
    assert.equal(await buckets.load("full"), undefined);
    assert.deepEqual(await buckets.load("nearly"), { debt: 11, at: 90 });
    assert.deepEqual(await buckets.load("ahead"), { debt: 1, at: 200 });
    assert.deepEqual(await buckets.load("new"), { debt: 5, at: 100 });
    await close();
  });

  test("buckets that fill up are swept again and again while the process runs", async () => {
    const { buckets, close } = await openSqlite(folder.newPath());
    const ids = Array.from({ length: 2500 }, (_, index) => `${index}`);
    const inBetween = `${ids.toSorted()[998]} full`; // the last of those that are checked together
    for (const full of ["0 early", "zero", inBetween, "late", "zero", "0 late"]) {
      await buckets.save(full, { debt: 10, at: 90 });
      for (let turn = 0; turn < 8; turn++) {
        await Promise.all(ids.map((id) => buckets.save(id, { debt: 1000, at: 100 })));
      }
      assert.equal(await buckets.load(full), undefined, full);
    }
    assert.deepEqual(await buckets.load("1"), { debt: 1000, at: 100 });
    await close();
  });

  test("a save that fails rejects, and so does the load of an unreadable bucket", async () => {
    const path = folder.newPath();
    const first = await openSqlite(path);
    await first.buckets.save("a", { debt: 1, at: 2 });
    await first.close();
    await damage(path, "rate_buckets");
    const { buckets, close } = await openSqlite(path);
    await assert.rejects(buckets.load("a"), /malformed/);
    await assert.rejects(buckets.save("a", { debt: 2, at: 2 }), /malformed/);
    await close();
  });

  test("closing completes pending saves; later calls are refused as unavailable", async () => {
    const path = folder.newPath();
    let { buckets, close } = await openSqlite(path);
    const begun = buckets.save("a", { debt: 1, at: 2 });
    await close();
    await begun;
    await assert.rejects(buckets.save("a", { debt: 2, at: 2 }), StoreUnavailable);
    await assert.rejects(buckets.load("a"), StoreUnavailable);
    ({ buckets, close } = await openSqlite(path));
    assert.deepEqual(await buckets.load("a"), { debt: 1, at: 2 });
    await close();
  });
});
