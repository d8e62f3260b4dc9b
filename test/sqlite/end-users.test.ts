/**
 * Nothing of an end user who was erased is left in a SQLite file.
 */

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { createMemoryLimiter } from "../../core/mod.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import { conversation } from "../contracts/store-records.ts";
import { createManualClock } from "../support/clock.ts";
import { dataOf, inProcess, openFixture, startOfTests } from "../support/harness.ts";
import { makeFolder } from "./fixture.ts";

const { path: folder, newPath } = await makeFolder();

/** The files of a folder that contain a text. */
async function filesWith(folder: string, text: string): Promise<string[]> {
  const found = [];
  for (const file of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    if ((await readFile(join(file.parentPath, file.name))).includes(text)) found.push(file.name);
  }
  return found;
}

for (const kind of ["SQLite", "memory"]) {
  test(`an export from ${kind} gives the others turns, though its client takes it as fast as it is read`, async () => {
    const sqlite = await openSqlite(newPath());
    const store = kind === "SQLite" ? sqlite.store : createMemoryStore();
    await using fixture = await openFixture(inProcess, { store });
    const key = await fixture.key();
    await Promise.all(
      Array.from({ length: 5_000 }, (_, index) =>
        store.createConversation(conversation("alice", { id: `conv_${index}`, endUser: "ann" })),
      ),
    );
    let turns = 0;
    let isOver = false;
    const turn = () => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    turn();
    const response = await fixture.call("GET", "/end-users/ann/export", key);
    const lines = (await response.text()).split("\n");
    isOver = true;
    assert.equal(lines.length, 5_001);
    assert.ok(turns > 3, `${turns} turns`); // 10,000 reads take many times 10 ms
    await sqlite.close();
  });
}

test("what was erased is in no file once the database is closed", async () => {
  const sqlite = await openSqlite(newPath());
  const clock = createManualClock(startOfTests);
  const limiter = createMemoryLimiter({ buckets: sqlite.buckets, clock });
  const fixture = await openFixture(inProcess, { store: sqlite.store, limiter }, clock);
  const key = await fixture.key();
  let claims = 0;
  const post = async (credential: string, path: string, body: object, claim = "claim of ann") => {
    const headers = { "Idempotency-Key": `${claim} ${claims++}` };
    return dataOf<{ id: string }>(await fixture.call("POST", path, credential, body, headers));
  };
  const endUser = "name of ann";
  const made = await fixture.call("POST", "/client-tokens", key, { endUser });
  const { token } = await dataOf<{ token: string }>(made);
  const mine = await post(token, "/conversations", { twinId: "echo", title: "title of ann" });
  await post(token, `/conversations/${mine.id}/messages`, { content: "long text of ann ".repeat(1_000) });
  const given = await post(key, "/conversations", { twinId: "echo", endUser });
  await post(key, `/conversations/${given.id}/messages`, { content: "short text of ann" });
  await post(key, "/conversations", { twinId: "echo", title: "title of bob" }, "claim of bob");

  const marks = [endUser, "claim of ann", "title of ann", "long text of ann", "short text of ann"];
  for (const mark of marks) assert.notDeepEqual(await filesWith(folder, mark), [], mark);
  const erased = await fixture.call("DELETE", `/end-users/${encodeURIComponent(endUser)}`, key);
  assert.deepEqual(await dataOf(erased), { endUser, conversations: 2, messages: 4, clientTokens: 1 });
  await fixture[Symbol.asyncDispose]();
  await sqlite.close();
  for (const mark of marks) assert.deepEqual(await filesWith(folder, mark), [], mark);
  for (const mark of ["title of bob", "claim of bob"]) assert.notDeepEqual(await filesWith(folder, mark), []);
});
