import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createPostgresDriver } from "../../adapters/postgres/driver.ts";
import { openPostgres, type Postgres } from "../../adapters/postgres/mod.ts";
import type { SqlDriver, SqlValue } from "../../adapters/sql/driver.ts";
import { migrationsFrom, postgresDialect, sqliteDialect } from "../../adapters/sql/schema.ts";
import { createSqlStore } from "../../adapters/sql/store.ts";
import { createSqliteDriver } from "../../adapters/sqlite/driver.ts";
import { openSqliteFile } from "../../adapters/sqlite/file.ts";
import { openSqlite, type Sqlite } from "../../adapters/sqlite/mod.ts";
import { fullDebt, type RateLimiter, refillInterval } from "../../core/limits/token-bucket.ts";
import type { Store } from "../../core/store/store.ts";
import { fill, type Records, readAll } from "../contracts/owner-records.ts";
import {
  begin,
  claim,
  clientToken,
  converse,
  failure,
  ids,
  messagesOf,
  newConversation,
  toBegin,
  toEnd,
} from "../contracts/store-records.ts";
import { connect, createDatabase, openPool, skipWithoutPostgres } from "../postgres/database.ts";
import { makeFolder, openConnection, quickDisk } from "../sqlite/fixture.ts";

/** The first version, and the one before end users, client tokens and sums of usage. */
const versions = [1, 2];

/** The statements that created a database of an earlier version. */
function stepsTo(version: number, dialect: typeof sqliteDialect): string[] {
  const all = migrationsFrom(0, dialect);
  return all.slice(0, all.length - migrationsFrom(version, dialect).length);
}

/** Copies everything into the tables of the first versions, which lack what later ones have added. */
async function copyAll(from: SqlDriver, to: SqlDriver): Promise<void> {
  const tables = stepsTo(1, sqliteDialect)
    .join()
    .matchAll(/CREATE TABLE (\w+) \(([^)]+)/g);
  for (const [, table, definition = ""] of tables) {
    const columns = [...definition.matchAll(/^ +([a-z_]+) /gm)].map(([, name = ""]) => name);
    const rows = await from.all(`SELECT ${columns} FROM ${table}`, []);
    const sql = `INSERT INTO ${table} (${columns}) VALUES (${columns.map((_, index) => `$${index + 1}`)})`;
    await to.batch(rows.map((row) => ({ sql, params: columns.map((name) => row[name] as SqlValue) })));
  }
}

/** A database of an earlier version, to be opened by today's program. */
interface FormerDatabase {
  /** Its tables, empty. */
  readonly driver: SqlDriver;
  /** Opens the database as the program does now. */
  upgrade(): Promise<Store>;
  dispose(): Promise<void>;
}

const folder = await makeFolder();

function migrationTests(make: () => Promise<FormerDatabase>): void {
  let database: FormerDatabase;
  let store: Store;
  let alice: Records;
  let bob: Records;
  let read: [alice: unknown, bob: unknown];

  before(async () => {
    database = await make();
    const driver = createSqliteDriver(await openConnection(folder.newPath()), quickDisk);
    const today = createSqlStore(driver, { exclusive: true });
    [alice, bob] = [await fill(today), await fill(today)];
    read = [await readAll(today, alice), await readAll(today, bob)];
    await copyAll(driver, database.driver);
    await today.close();
    store = await database.upgrade();
  });
  after(() => database.dispose());

  test("everything reads as before", async () => {
    assert.deepEqual([await readAll(store, alice), await readAll(store, bob)], read);
  });

  test("a reply in progress continues where it was, with its lease, its text and the request to cancel it", async () => {
    const { owner, running } = alice;
    const { conversationId, reply, lease } = running;
    const save = { owner, id: reply.id, lease };
    assert.equal(await store.saveReply({ ...save, lease: { ...lease, holder: "them" } }), "lost");
    assert.equal(await store.saveReply(save), "cancel_requested");
    const { content: _, ...end } = toEnd(running, { status: "cancelled", finishReason: "cancelled" });
    assert.equal(await store.endReply(end), true);
    assert.equal((await store.getMessage({ owner }, conversationId, reply.id))?.content, "Be");
  });

  test("conversations can be continued and deleted", async () => {
    const { owner, idle } = alice;
    const before = await messagesOf(store, owner, idle);
    const result = await store.beginReply(toBegin(owner, idle));
    assert.deepEqual(result, { result: "begun", position: before.total });
    const behind = before.items.at(-1)?.id ?? "";
    const listing = { offset: 0, limit: 20, order: "asc", after: behind } as const;
    assert.equal((await store.listMessages({ owner }, idle, listing))?.total, 2);
    assert.ok(await store.deleteConversation({ owner }, idle, 0));
    assert.equal(await store.getMessage({ owner }, idle, behind), undefined);
    assert.deepEqual(await readAll(store, bob), read[1]);
  });

  test("end users come in beside what is of none", async () => {
    const { owner } = bob;
    const reach = { owner, endUser: "ann" };
    const slice = { offset: 0, limit: 20 };
    const { total } = await store.listConversations({ owner }, slice);
    const { id } = await newConversation(store, owner, { endUser: "ann" });
    const made = { ...claim(owner), endUser: "ann" };
    assert.equal((await store.beginReply({ ...toBegin(owner, id), claim: made })).result, "begun");
    assert.equal((await store.listConversations({ owner }, slice)).total, total + 1);
    assert.deepEqual(ids(await store.listConversations(reach, slice)), [id]);
    const token = clientToken(owner, { endUser: "ann" });
    await store.createClientToken(token);
    assert.deepEqual(await store.findClientToken(token.hash), token);
    assert.equal(await store.findClaim({ ...made, key: bob.claim.key }), undefined);
    assert.ok(await store.deleteConversation(reach, id, 0));
    await store.forgetEndUser(owner, "ann");
    assert.equal(await store.findClaim(made), undefined);
    assert.deepEqual(await readAll(store, bob), read[1]);
  });
}

for (const version of versions) {
  describe(`a SQLite file of version ${version}`, () => {
    migrationTests(async () => {
      const path = folder.newPath();
      const connection = await openSqliteFile(path, {
        applicationId: 0x7477696e,
        version,
        migrationsFrom: () => stepsTo(version, sqliteDialect),
      });
      const driver = createSqliteDriver(connection, quickDisk);
      let upgraded: Sqlite | undefined;
      return {
        driver,
        async upgrade() {
          await driver.close();
          upgraded = await openSqlite(path);
          return upgraded.store;
        },
        dispose: async () => upgraded?.close(),
      };
    });
  });
}

const skip = await skipWithoutPostgres();

for (const version of versions) {
  describe(`a PostgreSQL database of version ${version}`, { skip }, () => {
    let database: Awaited<ReturnType<typeof makePostgres>>;
    migrationTests(async () => {
      database = await makePostgres(version);
      return database;
    });

    test("a store that was opened before the upgrade keeps working", async () => {
      const store = createSqlStore(database.driver, { exclusive: false });
      const { owner, id } = await newConversation(store);
      for (let n = 0; n < 3; n++) await converse(store, owner, id, n === 1 ? failure : {});
      await begin(store, owner, id);
      assert.equal((await messagesOf(store, owner, id)).total, 8);
      assert.equal((await store.readHistory({ owner }, id, 3)).length, 4);
    });

    test("a bucket is as empty as before", async () => {
      const policy = { capacity: 200 };
      const before = fullDebt(policy);
      const { debt } = await database.limiter.peek("key_1", policy);
      assert.ok(debt > before / 2 && debt <= before, `${debt} of ${before}`);
      const unused = await database.limiter.take("key_2", policy);
      assert.deepEqual(unused, { allowed: true, debt: refillInterval(policy) });
    });

    test("migrations run without a statement time-out", async () => {
      assert.deepEqual(await database.timeouts(), ["0"]);
    });
  });
}

/** The table in which earlier versions kept their limits, with an empty bucket. */
const formerLimits = [
  `CREATE TABLE rate_buckets (
    id TEXT COLLATE "C" PRIMARY KEY, debt BIGINT NOT NULL, at BIGINT NOT NULL, admitted INTEGER NOT NULL)`,
  `INSERT INTO rate_buckets VALUES
    ('key_1', 3600000000, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 0)`,
];

async function makePostgres(version: number) {
  const { url, drop } = await createDatabase();
  const admin = await connect(url);
  await admin.query("CREATE TABLE schema_version (version INTEGER NOT NULL)");
  await admin.query(`INSERT INTO schema_version (version) VALUES (${version})`);
  for (const statement of [...stepsTo(version, postgresDialect), ...formerLimits])
    await admin.query(statement);
  await admin.query("CREATE TABLE timeouts (setting TEXT)");
  await admin.query(`CREATE FUNCTION note_timeout() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO timeouts VALUES (current_setting('statement_timeout')); RETURN NULL; END $$`);
  await admin.query(`CREATE TRIGGER note_timeout AFTER INSERT ON schema_version
    FOR EACH ROW EXECUTE FUNCTION note_timeout()`);
  const driver = createPostgresDriver(openPool(url));
  let upgraded: Postgres | undefined;
  return {
    driver,
    async upgrade() {
      upgraded = await openPostgres(url);
      return upgraded.store;
    },
    get limiter(): RateLimiter {
      assert.ok(upgraded);
      return upgraded.limiter;
    },
    /** The statement time-outs that the migrations ran with. */
    async timeouts(): Promise<string[]> {
      return (await admin.query("SELECT setting FROM timeouts")).rows.map(({ setting }) => setting);
    },
    async dispose() {
      await Promise.all([driver.close(), upgraded?.close(), admin.end()]);
      await drop();
    },
  };
}
