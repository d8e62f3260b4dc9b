/**
 * Shutting down: running replies get time to finish, and every stream ends properly.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../core/base/clock.ts";
import {
  type BeginReply,
  type BeginResult,
  createMemoryStore,
  type Store,
  StoreUnavailable,
} from "../../core/store/mod.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { acceptedId, openChat, withOutages } from "../support/chat.ts";
import { createManualClock, settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import {
  assertErrorAnswer,
  dataOf,
  errorOf,
  eventsOf,
  type Fixture,
  inProcess,
  openFixture,
  overSocket,
  type StreamEvent,
  textOf,
  unlimited,
} from "../support/harness.ts";

/** Fails unless a stream ends with the error of an interrupted reply. */
function assertInterrupted(events: readonly StreamEvent[]): void {
  const last = events.at(-1)?.data;
  assert.ok(last?.type === "error" && last.error.code === "interrupted");
}

test("a reply that ends within the grace period is completed, and its clients are told", async () => {
  await using chat = await openChat(inProcess);
  const { stream, run } = await chat.begin();
  run.write("just ");
  const closing = chat.service.close({ graceMs: 10_000 });
  await chat.clock.advance(9_000);
  run.write("in time");
  run.finish();
  await closing;
  const events = await stream.rest();
  assert.equal(textOf(events), "just in time");
  assert.equal(events.at(-1)?.data.type, "complete");
});

test("a reply left after the grace period is stored as interrupted, and its stream ends with that error", async () => {
  await using chat = await openChat(inProcess);
  const { stream, messageId, run } = await chat.begin();
  run.write("cut");
  const closing = chat.service.close({ graceMs: 10_000 });
  await chat.clock.advance(9_999);
  assert.equal(run.signal.aborted, false);
  await chat.clock.advance(1);
  await closing;
  assert.equal(run.signal.aborted, true);
  const events = await stream.rest();
  assert.equal(textOf(events), "cut");
  assertInterrupted(events);
  const message = await chat.message(messageId);
  assert.deepEqual([message.status, message.content], ["failed", "cut"]);
  assert.equal(await chat.status(), "idle");
});

test("a normal send that is cut off is 503 shutting_down with the message's id", async () => {
  await using chat = await openChat(inProcess);
  const sending = chat.send();
  (await chat.engine.next()).write("cut");
  const closing = chat.service.close({ graceMs: 1 });
  await chat.clock.advance(1);
  await closing;
  const answer = await sending;
  const { details } = await assertErrorAnswer(answer, 503, "shutting_down");
  assert.equal((await chat.message(String(details?.messageId))).content, "cut");
});

test("while it drains, new sends are refused, but reading, resuming, cancelling and other refusals still work", async () => {
  await using chat = await openChat(inProcess);
  const { messageId } = await chat.begin();
  const closing = chat.service.close({ graceMs: 10_000 });
  for (const path of ["/messages", "/messages/stream"]) {
    const refused = await chat.post(path, { content: "Hi" });
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
    await assertErrorAnswer(refused, 503, "shutting_down");
  }
  assert.equal((await chat.fixture.send("/readyz")).status, 503);
  assert.equal((await chat.fixture.send("/healthz")).status, 200);
  const ambiguous = await chat.fixture.call("GET", "/twins", chat.key, undefined, {
    "X-API-Key": "another",
  });
  assert.equal((await errorOf(ambiguous)).code, "invalid_request");
  const resumed = await chat.resume(messageId);
  const cancelled = await dataOf<MessageResource>(await chat.post(`/messages/${messageId}/cancel`));
  assert.equal(cancelled.status, "cancelled");
  assert.equal((await resumed.rest()).at(-1)?.data.type, "complete");
  await closing;
});

test("while it drains, whoever begins to follow a conversation is sent elsewhere, too: nothing would end the stream", async () => {
  await using chat = await openChat(inProcess);
  const { messageId } = await chat.begin();
  const closing = chat.service.close({ graceMs: 10_000 });
  const refused = await chat.fixture.call("GET", `/conversations/${chat.conversationId}/stream`, chat.key);
  assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
  await assertErrorAnswer(refused, 503, "shutting_down");
  await chat.post(`/messages/${messageId}/cancel`);
  await closing;
});

for (const [moment, early] of [
  ["within", true],
  ["after", false],
] as const) {
  test(`a send whose beginning the store confirms ${moment} the grace period is not forgotten`, async () => {
    const { store, beginning, release } = holdBeginnings();
    await using chat = await openChat(inProcess, { store });
    const sending = chat.send();
    await beginning;
    let closed = false;
    const closing = chat.service.close({ graceMs: 1_000 }).then(() => {
      closed = true;
    });
    await chat.clock.advance(early ? 999 : 1_000);
    assert.equal(closed, false);
    release();
    if (early) (await chat.engine.next()).finish();
    assert.equal((await sending).status, early ? 200 : 503);
    await closing;
    assert.equal(chat.engine.asked, early ? 1 : 0);
    assert.equal(await chat.status(), "idle");
  });
}

test("by default, running replies have 25 seconds to finish", async () => {
  await using chat = await openChat(inProcess);
  const { stream, run } = await chat.begin();
  const closing = chat.service.close();
  await chat.clock.advance(24_999);
  assert.equal(run.signal.aborted, false);
  await chat.clock.advance(1);
  assert.equal(run.signal.aborted, true);
  await closing;
  await stream.rest();
});

/** Sends a request whose body breaks off after `before` is called. */
async function breakOff(fixture: Fixture, path: string, credential: string, before = () => {}) {
  let arrived: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode("{"));
      arrived = controller;
    },
  });
  const sending = fixture.send(`/api/v1${path}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${credential}`, "Content-Type": "application/json" },
    body,
    duplex: "half",
  } as RequestInit);
  await settle();
  before();
  arrived?.error(new Error("the connection was cut"));
  const answer = await sending;
  return [answer.status, (await errorOf(answer)).code];
}

for (const path of ["/conversations", "/conversations/conv_1/messages", "/auth/api-keys"]) {
  test(`a body that breaks off while the service closes is neither the client's error nor the service's: ${path}`, async () => {
    const levels: string[] = [];
    await using fixture = await openFixture(inProcess, { log: (level) => levels.push(level) });
    const credential = await (path === "/auth/api-keys" ? fixture.token() : fixture.key());
    assert.deepEqual(await breakOff(fixture, path, credential), [400, "invalid_request"]);
    let closing = Promise.resolve();
    const broken = await breakOff(fixture, path, credential, () => {
      closing = fixture.service.close({ graceMs: 0 });
    });
    assert.deepEqual(broken, [503, "shutting_down"]);
    assert.ok(!levels.includes("error"), levels.join());
    await closing;
  });
}

/** A store that stores a reply's beginning, but does not answer until it is released. */
function holdBeginnings(): { store: Store; beginning: Promise<void>; release(): void } {
  const store = createMemoryStore();
  const [begun, released] = [createGate(), createGate()];
  async function beginReply(begin: BeginReply): Promise<BeginResult> {
    const result = await store.beginReply(begin);
    begun.open();
    await released.opened;
    return result;
  }
  return { store: { ...store, beginReply }, beginning: begun.opened, release: released.open };
}

/** `SHUTDOWNS=100` repeats the test with a thousand streams. */
const shutdowns = Number(process.env.SHUTDOWNS ?? 1);

test(`in ${shutdowns} shutdowns, a thousand streams over sockets each get their last event and a proper end of body`, async () => {
  for (let count = 0; count < shutdowns; count++) await shutDownUnderStreams();
});

async function shutDownUnderStreams(): Promise<void> {
  await using chat = await openChat(overSocket, { limiter: unlimited, maxRunningReplies: 1_000 });
  const open = async () => {
    const id = await chat.fixture.conversation(chat.key, "scripted");
    return chat.fixture.call("POST", `/conversations/${id}/messages/stream`, chat.key, { content: "Hi" });
  };
  const streams: Response[] = [];
  // Not all at once: the system's backlog of connections to be accepted is not what is tested.
  while (streams.length < 1_000) streams.push(...(await Promise.all(Array.from({ length: 100 }, open))));
  for (const _ of streams) (await chat.engine.next()).write("cut");
  const closing = chat.service.close({ graceMs: 1 });
  await chat.clock.advance(1);
  await closing;
  for (const stream of streams) {
    const events = await eventsOf(stream); // rejects if the body is cut off
    assertInterrupted(events);
    assert.equal(textOf(events), "cut");
  }
}

test("a reply that a shutdown interrupts is logged once, with the request that began it", async () => {
  const logged: unknown[] = [];
  await using chat = await openChat(inProcess, {
    log(level, message, fields) {
      if (message.includes("a reply")) logged.push([level, message, fields]);
    },
  });
  const sending = chat.send();
  await chat.engine.next();
  const closing = chat.service.close({ graceMs: 1 });
  await chat.clock.advance(1);
  await closing;
  const { requestId, details } = await errorOf(await sending);
  const fields = { messageId: details?.messageId, requestId, twinId: "scripted", engine: "scripted" };
  assert.deepEqual(logged, [["warn", "a reply was interrupted, because the server stops", fields]]);
});

test("a reply that ended before a shutdown is not logged as interrupted, though its end is not stored yet", async () => {
  const store = createMemoryStore();
  const released = createGate();
  const warnings: string[] = [];
  await using chat = await openChat(inProcess, {
    store: { ...store, endReply: (end) => released.opened.then(() => store.endReply(end)) },
    log: (level, message) => level === "warn" && warnings.push(message),
  });
  const sending = chat.send();
  (await chat.engine.next()).finish();
  await settle();
  const closing = chat.service.close({ graceMs: 0 });
  await chat.clock.advance(0);
  released.open();
  assert.equal((await sending).status, 200);
  await closing;
  assert.deepEqual(warnings, []);
});

test("a store that never recovers does not keep a shutdown waiting forever", async () => {
  const store = createMemoryStore();
  await using chat = await openChat(inProcess, {
    store: {
      ...store,
      async endReply() {
        throw new StoreUnavailable("down");
      },
    },
  });
  const stream = await chat.stream();
  await acceptedId(stream);
  (await chat.engine.next()).finish();
  const closing = chat.service.close({ graceMs: 1_000 });
  await chat.clock.advance(12_000);
  await closing;
  assert.deepEqual(await stream.rest(), []); // no last event: nobody knows how the reply will end
});

test("a normal send whose reply's end the store never takes is 503 shutting_down with the message's id", async () => {
  let down = false;
  await using chat = await openChat(inProcess, { store: withOutages(createMemoryStore(), () => down) });
  const sending = chat.send();
  const run = await chat.engine.next();
  down = true;
  run.finish();
  const closing = chat.service.close({ graceMs: 1_000 });
  await chat.clock.advance(12_000);
  await closing;
  const { code, details } = await errorOf(await sending);
  down = false;
  assert.equal(code, "shutting_down");
  assert.equal((await chat.message(String(details?.messageId))).status, "in_progress");
});

/** A reply that one process produces, and another follows: with two streams, and with a repeated send. */
async function openFollowed() {
  const memory = { ...createMemoryStore(), exclusive: false };
  const state = { silent: false };
  const getMessage: Store["getMessage"] = (reach, id, options) =>
    state.silent && options?.skip !== undefined
      ? new Promise(() => {}) // a look at what is new
      : memory.getMessage(reach, id, options);
  const chat = await openChat(inProcess, { store: { ...memory, getMessage } });
  const once = { "Idempotency-Key": "once" };
  const sending = chat.send("Hello?", once);
  const run = await chat.engine.next();
  run.write("beginning");
  await chat.clock.advance(1_000);
  const other = await chat.another();
  const [, reply] = await dataOf<MessageResource[]>(await other.get("/messages"));
  const resume = () => other.resume(String(reply?.id));
  const streams = await Promise.all([resume(), resume()]);
  for (const stream of streams) await acceptedId(stream);
  const repeated = other.send("Hello?", once);
  return {
    ...{ chat, run, other, repeated, streams, state, messageId: reply?.id },
    async [Symbol.asyncDispose]() {
      run.finish();
      assert.equal((await sending).status, 200);
      await other[Symbol.asyncDispose]();
      await chat[Symbol.asyncDispose]();
    },
  };
}

test("followers of another process's reply get its end if that comes within the grace period", async () => {
  await using all = await openFollowed();
  const { chat, run, other, repeated, streams } = all;
  const closing = other.service.close({ graceMs: 10_000 });
  await chat.clock.advance(6_000);
  run.finish();
  await chat.clock.advance(2_000);
  await closing;
  for (const stream of streams) assert.equal((await stream.rest()).at(-1)?.data.type, "complete");
  assert.equal((await repeated).status, 200);
});

test("after the grace period such streams end properly, to be resumed elsewhere, and a send is 503 shutting_down", {
  timeout: 20_000,
}, async () => {
  await using all = await openFollowed();
  const { chat, other, repeated, streams, messageId } = all;
  const closing = other.service.close({ graceMs: 2_000 });
  await chat.clock.advance(3_000);
  await closing;
  for (const stream of streams) {
    const events = await stream.rest();
    assert.deepEqual([textOf(events), events.at(-1)?.data.type], ["beginning", "delta"]);
  }
  const response = await repeated;
  assert.equal(response.status, 503);
  const { code, details } = await errorOf(response);
  assert.deepEqual([code, details], ["shutting_down", { messageId }]);
  assert.equal(await chat.status(), "busy");
});

test("requests for such a reply that wait for the store when the grace period ends are released, too", {
  timeout: 20_000,
}, async () => {
  const store = { ...createMemoryStore(), exclusive: false };
  await using chat = await openChat(inProcess, { store });
  const messageId = await acceptedId(await chat.stream());
  const answer = createGate();
  const getMessage: Store["getMessage"] = (...which) => answer.opened.then(() => store.getMessage(...which));
  await using other = await chat.another({ store: { ...store, getMessage } });
  const resuming = other.resume(messageId);
  const cancelling = other.post(`/messages/${messageId}/cancel`);
  const closing = other.service.close({ graceMs: 0 });
  await chat.clock.advance(0);
  answer.open();
  assert.equal((await (await resuming).rest()).length, 1);
  assert.equal((await errorOf(await cancelling)).code, "shutting_down");
  await closing;
});

test("a store that does not answer holds no follower of a reply beyond the grace period", async () => {
  await using all = await openFollowed();
  const { chat, other, repeated, streams, state } = all;
  state.silent = true;
  await chat.clock.advance(500);
  const closing = other.service.close({ graceMs: 0 });
  await chat.clock.advance(0);
  for (const stream of streams) assert.equal(textOf(await stream.rest()), "beginning");
  assert.equal((await errorOf(await repeated)).code, "shutting_down");
  await chat.clock.advance(0);
  await closing;
});

for (const exclusive of [true, false]) {
  test(`a closed service leaves no timers behind, ${exclusive ? "alone" : "with others"} on its store`, async () => {
    const clock = createManualClock();
    const store = { ...createMemoryStore(), exclusive };
    const running = await openFixture(inProcess, { store }, clock);
    await running.service.ready();
    assert.ok(clock.pending > 0);
    await running[Symbol.asyncDispose]();
    assert.equal(clock.pending, 0);

    const starting = await openFixture(inProcess, { store }, clock);
    const ready = starting.service.ready();
    await starting[Symbol.asyncDispose]();
    await ready.catch(() => {}); // it may have failed
    assert.equal(clock.pending, 0);
  });
}

test("the system clock caps times that are longer than setTimeout allows", () => {
  const { setTimeout } = globalThis;
  const asked: number[] = [];
  Object.assign(globalThis, { setTimeout: (_: unknown, milliseconds: number) => asked.push(milliseconds) });
  try {
    for (const milliseconds of [Number.POSITIVE_INFINITY, 3e9, 5]) systemClock.after(milliseconds, () => {});
  } finally {
    Object.assign(globalThis, { setTimeout });
  }
  assert.deepEqual(asked, [2 ** 31 - 1, 2 ** 31 - 1, 5]);
});
