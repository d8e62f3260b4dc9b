/**
 * Readers that do not read cost a socket's buffer and a number, and not forever.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Chat, openChat } from "../support/chat.ts";
import { skipOffV8 } from "../support/garbage.ts";
import { inProcess, overSocket } from "../support/harness.ts";
import type { Run } from "../support/scripted-engine.ts";
import type { Invitation, Measurement } from "./slow-readers.ts";

/** Asks for a stream, and reads its beginning and nothing more. */
async function openIdleReader(url: string, path: string, key: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {}); // a cut is a reset, and it shows as the socket's end
  socket.write(`GET ${path} HTTP/1.1\r\nHost: twins\r\nX-API-Key: ${key}\r\n\r\n`);
  const [head] = (await once(socket, "data")) as [Buffer];
  assert.match(head.toString(), /^HTTP\/1.1 200 /);
  socket.pause();
  return socket;
}

/** How much memory 500 readers may cost: a queue for each would take 8 GB. Off V8, what is measured includes garbage. */
const most = skipOffV8 ? 512 : 128;

test(`500 readers that read nothing of 16 MB cost less than ${most} MB together`, async () => {
  const script = fileURLToPath(new URL("./slow-readers.ts", import.meta.url));
  const server = spawn(process.execPath, ["--import", "tsx", script], { stdio: ["pipe", "pipe", "inherit"] });
  const sockets: Socket[] = [];
  try {
    const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
    const hear = async <Report>() => JSON.parse(String((await lines.next()).value)) as Report;
    const { url, path, key } = await hear<Invitation>();
    for (let count = 0; count < 500; count += 50) {
      sockets.push(...(await Promise.all(Array.from({ length: 50 }, () => openIdleReader(url, path, key)))));
    }
    server.stdin.write("They are there.\n");
    const { offeredBytes, grownBytes } = await hear<Measurement>();
    assert.equal(offeredBytes, 16 * 1024 * 1024);
    assert.ok(grownBytes < most * 1024 * 1024, `grew by ${Math.round(grownBytes / 1024 / 1024)} MB`);
    assert.ok(sockets.every((socket) => !socket.closed));
  } finally {
    for (const socket of sockets) socket.destroy();
    server.kill();
    await once(server, "close");
  }
});

test("over a socket, a reader that reads nothing for 60 s is cut", async () => {
  await using chat = await openChat(overSocket, { onDisconnect: "cancel" });
  const { stream, messageId, run } = await chat.begin();
  const path = `/api/v1/conversations/${chat.conversationId}/messages/${messageId}/stream`;
  const socket = await openIdleReader(chat.fixture.url, path, chat.key);
  await stream.leave();
  for (let count = 0; count < 250; count++) run.write("\u0001".repeat(16_384)); // 24 MB as JSON
  await chat.clock.advance(59_000);
  assert.equal(run.signal.aborted, false);
  await chat.clock.advance(7_000);
  await run.aborted; // it was the last follower
  socket.destroy();
});

/** A stream in a `Response` that is not read. */
interface UnreadStream {
  readonly chat: Chat;
  readonly response: Response;
  readonly run: Run;
}

async function openUnreadStream(chat: Chat): Promise<UnreadStream> {
  const response = await chat.post("/messages/stream", { content: "Hi" });
  const run = await chat.engine.next();
  return { chat, response, run };
}

/** Fails unless its reader, the reply's last one, is still there after `keptMs`, and cut within `moreMs` more. */
async function assertCut(
  { chat, response, run }: UnreadStream,
  keptMs: number,
  moreMs: number,
): Promise<void> {
  await chat.clock.advance(keptMs);
  assert.equal(run.signal.aborted, false);
  await chat.clock.advance(moreMs);
  assert.equal(run.signal.aborted, true);
  await assert.rejects(response.text());
}

test("in a Response, a reader that reads nothing is cut after 60 s, however rare keep-alives are", async () => {
  await using chat = await openChat(inProcess, { onDisconnect: "cancel", heartbeatMs: 3_600_000 });
  const stream = await openUnreadStream(chat);
  await chat.clock.advance(90_000); // having nothing to read does not count
  stream.run.write("never read");
  await assertCut(stream, 59_000, 7_000);
});

test("a reader that reads nothing is cut at most a minute later if the machine's clock is set back", async () => {
  await using chat = await openChat(inProcess, { onDisconnect: "cancel" });
  const stream = await openUnreadStream(chat);
  stream.run.write("never read");
  await chat.clock.advance(30_000);
  chat.clock.step(-3_600_000);
  await assertCut(stream, 4_000, 66_000);
});

test("a reader that reads now and then is not cut", async () => {
  await using chat = await openChat(inProcess, { onDisconnect: "cancel" });
  const { stream, run } = await chat.begin();
  for (let minute = 0; minute < 4; minute++) {
    run.write("word ");
    await chat.clock.advance(55_000);
    assert.equal((await stream.next()).data.type, "delta");
  }
  assert.equal(run.signal.aborted, false);
  run.finish();
  assert.equal((await stream.rest()).at(-1)?.data.type, "complete");
});
