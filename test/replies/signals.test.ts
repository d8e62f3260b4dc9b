import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sleep } from "../../core/base/clock.ts";
import type { MessageResource, SignalTopic, Store, StoreSignals } from "../../core/mod.ts";
import { createMemoryLimiter, createMemoryStore, StoreUnavailable } from "../../core/mod.ts";
import { createManualClock, type ManualClock, settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import {
  dataOf,
  errorOf,
  inProcess,
  openFixture,
  parseEvents,
  startOfTests,
  textOf,
} from "../support/harness.ts";
import { createScriptedEngine } from "../support/scripted-engine.ts";

/** Signals within this process, which a test can count and hold back. */
function createSignals() {
  const listeners = new Set<{ readonly topic: SignalTopic; heard(subject: string): void }>();
  const sent: SignalTopic[] = [];
  const state = {
    ...{ lost: false, down: false, answer: Promise.resolve(), beginning: Promise.resolve() },
    /** Whether a follower has only one connection that is answered, and whether its own signal occupies that now. */
    ...{ scarce: false, taken: false },
  };
  const signals: StoreSignals = {
    notify(topic, subject) {
      sent.push(topic);
      state.taken = state.scarce && topic === "follow";
      setImmediate(() => {
        state.taken = false;
      });
      if (state.lost) return;
      for (const each of listeners) if (each.topic === topic) each.heard(subject);
    },
    listen(topic, heard) {
      const listener = { topic, heard };
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return { signals, sent, state, listeners };
}

/** A store that two services share, whose answers and failures a test decides. */
function createSharedStore({ signals, state }: ReturnType<typeof createSignals>, clock: ManualClock) {
  const memory = createMemoryStore();
  /** How much text each look has read. */
  const textRead: number[] = [];
  const store: Store = {
    ...memory,
    exclusive: false,
    signals,
    async beginReply(begin) {
      const result = await memory.beginReply(begin);
      await state.beginning;
      return result;
    },
    async saveReply(save) {
      if (state.down) throw new StoreUnavailable("away");
      return memory.saveReply(save);
    },
    async readOn(...which) {
      if (state.down) throw new StoreUnavailable("away");
      if (state.taken) {
        await sleep(clock, 7000);
        throw new StoreUnavailable("silence");
      }
      const message = await memory.readOn(...which);
      await state.answer;
      textRead.push(message?.content.length ?? 0);
      return message;
    },
  };
  return { store, textRead };
}

/** Two services on one store, and a conversation whose reply the first one produces. */
async function openTwo({ onDisconnect = "continue" as "continue" | "cancel" } = {}) {
  const clock = createManualClock(startOfTests);
  const given = createSignals();
  const { sent, state, listeners } = given;
  const { store, textRead } = createSharedStore(given, clock);
  const engine = createScriptedEngine();
  const limiter = createMemoryLimiter({ clock });
  const options = { store, limiter, engines: { echo: engine }, onDisconnect };
  const here = await openFixture(inProcess, options, clock);
  const there = await openFixture(inProcess, options, clock);
  const key = await here.key();
  const conversationId = await here.conversation(key);
  const path = `/conversations/${conversationId}`;
  return {
    ...{ textRead, clock, sent, state, listeners, here, there, key, path, engine },
    /** Lets the store read, but answer only once released. */
    holdAnswers() {
      const released = createGate();
      state.answer = released.opened;
      return released.open;
    },
    async send() {
      const sending = here.call("POST", `${path}/messages`, key, { content: "Hello" });
      const run = await engine.next();
      const list = await dataOf<MessageResource[]>(await here.call("GET", `${path}/messages`, key));
      return { run, sending, replyPath: `${path}/messages/${list[1]?.id}` };
    },
    async [Symbol.asyncDispose]() {
      await here[Symbol.asyncDispose]();
      await there[Symbol.asyncDispose]();
    },
  };
}

type Two = Awaited<ReturnType<typeof openTwo>>;

/** Follows on the other service; what has arrived so far can be read at any time. */
async function followThere({ there, key }: Two, replyPath: string) {
  const response = await there.call("GET", `${replyPath}/stream`, key);
  const seen = { text: "" };
  const done = (async () => {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) seen.text += chunk;
  })();
  return {
    seen,
    done,
    content: () => textOf(parseEvents(seen.text.slice(0, seen.text.lastIndexOf("\n\n") + 2))),
  };
}

describe("a reply that is followed on another process", () => {
  test("new text arrives within 300 ms, every time", async () => {
    await using two = await openTwo();
    const { run, sending, replyPath } = await two.send();
    const follower = await followThere(two, replyPath);
    let text = "";
    for (const word of ["one ", "two ", "three "]) {
      await two.clock.advance(400);
      run.write(word);
      text += word;
      await two.clock.advance(160);
      assert.equal(follower.content(), text);
    }
    run.finish();
    await Promise.all([sending, follower.done]);
  });

  test("its end arrives at once", async () => {
    await using two = await openTwo();
    const { run, sending, replyPath } = await two.send();
    const follower = await followThere(two, replyPath);
    run.write("Bye.");
    run.finish();
    await sending;
    await settle();
    assert.match(follower.seen.text, /"type":"complete"/);
    await follower.done;
  });

  test("its end arrives at once even if it comes while the store is answering an earlier read", async () => {
    await using two = await openTwo();
    const { run, sending, replyPath } = await two.send();
    const follower = await followThere(two, replyPath);
    await two.clock.advance(400);
    const release = two.holdAnswers();
    run.write("Good");
    await two.clock.advance(160); // saved, signalled, and being read
    run.write("bye.");
    run.finish();
    await sending;
    release();
    await settle();
    assert.equal(follower.content(), "Goodbye.");
    assert.match(follower.seen.text, /"type":"complete"/);
    await follower.done;
  });

  test("signals that come while the store is answering cause one more read, not one each, and no busy loop", async () => {
    await using two = await openTwo();
    const { run, sending, replyPath } = await two.send();
    const follower = await followThere(two, replyPath);
    await two.clock.advance(400);
    const release = two.holdAnswers();
    const before = two.textRead.length;
    for (const word of ["Good", "bye", "."]) {
      run.write(word);
      await two.clock.advance(160);
    }
    release();
    await settle();
    assert.equal(two.textRead.length - before, 2);
    assert.equal(follower.content(), "Goodbye.");
    await two.clock.advance(10_000); // a read is due once a second
    assert.ok(two.textRead.length - before <= 12, `${two.textRead.length - before} reads`);
    run.finish();
    await Promise.all([sending, follower.done]);
  });

  test("a follower that leaves while the store is answering causes no further reads", async () => {
    await using two = await openTwo();
    const { run, sending, replyPath } = await two.send();
    const response = await two.there.call("GET", `${replyPath}/stream`, two.key);
    const release = two.holdAnswers();
    await two.clock.advance(300);
    await response.body?.cancel();
    release();
    await two.clock.advance(100);
    const asked = two.textRead.length;
    await two.clock.advance(10_000);
    assert.equal(two.textRead.length, asked);
    run.finish();
    await sending;
  });

  test("when one of two followers leaves, the other still gets all of the text", async () => {
    await using two = await openTwo();
    const { run, sending, replyPath } = await two.send();
    const leaving = await two.there.call("GET", `${replyPath}/stream`, two.key);
    await two.clock.advance(400);
    const follower = await followThere(two, replyPath);
    run.write("one ");
    await two.clock.advance(400);
    await leaving.body?.cancel();
    run.write("two");
    await two.clock.advance(400);
    assert.equal(follower.content(), "one two");
    run.finish();
    await Promise.all([sending, follower.done]);
  });

  test("a follower that left and comes back after its end gets the end at once", async () => {
    await using two = await openTwo();
    const { run, sending, replyPath } = await two.send();
    const leaving = await two.there.call("GET", `${replyPath}/stream`, two.key);
    await two.clock.advance(400);
    await leaving.body?.cancel();
    run.write("Good");
    run.finish();
    await sending;
    const follower = await followThere(two, replyPath);
    await settle();
    assert.match(follower.seen.text, /"type":"complete"/);
    await follower.done;
  });

  test("a follower that comes just as the last one leaves gets all of the text", async () => {
    for (let steps = 0; steps < 60; steps++) {
      await using two = await openTwo();
      const { run, sending, replyPath } = await two.send();
      const leaving = await two.there.call("GET", `${replyPath}/stream`, two.key);
      await settle();
      const coming = followThere(two, replyPath);
      for (let step = 0; step < steps; step++) await null;
      await leaving.body?.cancel();
      const follower = await coming;
      await two.clock.advance(400);
      run.write("all of it");
      await two.clock.advance(1_000);
      assert.equal(follower.content(), "all of it", `after ${steps} steps`);
      run.finish();
      await Promise.all([sending, follower.done]);
    }
  });

  test("a follower that comes just as the last one leaves gets no text twice, even while the store is answering", async () => {
    await using two = await openTwo();
    const { run, sending, replyPath } = await two.send();
    const request = {
      method: "GET",
      url: `/api/v1${replyPath}/stream`,
      headers: new Headers({ "X-API-Key": two.key }),
      body: null,
    };
    const open = async () => {
      const { body } = await two.there.service.answer(request);
      assert.ok(body !== null && typeof body !== "string");
      return body;
    };
    const nothing = () => {};
    const leaving = await open();
    leaving.attach(nothing, nothing);
    await two.clock.advance(400);
    const coming = await open();
    const release = two.holdAnswers();
    run.write("Good");
    await two.clock.advance(160); // saved, signalled, and being read
    leaving.detach();
    coming.attach(nothing, nothing);
    run.write("bye.");
    await two.clock.advance(160); // the same again, for the other one
    release();
    await settle();
    assert.equal(textOf(parseEvents(coming.read())), "Goodbye.");
    coming.detach();
    run.finish();
    await sending;
  });

  test("its followers are told at once when it is deleted with its conversation", async () => {
    await using two = await openTwo();
    const { run, sending, replyPath } = await two.send();
    run.write("So far");
    await two.clock.advance(1_000); // saved before anybody follows
    const follower = await followThere(two, replyPath);
    await two.clock.advance(400);
    assert.equal((await two.here.call("DELETE", two.path, two.key)).status, 204);
    await settle();
    const last = parseEvents(follower.seen.text).at(-1)?.data;
    assert.ok(last?.type === "complete");
    const { status, content, completedAt } = last.message;
    const now = new Date(two.clock.now()).toISOString();
    assert.deepEqual([status, content, completedAt], ["cancelled", "So far", now]);
    await Promise.all([sending, follower.done]);
  });

  test("nothing listens for it any more once nobody follows it", async () => {
    await using two = await openTwo();
    const { run, sending, replyPath } = await two.send();
    const before = two.listeners.size;
    const follower = await followThere(two, replyPath);
    await settle();
    assert.equal(two.listeners.size, before + 1);
    run.finish();
    await Promise.all([sending, follower.done]);
    assert.equal(two.listeners.size, before);
  });

  test("its follower announces itself every two seconds, however fast the text comes", async () => {
    await using two = await openTwo();
    const { run, sending, replyPath } = await two.send();
    const follower = await followThere(two, replyPath);
    for (let n = 0; n < 99; n++) {
      run.write("word ");
      await two.clock.advance(100);
    }
    const said = two.sent.filter((topic) => topic === "follow").length;
    assert.ok(said === 4 || said === 5, `${said} times`);
    run.finish();
    await Promise.all([sending, follower.done]);
  });

  test("it sends no more signals once nobody follows it elsewhere", async () => {
    await using two = await openTwo();
    const { run, sending, replyPath } = await two.send();
    const response = await two.there.call("GET", `${replyPath}/stream`, two.key);
    await two.clock.advance(100);
    await response.body?.cancel();
    await two.clock.advance(10_000);
    const told = two.sent.length;
    for (let n = 0; n < 20; n++) {
      run.write("word ");
      await two.clock.advance(100);
    }
    run.finish();
    await sending;
    assert.equal(two.sent.length, told);
  });

  test("it gets through even if only one of the pool's connections is answered", async () => {
    await using two = await openTwo();
    two.state.scarce = true;
    const { run, sending, replyPath } = await two.send();
    const follower = await followThere(two, replyPath);
    await two.clock.advance(3000);
    run.write("here");
    await two.clock.advance(5000);
    assert.equal(follower.content(), "here");
    run.finish();
    await Promise.all([sending, two.clock.advance(5000), follower.done]);
  });

  test("lost signals delay the text by about a second, but lose none of it", async () => {
    await using two = await openTwo();
    two.state.lost = true;
    const { run, sending, replyPath } = await two.send();
    const follower = await followThere(two, replyPath);
    run.write("late");
    await two.clock.advance(2100);
    assert.equal(follower.content(), "late");
    run.finish();
    await sending;
    await two.clock.advance(1100);
    await follower.done;
  });
});

test("a reply that nobody follows elsewhere sends no signals", async () => {
  await using two = await openTwo();
  const { run, sending } = await two.send();
  run.write("Hello.");
  await two.clock.advance(3000);
  run.finish();
  await sending;
  assert.deepEqual(two.sent, []);
});

test("a cancel on another process stops the engine at once", async () => {
  await using two = await openTwo();
  const { run, sending, replyPath } = await two.send();
  run.write("So far");
  const cancelling = two.there.call("POST", `${replyPath}/cancel`, two.key);
  await run.aborted;
  await two.clock.advance(250);
  const reply = await dataOf<MessageResource>(await cancelling);
  assert.deepEqual([reply.status, reply.content], ["cancelled", "So far"]);
  await sending;
});

test("deleting a conversation on another process stops its reply at once", async () => {
  await using two = await openTwo();
  const { run, sending } = await two.send();
  assert.equal((await two.there.call("DELETE", two.path, two.key)).status, 204);
  await run.aborted;
  assert.equal((await dataOf<MessageResource>(await sending)).status, "cancelled");
});

test("a key that was revoked on another process is refused at once", async () => {
  await using two = await openTwo();
  assert.equal((await two.there.call("GET", "/twins", two.key)).status, 200);
  const token = await two.here.token();
  const [record] = await dataOf<{ id: string }[]>(await two.here.call("GET", "/auth/api-keys", token));
  await two.here.call("DELETE", `/auth/api-keys/${record?.id}`, token);
  const refused = await two.there.call("GET", "/twins", two.key);
  assert.deepEqual([refused.status, (await errorOf(refused)).code], [401, "invalid_api_key"]);
});

test("a closed service no longer listens for signals", async () => {
  const two = await openTwo();
  assert.ok(two.listeners.size > 0);
  await two[Symbol.asyncDispose]();
  assert.equal(two.listeners.size, 0);
});

test("a follower on another process reads only the text that it does not have", async () => {
  await using two = await openTwo();
  const { run, sending, replyPath } = await two.send();
  const follower = await followThere(two, replyPath);
  run.write("x".repeat(10_000));
  await two.clock.advance(500);
  two.textRead.length = 0;
  run.write("🙂 and one more");
  await two.clock.advance(500);
  run.finish();
  await Promise.all([sending, two.clock.advance(500), follower.done]);
  assert.equal(follower.content().length, 10_015);
  assert.equal(
    two.textRead.reduce((sum, length) => sum + length, 0),
    "🙂 and one more".length,
  );
});

/** A reply that is followed on another process and whose sender has left. Without followers it is cancelled. */
async function openFollowedElsewhere() {
  const two = await openTwo({ onDisconnect: "cancel" });
  const streaming = await two.here.call("POST", `${two.path}/messages/stream`, two.key, { content: "Hello" });
  const run = await two.engine.next();
  const list = await dataOf<MessageResource[]>(await two.there.call("GET", `${two.path}/messages`, two.key));
  const stream = `${two.path}/messages/${list[1]?.id}/stream`;
  const following = await two.there.call("GET", stream, two.key);
  await two.clock.advance(500);
  await streaming.body?.cancel();
  return { two, run, stream, following, [Symbol.asyncDispose]: () => two[Symbol.asyncDispose]() };
}

test("with onDisconnect cancel, a follower on another process counts, and its leaving is noticed", async () => {
  await using followed = await openFollowedElsewhere();
  const { two, run, following } = followed;
  await two.clock.advance(20_000);
  assert.equal(run.signal.aborted, false);
  Object.assign(two.state, { down: true, lost: true }); // the follower cannot announce itself
  await two.clock.advance(12_000);
  Object.assign(two.state, { down: false, lost: false });
  await two.clock.advance(20_000);
  assert.equal(run.signal.aborted, false);
  await following.body?.cancel();
  await two.clock.advance(6000);
  assert.equal(run.signal.aborted, true);
});

test("with onDisconnect cancel, a follower on another process that came before the reply had begun counts", {
  timeout: 20_000,
}, async () => {
  await using two = await openTwo({ onDisconnect: "cancel" });
  const begin = createGate();
  two.state.beginning = begin.opened;
  const streaming = two.here.call("POST", `${two.path}/messages/stream`, two.key, { content: "Hello" });
  await settle();
  const list = await dataOf<MessageResource[]>(await two.there.call("GET", `${two.path}/messages`, two.key));
  const stream = `${two.path}/messages/${list[1]?.id}/stream`;
  const following = await two.there.call("GET", stream, two.key);
  begin.open();
  await (await streaming).body?.cancel();
  const run = await two.engine.next();
  await two.clock.advance(20_000);
  assert.equal(run.signal.aborted, false);
  await following.body?.cancel();
  await two.clock.advance(6000);
  assert.equal(run.signal.aborted, true);
});

test("with onDisconnect cancel, a follower that left and came back counts once the followers elsewhere have left", async () => {
  await using followed = await openFollowedElsewhere();
  const { two, run, stream, following } = followed;
  const again = await two.here.call("GET", stream, two.key);
  await following.body?.cancel();
  await two.clock.advance(20_000);
  assert.equal(run.signal.aborted, false);
  await again.body?.cancel();
  await two.clock.advance(1_000);
  assert.equal(run.signal.aborted, true);
});

test("with onDisconnect cancel, a follower that has left does not count even if the clock steps back", async () => {
  await using followed = await openFollowedElsewhere();
  const { two, run, following } = followed;
  two.clock.step(-3_600_000);
  await two.clock.advance(20_000);
  assert.equal(run.signal.aborted, false, "a remaining follower counts");
  await following.body?.cancel();
  two.clock.step(-3_600_000);
  await two.clock.advance(15_000);
  assert.equal(run.signal.aborted, true);
});
