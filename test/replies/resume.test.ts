/**
 * Following a reply from any point of its text: while it runs, after it has ended, after a restart.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemoryStore } from "../../core/store/mod.ts";
import { type Chat, openChat } from "../support/chat.ts";
import { readEvents } from "../support/event-reader.ts";
import { assertRefusedField, inProcess, textOf } from "../support/harness.ts";

const text = "Hi 😀!"; // 6 code units, a surrogate pair at 3

/** Makes a reply that has ended, and returns its id. */
async function openEnded(chat: Chat): Promise<string> {
  const { stream, messageId, run } = await chat.begin();
  run.write(text);
  run.finish();
  await stream.rest();
  return messageId;
}

test("a running reply is resumed in the middle, and continues live", async () => {
  await using chat = await openChat(inProcess);
  const { messageId, run } = await chat.begin();
  run.progress({ stage: "searching" });
  run.write("Hello, ");
  const resumed = await chat.resume(messageId, 3);
  const accepted = await resumed.next();
  assert.equal(accepted.id, 3);
  assert.ok(accepted.data.type === "progress" && accepted.data.progress.messageId === messageId);
  assert.deepEqual(await resumed.next(), {
    id: 3,
    data: { type: "progress", progress: { stage: "searching" } },
  });
  assert.deepEqual(await resumed.next(), { id: 7, data: { type: "delta", content: "lo, " } });
  run.write("world");
  assert.deepEqual(await resumed.next(), { id: 12, data: { type: "delta", content: "world" } });
  run.finish();
  const [complete] = await resumed.rest();
  assert.ok(complete?.data.type === "complete" && complete.data.message.content === "Hello, world");
});

test("an ended reply can be resumed at every offset that is not inside a surrogate pair", async () => {
  await using chat = await openChat(inProcess);
  const messageId = await openEnded(chat);
  for (const after of [0, 1, 2, 3, 5, 6]) {
    const events = await (await chat.resume(messageId, after)).rest();
    assert.equal(events[0]?.id, after);
    assert.equal(events[0]?.data.type, "progress");
    assert.equal(textOf(events), text.slice(after));
    assert.equal(events.at(-1)?.id, 6);
    assert.equal(events.at(-1)?.data.type, "complete");
  }
});

test("an offset that the reply does not have is refused", async () => {
  await using chat = await openChat(inProcess);
  const messageId = await openEnded(chat);
  const stream = `/messages/${messageId}/stream`;
  for (const after of ["4", "7", "-1", "1.5", "abc", "", "1e1", "03", " 1", "9999999999"]) {
    const byQuery = await chat.get(`${stream}?after=${encodeURIComponent(after)}`);
    const message = await assertRefusedField(byQuery, "after");
    if (after.trim() !== after) continue; // header fields lose leading and trailing spaces
    const byHeader = await chat.get(`${stream}?after=0`, { "Last-Event-ID": after });
    assert.equal(await assertRefusedField(byHeader, "Last-Event-ID"), message, after);
  }
});

test("an offset that a running reply does not have yet is refused", async () => {
  await using chat = await openChat(inProcess);
  const { messageId, run } = await chat.begin();
  run.write("abc");
  assert.equal((await chat.get(`/messages/${messageId}/stream?after=4`)).status, 400);
});

test("a Last-Event-ID that is not a number is refused before the message is looked up", async () => {
  await using chat = await openChat(inProcess);
  const response = await chat.get("/messages/msg_nowhere/stream", { "Last-Event-ID": "abc" });
  assert.equal(response.status, 400);
});

test("Last-Event-ID wins over the parameter, whatever that says", async () => {
  await using chat = await openChat(inProcess);
  const messageId = await openEnded(chat);
  for (const query of ["after=0", "after=7", "after=abc", "after=", "after=%ff", "after=1&after=2"]) {
    const response = await chat.get(`/messages/${messageId}/stream?${query}`, { "Last-Event-ID": "5" });
    assert.equal(textOf(await readEvents(response).rest()), "!", query);
  }
});

test("a reply is resumed after a restart", async () => {
  await using chat = await openChat(inProcess);
  const messageId = await openEnded(chat);
  await using next = await chat.another();
  assert.equal(textOf(await (await next.resume(messageId, 2)).rest()), text.slice(2));
});

test("a resumed stream names the reply and its question, as the first one did", async () => {
  await using chat = await openChat(inProcess);
  const stream = await chat.stream();
  const accepted = await stream.next();
  assert.ok(accepted.data.type === "progress");
  const messageId = String(accepted.data.progress.messageId);
  assert.deepEqual(await (await chat.resume(messageId)).next(), accepted, "while it runs");
  (await chat.engine.next()).finish();
  await stream.rest();
  assert.deepEqual(await (await chat.resume(messageId)).next(), accepted, "once it has ended");
});

test("another process follows the saved text, and waits while its reader already has more", async () => {
  await using chat = await openChat(inProcess, { store: { ...createMemoryStore(), exclusive: false } });
  const { messageId, run } = await chat.begin();
  run.write("Hello");
  await using other = await chat.another();
  const resumed = await other.resume(messageId, 4);
  assert.equal((await resumed.next()).id, 4);
  await chat.clock.advance(1_250);
  assert.deepEqual(await resumed.next(), { id: 5, data: { type: "delta", content: "o" } });
  run.write("!");
  run.finish();
  await chat.clock.advance(250);
  const events = await resumed.rest();
  assert.deepEqual(events[0], { id: 6, data: { type: "delta", content: "!" } });
  assert.equal(events[1]?.data.type, "complete");
});

test("another process that waits for text that never comes ends with the length that there is", async () => {
  await using chat = await openChat(inProcess, { store: { ...createMemoryStore(), exclusive: false } });
  const { messageId, run } = await chat.begin();
  await using other = await chat.another();
  const resumed = await other.resume(messageId, 9);
  run.write("Hello");
  run.finish();
  await chat.clock.advance(1_250);
  const [accepted, complete] = await resumed.rest();
  assert.deepEqual([accepted?.id, complete?.id, complete?.data.type], [9, 5, "complete"]);
});

test("a slow reader of a reply that has ended gets its text only once", async () => {
  await using chat = await openChat(inProcess, { store: { ...createMemoryStore(), exclusive: false } });
  const { messageId, run } = await chat.begin();
  await using other = await chat.another();
  const followed = await other.resume(messageId, 0);
  const long = "x".repeat(50_000);
  run.write(long);
  run.finish();
  await chat.clock.advance(1_250); // the other process sees the end
  const ended = await chat.resume(messageId, 0);
  await chat.clock.advance(10_000);
  for (const reader of [followed, ended]) assert.equal(textOf(await reader.rest()).length, long.length);
});

test("a reader that has more text than an interrupted reply gets only its error", async () => {
  await using chat = await openChat(inProcess);
  const { messageId, run } = await chat.begin();
  run.write("abc");
  const closing = chat.service.close({ graceMs: 1 });
  await chat.clock.advance(1);
  await closing;
  await using next = await chat.another();
  const [error, ...none] = await (await next.resume(messageId, 9)).rest();
  assert.deepEqual(none, []);
  assert.equal(error?.id, 9);
  assert.ok(error.data.type === "error" && error.data.error.code === "interrupted");
  assert.equal((await next.get(`/messages/${messageId}/stream?after=9`)).status, 200);
});

test("a long reply is resumed in well-formed deltas of at most 16,384 code units that add up to the rest", async () => {
  await using chat = await openChat(inProcess);
  const { stream, messageId, run } = await chat.begin();
  const long = `x${"😀".repeat(30_000)}`;
  run.write(long);
  run.finish();
  await stream.rest();
  const events = await (await chat.resume(messageId, 3)).rest();
  assert.equal(textOf(events), long.slice(3));
  let at = 3;
  for (const { id, data } of events) {
    const delta = data.type === "delta" ? data.content : "";
    at += delta.length;
    assert.equal(id, at);
    assert.ok(delta.length <= 16_384 && delta.isWellFormed());
  }
});

test("a reader that resumes inside a surrogate pair before its text is known gets no half of it", async () => {
  await using chat = await openChat(inProcess, { store: { ...createMemoryStore(), exclusive: false } });
  const { messageId, run } = await chat.begin();
  await using other = await chat.another();
  const resumed = await other.resume(messageId, 1);
  run.write("😀a");
  run.finish();
  await chat.clock.advance(1_000);
  assert.equal(textOf(await resumed.rest()), "\ufffda");
});
