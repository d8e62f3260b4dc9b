/**
 * Long answers to slow readers: they get all of it, unless they take nothing for a minute or too much waits.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turnEnd } from "node:timers/promises";
import { createMemoryStore } from "../../core/store/mod.ts";
import { openChat } from "../support/chat.ts";
import { overSocket, type Transport } from "../support/harness.ts";
import { post } from "../support/raw-socket.ts";
import { countDestroyed, hosted, openReader, stopTimers } from "./hosted.ts";

/** A conversation whose messages are longer than what operating systems buffer for a reader. */
async function openLongChat(transport: Transport) {
  const store = createMemoryStore();
  const long: typeof store = {
    ...store,
    async listMessages(...slice) {
      const listing = await store.listMessages(...slice);
      const content = "long ".repeat(4_000_000);
      return listing && { ...listing, items: listing.items.map((message) => ({ ...message, content })) };
    },
  };
  const chat = await openChat(transport, { store: long });
  const sent = chat.send();
  (await chat.engine.next()).finish();
  assert.equal((await sent).status, 200);
  const path = `/api/v1/conversations/${chat.conversationId}/messages`;
  return {
    chat,
    request: `GET ${path} HTTP/1.1\r\nHost: a\r\nX-API-Key: ${chat.key}\r\n\r\n`,
  };
}

/** Reads some of an answer just before each minute of silence is over, `minutes` times. */
async function takeSlowly(
  reader: Awaited<ReturnType<typeof openReader>>,
  timers: ReturnType<typeof stopTimers>,
  minutes: number,
): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    timers.tick(59_000);
    await reader.takeSome();
    await turnEnd();
  }
}

test("a reader that reads nothing of a long answer for 60 s is cut", async () => {
  const { server, transport } = hosted();
  const { chat, request } = await openLongChat(transport);
  await using _ = chat;
  const destroyed = countDestroyed(server);
  using timers = stopTimers();
  const reader = await openReader(chat.fixture.url, request);
  await turnEnd();
  timers.tick(59_999);
  assert.equal(destroyed(), 0);
  timers.tick(1);
  assert.equal(destroyed(), 1);
  const text = await reader.readUntil("no such text: to its end");
  assert.ok(text.length < 40_000_000, `${text.length} bytes came`);
});

test("once 256 MB wait to be read, the longest-stalled reader is cut", { timeout: 60_000 }, async () => {
  const { server, transport } = hosted();
  const { chat, request } = await openLongChat(transport); // 40 MB for each reader
  await using _ = chat;
  const destroyed = countDestroyed(server);
  const open = () => openReader(chat.fixture.url, request);
  const first = await open();
  const second = await open();
  for (let more = 0; more < 4; more++) await open();
  assert.equal(destroyed(), 0);
  await open();
  assert.equal(destroyed(), 1);
  const cut = await first.readUntil("no such text: to its end");
  assert.ok(cut.length < 40_000_000, `${cut.length} bytes came`);
  const whole = await second.readUntil('"pagination"');
  assert.ok(whole.length > 40_000_000, `${whole.length} bytes came`);
  await open(); // what has been read no longer counts
  assert.equal(destroyed(), 1);
});

test(`a slow reader gets all of a long answer`, { timeout: 20_000 }, async () => {
  const { chat, request } = await openLongChat(overSocket);
  await using _ = chat;
  using timers = stopTimers();
  const reader = await openReader(chat.fixture.url, request);
  await takeSlowly(reader, timers, 4);
  const text = await reader.readUntil('"pagination"');
  assert.ok(text.length > 40_000_000, `${text.length} bytes came`);
});

test(`a slow reader gets all of a long last event`, { timeout: 20_000 }, async () => {
  await using chat = await openChat(overSocket);
  const reader = await openReader(chat.fixture.url, post(chat, "messages/stream"));
  const run = await chat.engine.next();
  await turnEnd(); // the stream has begun
  run.write("long ".repeat(4_000_000));
  run.finish();
  using timers = stopTimers();
  for (let megabytes = 0; megabytes < 24; megabytes += 4) await reader.takeSome(); // 20 of them in deltas
  await takeSlowly(reader, timers, 2);
  const text = await reader.readUntil("\r\n0\r\n\r\n");
  assert.ok(text.length > 40_000_000, `${text.length} bytes came`);
});
