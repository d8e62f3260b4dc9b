import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createPostgresDriver } from "../../adapters/postgres/driver.ts";
import { createPostgresLimiter } from "../../adapters/postgres/limiter.ts";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { StoreUnavailable } from "../../core/store/store.ts";
import { conversation } from "../contracts/store-records.ts";
import { openChat } from "../support/chat.ts";
import { inShort, readConversation } from "../support/event-reader.ts";
import { inProcess, unlimited } from "../support/harness.ts";
import { until } from "../support/until.ts";
import { connect, createDatabase, openPool, sharedDatabase, skipWithoutPostgres } from "./database.ts";
import { failingPool, openNetwork, openPooling } from "./faults.ts";

const skip = await skipWithoutPostgres();

describe("connections to PostgreSQL", { skip }, () => {
  const shared = sharedDatabase();

  test("connections killed while in use cause temporary failures, and lose nothing that was acknowledged", async () => {
    await using database = await openPostgres(shared.url, { maxConnections: 4 });
    await using admin = await connect(shared.url);
    let killing = true;
    let [stored, failed] = [0, 0];

    async function use(owner: string): Promise<void> {
      while (killing) {
        const kept = await passes(() => database.store.createConversation(conversation(owner)));
        if (kept) stored++;
        else failed++;
      }
    }
    const users = ["a", "b", "c", "d", "e", "f"].map((name) => use(`killed-${name}`));
    for (let round = 0; round < 30 || (stored < 20 && round < 300); round++) {
      await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    killing = false;
    await Promise.all(users);

    assert.ok(failed > 0 && stored > 0, `${stored} stored, ${failed} failed`);
    const [row] = (await admin.query("SELECT count(*) FROM conversations WHERE owner LIKE 'killed-%'")).rows;
    assert.ok(Number(row?.count) >= stored, "what was acknowledged is stored");
    await until("the store answers", 5000, () => passes(() => database.store.ping()));
  });

  test("a connection is still usable after its transaction failed", async () => {
    const driver = createPostgresDriver(openPool(shared.url, { max: 1 }));
    const refused = driver.batch([
      { sql: "SELECT 1", params: [] },
      { sql: "SELECT 1 / 0", params: [] },
    ]);
    await assert.rejects(refused, /division by zero/);
    assert.deepEqual(await driver.all("SELECT 1 AS one", []), [{ one: 1 }]);
    await driver.close();
  });

  /** A driver on one connection, on which another command runs instead of this: by default one that fails, as if it had been cancelled. */
  async function driverWithout(command: string, instead = "SELECT 1 / 0") {
    const pool = openPool(shared.url, { max: 1 });
    const client = await pool.connect();
    const query = client.query.bind(client) as (asked: unknown) => unknown;
    Object.assign(client, { query: (asked: unknown) => query(asked === command ? instead : asked) });
    client.release();
    return createPostgresDriver(pool);
  }

  test("a batch whose BEGIN fails changes nothing", async () => {
    await using admin = await connect(shared.url);
    await admin.query("CREATE TABLE begun (id INTEGER)");
    const driver = await driverWithout("BEGIN");
    const refused = driver.batch([
      { sql: "INSERT INTO begun VALUES (1)", params: [] },
      { sql: "DELETE FROM begun WHERE id = 2", params: [], expect: 1 },
    ]);
    await assert.rejects(refused, /division by zero/);
    assert.deepEqual(await driver.all("SELECT id FROM begun", []), []);
    await driver.close();
  });

  for (const [command, expect] of [
    ["COMMIT", 0],
    ["ROLLBACK", 1],
  ] as const) {
    test(`a connection whose ${command} failed, so that its transaction is still open, is not used again`, async () => {
      const driver = await driverWithout(command);
      const refused = driver.batch([{ sql: "DELETE FROM messages WHERE id = ''", params: [], expect }]);
      await assert.rejects(refused, /division by zero/);
      assert.deepEqual(await driver.all("SELECT 1 AS one", []), [{ one: 1 }]);
      await driver.close();
    });
  }

  test("a batch whose COMMIT rolls back, as that of a failed transaction does without an error, is not acknowledged", async () => {
    const driver = await driverWithout("COMMIT", "ROLLBACK");
    const lost = driver.batch([{ sql: "DELETE FROM messages WHERE id = ''", params: [], expect: 0 }]);
    await assert.rejects(lost, StoreUnavailable);
    assert.deepEqual(await driver.all("SELECT 1 AS one", []), [{ one: 1 }]);
    await driver.close();
  });

  test("closing waits for pending calls, however many more than connections they are, and refuses later ones", async () => {
    await using database = await openPostgres(shared.url, { maxConnections: 1 });
    const begun = Array.from({ length: 20 }, () =>
      database.store.createConversation(conversation("closing")),
    );
    await database.close();
    await Promise.all(begun);
    await assert.rejects(database.store.ping(), StoreUnavailable);
  });

  test("closing does not wait for a network that has just frozen", { timeout: 20_000 }, async () => {
    using network = await openNetwork(shared.url);
    await using database = await openPostgres(network.url);
    await database.store.ping();
    await until("it is listening for signals", 5000, async () => network.connections > 1);
    network.freeze();
    await database.close();
  });

  test("when all connections freeze at once, one call fails, and the next ones get new connections", {
    timeout: 30_000,
  }, async () => {
    using network = await openNetwork(shared.url);
    await using database = await openPostgres(network.url, { maxConnections: 4 });
    await Promise.all(Array.from({ length: 40 }, () => database.store.ping()));
    assert.ok(network.connections > 4, `${network.connections} connections`);
    network.freeze();
    await assert.rejects(database.store.ping(), StoreUnavailable);
    await Promise.all(Array.from({ length: 8 }, () => database.store.ping()));
  });

  test("connections to a server that is read-only, as after a failover, are replaced", async () => {
    await using fresh = await createDatabase();
    await using database = await openPostgres(fresh.url);
    await using admin = await connect(fresh.url);
    const readOnly = `DATABASE ${new URL(fresh.url).pathname.slice(1)} SET default_transaction_read_only`;
    await admin.query(`ALTER ${readOnly} = on`); // applies to new connections
    await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`);
    await until("a write is refused as read-only", 5000, async () => {
      const error = await database.store.createConversation(conversation("a")).catch(causeOf);
      return /read-only/.test(String(error));
    });
    await Promise.all(Array.from({ length: 3 }, () => database.store.ping())); // on as many connections
    await assert.rejects(database.limiter.take("key", { capacity: 200 }), StoreUnavailable);

    await admin.query(`ALTER ${readOnly} = off`);
    await database.store.createConversation(conversation("a"));
    assert.equal((await database.limiter.take("key", { capacity: 200 })).allowed, true);
  });

  test("a database that accepts no connections or was renamed is unavailable, and is used again when it is back", async () => {
    await using fresh = await createDatabase();
    await using admin = await connect(shared.url);
    await using database = await openPostgres(fresh.url);
    const name = new URL(fresh.url).pathname.slice(1);
    const refusal = async () => String(await database.store.ping().catch(causeOf));
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [name]);
    await until("a login is refused", 5000, async () => /not currently accepting/.test(await refusal()));
    await admin.query(`ALTER DATABASE ${name} RENAME TO ${name}_away`);
    assert.match(await refusal(), /does not exist/);

    await admin.query(`ALTER DATABASE ${name}_away RENAME TO ${name}`);
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    await database.store.ping();
  });

  test("a signal reaches the other processes, and does so again after their connection was lost", async () => {
    const databases = await Promise.all([openPostgres(shared.url), openPostgres(shared.url)]);
    const [sender, receiver] = databases.map(({ store }) => store.signals);
    assert.ok(sender && receiver);
    const heard: string[] = [];
    const stop = receiver.listen("revoked", (subject) => heard.push(subject));
    receiver.listen("text", () => assert.fail("another topic"));
    const arrives = (subject: string) => () => {
      sender.notify("revoked", subject);
      return heard.includes(subject);
    };
    await until("the first signal has arrived", 5000, arrives("first"));
    await until("it knows that signals arrive", 5000, async () => receiver.areHeard === true);

    await using admin = await connect(shared.url);
    await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND query LIKE 'LISTEN%'`);
    await until("the second signal has arrived", 5000, arrives("second"));

    stop();
    const before = heard.length;
    sender.notify("revoked", "third");
    await Promise.all(databases.map((database) => database.close()));
    assert.equal(heard.length, before);
  });

  test("what is stored while no signal arrives is told once they arrive again", async () => {
    await using here = await openPostgres(shared.url);
    await using there = await openPostgres(shared.url);
    await using chat = await openChat(inProcess, { store: here.store, limiter: unlimited });
    await using other = await chat.another({ store: there.store });
    await until("signals arrive", 5000, async () => there.store.signals?.areHeard === true);
    const path = `/conversations/${chat.conversationId}/stream`;
    const stream = readConversation(await other.fixture.call("GET", path, other.key));
    await stream.next();
    await using admin = await connect(shared.url);
    await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND query LIKE 'SELECT extract(epoch%'`);
    await until("none arrives", 5000, async () => there.store.signals?.areHeard === false);
    await chat.post("/messages", { content: "Anybody?", reply: false });
    assert.deepEqual(inShort([await stream.next()]), ["0.8 message completed Anybody?"]);
    await stream.leave();
  });

  test("a process that a pooler keeps signals from looks often itself, and others hear its own", async () => {
    await using pooling = await openPooling(shared.url);
    await using direct = await openPostgres(shared.url);
    await using pooled = await openPostgres(pooling.url);
    await using here = await openChat(inProcess, { store: direct.store, limiter: unlimited });
    const heard: string[] = [];
    direct.store.signals?.listen("conversation", (id) => heard.push(id));
    await using there = await here.another({ store: pooled.store });
    const path = `/conversations/${here.conversationId}/stream`;
    const stream = readConversation(await there.fixture.call("GET", path, there.key));
    await stream.next();
    await here.post("/messages", { content: "Anybody?", reply: false });
    const { clock } = here.fixture;
    const sentAt = clock.now();
    let told: string[] = [];
    void stream.next().then((event) => {
      told = inShort([event]);
    });
    await until("it is told", 10_000, async () => {
      await clock.advance(20);
      return told.length > 0;
    });
    assert.deepEqual(told, ["0.8 message completed Anybody?"]);
    assert.ok(clock.now() - sentAt < 15_000);
    await there.fixture.call("PATCH", `/conversations/${here.conversationId}`, there.key, { title: "Here" });
    await until("the other one has heard", 5000, async () => heard.length > 1);
    await stream.leave();
  });
});

test("a batch that deadlocked is retried three times, and one that was refused is not", async () => {
  for (const [code, times] of [
    ["40P01", 4],
    ["23505", 1],
  ] as const) {
    const { pool, asked } = failingPool(Object.assign(new Error("refused"), { severity: "ERROR", code }));
    const batch = createPostgresDriver(pool).batch([{ sql: "DELETE FROM messages", params: [] }]);
    await assert.rejects(batch, (error) => error instanceof StoreUnavailable === (code === "40P01"));
    assert.equal(asked(), times, code);
  }
});

test("a PostgreSQL whose disk fails is unavailable", async () => {
  const error = Object.assign(new Error("could not read block 0"), { severity: "ERROR", code: "58030" });
  const { pool } = failingPool(error);
  await assert.rejects(createPostgresDriver(pool).all("SELECT 1", []), StoreUnavailable);
});

test("a read that transaction_timeout ended with its connection is unavailable, and a take is retried", async () => {
  const error = Object.assign(new Error("terminating connection"), { severity: "FATAL", code: "25P04" });
  const { pool, asked } = failingPool(error);
  await assert.rejects(createPostgresDriver(pool).all("SELECT 1", []), StoreUnavailable);
  await assert.rejects(createPostgresLimiter(pool).take("key", { capacity: 200 }), StoreUnavailable);
  assert.equal(asked(), 3);
});

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

/** Whether it succeeds; if not, the error must be one that can be retried. */
async function passes(act: () => Promise<unknown>): Promise<boolean> {
  try {
    await act();
    return true;
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return false;
  }
}
