/**
 * Leases: a running reply renews its own; an expired one ends the reply of a process that died, and of no other.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "../../core/base/clock.ts";
import {
  createMemoryStore,
  type Log,
  type MessageResource,
  type Store,
  StoreUnavailable,
} from "../../core/mod.ts";
import { acceptedId, type Chat, openChat, withOutages } from "../support/chat.ts";
import { createManualClock } from "../support/clock.ts";
import { dataOf, inProcess, openFixture, startOfTests } from "../support/harness.ts";
import { createScriptedEngine } from "../support/scripted-engine.ts";

/** The id of a reply that has some saved text, which an engine that cannot continue leaves as it is. */
async function beginAndSave(chat: Chat): Promise<string> {
  const messageId = await acceptedId(await chat.stream());
  (await chat.engine.next()).write("saved");
  await chat.clock.advance(1000);
  return messageId;
}

/** A store that records each saved text and the end of its renewed lease, in milliseconds since the start. */
function noting(store: Store) {
  const saves: [text: string | undefined, until: number][] = [];
  const saveReply: Store["saveReply"] = (save) => {
    saves.push([save.content, save.lease.until - startOfTests]);
    return store.saveReply(save);
  };
  return { store: { ...store, saveReply }, saves };
}

test("a running reply's text is saved, and its lease renewed, once a second", async () => {
  const { store, saves } = noting({ ...createMemoryStore(), exclusive: false });
  await using chat = await openChat(inProcess, { store });
  const messageId = await acceptedId(await chat.stream());
  const run = await chat.engine.next();
  run.write("one");
  await chat.clock.advance(1000);
  assert.equal((await chat.message(messageId)).content, "one");
  await chat.clock.advance(1000);
  assert.deepEqual(saves, [
    ["one", 31_000],
    [undefined, 32_000],
  ]);
});

test("in an exclusive store, a silent reply is saved only to renew its lease, and only when that is due", async () => {
  const { store, saves } = noting(createMemoryStore());
  await using chat = await openChat(inProcess, { store });
  const stream = chat.stream();
  const run = await chat.engine.next();
  await chat.clock.advance(9_999);
  assert.deepEqual(saves, []);
  await chat.clock.advance(1);
  run.write("one");
  await chat.clock.advance(1000);
  assert.deepEqual(saves, [
    [undefined, 40_000],
    ["one", 41_000],
  ]);
  await (await stream).leave();
});

test("a reply whose lease ran out is ended as interrupted within 5 s, with the text saved so far", async () => {
  const store = { ...createMemoryStore(), exclusive: false };
  let dead = false;
  await using chat = await openChat(inProcess, { store: withOutages(store, () => dead) });
  const messageId = await acceptedId(await chat.stream());
  const run = await chat.engine.next();
  run.write("saved");
  await chat.clock.advance(1000);
  run.write(", lost");
  dead = true;
  await using other = await chat.another({ store });
  await other.service.ready();
  const resumed = await other.resume(messageId);
  await chat.clock.advance(29_999);
  assert.equal((await other.message(messageId)).status, "in_progress");
  assert.equal(await other.status(), "busy");
  await chat.clock.advance(5_000);
  const message = await other.message(messageId);
  assert.deepEqual(
    [message.status, message.error?.code, message.content],
    ["failed", "interrupted", "saved"],
  );
  assert.equal(await other.status(), "idle");
  const events = await resumed.rest();
  const last = events.at(-1);
  assert.ok(last?.data.type === "error" && last.data.error.code === "interrupted");
  dead = false;
});

test("a reply goes on whose lease ran out for all processes at once, as when their machine slept", async () => {
  const store = { ...createMemoryStore(), exclusive: false };
  await using chat = await openChat(inProcess, { store });
  await using other = await chat.another({ store });
  await other.service.ready();
  await chat.clock.advance(500); // the other process looks first, half a second before the lease is renewed
  const messageId = await acceptedId(await chat.stream());
  const run = await chat.engine.next();
  run.write("before");
  await chat.clock.advance(3_400);
  chat.clock.step(3_600_000);
  await chat.clock.advance(30_000);
  run.write(" and after");
  run.finish();
  await chat.clock.advance(0);
  const { status, content } = await other.message(messageId);
  assert.deepEqual([status, content], ["completed", "before and after"]);
});

for (const [when, sleeps, awakeMs] of [
  ["after all processes slept", 1, 5_000],
  ["on a host that freezes its processes between requests", 2, 2_000], // awake for one look
] as const) {
  test(`${when}, a reply whose process died is ended`, async () => {
    const store = { ...createMemoryStore(), exclusive: false };
    let dead = false;
    await using chat = await openChat(inProcess, { store: withOutages(store, () => dead) });
    const messageId = await beginAndSave(chat);
    await using other = await chat.another({ store });
    await other.service.ready();
    dead = true;
    await chat.clock.advance(2_000);
    for (let sleep = 0; sleep < sleeps; sleep++) {
      chat.clock.step(3_600_000);
      await chat.clock.advance(awakeMs);
    }
    assert.equal((await other.message(messageId)).error?.code, "interrupted");
    dead = false;
  });
}

test("a reply whose lease ran out while no process was running is ended within 5 s of the next start", async () => {
  const store = { ...createMemoryStore(), exclusive: false };
  let dead = false;
  await using chat = await openChat(inProcess, { store: withOutages(store, () => dead) });
  const messageId = await beginAndSave(chat);
  dead = true;
  await chat.clock.advance(60_000);
  await using next = await chat.another({ store });
  await next.service.ready();
  await chat.clock.advance(5_000);
  assert.equal((await next.message(messageId)).error?.code, "interrupted");
  assert.equal(await next.status(), "idle");
  dead = false;
});

test("a reply whose lease ran out during a store outage is ended within 15 s of the store's return", async () => {
  const store = { ...createMemoryStore(), exclusive: false };
  let dead = false;
  let down = false;
  await using chat = await openChat(inProcess, { store: withOutages(store, () => dead) });
  const messageId = await beginAndSave(chat);
  dead = true;
  await using other = await chat.another({ store: withOutages(store, () => down) });
  await other.service.ready();
  down = true;
  await chat.clock.advance(60_000);
  down = false;
  await chat.clock.advance(15_000);
  assert.equal((await other.message(messageId)).error?.code, "interrupted");
  dead = false;
});

test("a producer whose reply was ended by another process stops, and its stream reports the stored end", async () => {
  const store = { ...createMemoryStore(), exclusive: false };
  let dead = false;
  await using chat = await openChat(inProcess, { store: withOutages(store, () => dead) });
  const stream = await chat.stream();
  const messageId = await acceptedId(stream);
  const run = await chat.engine.next();
  run.write("saved");
  await chat.clock.advance(1000);
  dead = true;
  await using other = await chat.another({ store });
  await other.service.ready();
  await chat.clock.advance(35_000);
  assert.equal((await other.message(messageId)).status, "failed");
  dead = false;
  await chat.clock.advance(1_000);
  assert.equal(run.signal.aborted, true);
  const last = (await stream.rest()).at(-1);
  assert.ok(last?.data.type === "error" && last.data.error.code === "interrupted");
});

test("in an exclusive store, a process ends the orphans of an earlier one when it starts", async () => {
  const store = createMemoryStore();
  let dead = false;
  await using chat = await openChat(inProcess, { store: withOutages(store, () => dead) });
  const messageId = await beginAndSave(chat);
  dead = true; // as good as killed
  await using next = await chat.another({ store });
  const message = await next.message(messageId);
  assert.deepEqual(
    [message.status, message.error?.code, message.content],
    ["failed", "interrupted", "saved"],
  );
  assert.equal(await next.status(), "idle");
});

test("an abandoned reply is logged when it is ended", async () => {
  const store = createMemoryStore();
  let dead = false;
  await using chat = await openChat(inProcess, { store: withOutages(store, () => dead) });
  const messageId = await beginAndSave(chat);
  dead = true;
  const logged: unknown[] = [];
  const log: Log = (level, message, fields) => logged.push([level, message, fields]);
  await using next = await chat.another({ store, log });
  await next.service.ready();
  assert.deepEqual(logged, [["warn", "an abandoned reply was ended", { messageId }]]);
});

for (const [what, sweepClaims] of [
  ["cannot be swept", () => Promise.reject(new StoreUnavailable("a statement took too long"))],
  ["take forever to sweep", () => new Promise<void>(() => {})],
] as const) {
  test(`expired keys that ${what} do not keep an abandoned reply from being ended`, async () => {
    const store = { ...createMemoryStore(), exclusive: false, sweepClaims };
    let dead = false;
    await using chat = await openChat(inProcess, { store: withOutages(store, () => dead) });
    const messageId = await beginAndSave(chat);
    dead = true;
    await using other = await chat.another({ store });
    await other.service.ready();
    await chat.clock.advance(35_000);
    assert.equal((await other.message(messageId)).status, "failed");
    dead = false;
  });
}

test("a process does not end a reply of its own whose lease it could not renew", async () => {
  const memory = { ...createMemoryStore(), exclusive: false };
  let failing = true;
  async function saveReply(save: Parameters<Store["saveReply"]>[0]) {
    if (failing) throw new StoreUnavailable("saving fails, looking for what was abandoned does not");
    return memory.saveReply(save);
  }
  await using chat = await openChat(inProcess, { store: { ...memory, saveReply } });
  await chat.service.ready();
  const sending = chat.send();
  const run = await chat.engine.next();
  run.write("before, ");
  await chat.clock.advance(40_000);
  failing = false;
  await chat.clock.advance(1_000);
  run.write("after");
  run.finish();
  const reply = await dataOf<MessageResource>(await sending);
  assert.deepEqual([reply.status, reply.content], ["completed", "before, after"]);
});

test("a lease shorter than the interval between saves is renewed in time, too", async () => {
  const options = { store: { ...createMemoryStore(), exclusive: false }, leaseMs: 300 };
  await using chat = await openChat(inProcess, options);
  await using other = await chat.another();
  await other.service.ready();
  const sending = chat.send();
  const run = await chat.engine.next();
  await chat.clock.advance(20_150);
  run.write("still here");
  run.finish();
  assert.equal((await dataOf<MessageResource>(await sending)).status, "completed");
});

/**
 * A reply whose process has been cut off from its store for longer than a lease. Other processes can reach the store.
 */
async function openCutOff(awayMs: number, hangMs: number) {
  const store: Store = { ...createMemoryStore(), exclusive: false };
  const clock = createManualClock(startOfTests);
  const engine = createScriptedEngine();
  const engines = { echo: engine };
  let away = false;
  const isAway = () => away;
  const far = withOutages(store, isAway, () => sleep(clock, hangMs));
  const here = await openFixture(inProcess, { store: far, engines }, clock);
  const key = await here.key();
  const path = `/conversations/${await here.conversation(key)}/messages`;
  const sending = here.call("POST", path, key, { content: "Hello?" });
  const run = await engine.next();
  away = true;
  await clock.advance(awayMs);
  return {
    ...{ store, clock, engines, isAway },
    comeBack() {
      away = false;
    },
    /** The reply as its sender sees it. */
    async finish(): Promise<MessageResource> {
      run.write("after");
      run.finish();
      return dataOf<MessageResource>(await sending);
    },
    close: () => here[Symbol.asyncDispose](),
  };
}

test("a store outage longer than a lease ends no running reply: its producer gets to renew first", async () => {
  let down = false;
  const store = withOutages({ ...createMemoryStore(), exclusive: false }, () => down);
  await using other = await openChat(inProcess, { store });
  await other.service.ready();
  await using chat = await other.another();
  await chat.clock.advance(500); // from here on, the producer saves half a second after each sweep
  const sending = chat.send();
  const run = await chat.engine.next();
  run.write("before, ");
  await chat.clock.advance(1000);
  down = true;
  await chat.clock.advance(44_400);
  down = false;
  await chat.clock.advance(10_000);
  run.write("after");
  run.finish();
  const reply = await dataOf<MessageResource>(await sending);
  assert.deepEqual([reply.status, reply.content], ["completed", "before, after"]);
});

test("a store outage in which every call hangs ends no running reply, whenever it is over", async () => {
  for (let phaseMs = 0; phaseMs < 20_000; phaseMs += 500) {
    const memory = { ...createMemoryStore(), exclusive: false };
    const clock = createManualClock(startOfTests);
    let down = false;
    const hang = () => sleep(clock, 7_000); // PostgreSQL's longest
    const store = withOutages(memory, () => down, hang);
    const engine = createScriptedEngine();
    const options = { store, engines: { echo: engine } };
    await using other = await openFixture(inProcess, options, clock);
    await other.service.ready();
    await using here = await openFixture(inProcess, options, clock);
    const key = await here.key();
    const path = `/conversations/${await here.conversation(key)}/messages`;
    const sending = here.call("POST", path, key, { content: "Hello?" });
    const run = await engine.next();
    await clock.advance(2_000);
    down = true;
    await clock.advance(44_000 + phaseMs);
    down = false;
    await clock.advance(20_000);
    run.write("after");
    run.finish();
    const reply = await dataOf<MessageResource>(await sending);
    assert.deepEqual([reply.status, reply.content], ["completed", "after"], `${phaseMs}`);
  }
});

test("a store outage of a few seconds ends no running reply whose lease is even shorter", async () => {
  for (let phaseMs = 0; phaseMs < 2_000; phaseMs += 250) {
    let down = false;
    const store = withOutages({ ...createMemoryStore(), exclusive: false }, () => down);
    await using chat = await openChat(inProcess, { store, leaseMs: 5_000 });
    await using other = await chat.another({ store, leaseMs: 5_000 });
    await other.service.ready();
    await chat.clock.advance(4_000 + phaseMs);
    const messageId = await acceptedId(await chat.stream());
    const run = await chat.engine.next();
    await chat.clock.advance(500);
    down = true;
    await chat.clock.advance(7_500);
    down = false;
    await chat.clock.advance(20_000);
    run.write("after");
    run.finish();
    await chat.clock.advance(0);
    assert.equal((await other.message(messageId)).status, "completed", `${phaseMs}`);
  }
});

test("a process that starts just as the store comes back gives the others time to renew their leases", async () => {
  for (let phaseMs = 0; phaseMs < 4_000; phaseMs += 250) {
    const cutOff = await openCutOff(60_000 + phaseMs, 2_500);
    const { store, clock, engines } = cutOff;
    cutOff.comeBack();
    await using next = await openFixture(inProcess, { store, engines }, clock);
    await next.service.ready();
    await clock.advance(10_000);
    assert.equal((await cutOff.finish()).content, "after", `${phaseMs}`);
    await cutOff.close();
  }
});

test("a process whose start failed because of the store knows of the outage, and gives them more time", async () => {
  for (let phaseMs = 0; phaseMs < 8_000; phaseMs += 500) {
    const cutOff = await openCutOff(60_000 + phaseMs, 7_000);
    const { store, clock, engines, isAway } = cutOff;
    const seen = withOutages(store, isAway);
    await using next = await openFixture(inProcess, { store: seen, engines }, clock);
    await assert.rejects(next.service.ready());
    cutOff.comeBack();
    await next.service.ready();
    await clock.advance(20_000);
    assert.equal((await cutOff.finish()).content, "after", `${phaseMs}`);
    await cutOff.close();
  }
});
