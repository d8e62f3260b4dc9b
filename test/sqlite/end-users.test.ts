/**
 * What the reference server's SQLite file holds of an end user: taking much of it out, and leaving nothing of it.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { connect as openSocket, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { connect } from "../../adapters/sqlite/connection.ts";
import { call, createKey, createScratch, mint } from "../server/fixture.ts";
import { type ServerProcess, startServer } from "../server/process.ts";
import { dataOf } from "../support/harness.ts";
import { freePort } from "../support/ports.ts";
import { skipOffNode } from "../support/script-process.ts";

const scratch = await createScratch();

/** Makes a conversation of an end user, and returns its id. */
async function converse({ url }: ServerProcess, key: string, endUser: string): Promise<string> {
  const made = await call(`${url}/api/v1/conversations`, "POST", key, { twinId: "echo", endUser });
  return (await dataOf<{ id: string }>(made)).id;
}

/** Fills a conversation with messages of a thousand characters. */
async function fill(database: string, conversationId: string, count: number): Promise<void> {
  const connection = await connect(database.replace(/^sqlite:/, ""));
  connection.run(
    `WITH RECURSIVE seqs (seq) AS (SELECT 0 UNION ALL SELECT seq + 1 FROM seqs WHERE seq + 1 < $2)
      INSERT INTO messages (owner, id, conversation_id, seq, role, content, status, created_at, cancel_requested)
      SELECT owner, printf('msg_%s_%08d', id, seq), id, seq, 'user', printf('%.*c', 1000, 'x'), 'completed', created_at, 0
      FROM conversations CROSS JOIN seqs WHERE id = $1`,
    [conversationId, count],
  );
  connection.run("UPDATE conversations SET message_count = $2 WHERE id = $1", [conversationId, count]);
  connection.close();
}

/** The memory that a process has now, in bytes. */
async function residentMemory(metricsPort: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]);
}

/** Asks for an export, and reads its beginning and nothing more. */
async function openSlowReader(url: string, key: string, endUser: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = openSocket(Number(port), hostname);
  const path = `/api/v1/end-users/${endUser}/export`;
  socket.write(`GET ${path} HTTP/1.1\r\nHost: twins\r\nX-API-Key: ${key}\r\nConnection: close\r\n\r\n`);
  await once(socket, "readable");
  return socket;
}

test("a reader who stops and reads on exports 100,000 messages, 130 MB, in 60 MB of memory", {
  skip: skipOffNode, // whose memory is known
}, async (t) => {
  const { flags, database } = await scratch();
  const before = await startServer(flags);
  const key = await createKey(before, await mint(flags));
  const [few, many] = [await converse(before, key, "few"), await converse(before, key, "many")];
  await before.stop();
  await fill(database, few, 10_000);
  await fill(database, many, 100_000);

  const metricsPort = await freePort();
  const server = await startServer(flags, { METRICS_PORT: String(metricsPort) });
  const warm = await call(`${server.url}/api/v1/end-users/few/export`, "GET", key);
  assert.equal((await warm.text()).split("\n").length, 10_002);
  const atStart = await residentMemory(metricsPort);
  let most = 0;
  const look = async () => {
    most = Math.max(most, await residentMemory(metricsPort));
  };
  const reader = await openSlowReader(server.url, key, "many");
  for (let n = 0; n < 20; n++) {
    assert.equal((await call(`${server.url}/api/v1/twins`, "GET", key)).status, 200);
    await look();
  }
  let [bytes, messages] = [0, 0];
  for await (const part of reader as AsyncIterable<Buffer>) {
    if (Math.floor(bytes / 10e6) < Math.floor((bytes + part.length) / 10e6)) await look();
    bytes += part.length;
    messages += part.toString("latin1").split('{"message":').length - 1;
  }
  await look();
  await server.stop();
  const grown = Math.round((most - atStart) / 2 ** 20);
  t.diagnostic(`${Math.round(bytes / 1e6)} MB were exported, and the memory grew by ${grown} MB`);
  assert.ok(bytes > 130e6);
  assert.ok(messages > 99_900 && messages <= 100_000, `${messages} messages`); // a part may end within a word
  assert.ok(grown < 60, `grew by ${grown} MB`);
});

/** The files of a folder that contain a text. */
async function filesWith(folder: string, text: string): Promise<string[]> {
  const found = [];
  for (const file of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    if ((await readFile(join(file.parentPath, file.name))).includes(text)) found.push(file.name);
  }
  return found;
}

test("what was erased is in no file once the server has stopped", async () => {
  const { folder, flags } = await scratch();
  const data = join(folder, "data");
  const server = await startServer(flags);
  const key = await createKey(server, await mint(flags));
  let claims = 0;
  const post = async (credential: string, path: string, body: object, claim = "claim of ann") => {
    const headers = {
      Authorization: `Bearer ${credential}`,
      "Content-Type": "application/json",
      "Idempotency-Key": `${claim} ${claims++}`,
    };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    return dataOf<{ id: string }>(await fetch(`${server.url}/api/v1${path}`, init));
  };
  const endUser = "name of ann";
  const made = await call(`${server.url}/api/v1/client-tokens`, "POST", key, { endUser });
  const { token } = await dataOf<{ token: string }>(made);
  const mine = await post(token, "/conversations", { twinId: "echo", title: "title of ann" });
  await post(token, `/conversations/${mine.id}/messages`, { content: "long text of ann ".repeat(1_000) });
  const given = await post(key, "/conversations", { twinId: "echo", endUser });
  await post(key, `/conversations/${given.id}/messages`, { content: "short text of ann" });
  await post(key, "/conversations", { twinId: "echo", title: "title of bob" }, "claim of bob");

  const marks = [endUser, "claim of ann", "title of ann", "long text of ann", "short text of ann"];
  for (const mark of marks) assert.notDeepEqual(await filesWith(data, mark), [], mark);
  const erasing = `${server.url}/api/v1/end-users/${encodeURIComponent(endUser)}`;
  const erased = await dataOf(await call(erasing, "DELETE", key));
  assert.deepEqual(erased, { endUser, conversations: 2, messages: 4, clientTokens: 1 });
  await server.stop();
  for (const mark of marks) assert.deepEqual(await filesWith(data, mark), [], mark);
  for (const mark of ["title of bob", "claim of bob"]) assert.notDeepEqual(await filesWith(data, mark), []);
});
