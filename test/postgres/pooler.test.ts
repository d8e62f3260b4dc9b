/**
 * A pooler in front of PostgreSQL that gives each transaction another connection.
 */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect as connectTo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { freePort } from "../support/ports.ts";
import { until } from "../support/until.ts";
import { createDatabase, skipWithoutPostgres } from "./database.ts";

const [, major = 0, minor = 0] =
  /PgBouncer (\d+)\.(\d+)/.exec(String(spawnSync("pgbouncer", ["--version"]).stdout)) ?? [];
const keepsStatements = Number(major) > 1 || Number(minor) >= 21;

const ignored = "ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout\n";

/** A new database, and a pooler in front of it. */
async function openPooler(settings: string) {
  const database = await createDatabase();
  const { hostname, port, pathname, username } = new URL(database.url);
  const folder = await mkdtemp(join(tmpdir(), "twins-pooler-"));
  await chmod(folder, 0o777);
  const own = await freePort();
  const name = pathname.slice(1);
  await writeFile(join(folder, "users"), `"${username}" ""\n`);
  await writeFile(
    join(folder, "pgbouncer.ini"),
    `[databases]\n${name} = host=${hostname} port=${port || 5432} dbname=${name}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n` +
      `listen_port = ${own}\nunix_socket_dir =\nauth_type = trust\nauth_file = ${folder}/users\n${settings}`,
  );
  const asPostgres = process.getuid?.() === 0 ? ["--user", "postgres"] : [];
  const pooler = spawn("pgbouncer", ["--quiet", ...asPostgres, join(folder, "pgbouncer.ini")], {
    stdio: "ignore",
  });
  const ended = once(pooler, "exit");
  await until("it listens", 5000, async () => {
    const socket = connectTo(own, "127.0.0.1");
    const [isOpen] = await Promise.race([
      once(socket, "connect").then(() => [true]),
      once(socket, "error").then(() => [false]),
    ]).catch(() => [false]);
    socket.destroy();
    return isOpen === true;
  });
  return {
    url: `postgres://${username}@127.0.0.1:${own}/${name}`,
    async [Symbol.asyncDispose]() {
      pooler.kill("SIGKILL");
      await ended;
      await database.drop();
      await rm(folder, { recursive: true });
    },
  };
}

describe("behind PgBouncer", {
  skip: (await skipWithoutPostgres()) || (Number(major) === 0 && "there is no pgbouncer on this machine"),
}, () => {
  test("in transaction mode without prepared statements, the start fails with a line that says what is missing", {
    skip: keepsStatements && "this PgBouncer keeps prepared statements",
  }, async () => {
    await using pooler = await openPooler(`pool_mode = transaction\n${ignored}`);
    await assert.rejects(openPostgres(pooler.url), {
      message:
        "The PostgreSQL database cannot be used: A pooler in front of PostgreSQL mixes up prepared statements: in " +
        "transaction mode, PgBouncer needs version 1.21 and max_prepared_statements = 200.",
    });
  });

  test("in transaction mode with prepared statements, it works", {
    skip: !keepsStatements && "this PgBouncer is older than 1.21",
  }, async () => {
    await using pooler = await openPooler(
      `pool_mode = transaction\nmax_prepared_statements = 200\n${ignored}`,
    );
    const { store, close } = await openPostgres(pooler.url);
    await store.ping();
    await close();
  });

  test("in session mode, it works", async () => {
    await using pooler = await openPooler(`pool_mode = session\n${ignored}`);
    const { store, limiter, close } = await openPostgres(pooler.url, { maxConnections: 2 });
    await store.ping();
    assert.ok((await limiter.take("key", { capacity: 5 })).allowed);
    await close();
  });

  test("that refuses a parameter of the connection, the start says how to let it through", async () => {
    await using pooler = await openPooler("pool_mode = session\n");
    await assert.rejects(
      openPostgres(pooler.url),
      /unsupported startup parameter: \w+\. PgBouncer needs ignore_startup_parameters = statement_timeout,/,
    );
  });
});
