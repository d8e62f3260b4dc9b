/**
 * A reply's life: one at a time, detached from its clients, ended exactly once whatever its engine does.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  createMemoryLimiter,
  createMemoryStore,
  createService,
  createTwinList,
  type Log,
  type MessageResource,
  ModelError,
  type Store,
  StoreUnavailable,
  type TwinEngine,
} from "../core/mod.ts";
import { acceptedId, type Chat, openChat } from "./chat.ts";
import { createManualClock, settle } from "./clock.ts";
import {
  dataOf,
  errorOf,
  eventsOf,
  type Fixture,
  openFixture,
  type StreamEvent,
  startOfTests,
  textOf,
  transports,
} from "./harness.ts";

const [inProcess] = transports;
if (!inProcess) throw new Error("There is no transport.");

/** Events that end a stream. */
function terminal(events: readonly StreamEvent[]): StreamEvent[] {
  return events.filter(({ data }) => data.type === "complete" || data.type === "error");
}

for (const transport of transports) {
  describe(transport.name, () => {
    test("a stream tells the acceptance, the text and the stored message, in this order", async () => {
      await using chat = await openChat(transport);
      const stream = await chat.stream("Hi");
      const run = await chat.engine.next();
      assert.equal(run.turn.content, "Hi");
      const accepted = await stream.next();
      assert.equal(accepted.id, 0);
      assert.ok(accepted.data.type === "progress" && accepted.data.progress.stage === "accepted");
      const { messageId, userMessageId } = accepted.data.progress;
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
      assert.deepEqual(
        [message.id, message.inReplyTo, message.content, message.status, message.finishReason],
        [messageId, userMessageId, "Hello", "completed", "length"],
      );
      assert.deepEqual(message.usage, { inputTokens: 1, outputTokens: 2, totalTokens: 3 });
      assert.deepEqual(await chat.message(message.id), message);
    });

    test("a normal send answers with the message that the history has", async () => {
      await using chat = await openChat(transport);
      const sending = chat.send("Hi");
      const run = await chat.engine.next();
      run.write("Hello");
      run.finish();
      const message = await dataOf<{ id: string; content: string }>(await sending);
      assert.equal(message.content, "Hello");
      assert.deepEqual(await chat.message(message.id), message);
    });

    test("a second send meanwhile is refused, names the running reply, and leaves nothing behind", async () => {
      await using chat = await openChat(transport);
      const stream = await chat.stream("first");
      const messageId = await acceptedId(stream);
      for (const path of ["/messages", "/messages/stream"]) {
        const refused = await chat.post(path, { content: "second" });
        assert.equal(refused.status, 409);
        assert.equal(refused.headers.get("retry-after"), "1");
        const error = await errorOf(refused);
        assert.equal(error.code, "conversation_busy");
        assert.deepEqual(error.details, { messageId });
      }
      assert.equal(await chat.status(), "busy");
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

    test("of many sends at once, one is taken", async () => {
      await using chat = await openChat(transport);
      const statuses: number[] = [];
      let allRefused = () => {};
      const refused = new Promise<void>((resolve) => {
        allRefused = resolve;
      });
      const sends = Array.from({ length: 20 }, async () => {
        const { status } = await chat.send();
        if (statuses.push(status) === 19) allRefused();
      });
      const run = await chat.engine.next();
      await refused;
      run.finish();
      await Promise.all(sends);
      assert.deepEqual(statuses, [...Array(19).fill(409), 200]);
      assert.equal(chat.engine.asked, 1);
    });

    test("a client that leaves loses nothing: the reply goes on and is stored", async () => {
      await using chat = await openChat(transport);
      const stream = await chat.stream();
      const messageId = await acceptedId(stream);
      const run = await chat.engine.next();
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

    test("the host is told of each reply, to wait until its end is stored", async () => {
      const works: Promise<unknown>[] = [];
      await using chat = await openChat(transport, { waitUntil: (work) => void works.push(work) });
      const stream = await chat.stream();
      const messageId = await acceptedId(stream);
      const run = await chat.engine.next();
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

    test("a host that cannot wait for a reply does not keep it from its reader", async () => {
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
      assert.deepEqual(warnings, ["the host cannot be made to wait for a reply"]);
    });

    test("with onDisconnect cancel, the engine stops once the last follower has gone", async () => {
      await using chat = await openChat(transport, { onDisconnect: "cancel" });
      const first = await chat.stream();
      const messageId = await acceptedId(first);
      const run = await chat.engine.next();
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
      const stream = await chat.stream();
      const messageId = await acceptedId(stream);
      const run = await chat.engine.next();
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
      assert.equal(answer.status, 504);
      const { code, details } = await errorOf(answer);
      assert.equal(code, "model_timeout");
      assert.equal((await chat.message(String(details?.messageId))).status, "failed");
    });
  });
}

const engines: Readonly<Record<string, { engine: TwinEngine; code: string; content: string }>> = {
  "throws at once": {
    engine: {
      reply() {
        throw new TypeError("secret");
      },
    },
    code: "model_error",
    content: "",
  },
  "rejects later": {
    engine: {
      async reply(_, { write }) {
        write("half");
        await settle();
        throw new Error("secret");
      },
    },
    code: "model_error",
    content: "half",
  },
  "tells of progress that JSON cannot hold": {
    engine: {
      async reply(_, output) {
        output.write("half");
        output.progress({ stage: "counting", tokens: 1n });
        return { finishReason: "stop", usage: null };
      },
    },
    code: "model_error",
    content: "half",
  },
  "rejects with something that is no Error": {
    engine: { reply: () => Promise.reject(null) },
    code: "model_error",
    content: "",
  },
  "tells of its own time-out": {
    engine: {
      async reply() {
        throw new ModelError("model_timeout", "secret");
      },
    },
    code: "model_timeout",
    content: "",
  },
};

for (const [what, { engine, code, content }] of Object.entries(engines)) {
  test(`an engine that ${what} fails its reply once, without a word of its own`, async () => {
    await using chat = await openChat(inProcess, { engines: { scripted: engine } });
    const answer = await chat.post("/messages/stream", { content: "Hi" });
    const text = await answer.text();
    assert.ok(!text.includes("secret"));
    const events = await eventsOf(new Response(text));
    assert.equal(textOf(events), content);
    const [last, ...more] = terminal(events);
    assert.deepEqual(more, []);
    assert.ok(last?.data.type === "error" && last.data.error.code === code);
    assert.equal(events.at(-1), last);
    assert.equal(last.data.error.requestId, answer.headers.get("x-request-id"));
    const normal = await chat.send();
    assert.equal(normal.status, code === "model_timeout" ? 504 : 502);
    assert.equal(await chat.status(), "idle");
  });
}

test("an engine that the service does not have is a model_error", async () => {
  await using chat = await openChat(inProcess, { engines: {} });
  const answer = await chat.send();
  assert.equal(answer.status, 502);
  assert.equal((await errorOf(answer)).code, "model_error");
});

test("a service is made without randomness, which a worker has not before its first request", async () => {
  const random = () => assert.fail("It is too early for that.");
  const options = { store: createMemoryStore(), limiter: createMemoryLimiter(), engines: {}, random };
  createService({ ...options, twins: createTwinList([]), verifyToken: async () => "alice" });
});

test("what an engine writes after its end is no part of the reply", async () => {
  await using chat = await openChat(inProcess);
  const stream = await chat.stream();
  const run = await chat.engine.next();
  run.write("in time");
  run.finish();
  await settle();
  run.write(", too late");
  run.progress({ stage: "late" });
  const events = await stream.rest();
  assert.equal(textOf(events), "in time");
  const last = events.at(-1);
  assert.ok(last?.data.type === "complete" && last.data.message.content === "in time");
  assert.equal(events.filter(({ data }) => data.type === "progress").length, 1);
});

test("an engine that resolves or fails after it was stopped changes nothing", async () => {
  for (const end of ["finish", "fail"] as const) {
    await using chat = await openChat(inProcess);
    const stream = await chat.stream();
    const messageId = await acceptedId(stream);
    const run = await chat.engine.next();
    await chat.post(`/messages/${messageId}/cancel`);
    if (end === "finish") run.finish();
    else run.fail(new Error("aborted"));
    const events = await stream.rest();
    assert.equal(terminal(events).length, 1);
    assert.equal((await chat.message(messageId)).status, "cancelled");
  }
});

test("lone surrogates and NUL become replacement characters, in the stream as in the store", async () => {
  await using chat = await openChat(inProcess);
  const stream = await chat.stream();
  const run = await chat.engine.next();
  run.write("a\0b\ud83d");
  run.write("\ude00 \udc00 \ud800");
  run.finish();
  const events = await stream.rest();
  const expected = "a\ufffdb😀 \ufffd \ufffd";
  assert.equal(textOf(events), expected);
  const last = events.at(-1);
  assert.ok(last?.data.type === "complete" && last.data.message.content === expected);
});

test("deltas never hold half a surrogate pair, however it was written", async () => {
  await using chat = await openChat(inProcess);
  const stream = await chat.stream();
  const run = await chat.engine.next();
  const text = "😀".repeat(20_000);
  for (const half of text.split("")) run.write(half);
  run.finish();
  const events = await stream.rest();
  assert.equal(textOf(events), text);
  for (const { data } of events) assert.ok(data.type !== "delta" || data.content.isWellFormed());
});

test("the question is stored before the engine is asked", async () => {
  const store = createMemoryStore();
  const seen: string[] = [];
  const engine: TwinEngine = {
    async reply({ content }) {
      const [conversation] = (await store.listConversations("alice", { offset: 0, limit: 1 })).items;
      const id = conversation?.id ?? "";
      const messages = await store.listMessages("alice", id, { offset: 0, limit: 9, order: "asc" });
      seen.push(content, ...(messages?.items ?? []).map((message) => message.content));
      return { finishReason: "stop", usage: null };
    },
  };
  await using chat = await openChat(inProcess, { store, engines: { scripted: engine } });
  await chat.send("Hi");
  assert.deepEqual(seen, ["Hi", "Hi", ""]);
});

/** A store that notes what is saved, and when the lease ends that this renews, in milliseconds since the start. */
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

test("in a store of this process alone, a reply that says nothing only has its lease renewed in time", async () => {
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

/** A store that cannot be reached while `down` says so. */
function failing(store: Store, isDown: (method: keyof Store) => boolean): Store {
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const value = target[name];
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        if (isDown(name)) throw new StoreUnavailable("down");
        return Reflect.apply(value, target, args);
      };
    },
  });
}

test("complete waits until the store takes the reply's end", async () => {
  let down = false;
  await using chat = await openChat(inProcess, { store: failing(createMemoryStore(), () => down) });
  const stream = await chat.stream();
  await acceptedId(stream);
  const run = await chat.engine.next();
  down = true;
  run.write("kept");
  run.finish();
  assert.deepEqual((await stream.next()).data, { type: "delta", content: "kept" });
  let ended = false;
  const last = stream.next().then((event) => {
    ended = true;
    return event;
  });
  await chat.clock.advance(3000);
  assert.equal(ended, false);
  down = false;
  await chat.clock.advance(500);
  const { data } = await last;
  assert.ok(data.type === "complete");
  assert.deepEqual(await chat.message(data.message.id), data.message);
});

test("an outage is told once for each thing that is tried again, however long it takes", async () => {
  let down = false;
  const said: string[] = [];
  const memory = { ...createMemoryStore(), exclusive: false };
  const log: Log = (level, message) => {
    if (level !== "debug" && message !== "request") said.push(`${level} ${message}`);
  };
  await using chat = await openChat(inProcess, { store: failing(memory, () => down), log });
  await using other = await chat.another({ store: failing(memory, () => down), log });
  const messageId = await acceptedId(await chat.stream());
  const run = await chat.engine.next();
  const followed = await other.resume(messageId);
  for (const outage of ["first", "second"]) {
    down = true;
    run.write(outage);
    await chat.clock.advance(12_000);
    assert.deepEqual(new Set(said).size, said.length - 2, said.join("\n")); // each of the processes sweeps
    assert.deepEqual([...new Set(said)].sort(), [
      "warn a reply could not be looked up; it will be tried again",
      "warn a running reply could not be saved; it will be tried again",
      "warn expired idempotency keys could not be swept; it will be tried again",
      "warn the store could not be swept; it will be tried again",
    ]);
    said.length = 0;
    down = false;
    await chat.clock.advance(5_000);
  }
  down = true;
  run.finish();
  await chat.clock.advance(12_000);
  assert.equal(said.filter((line) => line.startsWith("error a reply's end could not be stored")).length, 1);
  down = false;
  await chat.clock.advance(5_000);
  const last = (await followed.rest()).at(-1);
  assert.ok(last?.data.type === "complete");
});

test("an end that cannot be stored is an error, also if a save that was under way fails behind it", async () => {
  const memory = createMemoryStore();
  const clock = createManualClock(startOfTests);
  let down = false;
  const hanging = async <Outcome>(act: () => Promise<Outcome>): Promise<Outcome> => {
    if (!down) return act();
    await new Promise<void>((resolve) => clock.after(700, resolve));
    throw new StoreUnavailable("away");
  };
  const store: Store = {
    ...memory,
    saveReply: (save) => hanging(() => memory.saveReply(save)),
    endReply: (end) => hanging(() => memory.endReply(end)),
  };
  const engine: TwinEngine = {
    async reply(_, output) {
      output.write("text");
      await new Promise<void>((resolve) => clock.after(1_300, resolve));
      return { finishReason: "stop", usage: null };
    },
  };
  const said: string[] = [];
  const log: Log = (level, message) => void said.push(`${level} ${message}`);
  await using fixture = await openFixture(inProcess, { store, log, engines: { echo: engine } }, clock);
  const key = await fixture.key();
  const path = `/conversations/${await fixture.conversation(key)}/messages`;
  const sending = fixture.call("POST", path, key, { content: "?" });
  await clock.advance(500);
  down = true; // a save hangs from 1,000 to 1,700, the end comes at 1,300
  await clock.advance(5_000);
  down = false;
  await clock.advance(5_000);
  assert.equal((await sending).status, 200);
  assert.equal(said.filter((line) => line.startsWith("error a reply's end could not be stored")).length, 1);
});

test("a reply whose lease ran out is ended as interrupted within 5 s, with the text saved so far", async () => {
  const store = { ...createMemoryStore(), exclusive: false };
  let dead = false;
  const clock = createManualClock(startOfTests);
  await using chat = await openChat(inProcess, { store: failing(store, () => dead) });
  const messageId = await acceptedId(await chat.stream());
  const run = await chat.engine.next();
  run.write("saved");
  await chat.clock.advance(1000);
  run.write(", lost");
  dead = true;
  await using other = await chat.another({ store });
  await other.service.ready();
  const resumed = await other.resume(messageId);
  assert.equal(clock.now(), startOfTests);
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

test("a producer that lost its reply to another process stops, and tells the end that is stored", async () => {
  const store = { ...createMemoryStore(), exclusive: false };
  let dead = false;
  await using chat = await openChat(inProcess, { store: failing(store, () => dead) });
  const stream = await chat.stream();
  const messageId = await acceptedId(stream);
  const run = await chat.engine.next();
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

test("a store of one process ends the orphans of an earlier one at its start", async () => {
  const store = createMemoryStore();
  let dead = false;
  await using chat = await openChat(inProcess, { store: failing(store, () => dead) });
  const messageId = await acceptedId(await chat.stream());
  (await chat.engine.next()).write("saved");
  await chat.clock.advance(1000);
  dead = true; // as good as killed
  await using next = await chat.another({ store });
  const message = await next.message(messageId);
  assert.deepEqual(
    [message.status, message.error?.code, message.content],
    ["failed", "interrupted", "saved"],
  );
  assert.equal(await next.status(), "idle");
});

/** A store whose answers to beginnings get lost on their way back. */
function losingBeginnings(store: Store, lost: () => void = () => {}): Store {
  return {
    ...store,
    async beginReply(begin) {
      await store.beginReply(begin);
      lost();
      throw new StoreUnavailable("The connection broke after the commit.");
    },
  };
}

test("a reply that was begun, though the store's answer got lost, is produced as if nothing had been", async () => {
  await using chat = await openChat(inProcess, { store: losingBeginnings(createMemoryStore()) });
  for (const content of ["One", "Two"]) {
    const sending = chat.send(content);
    const run = await chat.engine.next();
    run.write(content);
    run.finish();
    const reply = await dataOf<MessageResource>(await sending);
    assert.deepEqual([reply.status, reply.content], ["completed", content]);
  }
  assert.equal(await chat.status(), "idle");
});

test("a reply that another request began is not taken for one's own", async () => {
  const memory = createMemoryStore();
  let broken = false;
  const store: Store = {
    ...memory,
    async beginReply(begin) {
      if (broken) throw new StoreUnavailable("The connection broke before the commit.");
      return memory.beginReply(begin);
    },
  };
  await using chat = await openChat(inProcess, { store });
  const sending = chat.send();
  const run = await chat.engine.next();
  broken = true;
  assert.equal((await chat.send()).status, 503);
  run.finish();
  assert.equal((await sending).status, 200);
});

test("a store that hangs has two seconds to say whether a reply was begun", async () => {
  let hangs = false;
  const store: Store = {
    ...losingBeginnings(createMemoryStore(), () => {
      hangs = true;
    }),
  };
  const { getConversation } = store;
  const hanging: Store = {
    ...store,
    getConversation: (...which) => (hangs ? new Promise(() => {}) : getConversation(...which)),
  };
  await using chat = await openChat(inProcess, { store: hanging });
  let status: number | undefined;
  void chat.send().then((answer) => {
    status = answer.status;
  });
  await chat.clock.advance(1_999);
  assert.equal(status, undefined);
  await chat.clock.advance(1);
  assert.equal(status, 503);
});

test("nor does it keep its conversation busy for longer than its lease, if the store goes away with it", async () => {
  let down = false;
  const store = failing(createMemoryStore(), () => down);
  const losing = losingBeginnings(store, () => {
    down = true;
  });
  await using chat = await openChat(inProcess, { store: losing });
  const sending = chat.send();
  assert.equal((await sending).status, 503);
  down = false;
  assert.equal(await chat.status(), "busy");
  await chat.clock.advance(35_000);
  assert.equal(await chat.status(), "idle");
  const history = await dataOf<{ status: string }[]>(await chat.get("/messages"));
  assert.deepEqual(
    history.map(({ status }) => status),
    ["completed", "failed"],
  );
});

test("deleting a conversation cancels its running reply", async () => {
  await using chat = await openChat(inProcess);
  const stream = await chat.stream();
  await acceptedId(stream);
  const run = await chat.engine.next();
  run.write("gone");
  await stream.next();
  const deleted = await chat.fixture.call("DELETE", `/conversations/${chat.conversationId}`, chat.key);
  assert.equal(deleted.status, 204);
  assert.equal(run.signal.aborted, true);
  const last = (await stream.rest()).at(-1);
  assert.ok(last?.data.type === "complete" && last.data.message.status === "cancelled");
  assert.equal((await chat.get("/messages")).status, 404);
});

test("the model sees whole exchanges, failed ones left out, cancelled ones with their text", async () => {
  await using chat = await openChat(inProcess);
  await exchange(chat, "one", "completed");
  await exchange(chat, "two", "failed");
  await exchange(chat, "three", "cancelled");
  const sending = chat.send("four");
  const run = await chat.engine.next();
  assert.deepEqual(run.turn.history, [
    { role: "user", content: "one" },
    { role: "assistant", content: "re: one" },
    { role: "user", content: "three" },
    { role: "assistant", content: "re: three" },
  ]);
  run.finish();
  await sending;
});

async function exchange(
  chat: Chat,
  content: string,
  end: "completed" | "failed" | "cancelled",
): Promise<void> {
  const stream = await chat.stream(content);
  const messageId = await acceptedId(stream);
  const run = await chat.engine.next();
  run.write(`re: ${content}`);
  if (end === "completed") run.finish();
  if (end === "failed") run.fail(new Error("as asked"));
  if (end === "cancelled") await chat.post(`/messages/${messageId}/cancel`);
  await stream.rest();
}

test("a silent stream is kept alive every 5 s, before the first token too", async () => {
  await using chat = await openChat(inProcess);
  const response = await chat.post("/messages/stream", { content: "Hi" });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  assert.ok(reader);
  const run = await chat.engine.next();
  assert.match(String((await reader.read()).value), /^id: 0\ndata: .*"accepted"/);
  for (const _ of [1, 2]) {
    const next = reader.read();
    await chat.clock.advance(5000);
    assert.equal((await next).value, ": keep-alive\n\n");
  }
  run.finish();
  assert.match(String((await reader.read()).value), /"complete"/);
  assert.equal((await reader.read()).done, true);
});

test("a silent stream is kept alive when the machine's clock is set back", async () => {
  await using chat = await openChat(inProcess);
  const response = await chat.post("/messages/stream", { content: "Hi" });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  assert.ok(reader);
  const run = await chat.engine.next();
  assert.match(String((await reader.read()).value), /^id: 0\ndata: .*"accepted"/);
  chat.clock.step(-3_600_000);
  for (const _ of [1, 2]) {
    const next = reader.read();
    await chat.clock.advance(5000);
    const late = new Promise<string>((resolve) => setImmediate(() => resolve("nothing")));
    assert.equal(await Promise.race([next.then(({ value }) => value), late]), ": keep-alive\n\n");
  }
  run.finish();
  assert.match(String((await reader.read()).value), /"complete"/);
});

test("U+2028, U+2029 and U+0085 are escaped", async () => {
  await using fixture: Fixture = await openFixture(inProcess);
  const key = await fixture.key();
  const id = await fixture.conversation(key);
  const content = "a\u2028b\u2029c\u0085d";
  const text = await (
    await fixture.call("POST", `/conversations/${id}/messages/stream`, key, { content })
  ).text();
  assert.ok(!/[\u2028\u2029\u0085]/.test(text));
  assert.equal(textOf(await eventsOf(new Response(text))), content);
  assert.ok(text.includes("\\u2028b\\u2029c\\u0085"));
});

test("a store that was away for longer than a lease costs no running reply: its producer comes first", async () => {
  let down = false;
  const store = failing({ ...createMemoryStore(), exclusive: false }, () => down);
  await using other = await openChat(inProcess, { store });
  await other.service.ready();
  await using chat = await other.another();
  await chat.clock.advance(500); // from here on, the producer saves half a second behind each look
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

test("a store that cannot tell the history at once costs no reply", async () => {
  const memory = createMemoryStore();
  let failures = 2;
  const store: Store = {
    ...memory,
    async readHistory(...which) {
      if (failures-- > 0) throw new StoreUnavailable("a connection broke");
      return memory.readHistory(...which);
    },
  };
  await using chat = await openChat(inProcess, { store });
  const sending = chat.send();
  await chat.clock.advance(2_000);
  (await chat.engine.next()).finish();
  assert.equal((await sending).status, 200);
});

test("a history that cannot be read, and never will, is no failure of the model's, and the log has its cause", async () => {
  const error = new Error("database disk image is malformed");
  const store: Store = { ...createMemoryStore(), readHistory: () => Promise.reject(error) };
  const causes: unknown[] = [];
  const log: Log = (level, message, fields) => {
    if (level === "error" && message === "a reply failed") causes.push(fields?.error);
  };
  await using first = await openChat(inProcess, { store });
  const sending = first.send();
  (await first.engine.next()).finish();
  await sending;
  await using next = await first.another({ log }); // who does not remember the history
  const messageId = await acceptedId(await next.stream());
  await settle();
  assert.equal((await next.message(messageId)).error?.code, "interrupted");
  assert.deepEqual(causes, [error]);
  assert.equal(next.engine.asked, 1);
});

test("a history that cannot be read for as long as a reply may take is no failure of the model's, and is told once", async () => {
  const memory = createMemoryStore();
  let away = false;
  const store: Store = {
    ...memory,
    readHistory: (...which) =>
      away ? Promise.reject(new StoreUnavailable("a connection broke")) : memory.readHistory(...which),
  };
  await using first = await openChat(inProcess, { store });
  const sending = first.send();
  (await first.engine.next()).finish();
  await sending;
  away = true;
  const said: string[] = [];
  await using next = await first.another({ maxReplyMs: 10_000, log: noteTrouble(said) }); // with nothing remembered
  const messageId = await acceptedId(await next.stream());
  await next.clock.advance(10_000);
  assert.equal((await next.message(messageId)).error?.code, "interrupted");
  assert.deepEqual(said, ["warn: a connection broke", "error: The reply took more than 10000 ms."]);
});

test("a reply that takes too long is told in the log, once", async () => {
  const said: string[] = [];
  await using chat = await openChat(inProcess, { maxReplyMs: 10_000, log: noteTrouble(said) });
  const sending = chat.send();
  const run = await chat.engine.next();
  await chat.clock.advance(10_000);
  assert.equal((await sending).status, 504);
  run.fail(new Error("aborted"));
  await settle();
  assert.deepEqual(said, ["error: The reply took more than 10000 ms."]);
});

/** A log that keeps the causes of what is more than information. */
function noteTrouble(said: string[]): Log {
  return (level, _, { error } = {}) => {
    if (level === "warn" || level === "error") said.push(`${level}: ${(error as Error).message}`);
  };
}
