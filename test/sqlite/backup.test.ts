/**
 * Copies of a SQLite file that are made while its process writes.
 */

import assert from "node:assert/strict";
import { copyFile, readdir, stat, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { describe, test } from "node:test";
import { connect } from "../../adapters/sqlite/connection.ts";
import { openSqliteDatabase } from "../../adapters/sqlite/file.ts";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { begin, newConversation } from "../contracts/store-records.ts";
import { makeFolder, runProcess } from "./fixture.ts";

const folder = await makeFolder();

/** What is in a table, and whether SQLite finds the file sound. */
async function contentOf(path: string, sql: string): Promise<unknown[]> {
  const own = folder.newPath(); // libsql keeps the lock of a file that it has closed for a while
  await copyFile(path, own);
  const connection = await connect(own);
  const [check] = connection.all("PRAGMA integrity_check", []);
  assert.equal(check?.integrity_check, "ok");
  const rows = connection.all(sql, []).map((row) => ({ ...row }));
  connection.close();
  return rows;
}

describe("a backup", () => {
  test("it is a database that opens with all that was stored, and later changes are not in it", async () => {
    const [path, target] = [folder.newPath(), folder.newPath()];
    const { store, backup, close } = await openSqlite(path);
    const { id } = await newConversation(store, "alice", { title: "Kept" });
    await begin(store, "alice", id, { content: "Hello" });
    await backup(target);
    await newConversation(store, "alice", { title: "Too late" });
    await close();

    if (process.platform !== "win32") assert.equal((await stat(target)).mode & 0o777, 0o600);
    assert.deepEqual(await contentOf(target, "SELECT title FROM conversations"), [{ title: "Kept" }]);
    const restored = await openSqlite(target);
    const found = await restored.store.getConversation({ owner: "alice" }, id);
    assert.equal(found?.messageCount, 2);
    await restored.close();
  });

  test("it is one instant of a database that is written all the time, also beyond its end and what was rolled back", async () => {
    const [path, target] = [folder.newPath(), folder.newPath()];
    const database = await openSqliteDatabase(path);
    const run = (sql: string, ...params: (string | number)[]) => database.batch([{ sql, params }]);
    await run("CREATE TABLE pairs (id INTEGER PRIMARY KEY, one INTEGER, other INTEGER, text TEXT)");
    // Both numbers change together: a copy of two instants has rows, or a sum, that differ.
    const many = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
      INSERT INTO pairs SELECT i, 0, 0, hex(randomblob(1000)) FROM n`;
    await run(many);
    let copying = true;
    let writes = 0;
    const write = async () => {
      while (copying) {
        writes++;
        const id = 1 + ((writes * 7919) % 10_000);
        await database.batch([
          { sql: "UPDATE pairs SET one = $1 WHERE id = $2", params: [writes, id] },
          {
            sql: "UPDATE pairs SET other = $1, text = hex(randomblob(1000)) WHERE id = $2",
            params: [writes, id],
          },
          {
            sql: "INSERT INTO pairs (one, other, text) VALUES ($1, $1, hex(randomblob(1000)))",
            params: [writes],
          },
        ]);
        if (writes % 50 === 0)
          await database.batch([
            { sql: "UPDATE pairs SET one = -1, text = hex(randomblob(1000))", params: [] },
            { sql: "UPDATE pairs SET one = 0 WHERE id = 0", params: [], expect: 1 },
          ]);
      }
    };
    const writing = [write(), write()];
    let parts = 0;
    const before = writes;
    await database.backup(target, { report: () => void parts++ });
    copying = false;
    await Promise.all(writing);
    await database.close();
    assert.ok(parts > 10 && writes > before + 4, `${parts} parts, ${writes} writes`);
    assert.deepEqual(await contentOf(target, "SELECT count(*) AS torn FROM pairs WHERE one <> other"), [
      { torn: 0 },
    ]);
    // One instant: every write up to the newest is there.
    const [last] = (await contentOf(
      target,
      "SELECT max(one) AS newest, (SELECT count(*) FROM pairs) - 10000 AS added FROM pairs",
    )) as { newest: number; added: number }[];
    assert.ok(last && last.newest > 0 && Math.abs(last.newest - last.added) <= 2, JSON.stringify(last));
  });

  test("it overwrites nothing, and leaves nothing where it cannot be written", async () => {
    const path = folder.newPath();
    const { backup, close } = await openSqlite(path);
    const there = folder.newPath();
    await writeFile(there, "precious");
    await assert.rejects(backup(there), /^Error: .+ exists already, and a backup overwrites nothing\.$/);
    await assert.rejects(backup(`${there}/x/y.db`), /cannot be created: there is no folder .+x\.$/);
    await close();
    const left = await readdir(dirname(there));
    assert.ok(!left.some((name) => name.startsWith(basename(there)) && name !== basename(there)));
  });

  test("one at a time is made, and the end of the process ends it", async () => {
    const { backup, close } = await openSqlite(folder.newPath());
    const first = folder.newPath();
    const making = assert.rejects(backup(first), /The server stops\.$/);
    await assert.rejects(backup(folder.newPath()), /Another backup is being made/);
    await close();
    await making;
    await assert.rejects(stat(first));
    await assert.rejects(stat(`${first}.partial`));
  });

  test("the lock on the file stays: another process still cannot open it", async () => {
    const path = folder.newPath();
    const { backup, close } = await openSqlite(path);
    await backup(folder.newPath());
    const printed = runProcess(
      path,
      `await openSqlite(path).then(() => say("opened"), (error) => say(error.message));`,
    );
    assert.match(printed, /is in use already/);
    await close();
  });
});
