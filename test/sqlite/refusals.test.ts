/**
 * Files that a store does not open: each is refused in one line, and left as it is.
 */

import assert from "node:assert/strict";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { schemaVersion } from "../../adapters/sql/schema.ts";
import { connect } from "../../adapters/sqlite/connection.ts";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { makeFolder } from "./fixture.ts";

const folder = await makeFolder();

const refusals: { what: string; make: (path: string) => Promise<unknown>; message: RegExp }[] = [
  {
    what: "a text file",
    make: (path) => writeFile(path, "Dear diary,\n".repeat(100)),
    message: /^\S+ is not a SQLite database\.$/,
  },
  {
    what: "a folder",
    make: (path) => mkdir(path),
    message: /^\S+ is a folder; choose a file in a folder that this process can write to\.$/,
  },
  {
    what: "another program's database",
    async make(path) {
      const connection = await connect(path);
      connection.exec("CREATE TABLE bookmarks (url TEXT)");
      connection.close();
    },
    message: /^\S+ is the database of another program\.$/,
  },
  {
    what: "a newer version's database",
    async make(path) {
      await (await openSqlite(path)).close();
      const connection = await connect(path);
      connection.exec(`PRAGMA user_version = ${schemaVersion + 1}`);
      connection.close();
    },
    message: new RegExp(
      `^\\S+ has version ${schemaVersion + 1}, made by a newer version of this program; this one knows ` +
        `${schemaVersion} at most\\. Run the newer program, or restore a backup made before the upgrade\\.$`,
    ),
  },
  {
    what: "a damaged database",
    async make(path) {
      await (await openSqlite(path)).close();
      const bytes = await readFile(path);
      await writeFile(path, bytes.fill(0xff, 100, 4096));
    },
    message: /^\S+ is a damaged SQLite database; restore it from a backup\.$/,
  },
];
for (const { what, make, message } of refusals) {
  test(`${what} is refused in one clear line and left as it is`, async () => {
    const path = folder.newPath();
    await make(path);
    const before = (await stat(path)).isFile() && (await readFile(path));
    await assert.rejects(openSqlite(path), { message });
    assert.deepEqual((await stat(path)).isFile() && (await readFile(path)), before);
  });
}

test("another program's database is released: it can be written again at once", async () => {
  const path = folder.newPath();
  const theirs = await connect(path);
  theirs.exec("CREATE TABLE bookmarks (url TEXT)");
  await assert.rejects(openSqlite(path), /another program/);
  theirs.exec("INSERT INTO bookmarks VALUES ('https://a.example')");
  theirs.close();
});

const accepted = "choose a file in a folder that this process can write to.";

test("a path below a file is refused in one clear line", async () => {
  const file = folder.newPath();
  await writeFile(file, "a file, not a folder");
  const path = join(file, "twins.db");
  const message = `${path} cannot be created: its folder ${file} cannot be created (EEXIST); ${accepted}`;
  await assert.rejects(openSqlite(path), { message });
});

test("a path in a folder that takes no files is refused in one clear line", {
  skip: process.platform !== "linux" && "only Linux has a folder where nothing can be created",
}, async () => {
  const message = `/proc/y.db cannot be created (ENOENT); ${accepted}`;
  await assert.rejects(openSqlite("/proc/y.db"), { message });
});

test("what SQLite would not take for a file's path is refused, and leaves no file behind", async () => {
  for (const path of [":memory:", "file:twins.db", "file:twins.db?mode=memory", ""]) {
    const message = `openSqlite: path must be the path of a file, not ${JSON.stringify(path)}.`;
    await assert.rejects(openSqlite(path), { name: "TypeError", message });
  }
  assert.deepEqual(
    (await readdir(".")).filter((name) => /^(?::memory:|file:|twins\.db)/.test(name)),
    [],
  );
});
