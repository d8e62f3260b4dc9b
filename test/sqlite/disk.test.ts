import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { describe, test } from "node:test";
import { setImmediate as turnEnd } from "node:timers/promises";
import type { WriteAheadLog } from "../../adapters/sqlite/disk.ts";
import { openSqliteFile } from "../../adapters/sqlite/file.ts";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { StoreUnavailable } from "../../core/store/store.ts";
import { begin, newConversation, newOwner, start, toBegin } from "../contracts/store-records.ts";
import {
  commandLine,
  firstConversation,
  killAfter,
  makeFolder,
  project,
  quickDisk,
  slowDisk,
  startProcess,
  storeOn,
  watched,
} from "./fixture.ts";

/** A log whose first sync fails. Later ones succeed although what the first one lost is not on disk, as on real systems. */
function faultyDisk(said: string[] = []): WriteAheadLog {
  let failing = true;
  return {
    async sync() {
      said.push(failing ? "failed" : "synced");
      if (!failing) return;
      failing = false;
      throw new Error("EIO: i/o error, fdatasync");
    },
    close() {},
  };
}

/** A log whose syncs all fail. */
const deadDisk: WriteAheadLog = {
  async sync() {
    throw new Error("EIO: i/o error, fdatasync");
  },
  close() {},
};

/** The error of a connection that could not write to the disk. */
function ioError(): Error {
  return Object.assign(new Error("disk I/O error"), { rawCode: 1034 }); // SQLITE_IOERR_FSYNC
}

/** The events of a trace: "sync" for each completed sync of a write-ahead log, and what the process printed. */
function logSyncsAndWords(trace: string): string[] {
  const events: string[] = [];
  const syncing = new Map<string, string>(); // by thread
  for (const line of trace.split("\n")) {
    const [thread = ""] = line.split(" ");
    const file = /\bf(?:data)?sync\(\d+<([^>]+)>/.exec(line)?.[1];
    if (file !== undefined) syncing.set(thread, file);
    const done = /\bf(?:data)?sync\b.*\) += 0$/.test(line);
    if (done && syncing.get(thread)?.endsWith("-wal")) events.push("sync");
    const said = /write\(1<[^>]*>, "([^"\\]+)/.exec(line)?.[1];
    if (said) events.push(said);
  }
  return events;
}

const folder = await makeFolder();

describe("a SQLite store and its disk", () => {
  test("what was acknowledged survives kill -9", async () => {
    const path = folder.newPath();
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
    const { total } = await sqlite.store.listConversations({ owner: "alice" }, { offset: 0, limit: 1 });
    assert.ok(total >= 21, `${total} are left`);
    assert.deepEqual(await sqlite.store.getConversation({ owner: "alice" }, "conv_20"), {
      ...firstConversation,
      id: "conv_20",
    });
    await sqlite.close();
  });

  test("each write is on disk before it is acknowledged, and writes of one turn share a sync", async (t) => {
    if (spawnSync("strace", ["-V"]).error) return t.skip("strace is not installed");
    const path = folder.newPath();
    const output = `${path}.trace`;
    const code = `const { store } = await openSqlite(path);
      say("open");
      for (let n = 0; n < 5; n++) {
        await store.createConversation(conversation(n));
        say("stored");
      }
      await Promise.all(Array.from({ length: 100 }, (_, n) => store.createConversation(conversation(100 + n))));
      say("stored all");`;
    const trace = ["-f", "-y", "-e", "trace=fsync,fdatasync,write", "-o", output];
    const [program, parameters] = commandLine(path, code);
    const traced = spawnSync("strace", [...trace, program, ...parameters], {
      cwd: project,
      encoding: "utf8",
    });
    if (/ptrace|not permitted/i.test(traced.stderr)) return t.skip(`strace cannot trace: ${traced.stderr}`);
    const events = logSyncsAndWords(await readFile(output, "utf8"));
    const writes = events.slice(events.indexOf("open") + 1, events.indexOf("stored all") + 1).join(" ");
    assert.match(writes, /^((sync ){1,3}stored ){5}(sync ){1,3}stored all$/);
  });

  test("a commit that fails rejects its turn as unavailable, and the next one succeeds", async () => {
    let failing = true;
    const faulty = watched(await openSqliteFile(folder.newPath()), (sql) => {
      if (failing && sql === "COMMIT") throw ioError();
    });
    const store = storeOn(faulty);
    await assert.rejects(store.createConversation(firstConversation), StoreUnavailable);
    failing = false;
    assert.equal(await store.getConversation({ owner: "alice" }, "conv_1"), undefined);
    await store.createConversation(firstConversation);
    assert.deepEqual(await store.getConversation({ owner: "alice" }, "conv_1"), firstConversation);
    await store.close();
  });

  test("commits are acknowledged, and read, only once they are on disk; writes that come meanwhile share one", async () => {
    const said: string[] = [];
    const connection = watched(await openSqliteFile(folder.newPath()), (sql) => {
      if (/^(COMMIT|INSERT INTO conv)/.test(sql)) said.push(sql.slice(0, 6));
    });
    const disk = slowDisk();
    const store = storeOn(connection, disk);
    const note = (name: string) => () => void said.push(name);
    const first = store.createConversation(firstConversation).then(note("first"));
    await disk.asked();
    const read = store.getConversation({ owner: "alice" }, "conv_1").then(note("read"));
    const later = ["conv_2", "conv_3"].map((id) => store.createConversation({ ...firstConversation, id }));
    await turnEnd();
    assert.deepEqual(said, ["INSERT", "COMMIT"]);
    disk.finish();
    await Promise.all([first, read]);
    await disk.asked();
    assert.deepEqual(said.sort(), ["COMMIT", "COMMIT", "INSERT", "INSERT", "INSERT", "first", "read"]);
    disk.finish();
    await Promise.all(later);
    await store.close();
  });

  test("syncs never overlap, because an error may be reported to either of two concurrent ones", async () => {
    const disk = slowDisk();
    let syncing = 0;
    let most = 0;
    const counted = {
      ...disk,
      async sync() {
        most = Math.max(most, ++syncing);
        await disk.sync();
        syncing--;
      },
    };
    const store = storeOn(await openSqliteFile(folder.newPath()), counted);
    let asked = disk.asked();
    const read = store.ping();
    await asked;
    const written = store.createConversation(firstConversation);
    await turnEnd();
    await turnEnd();
    assert.equal(syncing, 1);
    asked = disk.asked();
    disk.finish();
    await asked;
    disk.finish();
    await Promise.all([read, written]);
    assert.equal(most, 1);
    await store.close();
  });

  test("closing a store closes its log and its file, once", async () => {
    const connection = await openSqliteFile(folder.newPath());
    const closed: string[] = [];
    const log = { ...quickDisk, close: () => void closed.push("log") };
    const file = {
      ...connection,
      close() {
        closed.push("file");
        connection.close();
      },
    };
    const store = storeOn(file, log);
    await store.createConversation(firstConversation);
    await Promise.all([store.close(), store.close()]);
    assert.deepEqual(closed, ["log", "file"]);
  });

  test("what an earlier process left in the log is read only once it is on disk", async () => {
    const disk = slowDisk();
    const store = storeOn(await openSqliteFile(folder.newPath()), disk);
    const asked = disk.asked();
    const reads = [store.ping(), store.getConversation({ owner: "alice" }, "conv_1")];
    let told = false;
    void Promise.all(reads).then(() => {
      told = true;
    });
    await asked;
    await turnEnd();
    assert.equal(told, false);
    disk.finish();
    await Promise.all(reads);
    await store.close();
  });

  test("a turn that changes nothing does not wait for the disk", async () => {
    let syncs = 0;
    const counted = { ...quickDisk, sync: async () => void syncs++ };
    const store = storeOn(await openSqliteFile(folder.newPath()), counted);
    const owner = newOwner();
    const { id } = await newConversation(store, owner);
    await begin(store, owner, id);
    const before = syncs;
    assert.equal((await store.beginReply(toBegin(owner, id))).result, "busy");
    await store.sweep(start);
    assert.equal(syncs, before);
    await store.close();
  });

  test("if the log cannot be synced, it is checkpointed into the file, and emptied", async () => {
    const path = folder.newPath();
    const said: string[] = [];
    const connection = watched(await openSqliteFile(path), (sql) => {
      if (sql.startsWith("PRAGMA wal_checkpoint")) said.push("checkpoint");
    });
    const store = storeOn(connection, faultyDisk(said));
    await store.createConversation(firstConversation);
    assert.deepEqual(said, ["failed", "checkpoint", "synced"]);
    assert.equal((await stat(`${path}-wal`)).size, 0);
    await store.createConversation({ ...firstConversation, id: "conv_2" });
    assert.deepEqual(said, ["failed", "checkpoint", "synced", "synced"]);
    await store.close();
  });

  test("if that fails, too, what was written is neither acknowledged nor read until it is on disk", async () => {
    let failing = true;
    const faulty = watched(await openSqliteFile(folder.newPath()), (sql) => {
      if (failing && sql.startsWith("PRAGMA wal_checkpoint")) throw ioError();
    });
    const store = storeOn(faulty, faultyDisk());
    await assert.rejects(store.createConversation(firstConversation), StoreUnavailable);
    await assert.rejects(store.getConversation({ owner: "alice" }, "conv_1"), StoreUnavailable);
    failing = false;
    assert.deepEqual(await store.getConversation({ owner: "alice" }, "conv_1"), firstConversation);
    await store.close();
  });

  test("if the log cannot be synced once it is empty, what was written is not read, either", async () => {
    const store = storeOn(await openSqliteFile(folder.newPath()), deadDisk);
    await assert.rejects(store.createConversation(firstConversation), StoreUnavailable);
    await assert.rejects(store.getConversation({ owner: "alice" }, "conv_1"), StoreUnavailable);
    await store.close();
  });
});
