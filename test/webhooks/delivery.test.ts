import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { describe, test } from "node:test";
import { createWebhooks } from "../../adapters/webhooks/mod.ts";
import { createEchoEngine, createTwinList, ModelError, type TwinEngine } from "../../core/mod.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import type { CreatedWebhookResource } from "../../core/wire/schemas.ts";
import { openChat } from "../support/chat.ts";
import { dataOf, inProcess, newTwin, openFixture } from "../support/harness.ts";
import { until } from "../support/until.ts";
import { assertSigned, deliveriesTo, hook, open, say, untilNewest, webhookOf } from "./hooks.ts";
import { startReceiver, status } from "./receiver.ts";

/** Fails. */
const failing: TwinEngine = {
  async reply() {
    throw new ModelError("model_error", "away");
  },
};

const minute = 60_000;
const hour = 60 * minute;

describe("what webhooks are told", () => {
  test("the end of a reply, thin, and signed", async () => {
    const receiver = await startReceiver();
    await using fixture = await open(receiver);
    const { id, secret } = await hook(fixture, receiver.url);
    const key = await fixture.key();
    const conversation = await dataOf<{ id: string }>(
      await fixture.call("POST", "/conversations", key, { twinId: "echo", endUser: "ann" }),
    );
    const reply = await say(fixture, key, conversation.id, { content: "A secret of mine" });
    await receiver.has(1);
    const [arrived] = receiver.arrived;
    assert.ok(arrived);
    const now = new Date(fixture.clock.now());
    assert.deepEqual(JSON.parse(arrived.body), {
      type: "reply.completed",
      timestamp: now.toISOString(),
      data: { conversationId: conversation.id, messageId: reply.id, twinId: "echo", endUser: "ann" },
    });
    assert.equal(arrived.path, "/hooks?from=twins");
    assert.equal(arrived.headers.host, receiver.host);
    assert.equal(arrived.headers["content-type"], "application/json");
    assert.equal(arrived.headers["webhook-timestamp"], String(Math.floor(now.getTime() / 1000)));
    assertSigned(arrived, secret);
    const delivery = await untilNewest(fixture, id, ({ status }) => status !== "pending");
    assert.deepEqual(delivery, {
      id: arrived.headers["webhook-id"],
      event: "reply.completed",
      createdAt: now.toISOString(),
      status: "delivered",
      attempts: 1,
      lastStatus: 204,
      nextAttemptAt: null,
    });
    assert.deepEqual((await webhookOf(fixture, id)).lastDelivery, {
      at: now.toISOString(),
      status: "delivered",
    });
  });

  test("each kind of event, once", async () => {
    const receiver = await startReceiver();
    const twins = createTwinList([
      newTwin({ id: "echo", handover: true }),
      newTwin({ id: "failing", engine: "failing" }),
    ]);
    await using fixture = await open(receiver, { twins, engines: { echo: createEchoEngine(), failing } });
    await hook(fixture, receiver.url);
    const key = await fixture.key();
    const { call } = fixture;
    const { id } = await dataOf<{ id: string }>(
      await call("POST", "/conversations", key, { twinId: "echo", endUser: "ann" }),
    );
    const reply = await say(fixture, key, id);
    await call("PUT", `/conversations/${id}/messages/${reply.id}/feedback`, key, { rating: "up" });
    await call("PATCH", `/conversations/${id}`, key, { answeredBy: "person" });
    const waits = await say(fixture, key, id);
    await say(fixture, key, id); // one more, which waits with it
    const said = await say(fixture, key, id, { role: "assistant" });
    const failed = await fixture.conversation(key, "failing");
    await call("POST", `/conversations/${failed}/messages`, key, { content: "Hello" });
    await receiver.has(5);
    const events = receiver.arrived.map(({ body }) => JSON.parse(body));
    const told = events.map(({ type, data }) => [type, data.messageId]).sort();
    const failedId = events.find(({ type }) => type === "reply.failed")?.data.messageId;
    assert.deepEqual(told, [
      ["conversation.waiting", waits.id],
      ["feedback.given", reply.id],
      ["message.said", said.id],
      ["reply.completed", reply.id],
      ["reply.failed", failedId],
    ]);
    assert.equal("endUser" in events.find(({ type }) => type === "reply.failed").data, false);
    await call("DELETE", "/end-users/ann", key);
    await receiver.has(6);
    const erased = JSON.parse(receiver.arrived[5]?.body ?? "");
    assert.deepEqual([erased.type, erased.data], ["person.erased", { endUser: "ann" }]);
  });

  test("the end of a reply of another process, in whose place a message comes", async () => {
    const receiver = await startReceiver();
    const webhooks = () => createWebhooks({ hosts: [receiver.host] });
    const store = { ...createMemoryStore(), exclusive: false };
    await using chat = await openChat(inProcess, { store, webhooks: webhooks() });
    await hook(chat.fixture, receiver.url, { events: ["reply.cancelled"] });
    const { messageId } = await chat.begin("Why?");
    await using other = await chat.another({ webhooks: webhooks() });
    const said = { role: "assistant", content: "I look into it.", whenBusy: "replace" };
    const sent = other.post("/messages", said);
    for (const ms of [1000, 250]) await chat.clock.advance(ms); // the first process is asked to yield the reply, and does
    assert.equal((await sent).status, 201);
    await receiver.has(1);
    assert.deepEqual(
      receiver.arrived.map(({ body }) => JSON.parse(body).data.messageId),
      [messageId],
    );
  });

  test("only what the webhook wants, and nothing after it is deleted", async () => {
    const receiver = await startReceiver();
    await using fixture = await open(receiver);
    const key = await fixture.key();
    const wanting = await hook(fixture, receiver.url, { events: ["message.said"] });
    const other = await hook(fixture, receiver.url, { events: ["reply.failed"] });
    const conversation = await fixture.conversation(key);
    await say(fixture, key, conversation);
    await say(fixture, key, conversation, { role: "assistant" });
    await receiver.has(1);
    await untilNewest(fixture, wanting.id, ({ status }) => status === "delivered");
    assert.deepEqual(await deliveriesTo(fixture, other.id), []);
    const deleted = await fixture.call("DELETE", `/webhooks/${wanting.id}`, await fixture.token());
    assert.equal(deleted.status, 204);
    await say(fixture, key, conversation, { role: "assistant" });
    assert.equal(receiver.arrived.length, 1);
  });

  test("without webhooks, no row is written", async () => {
    const store = createMemoryStore();
    const receiver = await startReceiver();
    await using with_ = await open(receiver, { store });
    const { id } = await hook(with_, receiver.url);
    await using fixture = await openFixture(inProcess, { store, webhooks: undefined });
    const key = await fixture.key();
    await say(fixture, key, await fixture.conversation(key));
    assert.deepEqual((await store.listDeliveries("alice", id, { offset: 0, limit: 1 })).total, 0);
  });
});

describe("tries", () => {
  test("follow each other in growing pauses, with the same id, then the delivery has failed", async () => {
    const receiver = await startReceiver();
    receiver.answer(status(500));
    await using fixture = await open(receiver);
    const { id } = await hook(fixture, receiver.url);
    const key = await fixture.key();
    await say(fixture, key, await fixture.conversation(key));
    const pauses = [
      5_000,
      30_000,
      2 * minute,
      10 * minute,
      30 * minute,
      hour,
      2 * hour,
      4 * hour,
      8 * hour,
      8 * hour,
    ];
    for (const [index, pause] of pauses.entries()) {
      const { status, lastStatus, nextAttemptAt } = await untilNewest(
        fixture,
        id,
        ({ attempts, nextAttemptAt }) =>
          attempts === index + 1 && Date.parse(nextAttemptAt ?? "") > fixture.clock.now(),
      );
      assert.deepEqual([status, lastStatus], ["pending", 500]);
      assert.equal(Date.parse(nextAttemptAt ?? ""), fixture.clock.now() + pause);
      await fixture.clock.advance(pause - 1);
      assert.equal(receiver.arrived.length, index + 1);
      await fixture.clock.advance(1);
      await receiver.has(index + 2);
    }
    const failed = await untilNewest(fixture, id, ({ status }) => status === "failed");
    assert.deepEqual([failed.attempts, failed.nextAttemptAt], [11, null]);
    assert.equal(new Set(receiver.arrived.map(({ headers }) => headers["webhook-id"])).size, 1);
    assert.equal(new Set(receiver.arrived.map(({ body }) => body)).size, 1);
    await fixture.clock.advance(9 * hour);
    assert.equal(receiver.arrived.length, 11);
  });

  test("a redirect is not followed, and another status than 2xx is a failed try", async () => {
    const receiver = await startReceiver();
    const elsewhere = await startReceiver();
    await using fixture = await open(receiver, {}, { hosts: [receiver.host, elsewhere.host] });
    const { id } = await hook(fixture, receiver.url);
    const key = await fixture.key();
    const conversation = await fixture.conversation(key);
    for (const code of [301, 307, 404, 429, 503]) {
      receiver.answer(status(code, { location: elsewhere.url }));
      await say(fixture, key, conversation);
      await untilNewest(fixture, id, ({ lastStatus }) => lastStatus === code);
    }
    assert.equal(elsewhere.arrived.length, 0);
  });

  test("a receiver that does not answer within 10 seconds has failed, one that has answered has not", async () => {
    const receiver = await startReceiver();
    receiver.answer(() => {});
    await using fixture = await open(receiver);
    const { id } = await hook(fixture, receiver.url);
    const key = await fixture.key();
    const conversation = await fixture.conversation(key);
    await say(fixture, key, conversation);
    await receiver.has(1);
    await fixture.clock.advance(9_999);
    assert.equal(
      (await deliveriesTo(fixture, id))[0]?.nextAttemptAt,
      new Date(fixture.clock.now() - 9_999).toISOString(),
    );
    await fixture.clock.advance(1);
    const late = await untilNewest(
      fixture,
      id,
      ({ nextAttemptAt }) => Date.parse(nextAttemptAt ?? "") > fixture.clock.now(),
    );
    assert.deepEqual([late.status, late.lastStatus, late.attempts], ["pending", null, 1]);
    // An answer without an end counts by its status.
    receiver.answer((response) => void response.writeHead(200).write("thanks"));
    await say(fixture, key, conversation);
    await receiver.has(2);
    await until("the answer's head is read", 5_000, async () => {
      await fixture.clock.advance(1_000);
      return (await deliveriesTo(fixture, id)).some(({ status }) => status === "delivered");
    });
  });

  test("at most 64 KiB of an answer are read", async () => {
    const receiver = await startReceiver();
    let sent = 0;
    receiver.answer((response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(64 * 1024);
      const more = () => {
        if (response.destroyed) return;
        sent += chunk.length;
        response.write(chunk, () => setImmediate(more));
      };
      more();
    });
    await using fixture = await open(receiver);
    const { id } = await hook(fixture, receiver.url);
    const key = await fixture.key();
    await say(fixture, key, await fixture.conversation(key));
    await untilNewest(fixture, id, ({ status }) => status === "delivered");
    assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes were sent`);
  });

  test("at most 4 at once go to a webhook, and a slow one delays no other", async () => {
    const slow = await startReceiver();
    const quick = await startReceiver();
    slow.answer(() => {});
    await using fixture = await open(slow, {}, { hosts: [slow.host, quick.host] });
    await hook(fixture, slow.url);
    await hook(fixture, quick.url);
    const key = await fixture.key();
    const conversation = await fixture.conversation(key);
    for (let n = 0; n < 8; n++) await say(fixture, key, conversation);
    await quick.has(8);
    await slow.has(4);
    assert.equal(slow.arrived.length, 4);
    slow.answer(status(204));
    await fixture.clock.advance(10_000);
    await slow.has(8);
  });

  test("410 disables the webhook until its secret is rotated", async () => {
    const receiver = await startReceiver();
    receiver.answer(status(410));
    await using fixture = await open(receiver);
    const { id } = await hook(fixture, receiver.url);
    const key = await fixture.key();
    const conversation = await fixture.conversation(key);
    await say(fixture, key, conversation);
    const gone = await untilNewest(fixture, id, ({ status }) => status === "failed");
    assert.deepEqual([gone.lastStatus, gone.attempts], [410, 1]);
    assert.equal((await webhookOf(fixture, id)).status, "disabled");
    await say(fixture, key, conversation);
    const retry = `/webhooks/${id}/deliveries/${gone.id}/retry`;
    const refused = await fixture.call("POST", retry, await fixture.token());
    assert.equal(refused.status, 409);
    receiver.answer(status(204));
    const rotated = await dataOf<CreatedWebhookResource>(
      await fixture.call("POST", `/webhooks/${id}/rotate`, await fixture.token()),
    );
    assert.equal(rotated.status, "active");
    const again = await fixture.call("POST", retry, await fixture.token());
    assert.equal(again.status, 202);
    await untilNewest(fixture, id, ({ status }) => status === "delivered");
    await say(fixture, key, conversation);
    await receiver.has(3);
  });

  test("410 of a try that began before a rotation disables nothing", async () => {
    const receiver = await startReceiver();
    const held: ServerResponse[] = [];
    receiver.answer((response) => void held.push(response));
    await using fixture = await open(receiver);
    const { id } = await hook(fixture, receiver.url);
    const key = await fixture.key();
    const conversation = await fixture.conversation(key);
    const saySome = () => say(fixture, key, conversation, { role: "assistant" });
    await saySome();
    await saySome();
    await receiver.has(2);
    status(410)(held[0] ?? assert.fail());
    await until("the webhook is disabled", 5_000, async () => {
      return (await webhookOf(fixture, id)).status === "disabled";
    });
    receiver.answer(status(204));
    await fixture.call("POST", `/webhooks/${id}/rotate`, await fixture.token());
    status(410)(held[1] ?? assert.fail());
    await until("both have failed", 5_000, async () => {
      return (await deliveriesTo(fixture, id)).every(({ status }) => status === "failed");
    });
    assert.equal((await webhookOf(fixture, id)).status, "active");
    await saySome();
    await receiver.has(3);
  });

  test("both secrets sign for a day after a rotation", async () => {
    const receiver = await startReceiver();
    await using fixture = await open(receiver);
    const { id, secret } = await hook(fixture, receiver.url);
    const key = await fixture.key();
    const conversation = await fixture.conversation(key);
    const rotated = await dataOf<CreatedWebhookResource>(
      await fixture.call("POST", `/webhooks/${id}/rotate`, await fixture.token()),
    );
    await fixture.clock.advance(24 * hour - 1);
    await say(fixture, key, conversation);
    await receiver.has(1);
    await untilNewest(fixture, id, ({ status }) => status === "delivered");
    await fixture.clock.advance(1);
    await say(fixture, key, conversation);
    await receiver.has(2);
    const [before, after] = receiver.arrived;
    assert.ok(before && after);
    assertSigned(before, rotated.secret, secret);
    assertSigned(after, rotated.secret);
  });

  test("an address that has become private is a failed try, and nothing is sent", async () => {
    const receiver = await startReceiver();
    let address = "93.184.215.14";
    const lines: [string, Readonly<Record<string, unknown>> | undefined][] = [];
    await using fixture = await open(
      receiver,
      { log: (_, message, fields) => void lines.push([message, fields]) },
      { hosts: [], lookUp: async () => [address] },
    );
    const { id } = await hook(fixture, "https://receiver.test/?token=secret");
    address = "127.0.0.1";
    const key = await fixture.key();
    await say(fixture, key, await fixture.conversation(key));
    const { lastStatus } = await untilNewest(
      fixture,
      id,
      ({ nextAttemptAt, attempts }) =>
        attempts === 1 && Date.parse(nextAttemptAt ?? "") > fixture.clock.now(),
    );
    assert.equal(lastStatus, null);
    const [, fields] = lines.find(([message]) => message.startsWith("a webhook was not told")) ?? [];
    assert.equal(fields?.problem, "address");
    assert.doesNotMatch(JSON.stringify(lines), /token=secret|whsec/);
  });

  test("what an earlier process left is delivered by the next one", async () => {
    const receiver = await startReceiver();
    receiver.answer(() => {});
    const store = createMemoryStore();
    const first = await open(receiver, { store });
    const { id } = await hook(first, receiver.url);
    const key = await first.key();
    await say(first, key, await first.conversation(key));
    await receiver.has(1);
    receiver.answer(status(204));
    // The first process is still there, and its try goes on, as if it had been killed.
    await using next = await open(receiver, { store }, {});
    await next.service.ready();
    await receiver.has(2);
    const delivered = await untilNewest(next, id, ({ status }) => status === "delivered");
    assert.equal(delivered.attempts, 2);
    await first[Symbol.asyncDispose]();
    assert.equal((await untilNewest(next, id, () => true)).status, "delivered");
  });

  test("a shutdown waits for no receiver, and leaves the delivery to others at once", async () => {
    const receiver = await startReceiver();
    receiver.answer(() => {});
    const store = createMemoryStore();
    const fixture = await open(receiver, { store });
    const { id } = await hook(fixture, receiver.url);
    const key = await fixture.key();
    await say(fixture, key, await fixture.conversation(key));
    await receiver.has(1);
    await fixture[Symbol.asyncDispose]();
    const [waiting] = await store.findWaitingWebhooks();
    assert.deepEqual(waiting, { id, dueAt: fixture.clock.now() });
  });

  test("no timer runs where nothing waits", async () => {
    const receiver = await startReceiver();
    await using without = await openFixture(inProcess, { webhooks: undefined });
    await using fixture = await open(receiver);
    for (const { key, call } of [without, fixture]) await call("GET", "/twins", await key());
    assert.equal(fixture.clock.pending, without.clock.pending);
    const { id } = await hook(fixture, receiver.url);
    const key = await fixture.key();
    await say(fixture, key, await fixture.conversation(key));
    await untilNewest(fixture, id, ({ status }) => status === "delivered");
    assert.equal(fixture.clock.pending, without.clock.pending);
  });
});
