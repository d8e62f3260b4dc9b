import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import postgres from "postgres";
import { openPostgres } from "../adapters/postgres.ts";
import { type Store, StoreUnavailable } from "../core/store.ts";
import { createDatabase, skipWithoutPostgres } from "./postgres-database.ts";
import { storeContract } from "./store.contract.ts";

const skip = await skipWithoutPostgres();
if (skip) console.log(`# PostgreSQL is not tested: ${skip}`);

describe("PostgreSQL", { skip }, () => {
  let url = "";
  let drop = async () => {};

  before(async () => {
    ({ url, drop } = await createDatabase());
  });
  after(() => drop());

  storeContract("PostgreSQL", async () => {
    let database = await openPostgres(url);
    return {
      store: database.store,
      async reopen() {
        await database.close();
        database = await openPostgres(url);
        return database.store;
      },
      dispose: () => database.close(),
    };
  });

  test("ten processes that start at once on an empty database all find it in order", async () => {
    const fresh = await createDatabase();
    try {
      const opened = await Promise.all(
        Array.from({ length: 10 }, () => openPostgres(fresh.url, { maxConnections: 2 })),
      );
      await Promise.all(opened.map(({ store }) => store.ping()));
      await Promise.all(opened.map((database) => database.close()));
    } finally {
      await fresh.drop();
    }
  });

  test("a database of a newer version is refused with a line that says so", async () => {
    const fresh = await createDatabase();
    try {
      await (await openPostgres(fresh.url)).close();
      const sql = postgres(fresh.url, { max: 1 });
      await sql`UPDATE schema_version SET version = 999`;
      await sql.end();
      await assert.rejects(openPostgres(fresh.url), /version 999, made by a newer version of this program/);
    } finally {
      await fresh.drop();
    }
  });

  test("one bucket for all who take from it admits exactly its capacity", async () => {
    const databases = await Promise.all([openPostgres(url), openPostgres(url)]);
    const policy = { capacity: 200 };
    const takes = Array.from({ length: 600 }, (_, index) =>
      databases[index % 2]?.limiter.take("key_many", policy),
    );
    const decisions = await Promise.all(takes);
    assert.equal(decisions.filter((decision) => decision?.allowed).length, 200);
    await Promise.all(databases.map((database) => database.close()));
  });

  test("killed connections are passing failures at most, and the store finds its way back", async () => {
    const database = await openPostgres(url, { maxConnections: 1 });
    const admin = postgres(url, { max: 1 });
    const pids =
      await admin`SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
    for (const { pid } of pids) await admin`SELECT pg_terminate_backend(${pid})`;
    let failures = 0;
    for (; failures < 10 && !(await answers(database.store)); failures++);
    assert.ok(failures < 10, "the store found its way back");
    await admin.end();
    await database.close();
  });
});

/** Whether the store answers; if not, it must say that trying again makes sense. */
async function answers(store: Store): Promise<boolean> {
  try {
    await store.ping();
    return true;
  } catch (error) {
    assert.ok(error instanceof StoreUnavailable);
    return false;
  }
}

test("a PostgreSQL that cannot be reached is refused in one line", async () => {
  await assert.rejects(openPostgres("postgres://twins@127.0.0.1:1/twins"), (error: Error) => {
    assert.match(error.message, /^The PostgreSQL database cannot be used: .*ECONNREFUSED.*$/);
    return true;
  });
});
