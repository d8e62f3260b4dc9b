/**
 * The command that copies one database into another.
 */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { openPostgres } from "../adapters/postgres.ts";
import { migrationsFrom, sqliteDialect, tables } from "../adapters/sql-schema.ts";
import { openSqlite } from "../adapters/sqlite.ts";
import { connect } from "../adapters/sqlite-connection.ts";
import type { Store } from "../core/store.ts";
import { fill, readAll } from "./owner-records.ts";
import { createDatabase, skipWithoutPostgres } from "./postgres-database.ts";
import { runServer } from "./server-process.ts";
import { makeFolder } from "./sqlite-fixture.ts";
import { converse, newConversation } from "./store-records.ts";

const folder = await makeFolder();
after(() => folder.remove());

const skip = await skipWithoutPostgres();
if (skip) console.log(`# PostgreSQL is not tested: ${skip}`);

/** A database that the command is given. */
interface Place {
  readonly address: string;
  /** Runs `use` while the database is open, as only one process may have it open. */
  open<Result>(use: (store: Store) => Promise<Result>): Promise<Result>;
}

function newSqlite(): Place {
  const path = folder.newPath();
  return {
    address: `sqlite:${path}`,
    async open(use) {
      const { store, close } = await openSqlite(path);
      try {
        return await use(store);
      } finally {
        await close();
      }
    },
  };
}

async function newPostgres(): Promise<Place> {
  const { url, drop } = await createDatabase();
  after(drop);
  return {
    address: url,
    async open(use) {
      const { store, close } = await openPostgres(url);
      try {
        return await use(store);
      } finally {
        await close();
      }
    },
  };
}

/** Runs the command. Addresses with a password should not be on the command line, so the target's is a variable. */
function copy(from: Place, to: Place) {
  return runServer(["copy", "--from", from.address], { DATABASE_URL: to.address });
}

/** Runs the command, which must refuse, and returns its error line. */
async function refusal(from: Place, to: Place): Promise<string> {
  const { code, stdout, stderr } = await copy(from, to);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /^twin-service: [^\n]+\n$/);
  return stderr;
}

function copyTests(newSource: () => Promise<Place> | Place, newTarget: () => Promise<Place> | Place): void {
  test("everything reads as it did before, in a database that can be used", async () => {
    const [from, to] = [await newSource(), await newTarget()];
    const [alice, bob] = await from.open(async (store) => [await fill(store), await fill(store)] as const);
    const before = await from.open((store) => Promise.all([readAll(store, alice), readAll(store, bob)]));

    const { code, stdout } = await copy(from, to);
    assert.equal(code, 0);
    assert.match(stdout, /^Copied from \S+ to \S+: conversations 6, messages \d+, API keys 2\.\n$/);

    await to.open(async (store) => {
      assert.deepEqual([await readAll(store, alice), await readAll(store, bob)], before);
      await converse(store, alice.owner, alice.idle);
      assert.ok(await store.deleteConversation(alice.owner, alice.idle));
    });
  });

  test("conversations beyond a transaction's size are all copied", async () => {
    const [from, to] = [await newSource(), await newTarget()];
    const made = await from.open((store) =>
      Promise.all(Array.from({ length: 250 }, () => newConversation(store, "alice"))),
    );
    assert.match((await copy(from, to)).stdout, /: conversations 250, messages 0, API keys 0\.$/m);
    await to.open(async (store) => {
      for (const { id } of made) assert.ok(await store.getConversation("alice", id));
    });
  });

  test("a database with records is refused as a target, and stays as it is", async () => {
    const [from, to] = [await newSource(), await newTarget()];
    await from.open(fill);
    const [bob, before] = await to.open(async (store) => {
      const records = await fill(store);
      return [records, await readAll(store, records)] as const;
    });
    assert.match(await refusal(from, to), /DATABASE_URL \(--database\): .* has records already/);
    assert.deepEqual(await to.open((store) => readAll(store, bob)), before);
  });
}

describe("a SQLite file copied into another", () => copyTests(newSqlite, newSqlite));
describe("a SQLite file copied into PostgreSQL", { skip }, () => copyTests(newSqlite, newPostgres));
describe("a PostgreSQL database copied into a SQLite file", { skip }, () =>
  copyTests(newPostgres, newSqlite),
);

describe("a copy that cannot be made", () => {
  test("a file that does not exist is named, and not created", async () => {
    const missing = newSqlite();
    assert.match(await refusal(missing, newSqlite()), /--from: \S+ cannot be read \(ENOENT\)/);
    assert.match(await refusal(missing, newSqlite()), /--from: \S+ cannot be read \(ENOENT\)/);
  });

  test("a file that a server has open is refused", async () => {
    const from = newSqlite();
    await from.open(async () =>
      assert.match(await refusal(from, newSqlite()), /--from: \S+ is in use already/),
    );
  });

  test("one that breaks off says so, has no API keys, and is not continued", async () => {
    const [from, to] = [newSqlite(), newSqlite()];
    const { owner } = await from.open(fill);
    await to.open(async () => {});
    const connection = await connect(to.address.slice("sqlite:".length));
    connection.exec(`CREATE TRIGGER full BEFORE INSERT ON messages
      BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`);
    connection.close();
    const line = await refusal(from, to);
    assert.match(line, /The copy broke off \(database or disk is full\): \S+ has only a part of the records/);
    const { total } = await to.open((store) => store.listKeys(owner, { offset: 0, limit: 1 }));
    assert.equal(total, 0);
    assert.match(await refusal(from, to), /has records already/);
  });

  test("a file is not copied into itself", async () => {
    const from = newSqlite();
    await from.open(fill);
    assert.match(await refusal(from, from), /DATABASE_URL \(--database\): \S+ is in use already/);
  });
});

test("all tables are copied", () => {
  const created = migrationsFrom(0, sqliteDialect).flatMap(
    (sql) => /CREATE TABLE (\w+)/.exec(sql)?.[1] ?? [],
  );
  assert.deepEqual(tables.map(({ name }) => name).sort(), [...new Set(created)].sort());
});
