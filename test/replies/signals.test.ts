import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sleep } from "../../core/base/clock.ts";
import {
  createMemoryStore,
  type SignalTopic,
  type Store,
  type StoreSignals,
  StoreUnavailable,
} from "../../core/store/mod.ts";
import { isEventStream } from "../../core/wire/request.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { type Chat, openChat } from "../support/chat.ts";
import { createManualClock, joined, type ManualClock, settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import {
  assertErrorAnswer,
  dataOf,
  inProcess,
  parseEvents,
  startOfTests,
  textOf,
} from "../support/harness.ts";

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
    async getMessage(reach, id, options) {
      if (options?.skip === undefined) return memory.getMessage(reach, id, options);
      if (state.down) throw new StoreUnavailable("away");
      if (state.taken) {
        await sleep(clock, 7000);
        throw new StoreUnavailable("silence");
      }
      const message = await memory.getMessage(reach, id, options);
      await state.answer;
      textRead.push(message?.content.length ?? 0);
      return message;
    },
  };
  return { store, textRead };
}

/** Two processes on one store. */
async function openTwo(onDisconnect: "continue" | "cancel" = "continue") {
  const clock = createManualClock(startOfTests);
  const given = createSignals();
  const { sent, state, listeners } = given;
  const { store, textRead } = createSharedStore(given, clock);
  const here = await openChat(inProcess, { store, clock, onDisconnect });
  const there = await here.another();
  return {
    ...{ textRead, clock, sent, state, listeners, here, there },
    /** Lets the store read, but answer only once released. */
    holdAnswers() {
      const released = createGate();
      state.answer = released.opened;
      return released.open;
    },
    async [Symbol.asyncDispose]() {
      await there[Symbol.asyncDispose]();
      await here[Symbol.asyncDispose]();
    },
  };
}

/** Follows a reply; what has arrived so far can be read at any time. */
async function follow(chat: Chat, messageId: string) {
  const response = await chat.get(`/messages/${messageId}/stream`);
  let text = "";
  void (async () => {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) text += chunk;
  })();
  const events = () => parseEvents(text.slice(0, text.lastIndexOf("\n\n") + 2));
  return { content: () => textOf(events()), last: () => events().at(-1)?.data };
}

/** The same processes, and a reply of the first that is followed on the other. */
async function openFollowed() {
  const two = await openTwo();
  const begun = await two.here.begin();
  return { ...two, ...begun, follower: await follow(two.there, begun.messageId) };
}

describe("a reply that is followed on another process", () => {
  test("new text arrives within 100 ms, every time", async () => {
    await using two = await openFollowed();
    let text = "";
    for (const word of ["one ", "two ", "three ", "four "]) {
      await two.clock.advance(400);
      two.run.write(word);
      text += word;
      await two.clock.advance(90);
      await joined();
      assert.equal(two.follower.content(), text);
    }
  });

  test("its end arrives at once, even if it comes while the store is answering an earlier read", async () => {
    await using two = await openFollowed();
    await two.clock.advance(400);
    const release = two.holdAnswers();
    two.run.write("Good");
    await two.clock.advance(160); // saved, signalled, and being read
    two.run.write("bye.");
    two.run.finish();
    await two.stream.rest();
    release();
    await settle();
    assert.equal(two.follower.content(), "Goodbye.");
    assert.equal(two.follower.last()?.type, "complete");
  });

  test("signals that come while the store is answering cause one more read, not one each, and no busy loop", async () => {
    await using two = await openFollowed();
    await two.clock.advance(400);
    const release = two.holdAnswers();
    const before = two.textRead.length;
    for (const word of ["Good", "bye", "."]) {
      two.run.write(word);
      await two.clock.advance(160);
    }
    release();
    await settle();
    assert.equal(two.textRead.length - before, 2);
    await joined();
    assert.equal(two.follower.content(), "Goodbye.");
    await two.clock.advance(10_000); // a read is due once a second
    assert.ok(two.textRead.length - before <= 12, `${two.textRead.length - before} reads`);
  });

  test("a follower that leaves while the store is answering causes no further reads", async () => {
    await using two = await openTwo();
    const { messageId } = await two.here.begin();
    const response = await two.there.get(`/messages/${messageId}/stream`);
    const release = two.holdAnswers();
    await two.clock.advance(300);
    await response.body?.cancel();
    release();
    await two.clock.advance(100);
    const asked = two.textRead.length;
    await two.clock.advance(10_000);
    assert.equal(two.textRead.length, asked);
  });

  test("when one of two followers leaves, the other still gets all of the text", async () => {
    await using two = await openTwo();
    const { messageId, run } = await two.here.begin();
    const leaving = await two.there.get(`/messages/${messageId}/stream`);
    await two.clock.advance(400);
    const follower = await follow(two.there, messageId);
    run.write("one ");
    await two.clock.advance(400);
    await leaving.body?.cancel();
    run.write("two");
    await two.clock.advance(400);
    await joined();
    assert.equal(follower.content(), "one two");
  });

  test("a follower that left and comes back after its end gets the end at once", async () => {
    await using two = await openTwo();
    const { stream, messageId, run } = await two.here.begin();
    const leaving = await two.there.get(`/messages/${messageId}/stream`);
    await two.clock.advance(400);
    await leaving.body?.cancel();
    run.finish();
    await stream.rest();
    const follower = await follow(two.there, messageId);
    await settle();
    assert.equal(follower.last()?.type, "complete");
  });

  test("a follower that comes just as the last one leaves gets all of the text", async () => {
    for (let steps = 0; steps < 60; steps++) {
      await using two = await openTwo();
      const { messageId, run } = await two.here.begin();
      const leaving = await two.there.get(`/messages/${messageId}/stream`);
      await settle();
      const coming = follow(two.there, messageId);
      for (let step = 0; step < steps; step++) await null;
      await leaving.body?.cancel();
      const follower = await coming;
      await two.clock.advance(400);
      run.write("all of it");
      await two.clock.advance(1_000);
      assert.equal(follower.content(), "all of it", `after ${steps} steps`);
    }
  });

  test("a follower that comes just as the last one leaves gets no text twice, even while the store is answering", async () => {
    await using two = await openTwo();
    const { messageId, run } = await two.here.begin();
    const request = {
      method: "GET",
      url: `/api/v1/conversations/${two.there.conversationId}/messages/${messageId}/stream`,
      headers: new Headers({ "X-API-Key": two.there.key }),
      body: null,
    };
    const open = async () => {
      const { body } = await two.there.service.answer(request);
      assert.ok(isEventStream(body));
      return body;
    };
    const nothing = () => {};
    const leaving = await open();
    leaving.wake(nothing);
    await two.clock.advance(400);
    const coming = await open();
    const release = two.holdAnswers();
    run.write("Good");
    await two.clock.advance(160); // saved, signalled, and being read
    leaving.close();
    coming.wake(nothing);
    run.write("bye.");
    await two.clock.advance(160); // the same again, for the other one
    release();
    await settle();
    assert.equal(textOf(parseEvents(coming.next()?.text ?? "")), "Goodbye.");
    coming.close();
  });

  test("its followers are told at once when it is deleted with its conversation", async () => {
    await using two = await openTwo();
    const { messageId, run } = await two.here.begin();
    run.write("So far");
    await two.clock.advance(1_000); // saved before anybody follows
    const follower = await follow(two.there, messageId);
    await two.clock.advance(400);
    assert.equal((await two.here.remove()).status, 204);
    await settle();
    const last = follower.last();
    assert.ok(last?.type === "complete");
    const { status, content, completedAt } = last.message;
    const now = new Date(two.clock.now()).toISOString();
    assert.deepEqual([status, content, completedAt], ["cancelled", "So far", now]);
  });

  test("nothing listens for it any more once nobody follows it", async () => {
    await using two = await openTwo();
    const { stream, messageId, run } = await two.here.begin();
    const before = two.listeners.size;
    const follower = await two.there.resume(messageId);
    await settle();
    assert.equal(two.listeners.size, before + 1);
    run.finish();
    await Promise.all([stream.rest(), follower.rest()]);
    assert.equal(two.listeners.size, before);
  });

  test("its follower announces itself every two seconds, however fast the text comes", async () => {
    await using two = await openFollowed();
    for (let n = 0; n < 99; n++) {
      two.run.write("word ");
      await two.clock.advance(100);
    }
    const said = two.sent.filter((topic) => topic === "follow").length;
    assert.ok(said === 4 || said === 5, `${said} times`);
  });

  test("it sends no more signals once nobody follows it elsewhere", async () => {
    await using two = await openTwo();
    const { stream, messageId, run } = await two.here.begin();
    const response = await two.there.get(`/messages/${messageId}/stream`);
    await two.clock.advance(100);
    await response.body?.cancel();
    await two.clock.advance(10_000);
    const told = two.sent.length;
    for (let n = 0; n < 20; n++) {
      run.write("word ");
      await two.clock.advance(100);
    }
    run.finish();
    await stream.rest();
    assert.equal(two.sent.length, told);
  });

  test("it gets through even if only one of the pool's connections is answered", async () => {
    await using two = await openTwo();
    two.state.scarce = true;
    const { messageId, run } = await two.here.begin();
    const follower = await follow(two.there, messageId);
    await two.clock.advance(3000);
    run.write("here");
    await two.clock.advance(5000);
    assert.equal(follower.content(), "here");
  });

  test("lost signals delay the text and the end by about a second, but lose none of it", async () => {
    await using two = await openFollowed();
    two.state.lost = true;
    two.run.write("late");
    await two.clock.advance(2100);
    assert.equal(two.follower.content(), "late");
    two.run.finish();
    await two.stream.rest();
    await two.clock.advance(1100);
    assert.equal(two.follower.last()?.type, "complete");
  });

  test("only the text that the other process does not have is read", async () => {
    await using two = await openFollowed();
    two.run.write("x".repeat(10_000));
    await two.clock.advance(500);
    two.textRead.length = 0;
    two.run.write("🙂 and one more");
    await two.clock.advance(500);
    two.run.finish();
    await two.clock.advance(500);
    assert.equal(two.follower.content().length, 10_015);
    assert.equal(
      two.textRead.reduce((sum, length) => sum + length, 0),
      "🙂 and one more".length,
    );
  });
});

test("a reply that nobody follows elsewhere sends one signal: that its conversation goes on", async () => {
  await using two = await openTwo();
  const { stream, run } = await two.here.begin();
  run.write("Hello.");
  await two.clock.advance(3000);
  run.finish();
  await stream.rest();
  assert.deepEqual(two.sent, ["conversation"]);
});

test("a cancel on another process stops the engine at once", async () => {
  await using two = await openTwo();
  const { messageId, run } = await two.here.begin();
  run.write("So far");
  const cancelling = two.there.cancel(messageId);
  await run.aborted;
  await two.clock.advance(250);
  const reply = await dataOf<MessageResource>(await cancelling);
  assert.deepEqual([reply.status, reply.content], ["cancelled", "So far"]);
});

test("deleting a conversation on another process stops its reply at once", async () => {
  await using two = await openTwo();
  const { stream, run } = await two.here.begin();
  assert.equal((await two.there.remove()).status, 204);
  await run.aborted;
  const last = (await stream.rest()).at(-1)?.data;
  assert.ok(last?.type === "complete" && last.message.status === "cancelled");
});

test("a key that was revoked on another process is refused at once", async () => {
  await using two = await openTwo();
  assert.equal((await two.there.get("")).status, 200);
  const { call, token } = two.here.fixture;
  const jwt = await token();
  const [record] = await dataOf<{ id: string }[]>(await call("GET", "/auth/api-keys", jwt));
  await call("DELETE", `/auth/api-keys/${record?.id}`, jwt);
  await assertErrorAnswer(await two.there.get(""), 401, "invalid_api_key");
});

test("a closed service no longer listens for signals", async () => {
  const two = await openTwo();
  assert.ok(two.listeners.size > 0);
  await two[Symbol.asyncDispose]();
  assert.equal(two.listeners.size, 0);
});

/** A reply that is followed on another process and whose sender has left. Without followers it is cancelled. */
async function openFollowedElsewhere() {
  const two = await openTwo("cancel");
  const { stream, messageId, run } = await two.here.begin();
  const following = await two.there.resume(messageId);
  await two.clock.advance(500);
  await stream.leave();
  return { ...two, messageId, run, following };
}

test("with onDisconnect cancel, a follower on another process counts, and its leaving is noticed", async () => {
  await using two = await openFollowedElsewhere();
  const { run, following, clock, state } = two;
  await clock.advance(20_000);
  assert.equal(run.signal.aborted, false);
  Object.assign(state, { down: true, lost: true }); // the follower cannot announce itself
  await clock.advance(12_000);
  Object.assign(state, { down: false, lost: false });
  await clock.advance(20_000);
  assert.equal(run.signal.aborted, false);
  await following.leave();
  await clock.advance(6000);
  assert.equal(run.signal.aborted, true);
});

test("with onDisconnect cancel, a follower on another process that came before the reply had begun counts", {
  timeout: 20_000,
}, async () => {
  await using two = await openTwo("cancel");
  const begin = createGate();
  two.state.beginning = begin.opened;
  const streaming = two.here.stream();
  await settle();
  const [, reply] = await dataOf<MessageResource[]>(await two.there.get("/messages"));
  const following = await two.there.resume(reply?.id ?? "");
  begin.open();
  await (await streaming).leave();
  const run = await two.here.engine.next();
  await two.clock.advance(20_000);
  assert.equal(run.signal.aborted, false);
  await following.leave();
  await two.clock.advance(6000);
  assert.equal(run.signal.aborted, true);
});

test("with onDisconnect cancel, a follower that left and came back counts once the followers elsewhere have left", async () => {
  await using two = await openFollowedElsewhere();
  const again = await two.here.resume(two.messageId);
  await two.following.leave();
  await two.clock.advance(20_000);
  assert.equal(two.run.signal.aborted, false);
  await again.leave();
  await two.clock.advance(1_000);
  assert.equal(two.run.signal.aborted, true);
});

test("with onDisconnect cancel, a follower that has left does not count even if the clock steps back", async () => {
  await using two = await openFollowedElsewhere();
  two.clock.step(-3_600_000);
  await two.clock.advance(20_000);
  assert.equal(two.run.signal.aborted, false, "a remaining follower counts");
  await two.following.leave();
  two.clock.step(-3_600_000);
  await two.clock.advance(15_000);
  assert.equal(two.run.signal.aborted, true);
});
