/**
 * What keeps the reference server from starting, on every runtime: one line that says what was wrong, or a signal.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { connect } from "../../adapters/sqlite/connection.ts";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { begin, newConversation } from "../contracts/store-records.ts";
import { withoutSignals } from "../support/child-process.ts";
import { listen } from "../support/ports.ts";
import { createScratch } from "./fixture.ts";
import { launchServer, runServer } from "./process.ts";

const scratch = await createScratch();

/** Fails unless the server does not start, and says exactly this. */
async function assertComplaint(database: string, complaint: string): Promise<void> {
  const { folder } = await scratch();
  const ended = await runServer(["--twins", join(folder, "twins"), "--database", database]);
  assert.deepEqual(ended, { code: 1, stdout: "", stderr: `twin-service: ${complaint}\n` });
}

test("a folder that cannot be created for a SQLite file is named", {
  skip: process.platform !== "linux" && "only Linux has a folder where nothing can be created",
  timeout: 30_000,
}, async () => {
  const cause = "/proc/x/y.db cannot be created: its folder /proc/x cannot be created (ENOENT)";
  const accepted = "choose a file in a folder that this process can write to.";
  await assertComplaint("sqlite:/proc/x/y.db", `DATABASE_URL (--database): ${cause}; ${accepted}`);
});

test("a start without twins leaves no database behind", async () => {
  const { folder } = await scratch();
  const database = `sqlite:${join(folder, "data", "twins.db")}`;
  const { code, stderr } = await runServer(["--twins", join(folder, "none"), "--database", database]);
  assert.match(stderr, /^twin-service: TWINS_DIR \(--twins\): the folder .+none cannot be read/);
  assert.equal(code, 1);
  assert.ok(!(await readdir(folder)).includes("data"));
});

test("a database that cannot be written when orphans must be ended is named, with the cause", async () => {
  const path = join((await scratch()).folder, "twins.db");
  const sqlite = await openSqlite(path);
  const { id } = await newConversation(sqlite.store, "alice");
  await begin(sqlite.store, "alice", id);
  await sqlite.close();
  const connection = await connect(path);
  connection.exec(`CREATE TRIGGER full BEFORE UPDATE ON messages
    BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`);
  connection.close();
  const problem = "cannot be read or written (database or disk is full)";
  await assertComplaint(`sqlite:${path}`, `DATABASE_URL (--database): ${path} ${problem}.`);
});

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const) {
  test(`${signal} during the start closes what is open, and exits with 0`, {
    skip: withoutSignals,
  }, async () => {
    // A Redis that accepts connections but never answers: the start waits for it with the database already open.
    const silent = createServer();
    const port = await listen(silent);
    const { folder, flags } = await scratch();
    const starting = launchServer(flags, { REDIS_URL: `redis://127.0.0.1:${port}` });
    const [socket] = (await once(silent, "connection")) as [Socket];
    socket.on("error", () => {}); // the client's end may be a reset
    const { code, stdout, stderr } = await starting.stop(signal);
    silent.close();
    assert.equal(code, 0, stderr);
    assert.equal(stdout, "");
    const messages = stderr.trim().split("\n");
    assert.deepEqual(
      messages.map((line) => JSON.parse(line).message).filter((message) => message.startsWith("stop")),
      ["stopping", "stopped"],
    );
    assert.deepEqual(await readdir(join(folder, "data")), ["twins.db"]);
  });
}
