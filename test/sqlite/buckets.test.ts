import assert from "node:assert/strict";
import { readdir, symlink, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { describe, test } from "node:test";
import type { SqlStatement } from "../../adapters/sql/driver.ts";
import { createSqliteBuckets } from "../../adapters/sqlite/buckets.ts";
import { connect } from "../../adapters/sqlite/connection.ts";
import { createSqliteDriver } from "../../adapters/sqlite/driver.ts";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { StoreUnavailable } from "../../core/store/store.ts";
import { start } from "../contracts/store-records.ts";
import {
  damage,
  killAfter,
  makeFolder,
  openConnection,
  quickDisk,
  slowDisk,
  startProcess,
  watched,
} from "./fixture.ts";

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
    const driver = createSqliteDriver(await openConnection(folder.newPath()), disk);
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
    const connection = watched(await openConnection(folder.newPath()), (sql) => {
      ran.push(sql.split(" ", 3).join(" "));
    });
    const driver = createSqliteDriver(connection, quickDisk);
    const buckets = createSqliteBuckets(driver.unsynced);
    await buckets.save("first", { debt: 1, at: start }); // the first save also sweeps
    ran.length = 0;
    const saves = ["a", "b", "c"].map((id) => buckets.save(id, { debt: 1, at: start }));
    await Promise.all([...saves, driver.batch([storeStatement])]);
    assert.deepEqual(ran, ["BEGIN IMMEDIATE", "INSERT INTO rate_buckets", "INSERT INTO totals", "COMMIT"]);
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

describe("limits that the last version kept in files of their own", () => {
  const loggedAside = '\n[["b",20,2],["c",30,2]]\n[["c",31,3]]';
  const logged = '\n[["c",32,4]]\n[["d",40,2]]\n[["d",41,'; // kill -9 cut the last line off

  /** Makes these files as the last version did. Returns the path of the table's file. */
  async function makeFormerFiles(path: string): Promise<string> {
    const former = `${path}-limits`;
    const file = await connect(former);
    file.exec(
      "CREATE TABLE buckets (id TEXT NOT NULL PRIMARY KEY, debt INTEGER NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID",
    );
    file.exec("PRAGMA application_id = 1954043499");
    file.exec("PRAGMA user_version = 4");
    const rows = Array.from({ length: 2500 }, (_, n) => [`id ${n}`, 5, 1]);
    const all = JSON.stringify([["a", 10, 1], ["b", 11, 1], ["c", 12, 1], ...rows]);
    file.run(
      "INSERT INTO buckets SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each($1) WHERE true",
      [all],
    );
    file.close();
    await writeFile(`${former}-log-aside`, loggedAside);
    await writeFile(`${former}-log`, logged);
    return former;
  }

  async function debtsIn(path: string, ids: readonly string[]): Promise<unknown[]> {
    const { buckets, close } = await openSqlite(path);
    const loaded = await Promise.all(ids.map((id) => buckets.load(id)));
    await close();
    return loaded.map((bucket) => bucket?.debt);
  }

  async function filesOf(path: string): Promise<string[]> {
    return (await readdir(folder.path)).filter((name) => name.startsWith(basename(path))).sort();
  }

  test("are taken over with their latest changes, and the files are removed", async () => {
    const path = folder.newPath();
    await makeFormerFiles(path);
    const ids = ["a", "b", "c", "d", "id 0", "id 2499", "e"];
    for (let opening = 0; opening < 2; opening++) {
      assert.deepEqual(await debtsIn(path, ids), [10, 20, 32, 40, 5, 5, undefined]);
      assert.deepEqual(await filesOf(path), [basename(path)]);
    }
  });

  test("do not undo what was taken since, if the process ends before the files are removed", async () => {
    const path = folder.newPath();
    const { buckets, close } = await openSqlite(path);
    await buckets.save("a", { debt: 100, at: 50 });
    await close();
    await makeFormerFiles(path);
    assert.deepEqual(await debtsIn(path, ["a", "b"]), [100, 20]);
  });

  test("are taken over from where a link leads to", {
    skip: process.platform === "win32" && "Windows requires a privilege to create links",
  }, async () => {
    const [path, elsewhere] = [folder.newPath(), folder.newPath()];
    const former = await makeFormerFiles(elsewhere);
    await symlink(former, `${path}-limits`);
    assert.deepEqual(await debtsIn(path, ["c"]), [32]);
    assert.deepEqual([await filesOf(path), await filesOf(elsewhere)], [[basename(path)], []]);
  });

  test("start anew if they cannot be read, with a warning that names the file, which stays", async () => {
    const path = folder.newPath();
    const warned: unknown[] = [];
    await writeFile(`${path}-limits`, "not a database ".repeat(100));
    await writeFile(`${path}-limits-log`, logged);
    const { buckets, close } = await openSqlite(path, {
      log: (level, message, fields) => warned.push([level, message, fields?.file]),
    });
    const message = "the limits of the last version cannot be read and start anew; remove their files";
    assert.deepEqual(warned, [["warn", message, `${path}-limits`]]);
    await buckets.save("a", { debt: 1, at: 2 });
    await close();
    assert.equal((await filesOf(path)).length, 3);
  });
});
