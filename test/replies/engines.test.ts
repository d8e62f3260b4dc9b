/**
 * An engine's part in a reply: what it is given, what comes of what it does, and what it is not blamed for.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createEchoEngine,
  createMemoryStore,
  type EngineProgress,
  type EngineResult,
  type Log,
  type MessageResource,
  ModelError,
  type Store,
  StoreUnavailable,
  type TwinEngine,
} from "../../core/mod.ts";
import { acceptedId, type Chat, openChat } from "../support/chat.ts";
import { createManualClock, settle } from "../support/clock.ts";
import { readEvents } from "../support/event-reader.ts";
import {
  dataOf,
  errorOf,
  eventsOf,
  inProcess,
  openFixture,
  startOfTests,
  terminal,
  textOf,
} from "../support/harness.ts";

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
  "reports progress that JSON cannot represent": {
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
  "writes something other than text": {
    engine: {
      async reply(_, output) {
        output.write("half");
        output.write(undefined as unknown as string); // as of a chunk that has none, in plain JavaScript
        return { finishReason: "stop", usage: null };
      },
    },
    code: "model_error",
    content: "half",
  },
  "reports progress without a stage": {
    engine: {
      async reply(_, output) {
        output.progress("thinking" as unknown as EngineProgress);
        return { finishReason: "stop", usage: null };
      },
    },
    code: "model_error",
    content: "",
  },
  "resolves with its model's own finish reason": {
    engine: {
      async reply(_, output) {
        output.write("whole");
        return { finishReason: "tool_calls", usage: null } as unknown as EngineResult;
      },
    },
    code: "model_error",
    content: "whole",
  },
  "resolves with nothing": {
    engine: { reply: async () => undefined as unknown as EngineResult },
    code: "model_error",
    content: "",
  },
  "rejects with something other than an Error": {
    engine: { reply: () => Promise.reject(null) },
    code: "model_error",
    content: "",
  },
  "reports its own time-out": {
    engine: {
      async reply() {
        throw new ModelError("model_timeout", "secret");
      },
    },
    code: "model_timeout",
    content: "",
  },
  "reports its error with the message in place of the code": {
    engine: {
      async reply() {
        throw new ModelError("secret" as "model_error", "secret"); // in plain JavaScript
      },
    },
    code: "model_error",
    content: "",
  },
  "cannot reach a store of its own": {
    engine: {
      async reply() {
        throw new StoreUnavailable("secret");
      },
    },
    code: "model_error",
    content: "",
  },
};

for (const [what, { engine, code, content }] of Object.entries(engines)) {
  test(`an engine that ${what} fails its reply once, without revealing its message`, async () => {
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
    const [, reply] = await dataOf<MessageResource[]>(await chat.get("/messages"));
    const requestId = answer.headers.get("x-request-id");
    assert.deepEqual(last.data.error, { ...reply?.error, details: { messageId: reply?.id }, requestId });
    const normal = await chat.send();
    assert.equal(normal.status, code === "model_timeout" ? 504 : 502);
    assert.equal(await chat.status(), "idle");
  });
}

test("of an engine's usage, clients see the three counts, or null if one of them isn't a whole number", async () => {
  const counts = { inputTokens: 3, outputTokens: 4, totalTokens: 7 };
  for (const [told, seen] of [
    [{ ...counts, cachedTokens: 2, raw: { secret: "x" } }, counts],
    [{ ...counts, totalTokens: Number.NaN }, null],
    [{ inputTokens: 3n, outputTokens: 4n, totalTokens: 7n }, null],
    [undefined, null],
  ]) {
    await using chat = await openChat(inProcess);
    const stream = await chat.stream();
    (await chat.engine.next()).finish({ usage: told as EngineResult["usage"] });
    const last = (await stream.rest()).at(-1);
    assert.ok(last?.data.type === "complete");
    assert.deepEqual(last.data.message.usage, seen);
  }
});

test("the echo engine pauses before each word, if it is told to", async () => {
  const clock = createManualClock(startOfTests);
  const engines = { echo: createEchoEngine({ pauseMs: 100, clock }) };
  await using fixture = await openFixture(inProcess, { engines }, clock);
  const key = await fixture.key();
  const path = `/conversations/${await fixture.conversation(key)}/messages/stream`;
  const stream = readEvents(await fixture.call("POST", path, key, { content: "one two three" }));
  await acceptedId(stream);
  for (const content of ["one", " two", " three"]) {
    const next = stream.next();
    await clock.advance(100);
    const late = settle().then(() => undefined);
    assert.deepEqual((await Promise.race([next, late]))?.data, { type: "delta", content });
  }
  assert.equal((await stream.rest()).length, 1);
});

test("an engine that the service does not have is a model_error", async () => {
  await using chat = await openChat(inProcess, { engines: {} });
  const answer = await chat.send();
  assert.equal(answer.status, 502);
  assert.equal((await errorOf(answer)).code, "model_error");
});

test("what an engine writes after its end is not part of the reply", async () => {
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

test("the question is stored before the engine is asked", async () => {
  const store = createMemoryStore();
  const seen: string[] = [];
  const engine: TwinEngine = {
    async reply({ content }) {
      const [conversation] = (await store.listConversations({ owner: "alice" }, { offset: 0, limit: 1 }))
        .items;
      const id = conversation?.id ?? "";
      const messages = await store.listMessages({ owner: "alice" }, id, {
        offset: 0,
        limit: 9,
        order: "asc",
      });
      seen.push(content, ...(messages?.items ?? []).map((message) => message.content));
      return { finishReason: "stop", usage: null };
    },
  };
  await using chat = await openChat(inProcess, { store, engines: { scripted: engine } });
  await chat.send("Hi");
  assert.deepEqual(seen, ["Hi", "Hi", ""]);
});

test("the model is given questions with their replies, without failed ones, and cancelled ones with their text", async () => {
  await using chat = await openChat(inProcess);
  await ask(chat, "one", "completed");
  await ask(chat, "two", "failed");
  await ask(chat, "three", "cancelled");
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

test("a question whose reply was cancelled before its first word isn't in the history, remembered or read", async () => {
  await using chat = await openChat(inProcess);
  const stream = await chat.stream("one");
  const messageId = await acceptedId(stream);
  await chat.engine.next();
  await chat.post(`/messages/${messageId}/cancel`);
  await stream.rest();
  await ask(chat, "two", "completed");
  await using other = await chat.another();
  for (const each of [chat, other]) {
    const sending = each.send("three");
    const run = await each.engine.next();
    run.fail(new Error("as asked"));
    await sending;
    assert.deepEqual(run.turn.history, [
      { role: "user", content: "two" },
      { role: "assistant", content: "re: two" },
    ]);
  }
});

test("an engine that changes the history it was given changes nothing for the next reply", async () => {
  const seen: string[][] = [];
  const engine: TwinEngine = {
    async reply({ history }, output) {
      seen.push(history.map(({ role }) => role));
      const messages = history as { role: string; content: string }[];
      for (const message of messages) message.role = "model";
      messages.push({ role: "user", content: "Hello?" });
      output.write("Hello!");
      return { finishReason: "stop", usage: null };
    },
  };
  await using chat = await openChat(inProcess, { engines: { scripted: engine } });
  for (const _ of [1, 2, 3]) await chat.send();
  const answered = ["user", "assistant"];
  assert.deepEqual(seen, [[], answered, [...answered, ...answered]]);
});

async function ask(chat: Chat, content: string, end: "completed" | "failed" | "cancelled"): Promise<void> {
  const stream = await chat.stream(content);
  const messageId = await acceptedId(stream);
  const run = await chat.engine.next();
  run.write(`re: ${content}`);
  if (end === "completed") run.finish();
  if (end === "failed") run.fail(new Error("as asked"));
  if (end === "cancelled") await chat.post(`/messages/${messageId}/cancel`);
  await stream.rest();
}

test("a reply succeeds even if the store cannot read the history at first", async () => {
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

test("a reply whose history is unreadable is interrupted, not a model_error, and the log has the cause", async () => {
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
  await using next = await first.another({ log }); // does not remember the history
  const messageId = await acceptedId(await next.stream());
  await settle();
  assert.equal((await next.message(messageId)).error?.code, "interrupted");
  assert.deepEqual(causes, [error]);
  assert.equal(next.engine.asked, 1);
});

test("a reply whose history cannot be read in time is interrupted, not a model_timeout, and is logged once", async () => {
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

test("a reply that takes too long is logged once", async () => {
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

/** A log that keeps the causes of warnings and errors. */
function noteTrouble(said: string[]): Log {
  return (level, _, { error } = {}) => {
    if (level === "warn" || level === "error") said.push(`${level}: ${(error as Error).message}`);
  };
}
