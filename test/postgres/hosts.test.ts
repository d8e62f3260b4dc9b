/**
 * A database on several hosts, on a socket, and with fewer connections than the pool may have.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addressesOf } from "../../adapters/postgres/hosts.ts";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import type { Log } from "../../core/base/log.ts";
import { conversation } from "../contracts/store-records.ts";
import { until } from "../support/until.ts";
import { connect, sharedDatabase, skipWithoutPostgres } from "./database.ts";
import { createPostgres, skipWithoutPrograms } from "./private-postgres.ts";

test("an address of several hosts is one of each, and nothing else is one", () => {
  const attribute = "target_session_attrs=read-write";
  for (const [url, addresses] of [
    ["postgres://me:p%40ss@a:1,b/twins", ["postgres://me:p%40ss@a:1/twins", "postgres://me:p%40ss@b/twins"]],
    [`postgres://a,[::1]:2/x?${attribute}`, ["postgres://a/x", "postgres://[::1]:2/x"]],
    [`postgres://a/x?sslmode=require&${attribute}`, ["postgres://a/x?sslmode=require"]],
    [`postgres://a/x?${attribute}&sslmode=require`, ["postgres://a/x?sslmode=require"]],
    ["postgres:///twins?host=/var/run/postgresql", ["postgres:///twins?host=/var/run/postgresql"]],
    ["postgres://a,,b/twins", undefined],
    ["postgres://a:none/twins", undefined],
    ["mysql://a/twins", undefined],
  ] as const) {
    assert.deepEqual(addressesOf(url), addresses, url);
  }
});

describe("PostgreSQL", { skip: skipWithoutPrograms }, () => {
  test("of several hosts, the one that accepts writes is used, also when that becomes another one", {
    timeout: 120_000,
  }, async () => {
    await using one = await createPostgres();
    await using other = await createPostgres();
    for (const server of [one, other]) {
      server.start();
      await (await openPostgres(server.url)).close(); // makes the tables, which a standby would have
    }
    const setReadOnly = async (url: string, to: "on" | "off") => {
      await using admin = await connect(url);
      await admin.query(`SET default_transaction_read_only = off`);
      await admin.query(`ALTER SYSTEM SET default_transaction_read_only = ${to}`);
      await admin.query("SELECT pg_reload_conf()");
    };
    await setReadOnly(one.url, "on");
    const hosts = [one, other].map(({ url }) => new URL(url).host).join(",");
    const url = `postgres://postgres@${hosts}/postgres?target_session_attrs=read-write`;
    const said: string[] = [];
    const log: Log = (level, message) => level === "warn" && said.push(message);
    await using database = await openPostgres(url, { log });
    await database.store.createConversation(conversation("alice", { id: "conv_1" }));
    await setReadOnly(one.url, "off");
    other.stop();
    await until("writes go to the other host", 20_000, () =>
      database.store.createConversation(conversation("alice", { id: "conv_2" })).then(
        () => true,
        () => false,
      ),
    );
    await using admin = await connect(one.url);
    assert.deepEqual((await admin.query("SELECT id FROM conversations")).rows, [{ id: "conv_2" }]);
    assert.ok(said.includes("another host of PostgreSQL accepts writes now"), said.join());
  });
});

describe("two hosts that accept writes", { skip: skipWithoutPrograms }, () => {
  test("the one that was promoted is used, and connections to the other one are not used again", {
    timeout: 120_000,
  }, async () => {
    await using old = await createPostgres();
    await using promoted = await createPostgres();
    for (const server of [old, promoted]) {
      server.start();
      await (await openPostgres(server.url)).close();
    }
    const hosts = [old, promoted].map(({ url }) => new URL(url).host).join(",");
    await using database = await openPostgres(`postgres://postgres@${hosts}/postgres`);
    await database.store.createConversation(conversation("alice", { id: "conv_1" }));
    {
      await using admin = await connect(promoted.url);
      await admin.query("COPY (SELECT '') TO PROGRAM 'cat > standby.signal'");
    }
    promoted.stop();
    promoted.start();
    await using admin = await connect(promoted.url);
    await admin.query("SELECT pg_promote()");
    const heard: string[] = [];
    database.store.signals?.listen("stop", (subject) => void heard.push(subject));
    let number = 1;
    await until("writes go to the promoted host", 20_000, async () => {
      await database.store.createConversation(conversation("alice", { id: `conv_${++number}` }));
      return (await admin.query("SELECT FROM conversations")).rowCount !== 0;
    });
    const first = number;
    const more = Array.from({ length: 20 }, () => ++number);
    await Promise.all(
      more.map((n) => database.store.createConversation(conversation("alice", { id: `conv_${n}` }))),
    );
    const { rowCount } = await admin.query("SELECT FROM conversations");
    assert.equal(rowCount, number - first + 1);
    await until("signals are heard there", 20_000, async () => {
      await admin.query("SELECT pg_notify('twins', 'stop there')");
      return heard.includes("there");
    });
  });
});

const skip = await skipWithoutPostgres();

describe("a role", { skip }, () => {
  const shared = sharedDatabase();

  test("that may have fewer connections than the pool has requests wait instead of failing", async () => {
    await using admin = await connect(shared.url);
    const role = `narrow_${process.pid}`;
    await (await openPostgres(shared.url)).close();
    await admin.query(`CREATE ROLE ${role} LOGIN CONNECTION LIMIT 6`);
    await admin.query(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`);
    const url = new URL(shared.url);
    url.username = role;
    await using database = await openPostgres(url.href, { maxConnections: 10 });
    const writes = Array.from({ length: 60 }, (_, n) =>
      database.store.createConversation(conversation(`narrow ${n}`, { id: `conv_${n}` })),
    );
    const failed = (await Promise.allSettled(writes)).filter(({ status }) => status === "rejected");
    await database.close();
    await admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    assert.deepEqual(failed, []);
  });
});
