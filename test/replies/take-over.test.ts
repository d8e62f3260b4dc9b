/**
 * Take-overs: another process goes on with a reply whose process died, at the character.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  createMemoryStore,
  createTwinList,
  type Log,
  type MessageResource,
  type Store,
  StoreUnavailable,
} from "../../core/mod.ts";
import { acceptedId, type Chat, openChat, withOutages } from "../support/chat.ts";
import type { EventReader } from "../support/event-reader.ts";
import { dataOf, inProcess, newTwin, type StreamEvent, textOf } from "../support/harness.ts";
import { createScriptedEngine, type Run, type ScriptedEngine } from "../support/scripted-engine.ts";

/** An engine that goes on in this way. */
function continuing(continues?: "exact" | "partial"): ScriptedEngine {
  const engine = createScriptedEngine();
  return Object.defineProperty(engine, "continues", { value: continues });
}

/** A process whose connection to the store can be cut, another one, and a reply that the first one has begun. */
interface TwoProcesses extends AsyncDisposable {
  readonly first: Chat;
  readonly other: Chat;
  readonly messageId: string;
  /** Follows the reply on the first process. */
  readonly stream: EventReader;
  readonly engine: ScriptedEngine;
  /** Cuts the first process off, and connects it again. */
  cutOff(): void;
  reconnect(): void;
  /** Lets the lease run out, and the other process notice. */
  expire(): Promise<void>;
  /** Cuts the first process off. Resolves with the other one's run of the engine. */
  takenOver(): Promise<Run>;
}

interface Setting {
  readonly continues?: "exact" | "partial";
  /** What the first process saves of the text, and what it has sent besides. */
  readonly saved?: string;
  readonly sent?: string;
  readonly log?: Log;
}

async function openTwo({ continues, saved = "", sent = "", log }: Setting = {}): Promise<TwoProcesses> {
  const store: Store = { ...createMemoryStore(), exclusive: false };
  const engine = continuing(continues);
  let away = false;
  const first = await openChat(inProcess, { store: withOutages(store, () => away), engine });
  const other = await first.another({ store, ...(log && { log }) });
  await other.service.ready();
  const stream = await first.stream("Hello?");
  const messageId = await acceptedId(stream);
  const run = await engine.next();
  if (saved !== "") run.write(saved);
  await first.clock.advance(1000);
  if (sent !== "") run.write(sent);
  const expire = () => first.clock.advance(35_000);
  return {
    first,
    other,
    messageId,
    stream,
    engine,
    cutOff() {
      away = true;
    },
    reconnect() {
      away = false;
    },
    expire,
    async takenOver() {
      away = true;
      await expire();
      return engine.next();
    },
    async [Symbol.asyncDispose]() {
      away = false;
      await other[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
    },
  };
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

function continuedAt(from: number): StreamEvent {
  return { id: from, data: { type: "progress", progress: { stage: "continued", from, attempt: 2 } } };
}

describe("a reply whose process died is gone on with by another one", () => {
  test("an exact engine is asked the same again, and what is there already is left out", async () => {
    await using two = await openTwo({ continues: "exact", saved: "One two" });
    const asked = await two.other.message(two.messageId);
    two.cutOff();
    const resumed = await two.other.resume(two.messageId);
    await two.expire();
    const run = await two.engine.next();
    assert.deepEqual([run.turn.content, run.turn.history, run.turn.partial], ["Hello?", [], undefined]);
    for (const piece of ["One", " t", "wo three", " four"]) run.write(piece);
    run.finish();
    await two.first.clock.advance(1000);
    const events = await resumed.rest();
    assert.deepEqual(continued(events), [continuedAt(7)]);
    assert.equal(textOf(events), "One two three four");
    const message = await two.other.message(two.messageId);
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
    await two.first.clock.advance(0);
    const { status, content, attempt } = await two.other.message(two.messageId);
    assert.deepEqual([status, content, attempt], ["completed", "One two three", 2]);
  });

  for (const continues of [undefined, "exact", "partial"] as const) {
    test(`a reply without any text is begun again, with an engine that continues ${continues ?? "nothing"}`, async () => {
      await using two = await openTwo({ ...(continues && { continues }) });
      two.cutOff();
      const resumed = await two.other.resume(two.messageId);
      await two.expire();
      const run = await two.engine.next();
      assert.equal(run.turn.partial, undefined);
      run.write("One");
      run.finish();
      await two.first.clock.advance(1000);
      const events = await resumed.rest();
      assert.deepEqual(continued(events), [continuedAt(0)]);
      assert.equal(textOf(events), "One");
    });
  }

  test("an engine that continues nothing leaves a reply that has some text interrupted", async () => {
    await using two = await openTwo({ saved: "One" });
    two.cutOff();
    await two.expire();
    const { status, error, attempt, content } = await two.other.message(two.messageId);
    assert.deepEqual([status, error?.code, attempt, content], ["failed", "interrupted", 1, "One"]);
    assert.equal(two.engine.asked, 1);
  });

  test("the log says so", async () => {
    const logged: unknown[] = [];
    const log: Log = (level, message, fields) => logged.push([level, message, fields]);
    await using two = await openTwo({ continues: "exact", saved: "One", log });
    two.cutOff();
    await two.expire();
    const fields = { messageId: two.messageId, attempt: 2 };
    assert.deepEqual(logged, [["warn", "an abandoned reply was taken over", fields]]);
  });

  test("the conversation stays busy meanwhile, and an equal request follows the same reply", async () => {
    await using two = await openTwo({ continues: "exact", saved: "One" });
    two.cutOff();
    await two.expire();
    assert.equal(await two.other.status(), "busy");
    const refused = await two.other.send("More?");
    assert.equal(refused.status, 409);
    (await two.engine.next()).finish();
    await two.first.clock.advance(0);
  });

  test("its question's idempotency key stands for the reply throughout", async () => {
    const store: Store = { ...createMemoryStore(), exclusive: false };
    let away = false;
    const engine = continuing("partial");
    await using first = await openChat(inProcess, { store: withOutages(store, () => away), engine });
    await using other = await first.another({ store });
    await other.service.ready();
    const key = { "Idempotency-Key": "once" };
    const stream = await first.stream("Hello?", key);
    const messageId = await acceptedId(stream);
    (await engine.next()).write("One");
    await first.clock.advance(1000);
    away = true;
    const repeated = other.send("Hello?", key);
    await first.clock.advance(35_000);
    const run = await engine.next();
    run.write(" two");
    run.finish();
    await first.clock.advance(1000);
    const message = await dataOf<MessageResource>(await repeated);
    assert.deepEqual([message.id, message.content, message.attempt], [messageId, "One two", 2]);
    away = false;
  });

  test("in an exclusive store, the next process does so at once when it starts", async () => {
    const store = createMemoryStore();
    let dead = false;
    const engine = continuing("exact");
    await using chat = await openChat(inProcess, { store: withOutages(store, () => dead), engine });
    const messageId = await acceptedId(await chat.stream());
    (await engine.next()).write("One");
    await chat.clock.advance(1000);
    dead = true;
    await using next = await chat.another({ store });
    await next.service.ready();
    const run = await engine.next();
    run.write("One two");
    run.finish();
    await chat.clock.advance(0);
    assert.equal((await next.message(messageId)).content, "One two");
  });

  test("its twin may have changed: the revision stays that of its beginning", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One" });
    const { twinRevision } = await two.other.message(two.messageId);
    two.cutOff();
    const twins = createTwinList([newTwin({ id: "scripted", engine: "scripted", instructions: "New." })]);
    await using third = await two.first.another({
      store: two.other.fixture.store,
      twins,
    });
    await two.other.service.close({ graceMs: 0 });
    await third.service.ready();
    await two.expire();
    const run = await two.engine.next();
    assert.equal(run.turn.twin.instructions, "New.");
    run.finish();
    await two.first.clock.advance(0);
    assert.equal((await third.message(two.messageId)).twinRevision, twinRevision);
  });
});

describe("a reply is not gone on with", () => {
  test("if the exact engine writes another text, which leaves it interrupted", async () => {
    await using two = await openTwo({ continues: "exact", saved: "One two" });
    const run = await two.takenOver();
    run.write("One too many");
    await two.first.clock.advance(0);
    assert.equal(run.signal.aborted, true);
    const { error, content } = await two.other.message(two.messageId);
    assert.deepEqual([error?.code, content], ["interrupted", "One two"]);
  });

  test("if the exact engine writes less text, which leaves it interrupted", async () => {
    await using two = await openTwo({ continues: "exact", saved: "One two" });
    const run = await two.takenOver();
    run.write("One");
    run.finish();
    await two.first.clock.advance(0);
    const { error, content } = await two.other.message(two.messageId);
    assert.deepEqual([error?.code, content], ["interrupted", "One two"]);
  });

  test("a third time", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One" });
    two.cutOff();
    const { store } = two.other.fixture;
    let dead = false;
    await using second = await two.first.another({ store: withOutages(store, () => dead) });
    await second.service.ready();
    await two.other.service.close({ graceMs: 0 });
    await two.expire();
    await two.engine.next();
    dead = true;
    await using third = await two.first.another({ store });
    await third.service.ready();
    await two.expire();
    const { error, content, attempt } = await third.message(two.messageId);
    assert.deepEqual([error?.code, content, attempt], ["interrupted", "One", 2]);
    assert.equal(two.engine.asked, 2);
    dead = false;
  });

  test("if it was to be cancelled before its lease ended: it is cancelled, and no model is asked", async () => {
    await using two = await openTwo({ continues: "exact", saved: "One" });
    two.cutOff();
    const cancelling = two.other.post(`/messages/${two.messageId}/cancel`);
    await two.expire();
    await two.first.clock.advance(1000);
    const { status, content, attempt } = await dataOf<MessageResource>(await cancelling);
    assert.deepEqual([status, content, attempt], ["cancelled", "One", 1]);
    assert.equal(two.engine.asked, 1);
  });

  test("if its twin or its engine is gone, or cannot be read", async () => {
    for (const options of [
      { twins: createTwinList([newTwin({ id: "another", engine: "scripted" })]) },
      { twins: createTwinList([newTwin({ id: "scripted", engine: "gone" })]) },
      {
        twins: {
          ...createTwinList([]),
          get: () => Promise.reject(new Error("the file system is away")),
        },
      },
    ]) {
      await using two = await openTwo({ continues: "exact", saved: "One" });
      two.cutOff();
      const { store } = two.other.fixture;
      await using third = await two.first.another({ store, ...options });
      await third.service.ready();
      await two.other.service.close({ graceMs: 0 });
      await two.expire();
      assert.equal((await third.message(two.messageId)).error?.code, "interrupted");
    }
  });
});

describe("a reply that was taken over", () => {
  test("can be cancelled on any process", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One" });
    const run = await two.takenOver();
    two.reconnect();
    const cancelling = two.first.post(`/messages/${two.messageId}/cancel`);
    await two.first.clock.advance(2000);
    assert.equal(run.signal.aborted, true);
    const { status, content } = await dataOf<MessageResource>(await cancelling);
    assert.deepEqual([status, content], ["cancelled", "One"]);
  });

  for (const when of ["while it runs", "after its end"] as const) {
    test(`is resumed from text that was not saved ${when}: its stream begins with the cut`, async () => {
      await using two = await openTwo({ continues: "partial", saved: "One", sent: " two" });
      const run = await two.takenOver();
      const early = await two.other.resume(two.messageId, 7);
      run.write(" 2");
      run.finish();
      await two.first.clock.advance(1000);
      const resumed = when === "while it runs" ? early : await two.other.resume(two.messageId, 7);
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
    await two.first.clock.advance(1000);
    for (const after of [4, 99]) {
      const events = await (await two.other.resume(two.messageId, after)).rest();
      assert.deepEqual(events[0], continuedAt(3));
      assert.equal(shown(events, "One".padEnd(after)), "One🤖!");
    }
  });

  test("is resumed as ever from text that was saved", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One" });
    (await two.takenOver()).finish();
    await two.first.clock.advance(1000);
    for (const after of [0, 2, 3]) {
      const [first, ...more] = await (await two.other.resume(two.messageId, after)).rest();
      assert.ok(first?.data.type === "progress" && first.data.progress.stage === "accepted");
      assert.equal(textOf(more), "One".slice(after));
    }
  });

  test("is interrupted again with the cut, if what its reader has beyond that is lost", async () => {
    await using two = await openTwo({ continues: "exact", saved: "One", sent: " two" });
    (await two.takenOver()).write("Two");
    await two.first.clock.advance(1000);
    const events = await (await two.other.resume(two.messageId, 7)).rest();
    assert.deepEqual(events[0], continuedAt(3));
    assert.equal(events.at(-1)?.data.type, "error");
  });
});

describe("a process that was only cut off from the store", () => {
  test("stops its model, tells its followers the truth, and writes nothing more", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One" });
    const run = await two.takenOver();
    run.write(" two");
    await two.first.clock.advance(1000);
    two.reconnect();
    await two.first.clock.advance(2000);
    run.write(" three");
    run.finish();
    await two.first.clock.advance(2000);
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
    await two.first.clock.advance(2000);
    run.finish();
    await two.first.clock.advance(2000);
    const events = await two.stream.rest();
    assert.deepEqual(events[0], continuedAt(3));
    assert.equal(shown(events, "One zwei"), "One 2");
  });

  test("stops its model as soon as it hears that its reply is not its own any more", async () => {
    const store: Store = { ...createMemoryStore(), exclusive: false };
    const engine = continuing("partial");
    let away = false;
    await using first = await openChat(inProcess, { store: withOutages(store, () => away), engine });
    await using other = await first.another({ store });
    await other.service.ready();
    const stream = await first.stream();
    await acceptedId(stream);
    const robbed = await engine.next();
    robbed.write("One");
    await first.clock.advance(1000);
    away = true;
    await first.clock.advance(35_000);
    const run = await engine.next();
    assert.equal(robbed.signal.aborted, false); // it cannot know
    away = false;
    await first.clock.advance(1000);
    assert.equal(robbed.signal.aborted, true);
    run.finish();
    await first.clock.advance(1000);
    await stream.rest();
  });

  test("does not end the reply, even if its model had ended meanwhile; who waits for it gets the stored one", async () => {
    const store: Store = { ...createMemoryStore(), exclusive: false };
    const engine = continuing("partial");
    let away = false;
    await using first = await openChat(inProcess, { store: withOutages(store, () => away), engine });
    await using other = await first.another({ store });
    await other.service.ready();
    const sending = first.send();
    const robbed = await engine.next();
    robbed.write("One");
    await first.clock.advance(1000);
    away = true;
    robbed.write(" more");
    robbed.finish();
    await first.clock.advance(35_000);
    const run = await engine.next();
    away = false;
    await first.clock.advance(2000);
    run.write(" two");
    run.finish();
    await first.clock.advance(2000);
    const { content, attempt } = await dataOf<MessageResource>(await sending);
    assert.deepEqual([content, attempt], ["One two", 2]);
  });

  test("tells its followers no end that is not stored, if it stops meanwhile: they resume elsewhere", async () => {
    await using two = await openTwo({ continues: "partial", saved: "One", sent: " zwei" });
    const run = await two.takenOver();
    const closing = two.first.service.close({ graceMs: 0 });
    await two.first.clock.advance(12_000);
    await closing;
    const events = await two.stream.rest();
    assert.deepEqual(events.at(-1), { id: 8, data: { type: "delta", content: " zwei" } });
    run.write(" 2");
    run.finish();
    const resumed = await two.other.resume(two.messageId, 8);
    await two.first.clock.advance(1000);
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
    await two.first.clock.advance(2000);
    const events = await resumed.rest();
    assert.deepEqual(events[0], continuedAt(3));
    assert.equal(shown(events, "One".padEnd(30)), "One 2, and more than the first process has");
    assert.equal(shown(await two.stream.rest()), "One 2, and more than the first process has");
  });
});

test("a process that follows a reply begins a resumed stream with the cut, though its last look was before", async () => {
  await using two = await openTwo({ continues: "partial", saved: "One", sent: " zwei" });
  const { store } = two.other.fixture;
  let blind = false;
  const readOn: Store["readOn"] = async (...which) => {
    if (blind) throw new StoreUnavailable("away");
    return store.readOn(...which);
  };
  const takeOverReply = async () => false;
  await using third = await two.first.another({ store: { ...store, readOn, takeOverReply } });
  const before = await third.resume(two.messageId, 0);
  await acceptedId(before);
  blind = true;
  const run = await two.takenOver();
  const resumed = await third.resume(two.messageId, 8);
  blind = false;
  run.write(" 2");
  run.finish();
  await two.first.clock.advance(2000);
  const events = await resumed.rest();
  assert.deepEqual(events[0], continuedAt(3));
  assert.equal(shown(events, "One zwei"), "One 2");
  assert.equal(shown(await before.rest()), "One 2");
});
