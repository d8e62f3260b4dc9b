/**
 * Restoring a SQLite file: a backup beside the write-ahead log of the file that it replaces.
 */

import assert from "node:assert/strict";
import { chmod, copyFile, readFile, rm, stat, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { newConversation } from "../contracts/store-records.ts";
import { killAfter, makeFolder, startProcess } from "./fixture.ts";

const folder = await makeFolder();

/** A file of a process that was killed, beside its write-ahead log, and a backup of it from before. */
async function crashedWithBackup(): Promise<{ path: string; backup: string; kept: string }> {
  const path = folder.newPath();
  const backup = folder.newPath();
  const { store, backup: copyTo, close } = await openSqlite(path);
  const { id: kept } = await newConversation(store, "alice");
  await copyTo(backup);
  await close();
  const child = startProcess(
    path,
    `const { store } = await openSqlite(path);
    for (let n = 0; n < 50; n++) await store.createConversation({ ...conversation(n), owner: "alice" });
    say("written");
    setInterval(() => {}, 1000);`,
  );
  await killAfter(child, "written");
  assert.ok((await stat(`${path}-wal`)).size > 0);
  return { path, backup, kept };
}

async function conversationsIn(path: string): Promise<string[]> {
  const { store, close } = await openSqlite(path);
  const { items } = await store.listConversations({ owner: "alice" }, { offset: 0, limit: 100 });
  await close();
  return items.map(({ id }) => id);
}

test("a backup beside the old write-ahead log is refused, and stays as it is; without the log it is what was saved", async () => {
  const { path, backup, kept } = await crashedWithBackup();
  await copyFile(backup, path);
  await assert.rejects(openSqlite(path), {
    message:
      `${path} lies beside ${path}-wal, the write-ahead log of another file, which would undo it. To restore a backup, ` +
      `delete ${path}-wal; otherwise put back the file that the log belongs to.`,
  });
  assert.deepEqual(await readFile(path), await readFile(backup));
  await rm(`${path}-wal`);
  assert.deepEqual(await conversationsIn(path), [kept]);
});

test("a file that was closed cleanly, moved beside another's write-ahead log, is refused", async () => {
  const { path } = await crashedWithBackup();
  const other = folder.newPath();
  await (await openSqlite(other)).close();
  await copyFile(other, path);
  await assert.rejects(openSqlite(path), /the write-ahead log of another file/);
});

test("a file beside its own write-ahead log opens with all that was written", async () => {
  const { path } = await crashedWithBackup();
  assert.equal((await conversationsIn(path)).length, 51);
});

test("a second opening of a file that is open is refused as in use, and the first one keeps its lock", async () => {
  const path = folder.newPath();
  const first = await openSqlite(path);
  await newConversation(first.store, "alice");
  for (let time = 0; time < 2; time++) await assert.rejects(openSqlite(path), /is in use already/);
  await first.close();
  assert.equal((await conversationsIn(path)).length, 1);
});

test("a backup can be read by its owner alone, even if a part of another's lies there", {
  skip: process.platform === "win32" && "Windows has no modes",
}, async () => {
  const { store, backup, close } = await openSqlite(folder.newPath());
  await newConversation(store, "alice");
  const target = folder.newPath();
  await writeFile(`${target}.partial`, "left by a crash");
  await chmod(`${target}.partial`, 0o666);
  await backup(target);
  assert.equal((await stat(target)).mode & 0o777, 0o600);
  await close();
});
