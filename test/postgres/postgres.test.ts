import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { connect as connectTo, createServer, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import type { Pool } from "pg";
import { openConnections } from "../../adapters/postgres/connections.ts";
import { createPostgresDriver } from "../../adapters/postgres/driver.ts";
import { createPostgresLimiter } from "../../adapters/postgres/limiter.ts";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { createApiKey } from "../../core/auth/secrets.ts";
import { type Log, noLog } from "../../core/base/log.ts";
import { StoreUnavailable } from "../../core/store/store.ts";
import { limiterContract } from "../contracts/limiter.contract.ts";
import { storeContract } from "../contracts/store.contract.ts";
import { conversation } from "../contracts/store-records.ts";
import { launchServer, runServer, startServer } from "../server/process.ts";
import { withoutSignals } from "../support/child-process.ts";
import { listen } from "../support/ports.ts";
import { until } from "../support/until.ts";
import { connect, createDatabase, openPool, skipWithoutPostgres } from "./database.ts";

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

  test("ten processes can start at once on an empty database", async () => {
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

  test("the tables are made in the schema that the address's options name", async () => {
    const fresh = await createDatabase();
    const client = await connect(fresh.url);
    try {
      await client.query("CREATE SCHEMA apart");
      await (await openPostgres(`${fresh.url}?options=-c%20search_path%3Dapart`)).close();
      const { rows } = await client.query("SELECT schemaname FROM pg_tables WHERE tablename = 'messages'");
      assert.deepEqual(rows, [{ schemaname: "apart" }]);
    } finally {
      await client.end();
      await fresh.drop();
    }
  });

  test("PostgreSQL looks after idle connections, so that those of a machine that vanished do not fill it up", async () => {
    const connections = await openConnections(url, { log: noLog });
    const pool = connections.createPool(1, 0);
    const client = connections.createClient();
    await client.connect();
    for (const each of [pool, client]) {
      const { rows } = await each.query(`SELECT current_setting('tcp_keepalives_idle') AS idle,
        current_setting('tcp_keepalives_interval') AS interval, current_setting('tcp_keepalives_count') AS count`);
      assert.deepEqual({ ...rows[0] }, { idle: "60", interval: "10", count: "3" });
    }
    await Promise.all([pool.end(), client.end(), connections.close()]);
  });

  test("closing it and its store at the same time closes both", { timeout: 20_000 }, async () => {
    const database = await openPostgres(url);
    await database.store.ping();
    await Promise.all([database.store.close(), database.close()]);
  });

  for (const level of ["repeatable read", "serializable"]) {
    test(`processes that start and take tokens at once do not fail if the database's default is ${level}`, async () => {
      const fresh = await createDatabase();
      try {
        const admin = await connect(fresh.url);
        const name = new URL(fresh.url).pathname.slice(1);
        await admin.query(`ALTER DATABASE ${name} SET default_transaction_isolation = '${level}'`);
        await admin.end();
        const opening = Array.from({ length: 4 }, () => openPostgres(fresh.url));
        const opened = (await Promise.allSettled(opening)).flatMap((each) =>
          "value" in each ? each.value : [],
        );
        const taking = opened.map(async ({ limiter }) => {
          let admitted = 0;
          for (let count = 0; count < 30; count++) {
            if ((await limiter.take("shared", { capacity: 60 })).allowed) admitted++;
          }
          return admitted;
        });
        const taken = await Promise.all(taking).finally(() =>
          Promise.all(opened.map(({ close }) => close())),
        );
        assert.equal(opened.length, 4);
        assert.equal(
          taken.reduce((sum, admitted) => sum + admitted),
          60,
        );
      } finally {
        await fresh.drop();
      }
    });
  }

  test("a database with an encoding other than UTF8 is refused with a line that says so", async () => {
    const admin = await connect(url);
    const name = `${new URL(url).pathname.slice(1)}_ascii`; // a name that nobody else has
    await admin.query(
      `CREATE DATABASE ${name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
    );
    try {
      const ascii = new URL(url);
      ascii.pathname = `/${name}`;
      await assert.rejects(
        openPostgres(ascii.href),
        /its encoding is SQL_ASCII; create one with ENCODING 'UTF8'/,
      );
    } finally {
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.end();
    }
  });

  test("a start that waits for another process's migration says so, and can be aborted", async () => {
    const fresh = await createDatabase();
    const admin = await connect(fresh.url);
    await admin.query("SELECT pg_advisory_lock(1953982830)");
    const calling = new AbortController();
    const said: string[] = [];
    const log: Log = (level, message) => {
      said.push(`${level} ${message}`);
      calling.abort();
    };
    await assert.rejects(openPostgres(fresh.url, { log, signal: calling.signal }));
    assert.deepEqual(said, [
      "warn waiting for another process that is bringing the database's tables up to date",
    ]);
    await until("its connections are closed", 5000, async () => {
      const { rows } = await admin.query(`SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'twin-service'`);
      return rows.length === 0;
    });
    await admin.query("SELECT pg_advisory_unlock(1953982830)");
    await (await openPostgres(fresh.url)).close();
    await admin.end();
    await fresh.drop();
  });

  test("a signal ends a server's start that waits for another process's migration", {
    skip: withoutSignals,
  }, async () => {
    const fresh = await createDatabase();
    const admin = await connect(fresh.url);
    await admin.query("SELECT pg_advisory_lock(1953982830)");
    const server = launchServer(["--database", fresh.url]);
    await server.logged("waiting for another process that is bringing the database's tables up to date");
    assert.equal((await server.stop()).code, 0);
    await admin.end();
    await fresh.drop();
  });

  test("a database that cannot be read stops a server's start with a line that reveals no credentials", async () => {
    const fresh = await createDatabase();
    try {
      await (await openPostgres(fresh.url)).close();
      const admin = await connect(fresh.url);
      await admin.query("ALTER TABLE messages RENAME TO elsewhere");
      await admin.end();
      const { code, stderr } = await runServer(["--port", "0", "--database", fresh.url]);
      assert.equal(code, 1);
      const { protocol, host, pathname } = new URL(fresh.url);
      const problem = 'cannot be read or written (relation "messages" does not exist)';
      const line = `twin-service: DATABASE_URL (--database): ${protocol}//${host}${pathname} ${problem}.`;
      assert.equal(stderr.trim().split("\n").at(-1), line);
    } finally {
      await fresh.drop();
    }
  });

  test("DATABASE_POOL_SIZE limits the connections of a server's store", async (t) => {
    const fresh = await createDatabase();
    const admin = await connect(fresh.url);
    const server = await startServer(["--database", fresh.url], { DATABASE_POOL_SIZE: "1" });
    t.after(async () => {
      await server.stop();
      await admin.end();
      await fresh.drop();
    });
    const connections = async () =>
      (
        await admin.query(`SELECT FROM pg_stat_activity WHERE datname = current_database()
          AND application_name = 'twin-service'`)
      ).rowCount;
    const both = 2; // the store's, and one that listens for signals
    await until("it has connected twice", 5000, async () => (await connections()) === both);
    const answers = await Promise.all(
      Array.from({ length: 40 }, () =>
        fetch(`${server.url}/api/v1/twins`, { headers: { "X-API-Key": createApiKey().key } }),
      ),
    );
    assert.ok(answers.every(({ status }) => status === 401));
    assert.equal(await connections(), both);
  });

  test("a start fails if PostgreSQL stops answering after the login", { timeout: 30_000 }, async () => {
    const network = await openNetwork(url, "SHOW server_encoding");
    await assert.rejects(openPostgres(network.url), {
      message: "The PostgreSQL database cannot be used: it does not answer.",
    });
    network.close();
  });

  test("a database with a newer schema version is refused with a line that says so", async () => {
    const fresh = await createDatabase();
    try {
      await (await openPostgres(fresh.url)).close();
      const admin = await connect(fresh.url);
      await admin.query("UPDATE schema_version SET version = 999");
      await admin.end();
      await assert.rejects(
        openPostgres(fresh.url),
        /version 999, created by a newer version of this program/,
      );
    } finally {
      await fresh.drop();
    }
  });

  test("a role that may not create tables can use tables that are up to date", async () => {
    const fresh = await createDatabase();
    const admin = await connect(fresh.url);
    const role = new URL(fresh.url).pathname.slice(1); // a name that nobody else has
    try {
      await (await openPostgres(fresh.url)).close();
      await admin.query(`CREATE ROLE ${role}`);
      await admin.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`);
      const { store, limiter, close } = await openPostgres(`${fresh.url}?options=-c%20role%3D${role}`);
      assert.deepEqual(await store.listKeys("alice", { offset: 0, limit: 1 }), { items: [], total: 0 });
      assert.ok((await limiter.take("key", { capacity: 200 })).allowed);
      await close();
    } finally {
      await admin.query(`DROP OWNED BY ${role}`);
      await admin.query(`DROP ROLE ${role}`);
      await admin.end();
      await fresh.drop();
    }
  });

  test("a read-only database is refused with a line that says so, with or without tables", async () => {
    const fresh = await createDatabase();
    const readOnly = `${fresh.url}?options=-c%20default_transaction_read_only%3Don`;
    try {
      await assert.rejects(openPostgres(readOnly), /in a read-only transaction$/);
      await (await openPostgres(fresh.url)).close();
      await assert.rejects(openPostgres(readOnly), /in a read-only transaction$/);
    } finally {
      await fresh.drop();
    }
  });

  limiterContract("PostgreSQL", async () => {
    let databases = await Promise.all([openPostgres(url), openPostgres(url)]);
    const [first, second] = databases;
    return {
      limiter: first.limiter,
      other: second.limiter,
      async reopen() {
        await Promise.all(databases.map((database) => database.close()));
        databases = await Promise.all([openPostgres(url), openPostgres(url)]);
        return databases[0].limiter;
      },
      async dispose() {
        await Promise.all(databases.map((database) => database.close()));
      },
    };
  });

  test("many takes from the same buckets in opposite orders get exactly what there is, and do not deadlock", async () => {
    const databases = await Promise.all([openPostgres(url), openPostgres(url)]);
    const ids = Array.from({ length: 40 }, () => randomUUID());
    const takes = databases.flatMap(({ limiter }, process) =>
      Array.from({ length: 2000 }, (_, n) => {
        const place = n % ids.length;
        return limiter.take(ids.at(process === 0 ? place : -1 - place) ?? "", { capacity: 60 });
      }),
    );
    const decisions = await Promise.all(takes);
    assert.equal(decisions.filter(({ allowed }) => allowed).length, 60 * ids.length);
    await Promise.all(databases.map((database) => database.close()));
  });

  test("a bucket from before the database's clock was set back counts down again once it is looked at", async () => {
    const database = await openPostgres(url);
    const admin = await connect(url);
    try {
      const [id, policy] = [randomUUID(), { capacity: 200 }];
      const inTwoHours = (Date.now() + 7_200_000) * 1000;
      const insert = "INSERT INTO rate_buckets (id, debt, at) VALUES ($1, 3600000000, $2)";
      await admin.query(insert, [id, inTwoHours]);
      assert.deepEqual(await database.limiter.peek(id, policy), { allowed: false, debt: 3_600_000_000 });
      assert.ok((await database.limiter.peek(id, policy)).debt < 3_600_000_000);
    } finally {
      await Promise.all([admin.end(), database.close()]);
    }
  });

  test("a take whose connection breaks is retried once", async () => {
    const database = await openPostgres(url);
    // Two, because a transaction keeps seeing the connections that it saw first.
    const [admin, killer] = await Promise.all([connect(url), connect(url)]);
    try {
      const [id, policy] = [randomUUID(), { capacity: 200 }];
      await database.limiter.take(id, policy);
      await admin.query("BEGIN");
      await admin.query("SELECT FROM rate_buckets WHERE id = $1 FOR UPDATE", [id]);
      const taking = database.limiter.take(id, policy);
      await until("the connection that waits for the bucket is killed", 5000, async () => {
        const { rows } = await killer.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`);
        return rows.length > 0;
      });
      await admin.query("COMMIT");
      assert.equal((await taking).allowed, true);
    } finally {
      await Promise.all([admin.end(), killer.end(), database.close()]);
    }
  });

  test("a process that was too busy to connect in time does not blame the database for it", async () => {
    const database = await openPostgres(url);
    try {
      const taking = database.limiter.take(randomUUID(), { capacity: 200 });
      const busyUntil = performance.now() + 2_500;
      while (performance.now() < busyUntil);
      assert.equal((await taking).allowed, true);
    } finally {
      await database.close();
    }
  });

  test("only buckets that are full again are swept, at the first request and then every 10,000", async () => {
    const fresh = await createDatabase();
    try {
      await (await openPostgres(fresh.url)).close();
      const admin = await connect(fresh.url);
      const database = await openPostgres(fresh.url);
      for (const takes of [1, 10_000]) {
        await admin.query(`INSERT INTO rate_buckets (id, debt, at)
          SELECT 'rests ' || n, 18000000, 0 FROM generate_series(1, 100) AS n`);
        const taken = Array.from({ length: takes }, () =>
          database.limiter.take("is used", { capacity: 200 }),
        );
        await Promise.all(taken);
        await until("the full ones are gone", 5000, async () => {
          const { rows } = await admin.query("SELECT id FROM rate_buckets");
          return rows.length === 1 && rows[0]?.id === "is used";
        });
      }
      await admin.end();
      await database.close();
    } finally {
      await fresh.drop();
    }
  });

  test("connections killed while in use cause temporary failures, and lose nothing that was acknowledged", async () => {
    const database = await openPostgres(url, { maxConnections: 4 });
    const admin = await connect(url);
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
    await admin.end();
    await database.close();
  });

  test("a connection is still usable after its transaction failed", async () => {
    const driver = createPostgresDriver(openPool(url, { max: 1 }));
    const refused = driver.batch([
      { sql: "SELECT 1", params: [] },
      { sql: "SELECT 1 / 0", params: [] },
    ]);
    await assert.rejects(refused, /division by zero/);
    assert.deepEqual(await driver.all("SELECT 1 AS one", []), [{ one: 1 }]);
    await driver.close();
  });

  /** A driver on one connection, on which this command fails, as if it had been cancelled at that moment. */
  async function driverWithout(command: string) {
    const pool = openPool(url, { max: 1 });
    const client = await pool.connect();
    const query = client.query.bind(client) as (asked: unknown) => unknown;
    Object.assign(client, { query: (asked: unknown) => query(asked === command ? "SELECT 1 / 0" : asked) });
    client.release();
    return createPostgresDriver(pool);
  }

  test("a batch whose BEGIN fails changes nothing", async () => {
    const admin = await connect(url);
    await admin.query("CREATE TABLE begun (id INTEGER)");
    const driver = await driverWithout("BEGIN");
    const refused = driver.batch([
      { sql: "INSERT INTO begun VALUES (1)", params: [] },
      { sql: "DELETE FROM begun WHERE id = 2", params: [], expect: 1 },
    ]);
    await assert.rejects(refused, /division by zero/);
    assert.deepEqual(await driver.all("SELECT id FROM begun", []), []);
    await driver.close();
    await admin.end();
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

  test("all callers are served even if there are more than connections", async () => {
    const database = await openPostgres(url, { maxConnections: 2 });
    await Promise.all(Array.from({ length: 200 }, () => database.store.ping()));
    await database.close();
  });

  test("closing waits for pending calls, and refuses later ones", async () => {
    const database = await openPostgres(url, { maxConnections: 1 });
    const begun = Array.from({ length: 20 }, () =>
      database.store.createConversation(conversation("closing")),
    );
    await database.close();
    await Promise.all(begun);
    await assert.rejects(database.store.ping(), StoreUnavailable);
  });

  test("closing does not wait for a network that has just frozen", { timeout: 20_000 }, async () => {
    const network = await openNetwork(url);
    const database = await openPostgres(network.url);
    await database.store.ping();
    await until("it is listening for signals", 5000, async () => network.connections > 1);
    network.freeze();
    await database.close();
    network.close();
  });

  test("when all connections freeze at once, one call fails, and the next ones get new connections", {
    timeout: 30_000,
  }, async () => {
    const network = await openNetwork(url);
    const database = await openPostgres(network.url, { maxConnections: 4 });
    await Promise.all(Array.from({ length: 40 }, () => database.store.ping()));
    assert.ok(network.connections > 4, `${network.connections} connections`);
    network.freeze();
    await assert.rejects(database.store.ping(), StoreUnavailable);
    await Promise.all(Array.from({ length: 8 }, () => database.store.ping()));
    await database.close();
    network.close();
  });

  test("connections to a server that is read-only, as after a failover, are replaced", async () => {
    const fresh = await createDatabase();
    try {
      const database = await openPostgres(fresh.url);
      const admin = await connect(fresh.url);
      const readOnly = `DATABASE ${new URL(fresh.url).pathname.slice(1)} SET default_transaction_read_only`;
      await admin.query(`ALTER ${readOnly} = on`); // applies to new connections
      await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`);
      await until("a write is refused as read-only", 5000, async () => {
        const error = await database.store.createConversation(conversation("a")).catch(causeOf);
        return /read-only/.test(String(error));
      });
      await assert.rejects(database.limiter.take("key", { capacity: 200 }), StoreUnavailable);

      await admin.query(`ALTER ${readOnly} = off`);
      await database.store.createConversation(conversation("a"));
      assert.equal((await database.limiter.take("key", { capacity: 200 })).allowed, true);
      await admin.end();
      await database.close();
    } finally {
      await fresh.drop();
    }
  });

  test("a database that accepts no connections or was renamed is unavailable, and is used again when it is back", async () => {
    const fresh = await createDatabase();
    const admin = await connect(url);
    try {
      const database = await openPostgres(fresh.url);
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
      await database.close();
    } finally {
      await admin.end();
      await fresh.drop();
    }
  });

  test("a signal reaches the other processes, and does so again after their connection was lost", async () => {
    const databases = await Promise.all([openPostgres(url), openPostgres(url)]);
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

    const admin = await connect(url);
    await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND query LIKE 'LISTEN%'`);
    await admin.end();
    await until("the second signal has arrived", 5000, arrives("second"));

    stop();
    const before = heard.length;
    sender.notify("revoked", "third");
    await Promise.all(databases.map((database) => database.close()));
    assert.equal(heard.length, before);
  });
});

/** A proxy to a server that can silently stop forwarding, on demand or when the client sends certain words. */
async function openNetwork(server: string, lastWords?: string) {
  const { hostname, port } = new URL(server);
  const sockets: Socket[] = [];
  const freeze = () => {
    for (const socket of sockets) socket.unpipe().pause();
  };
  const proxy = createServer((near) => {
    const far = connectTo(Number(port || 5432), hostname);
    near.on("data", (text) => {
      if (lastWords !== undefined && text.includes(lastWords)) freeze(); // before it is forwarded
    });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on("error", () => {});
      from.pipe(to);
      sockets.push(from);
    }
  });
  const url = new URL(server);
  url.host = `127.0.0.1:${await listen(proxy)}`;
  return {
    url: url.href,
    get connections() {
      return sockets.length / 2;
    },
    freeze,
    close() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
}

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

/** A pool whose queries all fail with this error, and how many there were. */
function failingPool(error: Error) {
  let asked = 0;
  const query = async () => {
    asked++;
    throw error;
  };
  return { pool: { connect: async () => ({ query, release() {} }) } as unknown as Pool, asked: () => asked };
}

test("a take is retried once if its connection broke, but not if it timed out", async () => {
  for (const [message, code, times] of [
    ["Connection terminated unexpectedly", undefined, 2],
    ["write EPIPE", "EPIPE", 2],
    ["write ECONNABORTED", "ECONNABORTED", 2], // on Windows
    ["Query read timeout", undefined, 1],
  ] as const) {
    const { pool, asked } = failingPool(Object.assign(new Error(message), code && { code }));
    await assert.rejects(createPostgresLimiter(pool).take("key", { capacity: 200 }), StoreUnavailable);
    assert.equal(asked(), times, message);
  }
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

test("an empty address, as of a variable that is not set, is refused: it would mean the machine's own database", async () => {
  const message = 'openPostgres: url must be an address such as postgres://twins@127.0.0.1/twins, not "".';
  const opening = openPostgres("").then((database) => database.close());
  await assert.rejects(opening, { name: "TypeError", message });
});

test("no connections, or a number of them that is none, are refused: reads would wait for ever", async () => {
  for (const maxConnections of [0, Number.NaN]) {
    const message = `openPostgres: maxConnections must be a whole number from 1, not ${maxConnections}.`;
    const opening = openPostgres("postgres://nobody@127.0.0.1:1/none", { maxConnections });
    await assert.rejects(opening, { name: "TypeError", message });
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

test("a PostgreSQL that asks for a password is refused with a line that says so if the address has none", async () => {
  const challenge = "r=nonce,s=c2FsdA==,i=4096";
  const answers = [authentication(10, "SCRAM-SHA-256\0\0"), authentication(11, challenge)];
  const server = createServer((socket) => socket.on("data", () => socket.write(answers.shift() ?? "")));
  const port = await listen(server);
  await assert.rejects(openPostgres(`postgres://twins@127.0.0.1:${port}/twins`), {
    message: "The PostgreSQL database cannot be used: it requires a password, but the address has none.",
  });
  server.close();
});

test("a parameter of the address that would be ignored is refused, with those that it may have", async () => {
  await assert.rejects(openPostgres("postgres://twins@127.0.0.1:1/twins?sslmode=disable&schema=apart"), {
    message:
      /^The PostgreSQL database cannot be used: .* parameter schema that .* may have sslmode, .*search_path%3Dtwins$/,
  });
  await assert.rejects(
    openPostgres("postgres://twins:1?secret=x@127.0.0.1:1/twins"),
    ({ message }: Error) => {
      assert.match(message, /a parameter that would be ignored/);
      assert.doesNotMatch(message, /secret/);
      return true;
    },
  );
  await assert.rejects(openPostgres("postgres://twins@127.0.0.1:1/twins?sslmode=disable"), /ECONNREFUSED/);
});

/** A server's authentication message. */
function authentication(kind: number, text: string): Buffer {
  const message = Buffer.alloc(9 + Buffer.byteLength(text));
  message.write("R");
  message.writeInt32BE(message.length - 1, 1);
  message.writeInt32BE(kind, 5);
  message.write(text, 9);
  return message;
}

test("a PostgreSQL that cannot be reached is refused in one line", async () => {
  await assert.rejects(openPostgres("postgres://twins@127.0.0.1:1/twins"), (error: Error) => {
    assert.match(error.message, /^The PostgreSQL database cannot be used: .*ECONNREFUSED.*$/);
    return true;
  });
});
