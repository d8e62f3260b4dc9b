import assert from "node:assert/strict";
import { readdir, rename, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { connect } from "../../adapters/sqlite/connection.ts";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import type { Log } from "../../core/base/log.ts";
import { firstConversation, makeFolder, runProcess } from "./fixture.ts";

const folder = await makeFolder();

const isWindows = process.platform === "win32";
const immovable = isWindows && "Windows cannot move an open file";

describe("a SQLite connection", () => {
  test("parameters are bound by number: twice, out of order, or as null if missing", async () => {
    const connection = await connect(folder.newPath());
    const read = (...params: string[]) => connection.all("SELECT $2 AS a, $1 AS b, $2 AS c", params)[0];
    assert.deepEqual({ ...read("1", "2") }, { a: "2", b: "1", c: "2" });
    assert.deepEqual({ ...read("3") }, { a: null, b: "3", c: null }); // and not what was bound before
    connection.close();
  });
});

describe("a SQLite file", () => {
  test("it is created with its folder, and only its owner can read it", async () => {
    const path = join(folder.path, "some", "new folder", "twins.db");
    const sqlite = await openSqlite(path);
    await sqlite.store.createConversation(firstConversation);
    const names = await readdir(join(folder.path, "some", "new folder"));
    assert.deepEqual(names.sort(), ["twins.db", "twins.db-wal"]);
    for (const name of names) {
      const { mode } = await stat(join(folder.path, "some", "new folder", name));
      if (!isWindows) assert.equal((mode & 0o777).toString(8), "600", name); // elsewhere, these bits say who may read it
    }
    await sqlite.close();
  });

  test("closing it leaves no write-ahead log behind", async () => {
    const path = join(folder.path, "closed", "twins.db");
    const sqlite = await openSqlite(path);
    await sqlite.store.createConversation(firstConversation);
    await sqlite.close();
    assert.deepEqual(await readdir(join(folder.path, "closed")), ["twins.db"]);
  });

  test("if its log cannot be checkpointed when it is closed, both files stay as they are, and nothing is lost", {
    skip: immovable,
  }, async () => {
    const path = folder.newPath();
    const said = runProcess(
      path,
      `const { renameSync } = await import("node:fs");
      const log = (level, message, fields) => say(level + " " + fields.file);
      const { store, close } = await openSqlite(path, { log });
      await store.createConversation(conversation(1));
      renameSync(path, path + ".moved");
      await close();
      renameSync(path + ".moved", path);`,
    );
    assert.equal(said, `warn ${path}\n`);
    const { store, close } = await openSqlite(path);
    assert.deepEqual(await store.getConversation({ owner: "alice" }, "conv_1"), firstConversation);
    await close();
  });

  test("a ping, and each write, fails if the file was moved or replaced while open; the log says so once", {
    skip: immovable,
  }, async () => {
    const [path, elsewhere] = [folder.newPath(), folder.newPath()];
    const lines: unknown[] = [];
    const log: Log = (level, _, fields) => lines.push([level, fields?.file]);
    const { store, buckets, close } = await openSqlite(path, { log });
    const unavailable = { name: "StoreUnavailable", message: /file was moved, removed or replaced/ };
    await store.ping();
    await rename(path, elsewhere);
    await assert.rejects(store.ping(), unavailable);
    await assert.rejects(store.createConversation(firstConversation), unavailable);
    await assert.rejects(buckets.save("one", { debt: 1, at: 1 }), unavailable);
    await writeFile(path, "");
    await assert.rejects(store.ping(), unavailable);
    await rename(elsewhere, path);
    await store.ping();
    await store.createConversation(firstConversation);
    await close();
    assert.deepEqual(lines, [
      ["error", path],
      ["info", path],
    ]);
  });

  test("a symbolic link to it opens the file itself", {
    skip: isWindows && "Windows requires a privilege to create links",
  }, async () => {
    const [path, link] = [folder.newPath(), folder.newPath()];
    await symlink(path, link);
    for (const id of ["conv_1", "conv_2"]) {
      const { store, close } = await openSqlite(link); // creates the file, then finds it
      await store.createConversation({ ...firstConversation, id });
      assert.ok((await stat(`${path}-wal`)).size > 0);
      await close();
    }
    const { store, close } = await openSqlite(path);
    assert.equal((await store.listConversations({ owner: "alice" }, { offset: 0, limit: 1 })).total, 2);
    await close();
  });

  test("only the owner can read a file that is created through a symbolic link", {
    skip: isWindows && "Windows requires a privilege to create links",
  }, async () => {
    const [path, link] = [folder.newPath(), folder.newPath()];
    await symlink(path, link);
    const { store, close } = await openSqlite(link);
    await store.createConversation(firstConversation);
    for (const created of [path, `${path}-wal`]) {
      assert.equal(((await stat(created)).mode & 0o777).toString(8), "600", created);
    }
    await close();
  });

  test("a second process is refused in one line that names PostgreSQL, before and after a write", async () => {
    const path = folder.newPath();
    const sqlite = await openSqlite(path);
    const second = `await openSqlite(path).then(() => say("opened"), (error) => say(error.message));`;
    const refuse = () => runProcess(path, second);
    const line =
      `${path} is in use already; a SQLite file belongs to one process, which opens it once. ` +
      "End that process first, name another file, or use PostgreSQL for several (DATABASE_URL=postgres://…).\n";
    assert.equal(refuse(), line);
    await sqlite.store.createConversation(firstConversation);
    assert.equal(refuse(), line);
    await sqlite.close();
    assert.equal(refuse(), "opened\n");
  });

  test("opening it again in the same process is refused and does not release the lock", async () => {
    const path = folder.newPath();
    const sqlite = await openSqlite(path);
    await assert.rejects(openSqlite(path), /is in use already; .+, which opens it once/);
    const stdout = runProcess(
      path,
      `await openSqlite(path).then(() => say("opened"), (error) => say(error.message));`,
    );
    assert.ok(stdout.startsWith(`${path} is in use already`), stdout);
    await sqlite.close();
  });
});
