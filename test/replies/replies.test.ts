/**
 * A reply's life: one at a time, detached from its clients, until it ends or is stopped.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createMemoryLimiter, createService, createTwinList, type Log } from "../../core/mod.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import { acceptedId, openChat } from "../support/chat.ts";
import { settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import {
  assertErrorAnswer,
  dataOf,
  errorOf,
  inProcess,
  terminal,
  textOf,
  transports,
} from "../support/harness.ts";

for (const transport of transports) {
  describe(transport.name, () => {
    test("a stream has the acceptance, the text and the stored message, in this order", async () => {
      await using chat = await openChat(transport);
      const stream = await chat.stream("Hi");
      const run = await chat.engine.next();
      assert.equal(run.turn.content, "Hi");
      const accepted = await stream.next();
      run.write("Hel");
      assert.deepEqual(await stream.next(), { id: 3, data: { type: "delta", content: "Hel" } });
      run.progress({ stage: "searching", sources: 2 });
      assert.deepEqual(await stream.next(), {
        id: 3,
        data: { type: "progress", progress: { stage: "searching", sources: 2 } },
      });
      run.write("lo");
      assert.deepEqual(await stream.next(), { id: 5, data: { type: "delta", content: "lo" } });
      run.finish({ finishReason: "length", usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 } });
      const [complete, ...none] = await stream.rest();
      assert.deepEqual(none, []);
      assert.ok(complete?.data.type === "complete" && complete.id === 5);
      const { message } = complete.data;
      const progress = { stage: "accepted", messageId: message.id, userMessageId: message.inReplyTo };
      assert.deepEqual(accepted, { id: 0, data: { type: "progress", progress } });
      assert.deepEqual(
        [message.content, message.status, message.finishReason],
        ["Hello", "completed", "length"],
      );
      const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3, cachedInputTokens: null };
      assert.deepEqual(message.usage, usage);
      assert.deepEqual(await chat.message(message.id), message);
    });

    test("a second send during a reply is refused with that reply's id, and leaves nothing behind", async () => {
      await using chat = await openChat(transport);
      const stream = await chat.stream("first");
      const messageId = await acceptedId(stream);
      for (const path of ["/messages", "/messages/stream"]) {
        const refused = await chat.post(path, { content: "second" });
        assert.equal(refused.headers.get("retry-after"), "1");
        const { details } = await assertErrorAnswer(refused, 409, "conversation_busy");
        assert.deepEqual(details, { messageId });
      }
      assert.equal(await chat.status(), "busy");
      const running = await chat.message(messageId);
      assert.deepEqual([running.status, running.completedAt], ["in_progress", null]);
      const history = await dataOf<{ content: string }[]>(await chat.get("/messages"));
      assert.deepEqual(
        history.map(({ content }) => content),
        ["first", ""],
      );
      (await chat.engine.next()).finish();
      await stream.rest();
      assert.equal(await chat.status(), "idle");
      const again = chat.send("third");
      (await chat.engine.next()).finish();
      assert.equal((await again).status, 200);
      assert.equal(chat.engine.asked, 2);
    });

    test("of many concurrent sends, one is accepted", async () => {
      await using chat = await openChat(transport);
      const statuses: number[] = [];
      const allRefused = createGate();
      const sends = Array.from({ length: 20 }, async () => {
        const { status } = await chat.send();
        if (statuses.push(status) === 19) allRefused.open();
      });
      const run = await chat.engine.next();
      await allRefused.opened;
      run.finish();
      await Promise.all(sends);
      assert.deepEqual(statuses, [...Array(19).fill(409), 200]);
      assert.equal(chat.engine.asked, 1);
    });

    test("a client that leaves loses nothing: the reply continues and is stored", async () => {
      await using chat = await openChat(transport);
      const { stream, messageId, run } = await chat.begin();
      run.write("before ");
      await stream.next();
      await stream.leave();
      run.write("after");
      run.finish();
      const events = await (await chat.resume(messageId)).rest();
      assert.equal(textOf(events), "before after");
      assert.equal((await chat.message(messageId)).status, "completed");
      assert.equal(run.signal.aborted, false, "nobody stopped it");
    });

    test("the host is given a promise for each reply, which resolves once its end is stored", async () => {
      const works: Promise<unknown>[] = [];
      await using chat = await openChat(transport, { waitUntil: (work) => void works.push(work) });
      const { stream, messageId, run } = await chat.begin();
      await stream.leave();
      let over = false;
      void Promise.all(works).then(() => {
        over = true;
      });
      await settle();
      assert.deepEqual([works.length, over], [1, false]);
      run.finish();
      await Promise.all(works);
      assert.equal((await chat.message(messageId)).status, "completed");
    });

    test("a reply reaches its reader even if the host cannot wait for it", async () => {
      const waitUntil = () => {
        throw new Error("outside of any request");
      };
      const warnings: string[] = [];
      const log: Log = (level, message) => {
        if (level === "warn") warnings.push(message);
      };
      await using chat = await openChat(transport, { waitUntil, log });
      const stream = await chat.stream();
      (await chat.engine.next()).finish();
      assert.equal((await stream.rest()).at(-1)?.data.type, "complete");
      assert.deepEqual(warnings, ["the host's waitUntil failed for a reply"]);
    });

    test("with onDisconnect cancel, the engine is stopped once the last follower has left", async () => {
      await using chat = await openChat(transport, { onDisconnect: "cancel" });
      const { stream: first, messageId, run } = await chat.begin();
      run.write("so far");
      await first.next();
      const second = await chat.resume(messageId);
      await acceptedId(second);
      await second.next();
      await first.leave();
      run.write(", so good");
      assert.deepEqual((await second.next()).data, { type: "delta", content: ", so good" });
      assert.equal(run.signal.aborted, false);
      await second.leave();
      await run.aborted;
      await (await chat.resume(messageId)).rest();
      const { status, content } = await chat.message(messageId);
      assert.deepEqual([status, content], ["cancelled", "so far, so good"]);
    });

    test("with onDisconnect cancel, a waiting normal send counts as a follower", async () => {
      await using chat = await openChat(transport, { onDisconnect: "cancel" });
      const client = new AbortController();
      const sending = chat.fixture.send(`/api/v1/conversations/${chat.conversationId}/messages`, {
        method: "POST",
        headers: { Authorization: `Bearer ${chat.key}`, "Content-Type": "application/json" },
        body: '{"content":"Hi"}',
        signal: client.signal,
      });
      const left = sending.then(
        () => undefined,
        () => undefined,
      );
      const run = await chat.engine.next();
      const busy = await errorOf(await chat.send());
      const stream = await chat.resume(String(busy.details?.messageId));
      await acceptedId(stream);
      await stream.leave();
      await settle();
      assert.equal(run.signal.aborted, false);
      client.abort();
      await run.aborted;
      await left;
    });

    test("a reply that takes longer than maxReplyMs ends as model_timeout", async () => {
      await using chat = await openChat(transport, { maxReplyMs: 10_000 });
      const { stream, messageId, run } = await chat.begin();
      run.write("slow");
      await stream.next();
      await chat.clock.advance(9_999);
      assert.equal(run.signal.aborted, false);
      await chat.clock.advance(1);
      assert.equal(run.signal.aborted, true);
      const events = await stream.rest();
      const [last] = terminal(events);
      assert.ok(last?.data.type === "error" && last.data.error.code === "model_timeout");
      const message = await chat.message(messageId);
      assert.deepEqual(
        [message.status, message.content, message.error?.code],
        ["failed", "slow", "model_timeout"],
      );
      const sending = chat.send();
      await chat.engine.next();
      await chat.clock.advance(10_000);
      const answer = await sending;
      const { details } = await assertErrorAnswer(answer, 504, "model_timeout");
      assert.equal((await chat.message(String(details?.messageId))).status, "failed");
    });
  });
}

test("by default, a reply may take five minutes", async () => {
  await using chat = await openChat(inProcess);
  const { run } = await chat.begin();
  await chat.clock.advance(299_999);
  assert.equal(run.signal.aborted, false);
  await chat.clock.advance(1);
  assert.equal(run.signal.aborted, true);
});

test("deleting a conversation cancels its running reply", async () => {
  await using chat = await openChat(inProcess);
  const { stream, run } = await chat.begin();
  run.write("gone");
  await stream.next();
  const deleted = await chat.remove();
  assert.equal(deleted.status, 204);
  assert.equal(run.signal.aborted, true);
  const last = (await stream.rest()).at(-1);
  assert.ok(last?.data.type === "complete" && last.data.message.status === "cancelled");
  assert.equal((await chat.get("/messages")).status, 404);
});

test("a host that aborts its request's signal once it has read the body still gets the reply", async () => {
  await using chat = await openChat(inProcess);
  const host = new AbortController();
  const sending = chat.fixture.send(`/api/v1/conversations/${chat.conversationId}/messages`, {
    method: "POST",
    headers: { Authorization: `Bearer ${chat.key}`, "Content-Type": "application/json" },
    body: '{"content":"Hi"}',
    signal: host.signal,
  });
  const run = await chat.engine.next();
  host.abort();
  run.write("Hello");
  run.finish();
  assert.equal((await dataOf<{ content: string }>(await sending)).content, "Hello");
});

test("creating a service needs no randomness, which a worker does not have before its first request", async () => {
  const random = () => assert.fail("It is too early for that.");
  const options = { store: createMemoryStore(), limiter: createMemoryLimiter(), engines: {}, random };
  createService({ ...options, twins: createTwinList([]), verifyToken: async () => "alice" });
});
