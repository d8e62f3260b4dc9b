/**
 * Leases: a running reply renews its own; an expired one ends the reply of a process that died, and of no other.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "../../core/base/clock.ts";
import type { Log } from "../../core/mod.ts";
import { createMemoryStore, type Store, StoreUnavailable } from "../../core/store/mod.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { openChat, withOutages } from "../support/chat.ts";
import { createManualClock } from "../support/clock.ts";
import { dataOf, inProcess, startOfTests } from "../support/harness.ts";
import { type CutOff, openCutOff } from "./cut-off.ts";

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
  const { messageId, run } = await chat.begin();
  run.write("one");
  await chat.clock.advance(1000);
  assert.equal((await chat.message(messageId)).content, "one");
  await chat.clock.advance(1000);
  const first = saves[0]?.[1] ?? 0;
  assert.deepEqual(saves, [
    ["one", first],
    [undefined, first + 1000],
  ]);
});

test("saves come at 20 beats a second, each of which some of the running replies share", async () => {
  const { store, saves } = noting({ ...createMemoryStore(), exclusive: false });
  await using chat = await openChat(inProcess, { store });
  const { fixture, key, engine, clock } = chat;
  for (let n = 0; n < 20; n++) {
    const path = `/conversations/${await fixture.conversation(key, "scripted")}/messages/stream`;
    await fixture.call("POST", path, key, { content: "Hello?" });
    (await engine.next()).write("one");
    await clock.advance(2);
  }
  await clock.advance(1000);
  saves.length = 0;
  await clock.advance(1000);
  const beats = saves.map(([, until]) => (startOfTests + until) % 1000);
  const two = [0, 100, 200, 300, 400, 500, 600, 700, 800, 900].flatMap((beat) => [beat, beat]);
  assert.deepEqual(
    beats.sort((one, other) => one - other),
    two,
  );
});

test("in an exclusive store, a silent reply is saved only to renew its lease, and only when that is due", async () => {
  const { store, saves } = noting(createMemoryStore());
  await using chat = await openChat(inProcess, { store });
  const stream = chat.stream();
  const run = await chat.engine.next();
  await chat.clock.advance(9_999);
  assert.equal(saves.length, 0);
  await chat.clock.advance(1000);
  run.write("one");
  await chat.clock.advance(1000);
  assert.deepEqual(
    saves.map(([text]) => text),
    [undefined, "one"],
  );
  await (await stream).leave();
});

test("a reply whose lease ran out is ended as interrupted within 5 s, with the text saved so far", async () => {
  await using cutOff = await openCutOff({ saved: "saved", sent: ", lost" });
  const { clock, messageId } = cutOff;
  cutOff.cutOff();
  await using other = await cutOff.another();
  const resumed = await other.resume(messageId);
  await clock.advance(29_999);
  assert.equal((await other.message(messageId)).status, "in_progress");
  assert.equal(await other.status(), "busy");
  await clock.advance(5_000);
  const { status, error, content, attempt } = await other.message(messageId);
  assert.deepEqual([status, error?.code, content, attempt], ["failed", "interrupted", "saved", 1]);
  assert.equal(await other.status(), "idle");
  const last = (await resumed.rest()).at(-1);
  assert.ok(last?.data.type === "error" && last.data.error.code === "interrupted");
  assert.equal(cutOff.engine.asked, 1);
});

test("a reply goes on whose lease ran out for all processes at once, as when their machine slept", async () => {
  const store = { ...createMemoryStore(), exclusive: false };
  await using chat = await openChat(inProcess, { store });
  await using other = await chat.another({ store });
  await other.service.ready();
  await chat.clock.advance(500); // the other process looks first, half a second before the lease is renewed
  const { messageId, run } = await chat.begin();
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
    await using cutOff = await openCutOff({ saved: "saved" });
    await using other = await cutOff.another();
    cutOff.cutOff();
    await cutOff.clock.advance(2_000);
    for (let sleep = 0; sleep < sleeps; sleep++) {
      cutOff.clock.step(3_600_000);
      await cutOff.clock.advance(awakeMs);
    }
    assert.equal((await other.message(cutOff.messageId)).error?.code, "interrupted");
  });
}

test("a reply whose lease ran out while no process was running is ended within 5 s of the next start", async () => {
  await using cutOff = await openCutOff({ saved: "saved" });
  cutOff.cutOff();
  await cutOff.clock.advance(60_000);
  await using next = await cutOff.another();
  await cutOff.clock.advance(5_000);
  assert.equal((await next.message(cutOff.messageId)).error?.code, "interrupted");
});

test("a reply whose lease ran out during a store outage is ended within 15 s of the store's return", async () => {
  await using cutOff = await openCutOff({ saved: "saved" });
  let down = false;
  await using other = await cutOff.another({ store: withOutages(cutOff.store, () => down) });
  cutOff.cutOff();
  down = true;
  await cutOff.clock.advance(60_000);
  down = false;
  await cutOff.clock.advance(15_000);
  assert.equal((await other.message(cutOff.messageId)).error?.code, "interrupted");
});

test("a producer whose reply was ended by another process stops, and its stream reports the stored end", async () => {
  await using cutOff = await openCutOff({ saved: "saved" });
  cutOff.cutOff();
  await using other = await cutOff.another();
  await cutOff.expire();
  assert.equal((await other.message(cutOff.messageId)).status, "failed");
  cutOff.reconnect();
  await cutOff.clock.advance(1_000);
  assert.equal(cutOff.run.signal.aborted, true);
  const last = (await cutOff.stream.rest()).at(-1);
  assert.ok(last?.data.type === "error" && last.data.error.code === "interrupted");
});

test("in an exclusive store, a process ends the orphans of an earlier one when it starts, and logs that", async () => {
  await using cutOff = await openCutOff({ saved: "saved", store: { exclusive: true } });
  const { messageId } = cutOff;
  cutOff.cutOff(); // as good as killed
  const logged: unknown[] = [];
  const log: Log = (level, message, fields) => logged.push([level, message, fields]);
  await using next = await cutOff.another({ log });
  assert.deepEqual(logged, [["warn", "an abandoned reply was ended", { messageId }]]);
  const { status, error, content } = await next.message(messageId);
  assert.deepEqual([status, error?.code, content], ["failed", "interrupted", "saved"]);
  assert.equal(await next.status(), "idle");
});

for (const [what, sweep] of [
  ["cannot be swept", () => Promise.reject(new StoreUnavailable("a statement took too long"))],
  ["take forever to sweep", () => new Promise<void>(() => {})],
] as const) {
  test(`expired keys that ${what} do not keep an abandoned reply from being ended`, async () => {
    await using cutOff = await openCutOff({ saved: "saved", store: { sweep } });
    cutOff.cutOff();
    await using other = await cutOff.another();
    await cutOff.expire();
    assert.equal((await other.message(cutOff.messageId)).status, "failed");
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
    const clock = createManualClock(startOfTests);
    let down = false;
    const hang = () => sleep(clock, 7_000); // PostgreSQL's longest
    const store = withOutages({ ...createMemoryStore(), exclusive: false }, () => down, hang);
    await using other = await openChat(inProcess, { store, clock });
    await other.service.ready();
    await using chat = await other.another();
    const sending = chat.send();
    const run = await chat.engine.next();
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
    const { messageId, run } = await chat.begin();
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

/** How a reply ends whose process has come back. */
async function endOf({ first, messageId, run, clock }: CutOff): Promise<string> {
  run.write("after");
  run.finish();
  await clock.advance(0);
  const { status, content } = await first.message(messageId);
  return `${status}: ${content}`;
}

test("a process that starts just as the store comes back gives the others time to renew their leases", async () => {
  for (let phaseMs = 0; phaseMs < 4_000; phaseMs += 250) {
    await using cutOff = await openCutOff({ hangMs: 2_500 });
    cutOff.cutOff();
    await cutOff.clock.advance(60_000 + phaseMs);
    cutOff.reconnect();
    await using _ = await cutOff.another();
    await cutOff.clock.advance(10_000);
    assert.equal(await endOf(cutOff), "completed: after", `${phaseMs}`);
  }
});

test("a process whose start failed because of the store knows of the outage, and gives them more time", async () => {
  for (let phaseMs = 0; phaseMs < 8_000; phaseMs += 500) {
    await using cutOff = await openCutOff({ hangMs: 7_000 });
    const { first, clock, store } = cutOff;
    cutOff.cutOff();
    await clock.advance(60_000 + phaseMs);
    await using next = await first.another({ store: withOutages(store, cutOff.isCutOff) });
    await assert.rejects(next.service.ready());
    cutOff.reconnect();
    await next.service.ready();
    await clock.advance(20_000);
    assert.equal(await endOf(cutOff), "completed: after", `${phaseMs}`);
  }
});
