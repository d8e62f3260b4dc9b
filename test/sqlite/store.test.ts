import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SqlDriver, SqlValue } from "../../adapters/sql/driver.ts";
import { createSqlStore } from "../../adapters/sql/store.ts";
import type { SqliteConnection } from "../../adapters/sqlite/connection.ts";
import { createSqliteDriver } from "../../adapters/sqlite/driver.ts";
import { openSqliteDatabase, openSqliteFile } from "../../adapters/sqlite/file.ts";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { type Store, StoreUnavailable } from "../../core/store/store.ts";
import {
  begin,
  claim,
  conversation,
  converse,
  day,
  messagesOf,
  newConversation,
  newOwner,
  start,
  toBegin,
  toEnd,
} from "../contracts/store-records.ts";
import { whole } from "../contracts/whole.ts";
import { damage, firstConversation, makeFolder, quickDisk, storeOn, watched } from "./fixture.ts";

const folder = await makeFolder();

/** A store in a new file, with `afterRead` called after each read, before its result is returned. */
async function openWatched(afterRead: (sql: string) => Promise<void>): Promise<Store> {
  const driver = createSqliteDriver(await openSqliteFile(folder.newPath()), quickDisk);
  const spied = {
    ...driver,
    async all(sql: string, params: readonly SqlValue[]) {
      const rows = await driver.all(sql, params);
      await afterRead(sql);
      return rows;
    },
  };
  return createSqlStore(spied, { exclusive: false });
}

describe("a store in SQLite", () => {
  test("writes of one turn are one transaction, and reads see them only once it is committed", async () => {
    const said: string[] = [];
    const connection = watched(await openSqliteFile(folder.newPath()), (sql) => {
      if (/^(BEGIN|COMMIT|INSERT INTO conv)/.test(sql)) said.push(sql.slice(0, 6));
    });
    const store = storeOn(connection);
    const writes = [1, 2, 3].map((n) => store.createConversation({ ...firstConversation, id: `conv_${n}` }));
    assert.equal((await store.listConversations({ owner: "alice" }, { offset: 0, limit: 5 })).total, 0);
    await Promise.all(writes);
    assert.deepEqual(said, ["BEGIN ", "INSERT", "INSERT", "INSERT", "COMMIT"]);
    await store.close();
  });

  test("a write that violates a constraint is rejected alone, not with its turn", async () => {
    const { store, close } = await openSqlite(folder.newPath());
    const others = ["conv_1", "conv_1", "conv_2"].map((id) =>
      store.createConversation({ ...firstConversation, id }),
    );
    const results = await Promise.allSettled(others);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    const listing = await store.listConversations({ owner: "alice" }, { offset: 0, limit: 5 });
    assert.deepEqual([listing.total, listing.items.length], [2, 2]);
    await close();
  });

  test("a write that fails late is rolled back alone, and the rest of its turn is stored once", async () => {
    const { store, close } = await openSqlite(folder.newPath());
    const owner = newOwner();
    const made = claim(owner, { path: "/conversations" });
    const [busy, idle] = [await newConversation(store, owner), await newConversation(store, owner)];
    const running = await begin(store, owner, busy.id);
    const refused = toBegin(owner, busy.id, { claim: made }); // refused after its claim was made
    const turn = [
      store.beginReply(toBegin(owner, idle.id)),
      store.beginReply(refused),
      store.createConversation(conversation(owner, { id: "conv_new" })),
    ];
    assert.deepEqual(await Promise.all(turn), [
      { result: "begun", memory: null },
      { result: "busy", replyId: running.reply.id },
      undefined,
    ]);
    assert.equal(await store.findClaim(made), undefined);
    assert.equal((await messagesOf(store, owner, idle.id)).total, 2);
    assert.equal((await messagesOf(store, owner, busy.id)).total, 2);
    assert.equal((await store.listConversations({ owner }, { offset: 0, limit: 5 })).total, 3);
    await close();
  });

  test("a write that violates a constraint late is rolled back alone", async () => {
    const { store, close } = await openSqlite(folder.newPath());
    const owner = newOwner();
    const [first, second] = [await newConversation(store, owner), await newConversation(store, owner)];
    const kept = await begin(store, owner, first.id);
    const twice = toBegin(owner, second.id);
    const reply = { ...twice.reply, id: kept.reply.id };
    const results = await Promise.allSettled([
      store.endReply(toEnd(kept)),
      store.beginReply({ ...twice, reply }),
      store.createConversation(conversation(owner)),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    assert.deepEqual(await store.getConversation({ owner }, second.id), second);
    assert.equal(await store.getMessage({ owner }, twice.question.id, whole), undefined);
    assert.equal((await store.getMessage({ owner }, kept.reply.id, whole))?.status, "completed");
    assert.equal((await store.listConversations({ owner }, { offset: 0, limit: 5 })).total, 3);
    await close();
  });

  test("while the disk takes no writes, the ping fails after the second one, and succeeds by itself afterwards", async () => {
    const database = await openSqliteDatabase(folder.newPath());
    const store = createSqlStore(database, { exclusive: true });
    const write = () => store.createConversation(firstConversation);
    const unavailable = { name: "StoreUnavailable" };
    await database.all("PRAGMA query_only = ON", []); // fails as a full disk does
    await assert.rejects(write(), unavailable);
    await database.requireWritable();
    await assert.rejects(write(), unavailable);
    await assert.rejects(database.requireWritable(), unavailable);
    await database.all("PRAGMA query_only = OFF", []);
    await database.requireWritable();
    await write();
    await store.close();
  });

  test("a full disk rejects the whole turn as unavailable, and the store works again when there is room", async () => {
    const connection = await openSqliteFile(folder.newPath());
    const store = storeOn(connection);
    await store.createConversation(firstConversation);
    connection.exec("PRAGMA max_page_count = 40");
    const title = "long ".repeat(50_000);
    const turn = [2, 3].map((n) =>
      store.createConversation({ ...firstConversation, id: `conv_${n}`, title }),
    );
    for (const result of await Promise.allSettled(turn)) {
      assert.equal(result.status, "rejected");
      assert.ok(result.reason instanceof StoreUnavailable);
    }
    const listing = await store.listConversations({ owner: "alice" }, { offset: 0, limit: 5 });
    assert.deepEqual([listing.total, listing.items.length], [1, 1]);
    connection.exec("PRAGMA max_page_count = 100000");
    await store.createConversation({ ...firstConversation, id: "conv_4", title });
    assert.equal((await store.getConversation({ owner: "alice" }, "conv_4"))?.title, title);
    await store.close();
  });

  test("expired claims are swept in portions, with other writes in between", async () => {
    const connection = await openSqliteFile(folder.newPath());
    const said: string[] = [];
    const spied: SqliteConnection = {
      ...connection,
      all(sql, params) {
        const rows = connection.all(sql, params);
        if (sql.startsWith("DELETE FROM claims")) said.push(`${rows.length}`);
        return rows;
      },
    };
    const store = storeOn(spied);
    connection.exec(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2500)
      INSERT INTO claims SELECT 'alice', '', '/conversations', n, '', '', ${start} FROM numbers`);
    const other = store.createConversation(firstConversation).then(() => said.push("stored"));
    await Promise.all([store.sweep(start), other]);
    assert.deepEqual(said, ["1000", "stored", "1000", "500"]);
    assert.deepEqual(connection.all("SELECT * FROM claims", []), []);
    await store.close();
  });

  for (const [what, count, content] of [
    ["with many messages", 260, "Hello."],
    ["with long messages", 4, "w".repeat(1_500_000)],
  ] as const) {
    test(`a sweep deletes the messages of a conversation ${what} that a process has left in the middle`, async () => {
      const connection = await openSqliteFile(folder.newPath());
      let portions = 0;
      const watchedConnection = watched(connection, (sql) => {
        if (sql.startsWith("DELETE FROM messages") && ++portions === 2) throw new Error("the process ends");
      });
      const store = storeOn(watchedConnection);
      const { owner, id } = await newConversation(store);
      const pairs = [];
      for (let n = 0; n < count; n++) pairs.push(await converse(store, owner, id, { content }));
      await assert.rejects(store.deleteConversation({ owner }, id, start), /the process ends/);
      assert.equal(await store.getConversation({ owner }, id), undefined);
      assert.ok(await store.getMessage({ owner }, pairs[0]?.reply.id ?? "", whole));
      await store.sweep(start);
      for (const table of ["messages", "deleted_conversations"]) {
        assert.deepEqual(connection.all(`SELECT * FROM ${table}`, []), []);
      }
      await store.close();
    });
  }

  test("a ping fails if the messages in the file are damaged", async () => {
    const path = folder.newPath();
    await (await openSqlite(path)).close();
    await damage(path, "messages");
    const { store, close } = await openSqlite(path);
    await assert.rejects(store.ping(), /malformed/);
    await close();
  });

  test("a page is a consistent snapshot, whatever is stored while it is read", async () => {
    let meanwhile = async () => {};
    const store = await openWatched(async (sql) => {
      if (/^SELECT (log_length|total)/.test(sql)) await meanwhile();
    });
    const owner = newOwner();
    const { id } = await newConversation(store, owner);
    meanwhile = async () => void (await newConversation(store, owner));
    const conversations = await store.listConversations({ owner }, { offset: 0, limit: 20 });
    assert.deepEqual([conversations.items.length, conversations.total], [2, 2]);
    meanwhile = async () => {
      meanwhile = async () => {};
      await store.deleteConversation({ owner }, conversations.items[0]?.id ?? "", start);
    };
    const behind = await store.listConversations({ owner }, { offset: 1, limit: 20 });
    assert.deepEqual([behind.items.length, behind.total], [0, 1]);
    await store.endReply(toEnd(await begin(store, owner, id)));
    meanwhile = async () => void (await begin(store, owner, id));
    const page = await store.listMessages({ owner }, id, { ...whole, offset: 0, limit: 20, order: "asc" });
    assert.deepEqual([page?.items.length, page?.total], [2, 2]);
    meanwhile = async () => void (await store.deleteConversation({ owner }, id, start));
    assert.equal(
      await store.listMessages({ owner }, id, { ...whole, offset: 0, limit: 20, order: "desc" }),
      undefined,
    );
    await store.close();
  });

  test("a reply that an identical request begins meanwhile is returned as claimed, not as busy", async () => {
    let meanwhile = async () => {};
    const store = await openWatched(() => meanwhile());
    const owner = newOwner();
    const { id } = await newConversation(store, owner);
    const made = claim(owner);
    let first = "";
    meanwhile = async () => {
      meanwhile = async () => {};
      first = (await begin(store, owner, id, { claim: made })).reply.id;
    };
    const outdated = toBegin(owner, id, { claim: made, end: { logLength: 2, lastMessageId: "msg_other" } });
    const result = await store.beginReply(outdated);
    assert.deepEqual(result, { result: "claimed", claim: { fingerprint: "fields", resourceId: first } });
    await store.close();
  });

  test("a conversation is stored if the claim in its way is swept before it can be read", async () => {
    const driver = createSqliteDriver(await openSqliteFile(folder.newPath()), quickDisk);
    const store = createSqlStore(driver, { exclusive: true });
    const swept: SqlDriver = {
      ...driver,
      async batch(statements) {
        const result = await driver.batch(statements);
        if (!result.committed) await store.sweep(start + day);
        return result;
      },
    };
    const owner = newOwner();
    const made = claim(owner);
    await store.createConversation(conversation(owner), made);
    const again = conversation(owner);
    assert.equal(await createSqlStore(swept, { exclusive: true }).createConversation(again, made), undefined);
    assert.deepEqual(await store.getConversation({ owner }, again.id), again);
    await store.close();
  });

  test("closing completes pending writes; later calls are refused as unavailable", async () => {
    const path = folder.newPath();
    const sqlite = await openSqlite(path);
    const begun = sqlite.store.createConversation(firstConversation);
    await sqlite.close();
    await begun;
    await assert.rejects(sqlite.store.getConversation({ owner: "alice" }, "conv_1"), StoreUnavailable);
    await assert.rejects(sqlite.store.createConversation(firstConversation), StoreUnavailable);
    await sqlite.close();
    const again = await openSqlite(path);
    assert.deepEqual(await again.store.getConversation({ owner: "alice" }, "conv_1"), firstConversation);
    await again.close();
  });
});
