/**
 * What keeps the reference server from starting, on every runtime: one line that says what was wrong, or a signal.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { connect } from "../../adapters/sqlite/connection.ts";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { begin, newConversation } from "../contracts/store-records.ts";
import { withoutSignals } from "../support/child-process.ts";
import { listen } from "../support/ports.ts";
import { launchServer, runServer } from "./process.ts";

const root = await mkdtemp(join(tmpdir(), "twin-service-start-"));
after(() => rm(root, { recursive: true, force: true }));
await mkdir(join(root, "twins"));
await writeFile(join(root, "twins", "echo.md"), "---\nname: Echo\nengine: echo\n---\n");
const twins = ["--twins", join(root, "twins")];

/** Starts the server with a setting that it cannot use, and returns its error line. */
async function complaint(args: readonly string[], variables: Record<string, string> = {}): Promise<string> {
  const { code, stdout, stderr } = await runServer([...args, ...twins], variables);
  assert.match(stderr, /^twin-service: [^\n]+\n$/);
  assert.equal(stdout, "");
  assert.equal(code, 1);
  return stderr.slice("twin-service: ".length, -1);
}

describe("a SQLite file that cannot be created", () => {
  const accepted = "choose a file in a folder that this process can write to.";
  const unmade = {
    skip: process.platform !== "linux" && "only Linux has a folder where nothing can be created",
  };

  test("a folder is reported as one", async () => {
    const line = await complaint(["--database", `sqlite:${root}`]);
    assert.equal(line, `DATABASE_URL (--database): ${root} is a folder; ${accepted}`);
  });

  test("a folder that cannot be created is named", { ...unmade, timeout: 30_000 }, async () => {
    const line = await complaint(["--database", "sqlite:/proc/x/y.db"]);
    const cause = "/proc/x/y.db cannot be created: its folder /proc/x cannot be created (ENOENT)";
    assert.equal(line, `DATABASE_URL (--database): ${cause}; ${accepted}`);
  });

  test("a folder where no file can be created is reported", unmade, async () => {
    const line = await complaint(["--database", "sqlite:/proc/y.db"]);
    assert.equal(line, `DATABASE_URL (--database): /proc/y.db cannot be created (ENOENT); ${accepted}`);
  });

  test("a file where a folder should be is reported", async () => {
    const file = join(root, "a-file");
    await writeFile(file, "");
    const line = await complaint(["--database", `sqlite:${file}/twins.db`]);
    const cause = `${file}/twins.db cannot be created: its folder ${file} cannot be created (EEXIST)`;
    assert.equal(line, `DATABASE_URL (--database): ${cause}; ${accepted}`);
  });
});

test("a database that cannot be written when orphans must be ended is named, with the cause", async () => {
  const path = join(root, "orphans", "twins.db");
  const sqlite = await openSqlite(path);
  const { id } = await newConversation(sqlite.store, "alice");
  await begin(sqlite.store, "alice", id);
  await sqlite.close();
  const connection = await connect(path);
  connection.exec(`CREATE TRIGGER full BEFORE UPDATE ON messages
    BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`);
  connection.close();
  const line = await complaint(["--database", `sqlite:${path}`]);
  const problem = "cannot be read or written (database or disk is full)";
  assert.equal(line, `DATABASE_URL (--database): ${path} ${problem}.`);
});

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`${signal} during the start closes what is open, and exits with 0`, {
    skip: withoutSignals,
  }, async () => {
    // A Redis that accepts connections but never answers: the start waits for it with the database already open.
    const silent = createServer();
    const port = await listen(silent);
    const folder = join(root, signal);
    const database = ["--database", `sqlite:${join(folder, "twins.db")}`];
    const starting = launchServer([...database, ...twins], { REDIS_URL: `redis://127.0.0.1:${port}` });
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
    assert.deepEqual((await readdir(folder)).sort(), ["twins.db"]);
  });
}
