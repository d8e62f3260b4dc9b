/**
 * Idempotency-Key: a repeated request has no second effect.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createMemoryStore } from "../../core/store/mod.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { acceptedId, type Chat, countCalls, openChat } from "../support/chat.ts";
import { readEvents } from "../support/event-reader.ts";
import {
  assertErrorAnswer,
  assertRefusedField,
  dataOf,
  errorOf,
  inProcess,
  textOf,
} from "../support/harness.ts";

const once = { "Idempotency-Key": "once" };

/** Creates a conversation, perhaps once more. */
function create(chat: Chat, body: object = {}, headers: HeadersInit = once): Promise<Response> {
  return chat.fixture.call("POST", "/conversations", chat.key, { twinId: "scripted", ...body }, headers);
}

const dayMs = 24 * 3600 * 1000;

function wasReplayed(response: Response): boolean {
  return response.headers.get("idempotency-replayed") === "true";
}

/** How many messages the conversation has. */
async function messageCount(chat: Chat): Promise<number> {
  return (await dataOf<{ messageCount: number }>(await chat.get(""))).messageCount;
}

describe("an Idempotency-Key", () => {
  test("a retry after the end gets the same message, and the engine is not asked again", async () => {
    await using chat = await openChat(inProcess);
    const sending = chat.send("Hi", once);
    const run = await chat.engine.next();
    run.write("Hello");
    run.finish();
    const first = await sending;
    assert.equal(wasReplayed(first), false);
    const again = await chat.send("Hi", once);
    assert.equal(again.status, 200);
    assert.equal(wasReplayed(again), true);
    assert.deepEqual(await dataOf(again), await dataOf(first));
    assert.equal(chat.engine.asked, 1);
    assert.equal(await messageCount(chat), 2);
  });

  test("a retry while the reply runs follows it, streamed or not, whichever way it began", async () => {
    for (const begin of ["/messages", "/messages/stream"]) {
      await using chat = await openChat(inProcess);
      const beginning = chat.post(begin, { content: "Hi" }, once);
      const run = await chat.engine.next();
      run.write("Hel");
      const streamed = await chat.post("/messages/stream", { content: "Hi" }, once);
      assert.equal(wasReplayed(streamed), true);
      const stream = readEvents(streamed);
      const messageId = await acceptedId(stream);
      const waiting = chat.send("Hi", once);
      run.write("lo");
      run.finish();
      const events = await stream.rest();
      assert.equal(textOf(events), "Hello");
      const normal = await waiting;
      assert.equal(wasReplayed(normal), true);
      const message = await dataOf<MessageResource>(normal);
      assert.deepEqual([message.id, message.content], [messageId, "Hello"]);
      const first = await beginning;
      assert.equal(wasReplayed(first), false);
      await first.text();
      assert.equal(chat.engine.asked, 1);
    }
  });

  test("a streamed retry with a Last-Event-ID gets what follows it, while the reply runs and afterwards", async () => {
    await using chat = await openChat(inProcess);
    const { stream: first, messageId, run } = await chat.begin("Hi", once);
    run.write("Hello, ");
    await first.next();
    const running = await chat.stream("Hi", { ...once, "Last-Event-ID": "7" });
    const accepted = await running.next();
    assert.ok(accepted.data.type === "progress" && accepted.data.progress.messageId === messageId);
    assert.equal(accepted.id, 7);
    run.write("world");
    run.finish();
    assert.equal(textOf(await running.rest()), "world");
    const ended = await chat.stream("Hi", { ...once, "Last-Event-ID": "10" });
    assert.equal(textOf(await ended.rest()), "ld");
    const beyond = await chat.post("/messages/stream", { content: "Hi" }, { ...once, "Last-Event-ID": "13" });
    assert.equal((await errorOf(beyond)).code, "validation_error");
    assert.equal(await messageCount(chat), 2);
  });

  test("a send that begins a reply ignores Last-Event-ID", async () => {
    await using chat = await openChat(inProcess);
    const { stream, run } = await chat.begin("Hi", { ...once, "Last-Event-ID": "7" });
    run.write("Hello");
    run.finish();
    assert.equal(textOf(await stream.rest()), "Hello");
  });

  test("fifty identical concurrent sends produce one reply", async () => {
    await using chat = await openChat(inProcess);
    const sends = Array.from({ length: 50 }, (_, index) =>
      chat.post(index % 2 ? "/messages" : "/messages/stream", { content: "Hi" }, once),
    );
    (await chat.engine.next()).finish();
    const answers = await Promise.all(sends);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.equal(answers.filter((answer) => !wasReplayed(answer)).length, 1);
    const ids = await Promise.all(
      answers.map(async (answer) => /"id":"(msg_[^"]+)"/.exec(await answer.text())?.[1]),
    );
    assert.equal(new Set(ids).size, 1);
    assert.equal(chat.engine.asked, 1);
    assert.equal(await messageCount(chat), 2);
  });

  test("a retry of a creation gets the same conversation, and its Location", async () => {
    await using chat = await openChat(inProcess);
    const [first, again] = [await create(chat), await create(chat)];
    assert.deepEqual([first.status, again.status], [201, 201]);
    assert.deepEqual([wasReplayed(first), wasReplayed(again)], [false, true]);
    const { id } = await dataOf<{ id: string }>(first);
    assert.equal((await dataOf<{ id: string }>(again)).id, id);
    for (const { headers } of [first, again])
      assert.equal(headers.get("location"), `/api/v1/conversations/${id}`);
  });

  test("other fields with the same key are refused, while the reply runs and afterwards", async () => {
    await using chat = await openChat(inProcess);
    const sending = chat.send("Hi", once);
    const run = await chat.engine.next();
    for (const moment of ["running", "ended"]) {
      await assertErrorAnswer(await chat.send("Hi!", once), 422, "idempotency_key_reused", moment);
      run.finish();
      await sending;
    }
    assert.equal(chat.engine.asked, 1);
  });

  test("a null field counts as absent", async () => {
    await using chat = await openChat(inProcess);
    const first = await dataOf<{ id: string }>(await create(chat));
    const again = await create(chat, { title: null });
    assert.ok(wasReplayed(again));
    assert.equal((await dataOf<{ id: string }>(again)).id, first.id);
  });

  test("the order of pairs and calls does not matter", async () => {
    await using chat = await openChat(inProcess);
    const { fixture, key, engine } = chat;
    const make = (body: object) => fixture.call("POST", "/conversations", key, body, once);
    const made = await make({ twinId: "scripted", metadata: { shop: "7", page: "1" } });
    const again = await make({ metadata: { page: "1", shop: "7" }, twinId: "scripted" });
    assert.deepEqual(await dataOf(again), await dataOf(made));
    assert.equal(wasReplayed(again), true);
    const other = await make({ twinId: "scripted", metadata: { shop: "7", page: "2" } });
    await assertErrorAnswer(other, 422, "idempotency_key_reused");

    const asking = chat.send();
    const calls = ["a", "b"].map((callId) => ({ callId, name: "orders/cancel", arguments: {} }));
    (await engine.next()).finish({ finishReason: "tool_calls", pending: { calls, state: "" } });
    await asking;
    const decide = (calls: object) => chat.post("/messages", { calls }, once);
    const deciding = decide({ a: "approve", b: "deny" });
    (await engine.next()).finish();
    assert.equal((await deciding).status, 200);
    assert.equal(wasReplayed(await decide({ b: "deny", a: "approve" })), true);
    await assertErrorAnswer(await decide({ b: "approve", a: "deny" }), 422, "idempotency_key_reused");
  });

  test("a failed reply replays its failure, normally and streamed", async () => {
    await using chat = await openChat(inProcess);
    const sending = chat.send("Hi", once);
    (await chat.engine.next()).fail(new Error("as asked"));
    const first = await sending;
    assert.equal(first.status, 502);
    const again = await chat.send("Hi", once);
    assert.equal(again.status, 502);
    assert.equal(wasReplayed(again), true);
    const [error, repeated] = [await errorOf(first), await errorOf(again)];
    assert.deepEqual({ ...repeated, requestId: "" }, { ...error, requestId: "" });
    const streamed = await chat.post("/messages/stream", { content: "Hi" }, once);
    assert.equal(wasReplayed(streamed), true);
    const last = (await readEvents(streamed).rest()).at(-1);
    assert.ok(last?.data.type === "error" && last.data.error.code === "model_error");
    assert.equal(chat.engine.asked, 1);
  });

  test("a retry is 404 if the conversation that it created has been deleted", async () => {
    await using chat = await openChat(inProcess);
    const { id } = await dataOf<{ id: string }>(await create(chat));
    await chat.fixture.call("DELETE", `/conversations/${id}`, chat.key);
    await assertErrorAnswer(await create(chat), 404, "conversation_not_found");
  });

  test("a send that was refused before it began is not remembered", async () => {
    await using chat = await openChat(inProcess);
    const busy = chat.send("first");
    const run = await chat.engine.next();
    assert.equal((await chat.send("Hi", once)).status, 409);
    run.finish();
    await busy;
    const sending = chat.send("Hi", once);
    (await chat.engine.next()).finish();
    const answer = await sending;
    assert.equal(answer.status, 200);
    assert.equal(wasReplayed(answer), false);
  });

  test("a key applies to one owner and one conversation", async () => {
    await using chat = await openChat(inProcess);
    const other = await chat.fixture.conversation(chat.key, "scripted");
    const stranger = await chat.fixture.key("full_access", "bob");
    const strangers = await chat.fixture.conversation(stranger, "scripted");
    const sends = [
      [chat.key, chat.conversationId],
      [chat.key, other],
      [stranger, strangers],
    ].map(([key = "", id]) =>
      chat.fixture.call("POST", `/conversations/${id}/messages`, key, { content: "Hi" }, once),
    );
    for (const _ of sends) (await chat.engine.next()).finish();
    for (const send of sends) {
      const answer = await send;
      assert.equal(answer.status, 200);
      assert.equal(wasReplayed(answer), false);
    }
  });

  test("a key is forgotten after 24 hours, not before", async () => {
    await using chat = await openChat(inProcess);
    const first = chat.send("Hi", once);
    (await chat.engine.next()).finish();
    const { id } = await dataOf<MessageResource>(await first);
    chat.clock.step(dayMs - 60_001);
    await chat.clock.advance(60_000); // what is swept meanwhile is not this one
    assert.equal((await dataOf<MessageResource>(await chat.send("Hi", once))).id, id);
    await chat.clock.advance(1);
    const anew = chat.send("something else", once);
    (await chat.engine.next()).finish();
    const answer = await anew;
    assert.equal(wasReplayed(answer), false);
    assert.notEqual((await dataOf<MessageResource>(answer)).id, id);
  });

  test("a key that is empty, longer than 255 characters, not printable ASCII, or sent twice is refused", async () => {
    await using chat = await openChat(inProcess);
    for (const key of ["", "a".repeat(256), "é", "a\tb", "a, a", ", a"]) {
      const refused = await chat.send("Hi", { "Idempotency-Key": key });
      await assertRefusedField(refused, "Idempotency-Key");
      assert.equal((await chat.get("", { "Idempotency-Key": key })).status, 200, "a GET ignores it");
    }
    assert.equal(chat.engine.asked, 0);
  });

  test("keys of 255 characters and of every printable ASCII character are accepted", async () => {
    await using chat = await openChat(inProcess);
    const printable = String.fromCharCode(...Array.from({ length: 95 }, (_, index) => 0x7e - index));
    for (const key of ["a".repeat(255), `a${printable}a`, "a,b"]) {
      const headers = { "Idempotency-Key": key };
      assert.equal(wasReplayed(await create(chat, {}, headers)), false);
      assert.equal(wasReplayed(await create(chat, {}, headers)), true, key);
    }
  });
});

test("a retry on another process follows the reply of the first", async () => {
  await using chat = await openChat(inProcess, { store: { ...createMemoryStore(), exclusive: false } });
  const sending = chat.send("Hi", once);
  const run = await chat.engine.next();
  await using other = await chat.another();
  const retry = other.send("Hi", once);
  run.write("Hello");
  run.finish();
  const first = await dataOf(await sending);
  await chat.clock.advance(250);
  const answer = await retry;
  assert.equal(wasReplayed(answer), true);
  assert.deepEqual(await dataOf(answer), first);
  assert.equal(chat.engine.asked, 1);
});

test("a retry after a crash joins the reply that the next process begins again", async () => {
  const store = createMemoryStore();
  const chat = await openChat(inProcess, { store });
  const { messageId } = await chat.begin("Hi", once);
  // The first service is left as it is and never used again: as good as killed.
  await using next = await chat.another();
  const sending = next.send("Hi", once);
  const run = await chat.engine.next();
  run.write("Hello.");
  run.finish();
  const answer = await sending;
  assert.equal(wasReplayed(answer), true);
  const { id, attempt } = await dataOf<{ id: string; attempt: number }>(answer);
  assert.deepEqual([id, attempt], [messageId, 2]);
  assert.equal(chat.engine.asked, 2);
});

test("expired keys are swept from the store", async () => {
  const { store, calls } = countCalls(createMemoryStore());
  await using chat = await openChat(inProcess, { store });
  const before = calls.get("sweep") ?? 0;
  await chat.clock.advance(60_000);
  assert.ok((calls.get("sweep") ?? 0) > before);
});
