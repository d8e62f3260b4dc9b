/**
 * Take-overs: another process goes on with a reply whose process died, at the character.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createTwinList, type Log } from "../../core/mod.ts";
import { createMemoryStore, type Store, StoreUnavailable } from "../../core/store/mod.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { acceptedId, type Chat, openChat, withOutages } from "../support/chat.ts";
import type { EventReader } from "../support/event-reader.ts";
import { dataOf, inProcess, newTwin, type StreamEvent, textOf } from "../support/harness.ts";
import type { Run } from "../support/scripted-engine.ts";
import { type CutOff, type CutOffSetting, once, openCutOff } from "./cut-off.ts";

/** A process that has begun a reply, and another one. */
interface TwoProcesses extends CutOff {
  readonly other: Chat;
  /** The reply as the other process reads it. */
  read(): Promise<MessageResource>;
  /** Follows it there. */
  resume(after?: number): Promise<EventReader>;
  /** Cuts the first process off. Resolves with the other one's run of the engine. */
  takenOver(): Promise<Run>;
}

async function openTwo(setting: CutOffSetting & { readonly log?: Log } = {}): Promise<TwoProcesses> {
  const { log } = setting;
  const cutOff = await openCutOff(setting);
  const other = await cutOff.another({ ...(log && { log }) });
  return {
    ...cutOff,
    other,
    read: () => other.message(cutOff.messageId),
    resume: (after) => other.resume(cutOff.messageId, after),
    async takenOver() {
      cutOff.cutOff();
      await cutOff.expire();
      return cutOff.engine.next();
    },
    async [Symbol.asyncDispose]() {
      cutOff.reconnect();
      await other[Symbol.asyncDispose]();
      await cutOff[Symbol.asyncDispose]();
    },
  };
}

/** Another process in place of the other one. */
async function replaceOther(two: TwoProcesses, options: Parameters<CutOff["another"]>[0]): Promise<Chat> {
  const third = await two.another(options);
  await two.other.service.close({ graceMs: 0 });
  return third;
}

/** What a client shows that cuts its text back where a reply goes on. */
function shown(events: readonly StreamEvent[], before = ""): string {
  let text = before;
  for (const { data } of events) {
    if (data.type === "delta") text += data.content;
    if (data.type === "progress" && data.progress.stage === "continued") {
      text = text.slice(0, Number(data.progress.from));
    }
  }
  return text;
}

function continued(events: readonly StreamEvent[]): StreamEvent[] {
  return events.filter(({ data }) => data.type === "progress" && data.progress.stage === "continued");
}

function continuedAt(from: number, attempt = 2): StreamEvent {
  return { id: from, data: { type: "progress", progress: { stage: "continued", from, attempt } } };
}

describe("a reply whose process died is gone on with by another one", () => {
  test("an exact engine is asked the same again, and what is there already is left out", async () => {
    await using two = await openTwo({ continues: "exact", saved: "One two" });
    const asked = await two.read();
    two.cutOff();
    const resumed = await two.resume();
    await two.expire();
    const run = await two.engine.next();
    assert.deepEqual([run.turn.content, run.turn.history, run.turn.partial], ["Hello?", [], undefined]);
    for (const piece of ["One", " t", "wo three", " four"]) run.write(piece);
    run.finish();
    await two.clock.advance(1000);
    const events = await resumed.rest();
    assert.deepEqual(continued(events), [continuedAt(7)]);
    assert.equal(textOf(events), "One two three four");
    const message = await two.read();
    assert.deepEqual(
      [message.status, message.content, message.attempt, message.twinRevision],
      ["completed", "One two three four", 2, asked.twinRevision],
    );
    assert.equal(await two.other.status(), "idle");
  });

  test("a partial engine is given the text so far, and adds to it", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One two" });
    const run = await two.takenOver();
    assert.equal(run.turn.partial, "One two");
    run.write(" three");
    run.finish();
    await two.clock.advance(0);
    const { status, content, attempt } = await two.read();
    assert.deepEqual([status, content, attempt], ["completed", "One two three", 2]);
  });

  for (const continues of [undefined, "exact", "partial"] as const) {
    test(`a reply without any text is begun again, with an engine that continues ${continues ?? "nothing"}`, async () => {
      await using two = await openTwo({ continues });
      two.cutOff();
      const resumed = await two.resume();
      await two.expire();
      const run = await two.engine.next();
      assert.equal(run.turn.partial, undefined);
      run.write("One");
      run.finish();
      await two.clock.advance(1000);
      const events = await resumed.rest();
      assert.deepEqual(continued(events), [continuedAt(0)]);
      assert.equal(textOf(events), "One");
    });
  }

  test("its calls may wait for the person, as before", async () => {
    await using two = await openTwo({});
    assert.equal(two.run.turn.mayAsk, true);
    const run = await two.takenOver();
    assert.equal(run.turn.mayAsk, true);
    run.finish();
  });

  test("the calls that its question has decided are told, also if its twin asks for no more decisions", async () => {
    const store: Store = { ...createMemoryStore(), exclusive: false };
    let away = false;
    const twin = newTwin({ id: "scripted", engine: "scripted", tools: ["a/b"], confirm: ["a/b"] });
    const far = withOutages(store, () => away);
    await using chat = await openChat(inProcess, { store: far, twins: createTwinList([twin]) });
    const { run, stream } = await chat.begin("Hello?");
    const pending = { calls: [{ callId: "1", name: "a/b", arguments: {} }], state: "{}" };
    run.finish({ finishReason: "tool_calls", pending });
    await stream.rest();
    await chat.post("/messages", { calls: { 1: "approve" } }, { Prefer: "respond-async" });
    await chat.engine.next();
    const twins = createTwinList([newTwin({ id: "scripted", engine: "scripted" })]);
    await using other = await chat.another({ store, twins });
    await other.service.ready();
    away = true;
    await chat.clock.advance(35_000);
    const again = await chat.engine.next();
    assert.equal(again.turn.decided?.calls[0]?.decision, "approve");
    again.finish();
    away = false;
  });

  test("the log says so", async () => {
    const logged: unknown[] = [];
    const log: Log = (level, message, fields) => logged.push([level, message, fields]);
    await using two = await openTwo({ continues: "exact", saved: "One", log });
    await two.takenOver();
    const fields = { messageId: two.messageId, attempt: 2 };
    assert.deepEqual(logged, [["warn", "an abandoned reply was taken over", fields]]);
  });

  test("the conversation stays busy meanwhile", async () => {
    await using two = await openTwo({ continues: "exact", saved: "One" });
    const run = await two.takenOver();
    assert.equal(await two.other.status(), "busy");
    assert.equal((await two.other.send("More?")).status, 409);
    run.finish();
    await two.clock.advance(0);
  });

  test("its question's idempotency key stands for the reply throughout", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One" });
    two.cutOff();
    const repeated = two.other.send("Hello?", once);
    const run = await two.takenOver();
    run.write(" two");
    run.finish();
    await two.clock.advance(1000);
    const { id, content, attempt } = await dataOf<MessageResource>(await repeated);
    assert.deepEqual([id, content, attempt], [two.messageId, "One two", 2]);
  });

  test("in an exclusive store, the next process does so at once when it starts", async () => {
    await using cutOff = await openCutOff({ continues: "exact", saved: "One", store: { exclusive: true } });
    cutOff.cutOff();
    await using next = await cutOff.another();
    const run = await cutOff.engine.next();
    run.write("One two");
    run.finish();
    await cutOff.clock.advance(0);
    assert.equal((await next.message(cutOff.messageId)).content, "One two");
  });

  test("its twin may have changed: the revision stays that of its beginning", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One" });
    const { twinRevision } = await two.read();
    const twins = createTwinList([newTwin({ id: "scripted", engine: "scripted", instructions: "New." })]);
    await using third = await replaceOther(two, { twins });
    const run = await two.takenOver();
    assert.equal(run.turn.twin.instructions, "New.");
    run.finish();
    await two.clock.advance(0);
    assert.equal((await third.message(two.messageId)).twinRevision, twinRevision);
  });
});

describe("a reply is not gone on with", () => {
  test("if the exact engine writes another text, which leaves it interrupted", async () => {
    await using two = await openTwo({ continues: "exact", saved: "One two" });
    const run = await two.takenOver();
    run.write("One too many");
    await two.clock.advance(0);
    assert.equal(run.signal.aborted, true);
    const { error, content } = await two.read();
    assert.deepEqual([error?.code, content], ["interrupted", "One two"]);
  });

  test("if the exact engine writes less text, which leaves it interrupted", async () => {
    await using two = await openTwo({ continues: "exact", saved: "One two" });
    const run = await two.takenOver();
    run.write("One");
    run.finish();
    await two.clock.advance(0);
    const { error, content } = await two.read();
    assert.deepEqual([error?.code, content], ["interrupted", "One two"]);
  });

  test("a third time", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One" });
    let dead = false;
    await using second = await replaceOther(two, { store: withOutages(two.store, () => dead) });
    await two.takenOver();
    dead = true;
    await using third = await two.another();
    await two.expire();
    const { error, content, attempt } = await third.message(two.messageId);
    assert.deepEqual([error?.code, content, attempt], ["interrupted", "One", 2]);
    assert.equal(second.engine.asked, 2);
    dead = false;
  });

  test("if it was to be cancelled before its lease ended: it is cancelled, and no model is asked", async () => {
    await using two = await openTwo({ continues: "exact", saved: "One" });
    two.cutOff();
    const cancelling = two.other.cancel(two.messageId);
    await two.expire();
    await two.clock.advance(1000);
    const { status, content, attempt } = await dataOf<MessageResource>(await cancelling);
    assert.deepEqual([status, content, attempt], ["cancelled", "One", 1]);
    assert.equal(two.engine.asked, 1);
  });

  for (const [what, twins] of [
    ["its twin is gone", createTwinList([newTwin({ id: "another", engine: "scripted" })])],
    ["its engine is gone", createTwinList([newTwin({ id: "scripted", engine: "gone" })])],
    ["its twin cannot be read", { ...createTwinList([]), get: () => Promise.reject(new Error("away")) }],
  ] as const) {
    test(`if ${what}`, async () => {
      await using two = await openTwo({ continues: "exact", saved: "One" });
      two.cutOff();
      await using third = await replaceOther(two, { twins });
      await two.expire();
      assert.equal((await third.message(two.messageId)).error?.code, "interrupted");
    });
  }
});

describe("a reply that was taken over", () => {
  test("can be cancelled on any process", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One" });
    const run = await two.takenOver();
    two.reconnect();
    const cancelling = two.first.cancel(two.messageId);
    await two.clock.advance(2000);
    assert.equal(run.signal.aborted, true);
    const { status, content } = await dataOf<MessageResource>(await cancelling);
    assert.deepEqual([status, content], ["cancelled", "One"]);
  });

  for (const when of ["while it runs", "after its end"] as const) {
    test(`is resumed from text that was not saved ${when}: its stream begins with the cut`, async () => {
      await using two = await openTwo({ continues: "partial", saved: "One", sent: " two" });
      const run = await two.takenOver();
      const early = await two.resume(7);
      run.write(" 2");
      run.finish();
      await two.clock.advance(1000);
      const resumed = when === "while it runs" ? early : await two.resume(7);
      const events = await resumed.rest();
      assert.deepEqual(events[0], continuedAt(3));
      assert.equal(shown(events, "One two"), "One 2");
      const last = events.at(-1)?.data;
      assert.ok(last?.type === "complete" && last.message.content === "One 2");
      await early.leave();
    });
  }

  test("is resumed from beyond its whole text, and from inside a surrogate pair, with the cut", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One" });
    const run = await two.takenOver();
    run.write("🤖!");
    run.finish();
    await two.clock.advance(1000);
    for (const after of [4, 99]) {
      const events = await (await two.resume(after)).rest();
      assert.deepEqual(events[0], continuedAt(3));
      assert.equal(shown(events, "One".padEnd(after)), "One🤖!");
    }
  });

  test("is resumed as ever from text that was saved", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One" });
    (await two.takenOver()).finish();
    await two.clock.advance(1000);
    for (const after of [0, 2, 3]) {
      const [first, ...more] = await (await two.resume(after)).rest();
      assert.ok(first?.data.type === "progress" && first.data.progress.stage === "accepted");
      assert.equal(textOf(more), "One".slice(after));
    }
  });

  test("is interrupted again with the cut, if what its reader has beyond that is lost", async () => {
    await using two = await openTwo({ continues: "exact", saved: "One", sent: " two" });
    (await two.takenOver()).write("Two");
    await two.clock.advance(1000);
    const events = await (await two.resume(7)).rest();
    assert.deepEqual(events[0], continuedAt(3));
    assert.equal(events.at(-1)?.data.type, "error");
  });
});

describe("a process that was only cut off from the store", () => {
  test("tells its followers the truth, and writes nothing more", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One" });
    const run = await two.takenOver();
    run.write(" two");
    await two.clock.advance(1000);
    two.reconnect();
    await two.clock.advance(2000);
    run.write(" three");
    run.finish();
    await two.clock.advance(2000);
    const events = await two.stream.rest();
    assert.deepEqual(continued(events), [continuedAt(3)]);
    assert.equal(shown(events), "One two three");
    const last = events.at(-1)?.data;
    assert.ok(last?.type === "complete" && last.message.attempt === 2);
    assert.equal((await two.first.message(two.messageId)).content, "One two three");
  });

  test("cuts the text of its followers back", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One", sent: " zwei" });
    for (const content of ["One", " zwei"]) {
      assert.deepEqual((await two.stream.next()).data, { type: "delta", content });
    }
    const run = await two.takenOver();
    run.write(" 2");
    two.reconnect();
    await two.clock.advance(2000);
    run.finish();
    await two.clock.advance(2000);
    const events = await two.stream.rest();
    assert.deepEqual(events[0], continuedAt(3));
    assert.equal(shown(events, "One zwei"), "One 2");
  });

  test("cuts it back, too, where another process has cancelled its reply for it", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One", sent: " zwei" });
    for (const _ of ["One", " zwei"]) await two.stream.next();
    two.cutOff();
    const cancelling = two.other.cancel(two.messageId);
    await two.expire();
    two.reconnect();
    await two.clock.advance(2000);
    const message = await dataOf<MessageResource>(await cancelling);
    assert.deepEqual([message.status, message.content], ["cancelled", "One"]);
    const complete = { id: 3, data: { type: "complete", message } };
    assert.deepEqual(await two.stream.rest(), [continuedAt(3, 1), complete]);
  });

  test("stops its model as soon as it hears that its reply is not its own any more", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One" });
    const run = await two.takenOver();
    assert.equal(two.run.signal.aborted, false); // it cannot know
    two.reconnect();
    await two.clock.advance(1000);
    assert.equal(two.run.signal.aborted, true);
    run.finish();
    await two.clock.advance(1000);
    await two.stream.rest();
  });

  test("does not end the reply, even if its model had ended meanwhile; who waits for it gets the stored one", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One" });
    const waiting = two.first.send("Hello?", once);
    await two.clock.advance(0);
    two.cutOff();
    two.run.write(" more");
    two.run.finish();
    const run = await two.takenOver();
    two.reconnect();
    await two.clock.advance(2000);
    run.write(" two");
    run.finish();
    await two.clock.advance(2000);
    const { content, attempt } = await dataOf<MessageResource>(await waiting);
    assert.deepEqual([content, attempt], ["One two", 2]);
  });

  test("tells its followers no end that is not stored, if it stops meanwhile: they resume elsewhere", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One", sent: " zwei" });
    const run = await two.takenOver();
    const closing = two.first.service.close({ graceMs: 0 });
    await two.clock.advance(12_000);
    await closing;
    const events = await two.stream.rest();
    assert.deepEqual(events.at(-1), { id: 8, data: { type: "delta", content: " zwei" } });
    run.write(" 2");
    run.finish();
    const resumed = await two.resume(8);
    await two.clock.advance(1000);
    const more = await resumed.rest();
    assert.equal(shown(more, textOf(events)), "One 2");
    assert.equal(more.at(-1)?.data.type, "complete");
  });

  test("begins a resumed stream with the cut, though it has not learned of the take-over yet", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One", sent: " zwei" });
    const run = await two.takenOver();
    run.write(" 2, and more than the first process has");
    two.reconnect();
    const resumed = await two.first.resume(two.messageId, 30);
    run.finish();
    await two.clock.advance(2000);
    const events = await resumed.rest();
    assert.deepEqual(events[0], continuedAt(3));
    assert.equal(shown(events, "One".padEnd(30)), "One 2, and more than the first process has");
    assert.equal(shown(await two.stream.rest()), "One 2, and more than the first process has");
  });
});

test("a reader that waits for the rest of a reply is cut back where that was lost and the reply cancelled", async () => {
  await using two = await openTwo({ continues: "partial", saved: "One", sent: " zwei" });
  two.cutOff();
  const resumed = await two.resume(8);
  const cancelling = two.other.cancel(two.messageId);
  await acceptedId(resumed);
  await two.expire();
  const message = await dataOf<MessageResource>(await cancelling);
  const complete = { id: 3, data: { type: "complete", message } };
  assert.deepEqual(await resumed.rest(), [continuedAt(3, 1), complete]);
});

test("a process that follows a reply begins a resumed stream with the cut, though its last look was before", async () => {
  await using two = await openTwo({ continues: "partial", saved: "One", sent: " zwei" });
  const { store } = two;
  let blind = false;
  const getMessage: Store["getMessage"] = async (reach, id, options) => {
    if (blind && options?.skip !== undefined) throw new StoreUnavailable("away"); // a look at what is new
    return store.getMessage(reach, id, options);
  };
  const takeOverReply = async () => false;
  await using third = await two.first.another({ store: { ...store, getMessage, takeOverReply } });
  const before = await third.resume(two.messageId, 0);
  await acceptedId(before);
  blind = true;
  const run = await two.takenOver();
  const resumed = await third.resume(two.messageId, 8);
  blind = false;
  run.write(" 2");
  run.finish();
  await two.clock.advance(2000);
  const events = await resumed.rest();
  assert.deepEqual(events[0], continuedAt(3));
  assert.equal(shown(events, "One zwei"), "One 2");
  assert.equal(shown(await before.rest()), "One 2");
});
