import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, test } from "node:test";
import { openConnections } from "../../adapters/postgres/connections.ts";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { createApiKey } from "../../core/auth/secrets.ts";
import { type Log, noLog } from "../../core/base/log.ts";
import { launchServer, runServer, startServer } from "../server/process.ts";
import { withoutSignals } from "../support/child-process.ts";
import { listen } from "../support/ports.ts";
import { until } from "../support/until.ts";
import { connect, createDatabase, sharedDatabase, skipWithoutPostgres } from "./database.ts";
import { openNetwork } from "./faults.ts";

const skip = await skipWithoutPostgres();

describe("starting on PostgreSQL", { skip }, () => {
  const shared = sharedDatabase();

  test("ten processes can start at once on an empty database", async () => {
    await using fresh = await createDatabase();
    const opened = await Promise.all(
      Array.from({ length: 10 }, () => openPostgres(fresh.url, { maxConnections: 2 })),
    );
    await Promise.all(opened.map(({ store }) => store.ping()));
    await Promise.all(opened.map((database) => database.close()));
  });

  test("the tables are made in the schema that the address's options name", async () => {
    await using fresh = await createDatabase();
    await using client = await connect(fresh.url);
    await client.query("CREATE SCHEMA apart");
    await (await openPostgres(`${fresh.url}?options=-c%20search_path%3Dapart`)).close();
    const { rows } = await client.query("SELECT schemaname FROM pg_tables WHERE tablename = 'messages'");
    assert.deepEqual(rows, [{ schemaname: "apart" }]);
  });

  test("PostgreSQL looks after idle connections, so that those of a machine that vanished do not fill it up", async () => {
    const connections = await openConnections(shared.url, { log: noLog });
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
    const database = await openPostgres(shared.url);
    await database.store.ping();
    await Promise.all([database.store.close(), database.close()]);
  });

  for (const level of ["repeatable read", "serializable"]) {
    test(`processes that start and take tokens at once do not fail if the database's default is ${level}`, async () => {
      await using fresh = await createDatabase();
      await using admin = await connect(fresh.url);
      const name = new URL(fresh.url).pathname.slice(1);
      await admin.query(`ALTER DATABASE ${name} SET default_transaction_isolation = '${level}'`);
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
      const taken = await Promise.all(taking).finally(() => Promise.all(opened.map(({ close }) => close())));
      assert.equal(opened.length, 4);
      assert.equal(
        taken.reduce((sum, admitted) => sum + admitted),
        60,
      );
    });
  }

  test("a database with an encoding other than UTF8 is refused with a line that says so", async () => {
    await using admin = await connect(shared.url);
    const name = `${new URL(shared.url).pathname.slice(1)}_ascii`; // a name that nobody else has
    await admin.query(
      `CREATE DATABASE ${name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
    );
    try {
      const ascii = new URL(shared.url);
      ascii.pathname = `/${name}`;
      await assert.rejects(
        openPostgres(ascii.href),
        /its encoding is SQL_ASCII; create one with ENCODING 'UTF8'/,
      );
    } finally {
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    }
  });

  test("a start that waits for another process's migration says so, and can be aborted", async () => {
    await using fresh = await createDatabase();
    await using admin = await connect(fresh.url);
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
  });

  test("a signal ends a server's start that waits for another process's migration", {
    skip: withoutSignals,
  }, async () => {
    await using fresh = await createDatabase();
    await using admin = await connect(fresh.url);
    await admin.query("SELECT pg_advisory_lock(1953982830)");
    const server = launchServer(["--database", fresh.url]);
    await server.logged("waiting for another process that is bringing the database's tables up to date");
    assert.equal((await server.stop()).code, 0);
  });

  test("a database that cannot be read stops a server's start with a line that reveals no credentials", async () => {
    await using fresh = await createDatabase();
    await (await openPostgres(fresh.url)).close();
    await using admin = await connect(fresh.url);
    await admin.query("ALTER TABLE messages RENAME TO elsewhere");
    const { code, stderr } = await runServer(["--port", "0", "--database", fresh.url]);
    assert.equal(code, 1);
    const { protocol, host, pathname } = new URL(fresh.url);
    const problem = 'cannot be read or written (relation "messages" does not exist)';
    const line = `twin-service: DATABASE_URL (--database): ${protocol}//${host}${pathname} ${problem}.`;
    assert.equal(stderr.trim().split("\n").at(-1), line);
  });

  test("DATABASE_POOL_SIZE limits the connections of a server's store", async (t) => {
    const fresh = await createDatabase();
    await using admin = await connect(fresh.url);
    const server = await startServer(["--database", fresh.url], { DATABASE_POOL_SIZE: "1" });
    t.after(async () => {
      await server.stop();
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
    using network = await openNetwork(shared.url, "SHOW server_encoding");
    await assert.rejects(openPostgres(network.url), {
      message: "The PostgreSQL database cannot be used: it does not answer.",
    });
  });

  test("a database with a newer schema version is refused with a line that says so", async () => {
    await using fresh = await createDatabase();
    await (await openPostgres(fresh.url)).close();
    await using admin = await connect(fresh.url);
    await admin.query("UPDATE schema_version SET version = 999, oldest = 999");
    await assert.rejects(openPostgres(fresh.url), /version 999, made by a newer version of this program/);
  });

  test("a role that may not create tables can use tables that are up to date", async () => {
    await using fresh = await createDatabase();
    await using admin = await connect(fresh.url);
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
    }
  });

  test("a read-only database is refused with a line that says so, with or without tables", async () => {
    await using fresh = await createDatabase();
    const readOnly = `${fresh.url}?options=-c%20default_transaction_read_only%3Don`;
    await assert.rejects(openPostgres(readOnly), /in a read-only transaction$/);
    await (await openPostgres(fresh.url)).close();
    await assert.rejects(openPostgres(readOnly), /in a read-only transaction$/);
  });
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

test("a PostgreSQL that cannot be reached is refused in one line", async () => {
  await assert.rejects(openPostgres("postgres://twins@127.0.0.1:1/twins"), (error: Error) => {
    assert.match(error.message, /^The PostgreSQL database cannot be used: .*ECONNREFUSED.*$/);
    return true;
  });
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
