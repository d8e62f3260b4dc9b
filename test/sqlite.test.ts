import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createSqlStore } from "../adapters/sql.ts";
import { migrationsFrom, schemaVersion } from "../adapters/sql-schema.ts";
import { openSqlite } from "../adapters/sqlite.ts";
import { openSqliteBuckets } from "../adapters/sqlite-buckets.ts";
import { connect, type SqliteConnection } from "../adapters/sqlite-connection.ts";
import { createSqliteDriver } from "../adapters/sqlite-driver.ts";
import { openSqliteFile } from "../adapters/sqlite-file.ts";
import { createMemoryLimiter } from "../core/limit.ts";
import {
  type ApiKeyRecord,
  type ConversationRecord,
  type MessageRecord,
  type Store,
  StoreUnavailable,
} from "../core/store.ts";
import { createManualClock } from "./clock.ts";

const start = Date.UTC(2030, 0, 1);
const project = fileURLToPath(new URL("..", import.meta.url));
const conversation: ConversationRecord = {
  id: "conv_1",
  owner: "alice",
  twinId: "ada",
  title: null,
  replyId: null,
  messageCount: 0,
  lastMessageAt: null,
  createdAt: start,
  updatedAt: start,
};

let folder: string;
let files = 0;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "twins-sqlite-"));
});
after(() => rm(folder, { recursive: true }));

function newPath(): string {
  files++;
  return join(folder, `${files}.db`);
}

/** Another Node.js process that runs `code`, in which `openSqlite` and `path` are at hand. */
function command(path: string, code: string): string[] {
  const script = `
    import { writeSync } from "node:fs";
    import { openSqlite } from "./adapters/sqlite.ts";
    import { createMemoryLimiter } from "./core/limit.ts";
    const path = ${JSON.stringify(path)};
    const conversation = (n) => ({ ...${JSON.stringify(conversation)}, id: "conv_" + n });
    const say = (line) => writeSync(1, line + "\\n");
    ${code}`;
  return [process.execPath, "--import", "tsx", "--input-type=module", "--eval", script];
}

function startProcess(path: string, code: string): ChildProcess {
  const [program = "", ...parameters] = command(path, code);
  return spawn(program, parameters, { cwd: project, stdio: ["ignore", "pipe", "inherit"] });
}

/** Reads a process' lines until one equals `line`, then kills the process as `kill -9` does. */
async function killAfter(child: ChildProcess, line: string): Promise<void> {
  assert.ok(child.stdout);
  const exited = once(child, "exit");
  for await (const read of createInterface({ input: child.stdout })) {
    if (read === line) break;
  }
  child.kill("SIGKILL");
  await exited;
}

async function openConnection(path: string): Promise<SqliteConnection> {
  return openSqliteFile(path, {
    synchronous: "FULL",
    applicationId: 1,
    version: schemaVersion,
    migrationsFrom: (version) => migrationsFrom(version, { text: "TEXT" }),
  });
}

describe("a SQLite file", () => {
  test("it is made with its folder, and only its owner can read it", async () => {
    const path = join(folder, "some", "new folder", "twins.db");
    const sqlite = await openSqlite(path);
    await sqlite.store.createConversation(conversation);
    const names = await readdir(join(folder, "some", "new folder"));
    assert.ok(names.includes("twins.db") && names.includes("twins.db-limits"));
    for (const name of names) {
      const { mode } = await stat(join(folder, "some", "new folder", name));
      assert.equal((mode & 0o777).toString(8), "600", name);
    }
    await sqlite.close();
  });

  test("it is one file after it was closed", async () => {
    const path = join(folder, "closed", "twins.db");
    const sqlite = await openSqlite(path);
    await sqlite.store.createConversation(conversation);
    await sqlite.close();
    assert.deepEqual(await readdir(join(folder, "closed")), ["twins.db", "twins.db-limits"]);
  });

  test("a second process is refused in one line that names PostgreSQL, before and after a write", async () => {
    const path = newPath();
    const sqlite = await openSqlite(path);
    const second = `await openSqlite(path).then(() => say("opened"), (error) => say(error.message));`;
    const refuse = () => {
      const [program = "", ...parameters] = command(path, second);
      return spawnSync(program, parameters, { cwd: project, encoding: "utf8" }).stdout;
    };
    const line =
      `${path} is in use by another process; a SQLite file belongs to one process. ` +
      "For several processes use PostgreSQL (DATABASE_URL=postgres://…).\n";
    assert.equal(refuse(), line);
    await sqlite.store.createConversation(conversation);
    assert.equal(refuse(), line);
    await sqlite.close();
    assert.equal(refuse(), "opened\n");
  });

  test("a second opening in the same process is refused and does not give the lock away", async () => {
    const path = newPath();
    const sqlite = await openSqlite(path);
    await assert.rejects(openSqlite(path), /is in use by another process/);
    const [program = "", ...parameters] = command(
      path,
      `await openSqlite(path).then(() => say("opened"), (error) => say(error.message));`,
    );
    const { stdout } = spawnSync(program, parameters, { cwd: project, encoding: "utf8" });
    assert.ok(stdout.startsWith(`${path} is in use by another process`), stdout);
    await sqlite.close();
  });

  const refusals: { what: string; make: (path: string) => Promise<unknown>; message: RegExp }[] = [
    {
      what: "a text file",
      make: (path) => writeFile(path, "Dear diary,\n".repeat(100)),
      message: /^\S+ is not a SQLite database\.$/,
    },
    { what: "a folder", make: (path) => mkdir(path), message: /^\S+ cannot be opened for writing \(.+\)\.$/ },
    {
      what: "another program's database",
      async make(path) {
        const connection = await connect(path);
        connection.exec("CREATE TABLE bookmarks (url TEXT)");
        connection.close();
      },
      message: /^\S+ is a database of another program\.$/,
    },
    {
      what: "a newer version's database",
      async make(path) {
        await (await openSqlite(path)).close();
        const connection = await connect(path);
        connection.exec(`PRAGMA user_version = ${schemaVersion + 1}`);
        connection.close();
      },
      message: /^\S+ has version 2, made by a newer version of this program \(this one: 1\)\.$/,
    },
    {
      what: "a damaged database",
      async make(path) {
        await (await openSqlite(path)).close();
        const bytes = await readFile(path);
        await writeFile(path, bytes.fill(0xff, 100, 4096));
      },
      message: /^\S+ is a damaged SQLite database; restore it from a backup\.$/,
    },
  ];
  for (const { what, make, message } of refusals) {
    test(`${what} is refused in one clear line and left as it is`, async () => {
      const path = newPath();
      await make(path);
      const before = (await stat(path)).isFile() && (await readFile(path));
      await assert.rejects(openSqlite(path), { message });
      assert.deepEqual((await stat(path)).isFile() && (await readFile(path)), before);
    });
  }

  test("a path that cannot be is refused in one clear line", async () => {
    const path = newPath();
    await writeFile(path, "a file, not a folder");
    await assert.rejects(
      openSqlite(join(path, "twins.db")),
      /^Error: \S+ cannot be opened for writing \(.+\)\.$/,
    );
  });

  test("an unusable file of limits is refused, and the store's file is given back", async () => {
    const path = newPath();
    await writeFile(`${path}-limits`, "not a database ".repeat(100));
    await assert.rejects(openSqlite(path), /-limits is not a SQLite database\.$/);
    await rm(`${path}-limits`);
    await (await openSqlite(path)).close();
  });
});

describe("a store in SQLite", () => {
  test("what was acknowledged survives kill -9", async () => {
    const path = newPath();
    const child = startProcess(
      path,
      `const { store } = await openSqlite(path);
      for (let n = 0; n < 1000; n++) {
        await store.createConversation(conversation(n));
        say("stored " + n);
      }`,
    );
    await killAfter(child, "stored 20");
    const sqlite = await openSqlite(path);
    const { total } = await sqlite.store.listConversations("alice", { offset: 0, limit: 1 });
    assert.ok(total >= 21, `${total} are left`);
    assert.deepEqual(await sqlite.store.getConversation("alice", "conv_20"), {
      ...conversation,
      id: "conv_20",
    });
    await sqlite.close();
  });

  test("the disk has each write before it is acknowledged, and writes of one turn share a sync", async (t) => {
    if (spawnSync("strace", ["-V"]).error) return t.skip("strace is not installed");
    const path = newPath();
    const output = `${path}.trace`;
    const code = `const { store, close } = await openSqlite(path);
      say("open");
      for (let n = 0; n < 5; n++) {
        await store.createConversation(conversation(n));
        say("stored");
      }
      await Promise.all(Array.from({ length: 100 }, (_, n) => store.createConversation(conversation(100 + n))));
      say("stored all");`;
    const trace = ["-f", "-e", "trace=fsync,fdatasync,write", "-o", output];
    const traced = spawnSync("strace", [...trace, ...command(path, code)], {
      cwd: project,
      encoding: "utf8",
    });
    if (/ptrace|not permitted/i.test(traced.stderr)) return t.skip(`strace cannot trace: ${traced.stderr}`);
    const events: string[] = [];
    for (const line of (await readFile(output, "utf8")).split("\n")) {
      if (/\b(fsync|fdatasync)\(\d+\) += 0/.test(line)) events.push("sync");
      const said = /write\(1, "([^"\\]+)/.exec(line)?.[1];
      if (said) events.push(said);
    }
    const writes = events.slice(events.indexOf("open") + 1, events.indexOf("stored all") + 1).join(" ");
    assert.equal(writes, `${"sync stored ".repeat(5)}sync stored all`);
  });

  test("writes of one turn are one transaction, and reads see them only once it is committed", async () => {
    const connection = await openConnection(newPath());
    const said: string[] = [];
    const spied: SqliteConnection = {
      ...connection,
      run(sql, params) {
        if (/^(BEGIN|COMMIT|INSERT INTO conv)/.test(sql)) said.push(sql.slice(0, 6));
        return connection.run(sql, params);
      },
    };
    const store = createSqlStore(createSqliteDriver(spied), { exclusive: true });
    const writes = [1, 2, 3].map((n) => store.createConversation({ ...conversation, id: `conv_${n}` }));
    assert.equal((await store.listConversations("alice", { offset: 0, limit: 5 })).total, 0);
    await Promise.all(writes);
    assert.deepEqual(said, ["BEGIN ", "INSERT", "INSERT", "INSERT", "COMMIT"]);
    await store.close();
  });

  test("a write that breaks a rule of the database is rejected alone, not with its turn", async () => {
    const { store, close } = await openSqlite(newPath());
    const others = ["conv_1", "conv_1", "conv_2"].map((id) =>
      store.createConversation({ ...conversation, id }),
    );
    const outcomes = await Promise.allSettled(others);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    const listing = await store.listConversations("alice", { offset: 0, limit: 5 });
    assert.deepEqual([listing.total, listing.items.length], [2, 2]);
    await close();
  });

  test("a full disk rejects the whole turn as unavailable, and the store goes on when there is room", async () => {
    const connection = await openConnection(newPath());
    const store = createSqlStore(createSqliteDriver(connection), { exclusive: true });
    await store.createConversation(conversation);
    connection.exec("PRAGMA max_page_count = 40");
    const title = "long ".repeat(50_000);
    const turn = [2, 3].map((n) => store.createConversation({ ...conversation, id: `conv_${n}`, title }));
    for (const outcome of await Promise.allSettled(turn)) {
      assert.equal(outcome.status, "rejected");
      assert.ok(outcome.reason instanceof StoreUnavailable);
    }
    const listing = await store.listConversations("alice", { offset: 0, limit: 5 });
    assert.deepEqual([listing.total, listing.items.length], [1, 1]);
    connection.exec("PRAGMA max_page_count = 100000");
    await store.createConversation({ ...conversation, id: "conv_4", title });
    assert.equal((await store.getConversation("alice", "conv_4"))?.title, title);
    await store.close();
  });

  test("a commit that fails rejects its turn as unavailable, and the next one goes through", async () => {
    const connection = await openConnection(newPath());
    let failing = true;
    const faulty: SqliteConnection = {
      ...connection,
      run(sql, params) {
        if (sql !== "COMMIT" || !failing) return connection.run(sql, params);
        throw Object.assign(new Error("disk I/O error"), { rawCode: 1034 }); // SQLITE_IOERR_FSYNC
      },
    };
    const store = createSqlStore(createSqliteDriver(faulty), { exclusive: true });
    await assert.rejects(store.createConversation(conversation), StoreUnavailable);
    failing = false;
    assert.equal(await store.getConversation("alice", "conv_1"), undefined);
    await store.createConversation(conversation);
    assert.deepEqual(await store.getConversation("alice", "conv_1"), conversation);
    await store.close();
  });

  test("closing stores what was begun; later calls are refused as unavailable", async () => {
    const path = newPath();
    const sqlite = await openSqlite(path);
    const begun = sqlite.store.createConversation(conversation);
    await sqlite.close();
    await begun;
    await assert.rejects(sqlite.store.getConversation("alice", "conv_1"), StoreUnavailable);
    await assert.rejects(sqlite.store.createConversation(conversation), StoreUnavailable);
    await sqlite.close();
    const again = await openSqlite(path);
    assert.deepEqual(await again.store.getConversation("alice", "conv_1"), conversation);
    await again.close();
  });

  test("no query walks a table or sorts, and each index has its query", async () => {
    const path = newPath();
    const connection = await openConnection(path);
    const texts = new Set<string>();
    const spied: SqliteConnection = {
      ...connection,
      all: (sql, params) => note(sql) ?? connection.all(sql, params),
      run: (sql, params) => note(sql) ?? connection.run(sql, params),
    };
    function note(sql: string): undefined {
      if (/^\s*(SELECT|WITH|UPDATE|DELETE|INSERT)/.test(sql) && !/sqlite_schema/.test(sql)) texts.add(sql);
    }
    const store = createSqlStore(createSqliteDriver(spied), { exclusive: true });
    await callEverything(store);
    await store.close();
    const explaining = await connect(path);
    assert.ok(texts.size >= 25, `only ${texts.size} statements were seen`);
    let plans = "";
    for (const sql of texts) {
      const plan = explaining.all(`EXPLAIN QUERY PLAN ${sql}`, []).map((row) => String(row.detail));
      plans += plan.join("\n");
      // A history's few replies, already found, are walked and sorted; a sign of life is a row of its own;
      // whoever deletes a conversation deletes all of its messages.
      const few = /WITH replies/.test(sql) ? /SCAN (CONSTANT|replies)|TEMP B-TREE/ : /SCAN CONSTANT/;
      const whole = /SCAN|TEMP B-TREE|messages_in_order \(owner=\? AND conversation_id=\?\)/;
      const walks = plan.filter((step) => whole.test(step) && !few.test(step));
      if (!/^DELETE FROM messages/.test(sql)) assert.deepEqual(walks, [], sql);
    }
    const indexes = explaining.all(
      "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL",
      [],
    );
    for (const { name } of indexes)
      assert.match(plans, new RegExp(` ${name} `), "an index that no query uses");
    explaining.close();
  });
});

/** Calls every method of a store, on records that are there. */
async function callEverything(store: Store): Promise<void> {
  const owner = "alice";
  const slice = { offset: 0, limit: 20 };
  const key: ApiKeyRecord = {
    id: "key_1",
    owner,
    name: "laptop",
    scope: "read_only",
    prefix: "twin_0123456",
    hash: "f".repeat(64),
    createdAt: start,
    expiresAt: null,
    lastUsedAt: null,
    revokedAt: null,
  };
  await store.createKey(key, 50);
  await store.listKeys(owner, slice);
  await store.revokeKey(owner, key.id, start);
  await store.findKey(key.hash);
  await store.touchKey(owner, key.id, start);
  const claim = { owner, path: "/", key: "k", fingerprint: "f", createdAt: start, expiresAt: start + 1 };
  await store.createConversation(conversation, claim);
  await store.listConversations(owner, slice);
  await store.listConversations(owner, { ...slice, twinId: "ada" });
  await store.renameConversation(owner, "conv_1", "t", start);
  const question: MessageRecord = {
    id: "msg_1",
    conversationId: "conv_1",
    role: "user",
    content: "Why?",
    status: "completed",
    finishReason: null,
    inReplyTo: null,
    usage: null,
    error: null,
    createdAt: start,
    completedAt: start,
  };
  const reply: MessageRecord = { ...question, id: "msg_2", role: "assistant", status: "in_progress" };
  const lease = { holder: "here", until: start };
  await store.beginReply({ owner, question, reply, lease });
  await store.beginReply({ owner, question, reply, lease });
  await store.saveReply({ owner, id: "msg_2", content: "B", lease });
  await store.requestCancel(owner, "msg_2");
  await store.findAbandonedReplies(start + 1, "there");
  const end = {
    owner,
    conversationId: "conv_1",
    id: "msg_2",
    status: "failed",
    finishReason: "error",
  } as const;
  const ended = { ...end, usage: null, error: null, completedAt: start };
  await store.endReply({ ...ended, leaseExpiredBefore: start });
  await store.endReply(ended);
  await store.getMessage(owner, "conv_1", "msg_1");
  for (const order of ["asc", "desc"] as const) {
    await store.listMessages(owner, "conv_1", { ...slice, order, after: "msg_1" });
  }
  await store.readHistory(owner, "conv_1", 25);
  await store.findClaim(owner, "/", "k", start);
  await store.sweepClaims(start);
  await store.ping();
  await store.deleteConversation(owner, "conv_1");
}

describe("buckets in SQLite", () => {
  const policy = { capacity: 200 };

  test("a token that was taken stays taken over kill -9", async () => {
    const path = newPath();
    const child = startProcess(
      path,
      `const { buckets } = await openSqlite(path);
      const limiter = createMemoryLimiter({ buckets, clock: { now: () => ${start}, after: () => () => {} } });
      for (let n = 1; n <= 200; n++) {
        await limiter.take("a", { capacity: 200 });
        say("taken " + n);
      }
      setInterval(() => {}, 1000);`,
    );
    await killAfter(child, "taken 200");
    const sqlite = await openSqlite(path);
    const limiter = createMemoryLimiter({ buckets: sqlite.buckets, clock: createManualClock(start) });
    assert.equal((await limiter.take("a", policy)).allowed, false);
    await sqlite.close();
  });

  test("what filled up is swept, what is not full stays", async () => {
    const path = newPath();
    let buckets = await openSqliteBuckets(path);
    await buckets.save("full", { debt: 10, at: 90 });
    await buckets.save("nearly", { debt: 11, at: 90 });
    await buckets.save("ahead", { debt: 1, at: 200 });
    await buckets.close();
    buckets = await openSqliteBuckets(path);
    await buckets.save("new", { debt: 5, at: 100 });
    assert.equal(await buckets.load("full"), undefined);
    assert.deepEqual(await buckets.load("nearly"), { debt: 11, at: 90 });
    assert.deepEqual(await buckets.load("ahead"), { debt: 1, at: 200 });
    assert.deepEqual(await buckets.load("new"), { debt: 5, at: 100 });
    await buckets.close();
  });

  test("of saves in one turn the last one of an id counts", async () => {
    const buckets = await openSqliteBuckets(newPath());
    const at = start * 1000;
    await Promise.all([1, 2, 3].map((debt) => buckets.save("a", { debt, at })));
    assert.deepEqual(await buckets.load("a"), { debt: 3, at });
    await buckets.close();
  });

  test("closing saves what was begun; later calls are refused as unavailable", async () => {
    const path = newPath();
    let buckets = await openSqliteBuckets(path);
    const begun = buckets.save("a", { debt: 1, at: 2 });
    await buckets.close();
    await begun;
    await assert.rejects(buckets.save("a", { debt: 2, at: 2 }), StoreUnavailable);
    await assert.rejects(buckets.load("a"), StoreUnavailable);
    buckets = await openSqliteBuckets(path);
    assert.deepEqual(await buckets.load("a"), { debt: 1, at: 2 });
    await buckets.close();
  });
});
