/**
 * Cancelling a reply: at once, any number of times, wherever it runs.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemoryStore, type Store, StoreUnavailable } from "../../core/store/mod.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { acceptedId, type ChatOptions, openChat } from "../support/chat.ts";
import { createGate } from "../support/gate.ts";
import { dataOf, errorOf, inProcess, textOf } from "../support/harness.ts";

test("cancelling stops the engine at once, keeps the text, and ends every stream", async () => {
  await using chat = await openChat(inProcess);
  const { stream, messageId, run } = await chat.begin();
  const resumed = await chat.resume(messageId);
  run.write("so far");
  await stream.next();
  const answer = await chat.cancel(messageId);
  assert.equal(run.signal.aborted, true, "no time has passed on the clock");
  const message = await dataOf<MessageResource>(answer);
  assert.deepEqual(
    [message.id, message.status, message.finishReason, message.content, message.error],
    [messageId, "cancelled", "cancelled", "so far", null],
  );
  for (const reader of [stream, resumed]) {
    const last = (await reader.rest()).at(-1);
    assert.deepEqual(last, { id: 6, data: { type: "complete", message } });
  }
  assert.deepEqual(await chat.message(messageId), message);
  assert.equal(await chat.status(), "idle");
});

test("cancelling again changes nothing, and neither does cancelling a reply that has ended", async () => {
  await using chat = await openChat(inProcess);
  const { messageId } = await chat.begin();
  const first = await dataOf(await chat.cancel(messageId));
  await chat.clock.advance(1000);
  assert.deepEqual(await dataOf(await chat.cancel(messageId)), first);
  const sending = chat.send();
  (await chat.engine.next()).finish();
  const { id, status } = await dataOf<MessageResource>(await sending);
  assert.equal(status, "completed");
  assert.equal((await dataOf<MessageResource>(await chat.cancel(id))).status, "completed");
});

test("a waiting normal send is answered with the cancelled message", async () => {
  await using chat = await openChat(inProcess);
  const sending = chat.send();
  (await chat.engine.next()).write("half");
  const { details } = await errorOf(await chat.send());
  await chat.cancel(String(details?.messageId));
  const answer = await sending;
  assert.equal(answer.status, 200);
  const message = await dataOf<MessageResource>(answer);
  assert.deepEqual([message.status, message.content], ["cancelled", "half"]);
});

test("concurrent cancels get the same answer", async () => {
  await using chat = await openChat(inProcess);
  const { messageId } = await chat.begin();
  const answers = await Promise.all(
    Array.from({ length: 20 }, async () => dataOf(await chat.cancel(messageId))),
  );
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
});

test("a reply that another process runs is cancelled at its next save", async () => {
  await using chat = await openChat(inProcess, { store: { ...createMemoryStore(), exclusive: false } });
  const { stream, messageId, run } = await chat.begin();
  run.write("so far");
  await using other = await chat.another();
  const cancelling = other.cancel(messageId);
  await chat.clock.advance(1_000);
  assert.equal(run.signal.aborted, true);
  await chat.clock.advance(250);
  const message = await dataOf<MessageResource>(await cancelling);
  assert.deepEqual([message.status, message.content], ["cancelled", "so far"]);
  assert.equal(textOf(await stream.rest()), "so far");
});

/** A chat on a store that stores a reply's beginning at once but answers only when released. */
async function openSlowlyBegun(options: ChatOptions = {}, path = "/messages") {
  const store = createMemoryStore();
  const released = createGate();
  const beginReply: Store["beginReply"] = async (begin) => {
    const begun = await store.beginReply(begin);
    await released.opened;
    return begun;
  };
  const chat = await openChat(inProcess, { ...options, store: { ...store, beginReply } });
  const sending = chat.post(path, { content: "Hello?" });
  await chat.clock.advance(0);
  const [, reply] = await dataOf<MessageResource[]>(await chat.get("/messages"));
  assert.equal(reply?.status, "in_progress");
  return { chat, sending, messageId: reply.id, release: released.open };
}

test("a reply that is cancelled while it begins ends as soon as it has begun", async () => {
  const { chat, sending, messageId, release } = await openSlowlyBegun();
  await using _ = chat;
  const cancelling = chat.cancel(messageId);
  await chat.clock.advance(0);
  release();
  assert.equal((await dataOf<MessageResource>(await sending)).status, "cancelled");
  await chat.clock.advance(250);
  assert.equal((await dataOf<MessageResource>(await cancelling)).status, "cancelled");
});

test("a reply whose conversation is deleted while it begins ends as soon as it has begun", async () => {
  const { chat, sending, release } = await openSlowlyBegun();
  await using _ = chat;
  assert.equal((await chat.remove()).status, 204);
  release();
  assert.equal((await dataOf<MessageResource>(await sending)).status, "cancelled");
});

test("a reply that takes longer to begin than its lease lasts is not treated as abandoned by its own process", async () => {
  const { chat, sending, release } = await openSlowlyBegun();
  await using _ = chat;
  await chat.clock.advance(45_000);
  release();
  (await chat.engine.next()).finish();
  assert.equal((await dataOf<MessageResource>(await sending)).status, "completed");
});

test("with onDisconnect cancel, a follower that came before the reply had begun counts", {
  timeout: 20_000,
}, async () => {
  const options = { onDisconnect: "cancel" } as const;
  const { chat, sending, messageId, release } = await openSlowlyBegun(options, "/messages/stream");
  await using _ = chat;
  const stream = await chat.resume(messageId);
  await acceptedId(stream);
  release();
  await (await sending).body?.cancel();
  const run = await chat.engine.next();
  await chat.clock.advance(20_000);
  assert.equal(run.signal.aborted, false);
  run.write("for you");
  await chat.clock.advance(500);
  assert.deepEqual((await stream.next()).data, { type: "delta", content: "for you" });
  await stream.leave();
  await chat.clock.advance(1_000);
  assert.equal(run.signal.aborted, true);
});

test("a reply that has ended, though its end is not stored yet, can no longer be cancelled", async () => {
  const store = createMemoryStore();
  const released = createGate();
  await using chat = await openChat(inProcess, {
    store: { ...store, endReply: (end) => released.opened.then(() => store.endReply(end)) },
  });
  const { stream, messageId, run } = await chat.begin();
  run.write("whole");
  run.finish();
  await stream.next();
  const cancelling = chat.cancel(messageId);
  released.open();
  const message = await dataOf<MessageResource>(await cancelling);
  assert.deepEqual([message.status, message.content], ["completed", "whole"]);
});

test("what an engine writes after it is told to stop is not part of the reply", async () => {
  await using chat = await openChat(inProcess);
  const { stream, messageId, run } = await chat.begin();
  run.signal.addEventListener("abort", () => run.write(", and a last word"));
  run.write("So far");
  const reply = await dataOf<MessageResource>(await chat.cancel(messageId));
  assert.equal(reply.content, "So far");
  assert.equal(textOf(await stream.rest()), "So far");
});

test("the store is no longer asked for the history of a reply that was cancelled", async () => {
  const memory = createMemoryStore();
  let asked = 0;
  async function readHistory(): Promise<never> {
    asked++;
    throw new StoreUnavailable("away");
  }
  await using chat = await openChat(inProcess, { store: { ...memory, readHistory } });
  const first = chat.send(); // no history to read yet
  (await chat.engine.next()).finish();
  await first;
  await using other = await chat.another(); // has not seen the first question
  const stream = await other.stream();
  const messageId = await acceptedId(stream);
  await other.clock.advance(2_000);
  assert.ok(asked > 0);
  await other.cancel(messageId);
  await stream.rest();
  const before = asked;
  await other.clock.advance(10_000);
  assert.ok(asked <= before + 1, "at most once more: the attempt that was already due");
});

test("a reply that has ended leaves no timer behind, however it ended", async () => {
  await using chat = await openChat(inProcess);
  await chat.service.ready();
  const before = chat.clock.pending;
  for (const end of ["finish", "fail", "cancel"] as const) {
    const { stream, messageId, run } = await chat.begin();
    if (end === "cancel") await chat.cancel(messageId);
    else if (end === "fail") run.fail(new Error("no more"));
    else run.finish();
    await stream.rest();
    assert.equal(chat.clock.pending, before, end);
    await (await chat.resume(messageId)).rest();
    assert.equal(chat.clock.pending, before, `${end}, then replayed`);
  }
});
