/**
 * Long answers to slow readers: they get all of it, unless they take nothing for a minute.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turnEnd } from "node:timers/promises";
import { createMemoryStore } from "../../core/store/mod.ts";
import { openChat } from "../support/chat.ts";
import { overSocket, type Transport } from "../support/harness.ts";
import { post } from "../support/raw-socket.ts";
import { countDestroyed, hosted, openReader, stopTimers, watchWrites } from "./hosted.ts";

/** A conversation whose messages are longer than what operating systems buffer for a reader. */
async function openLongChat(transport: Transport) {
  const store = createMemoryStore();
  const long: typeof store = {
    ...store,
    async listMessages(...slice) {
      const listing = await store.listMessages(...slice);
      const content = "long ".repeat(1_200_000);
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
  pass: (milliseconds: number) => unknown,
  minutes: number,
): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    await pass(59_000);
    await reader.takeSome();
    await turnEnd();
  }
}

test("a reader that reads nothing of a long answer for 60 s is cut", async () => {
  const { server, transport } = hosted();
  const { chat, request } = await openLongChat(transport);
  await using _ = chat;
  const destroyed = countDestroyed(server);
  const untilStuck = watchWrites(server);
  const reader = await openReader(chat.fixture.url, request);
  await untilStuck();
  await chat.clock.advance(59_999);
  assert.equal(destroyed(), 0);
  await chat.clock.advance(1);
  assert.equal(destroyed(), 1);
  const text = await reader.readUntil("no such text: to its end");
  assert.ok(text.length < 12_000_000, `${text.length} bytes came`);
});

test(`a slow reader gets all of a long answer`, { timeout: 20_000 }, async () => {
  const { chat, request } = await openLongChat(overSocket);
  await using _ = chat;
  const reader = await openReader(chat.fixture.url, request);
  await takeSlowly(reader, (milliseconds) => chat.clock.advance(milliseconds), 2);
  const text = await reader.readUntil('"pagination"');
  assert.ok(text.length > 12_000_000, `${text.length} bytes came`);
});

test(`a slow reader gets all of a long last event`, { timeout: 20_000 }, async () => {
  await using chat = await openChat(overSocket);
  const reader = await openReader(chat.fixture.url, post(chat, "messages/stream"));
  const run = await chat.engine.next();
  await turnEnd(); // the stream has begun
  run.write("\u0001".repeat(4_000_000)); // 24 MB as JSON
  run.finish();
  using timers = stopTimers();
  for (let megabytes = 0; megabytes < 24; megabytes += 4) await reader.takeSome(); // 20 of them in deltas
  await takeSlowly(reader, timers.tick, 2);
  const text = await reader.readUntil("\r\n0\r\n\r\n");
  assert.ok(text.length > 40_000_000, `${text.length} bytes came`);
});

test("other work has its turn between the pieces of a long reply whose client takes all at once", async () => {
  await using chat = await openChat(overSocket);
  const sent = chat.send();
  const run = await chat.engine.next();
  run.write("w".repeat(1_600_000)); // a hundred deltas
  run.finish();
  const { data: reply } = await (await sent).json();
  const reader = await openReader(
    chat.fixture.url,
    `GET /api/v1/conversations/${chat.conversationId}/messages/${reply.id}/stream HTTP/1.1\r\nHost: a\r\nX-API-Key: ${chat.key}\r\n\r\n`,
  );
  let turns = 0;
  let counting = setImmediate(function count() {
    turns++;
    counting = setImmediate(count);
  });
  const text = await reader.readUntil("\r\n0\r\n\r\n");
  clearImmediate(counting);
  const pieces = text.split('"type":"delta"').length - 1;
  assert.ok(pieces > 90 && turns > pieces / 2, `${turns} turns for ${pieces} pieces`);
});

test("other work has its turn while the stream of a conversation tells many short messages", async () => {
  const many = 3_000;
  const store = createMemoryStore();
  const deep: typeof store = {
    ...store,
    async getConversation(...named) {
      const conversation = await store.getConversation(...named);
      return conversation && { ...conversation, logLength: many };
    },
    async listMessages(reach, id, slice) {
      const listing = await store.listMessages(reach, id, { ...slice, offset: 0 });
      const [message] = listing?.items ?? [];
      const count = Math.min(slice.limit, many - slice.offset);
      const seqs = Array.from({ length: count }, (_, at) => slice.offset + at);
      return message && { total: many, items: seqs.map((seq) => ({ ...message, id: `msg_${seq}`, seq })) };
    },
  };
  await using chat = await openChat(overSocket, { store: deep });
  const sent = chat.send();
  (await chat.engine.next()).finish();
  await sent;
  const reader = await openReader(
    chat.fixture.url,
    `GET /api/v1/conversations/${chat.conversationId}/stream?after=0.0 HTTP/1.1\r\nHost: a\r\nX-API-Key: ${chat.key}\r\n\r\n`,
  );
  let turns = 0;
  let counting = setImmediate(function count() {
    turns++;
    counting = setImmediate(count);
  });
  const text = await reader.readUntil(`\nid: ${many - 1}.`);
  clearImmediate(counting);
  assert.ok(turns > text.length / 16_384, `${turns} turns for ${text.length} bytes`);
});
