/**
 * The command that copies a SQLite file into PostgreSQL.
 */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { tables } from "../../adapters/sql/schema.ts";
import { openSqliteFile } from "../../adapters/sqlite/file.ts";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import type { Store } from "../../core/store/store.ts";
import { fill, readAll } from "../contracts/owner-records.ts";
import { converse, key, newConversation } from "../contracts/store-records.ts";
import { connect, createDatabase, skipWithoutPostgres } from "../postgres/database.ts";
import { runServer } from "../server/process.ts";
import { makeFolder } from "../sqlite/fixture.ts";

const folder = await makeFolder();

/** Runs `use` while the store is open: a file can only be opened once. */
async function withStore<Result>(
  opening: Promise<{ store: Store; close(): Promise<void> }>,
  use: (store: Store) => Promise<Result>,
): Promise<Result> {
  const { store, close } = await opening;
  try {
    return await use(store);
  } finally {
    await close();
  }
}

/** A new file with the records of two owners. */
async function makeFile() {
  const path = folder.newPath();
  const owners = await withStore(openSqlite(path), async (store) => [await fill(store), await fill(store)]);
  return { path, owners };
}

/** Reads everything that the owners have. */
function readOwners(store: Store, owners: Awaited<ReturnType<typeof makeFile>>["owners"]) {
  return Promise.all(owners.map((each) => readAll(store, each)));
}

function copy(path: string, url: string) {
  return runServer(["copy", "--from", `sqlite:${path}`], { DATABASE_URL: url });
}

/** A password that no line may show. */
const password = "s3cret";

/** The same address with a password, if it has none. */
function withPassword(address: string): string {
  const url = new URL(address);
  url.password ||= password;
  return url.href;
}

/** Runs the command, which must fail, and returns its error line. */
async function complaint(path: string, url: string): Promise<string> {
  const { code, stdout, stderr } = await copy(path, url);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /^twin-service: [^\n]+\n$/);
  return stderr;
}

const skip = await skipWithoutPostgres();

describe("a SQLite file copied into PostgreSQL", { skip }, () => {
  test("a copy that breaks off says why, leaves nothing behind, and can be repeated", async () => {
    await using database = await createDatabase();
    const { url } = database;
    const { path, owners } = await makeFile();
    const read = await withStore(openSqlite(path), (store) => readOwners(store, owners));
    await withStore(openPostgres(url), async () => {});
    await using admin = await connect(url);
    await admin.query("ALTER TABLE messages ADD CONSTRAINT short CHECK (length(content) < 5)");
    assert.match(await complaint(path, url), /: The copy from \S+ to \S+ failed: .*"short"\.\n$/);
    for (const { name } of tables) assert.equal((await admin.query(`SELECT FROM ${name}`)).rowCount, 0);

    await admin.query("ALTER TABLE messages DROP CONSTRAINT short");
    assert.equal((await copy(path, url)).code, 0);
    await withStore(openPostgres(url), async (store) =>
      assert.deepEqual(await readOwners(store, owners), read),
    );
  });

  test("everything reads as it did before, long texts included", async () => {
    await using database = await createDatabase();
    const { url } = database;
    const { path, owners } = await makeFile();
    const [alice] = owners;
    assert.ok(alice);
    const read = await withStore(openSqlite(path), async (store) => {
      const content = "\u{1F916} and 'so' \u2028".repeat(100_000);
      for (let n = 0; n < 3; n++) await converse(store, alice.owner, alice.idle, { content });
      return readOwners(store, owners);
    });

    const { code, stdout } = await copy(path, withPassword(url));
    assert.equal(code, 0);
    assert.match(
      stdout,
      /^Copied from \S+ to \S+: conversations 6, messages \d+, API keys 2, versions of own twins \d+, webhooks \d+\.\n$/,
    );
    assert.ok(!stdout.includes(password));

    await withStore(openPostgres(url), async (store) => {
      assert.deepEqual(await readOwners(store, owners), read);
      await converse(store, alice.owner, alice.idle);
      assert.ok(await store.deleteConversation({ owner: alice.owner }, alice.idle, 0));
    });
    await withStore(openSqlite(path), async (store) =>
      assert.deepEqual(await readOwners(store, owners), read),
    );
  });

  test("a database that has records is refused, and stays as it is", async () => {
    await using database = await createDatabase();
    const { url } = database;
    const { path } = await makeFile();
    const bob = await withStore(openPostgres(url), fill);
    const before = await withStore(openPostgres(url), (store) => readAll(store, bob));
    const line = await complaint(path, withPassword(url));
    assert.match(line, /DATABASE_URL \(--database\): .* has records already/);
    assert.ok(!line.includes(password));
    assert.deepEqual(await withStore(openPostgres(url), (store) => readAll(store, bob)), before);
  });

  test("of many owners, all have what they had", async () => {
    await using database = await createDatabase();
    const { url } = database;
    const path = folder.newPath();
    const names = Array.from({ length: 70 }, (_, n) => `owner ${n % 7}`);
    const made = await withStore(openSqlite(path), (store) =>
      Promise.all(
        names.map(async (owner) => {
          await store.createKey(key(owner), 50);
          return newConversation(store, owner);
        }),
      ),
    );
    assert.match((await copy(path, url)).stdout, /: conversations 70, messages 0, API keys 70, /m);
    await withStore(openPostgres(url), async (store) => {
      for (const { owner, id } of made) assert.ok(await store.getConversation({ owner }, id));
      for (const owner of new Set(names)) {
        assert.equal((await store.listKeys(owner, { offset: 0, limit: 50 })).items.length, 10);
      }
    });
  });
});

describe("a file that cannot be copied", () => {
  const nowhere = "postgres://nobody@127.0.0.1:1/nothing";

  test("one that does not exist is named, and not created", async () => {
    const path = folder.newPath();
    assert.match(await complaint(path, nowhere), /--from: \S+ cannot be read \(ENOENT\)/);
    assert.match(await complaint(path, nowhere), /--from: \S+ cannot be read \(ENOENT\)/);
  });

  test("one that a server has open is refused", async () => {
    const path = folder.newPath();
    await withStore(openSqlite(path), async () => {
      assert.match(await complaint(path, nowhere), /--from: \S+ is in use already/);
    });
  });

  test("one without records is refused, as it is hardly the one that was meant", async () => {
    const path = folder.newPath();
    await writeFile(path, "");
    assert.match(await complaint(path, nowhere), /--from: \S+ has no records/);
  });
});

test("all tables are copied but the limiter's, in the order of their keys", async () => {
  const connection = await openSqliteFile(folder.newPath());
  const created = connection.all(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'rate_buckets' ORDER BY name",
    [],
  );
  const found = created.map(({ name }) => ({
    name,
    key: connection
      .all("SELECT name FROM pragma_table_info($1) WHERE pk > 0 ORDER BY pk", [String(name)])
      .map((column) => column.name),
  }));
  connection.close();
  assert.deepEqual(
    [...tables].map(({ name, key }) => ({ name, key })).sort((a, b) => (a.name < b.name ? -1 : 1)),
    found,
  );
});
