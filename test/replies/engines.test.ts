/**
 * An engine's part in a reply: what it is given, what comes of what it does, and what it is not blamed for.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Observer, ToolCalled } from "../../core/base/observe.ts";
import {
  createEchoEngine,
  type EngineProgress,
  type EngineResult,
  type Log,
  ModelError,
  type TwinEngine,
} from "../../core/mod.ts";
import { createMemoryStore, type Store, StoreUnavailable } from "../../core/store/mod.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { acceptedId, type Chat, openChat } from "../support/chat.ts";
import { createManualClock, settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import {
  assertErrorAnswer,
  dataOf,
  inProcess,
  parseEvents,
  startOfTests,
  terminal,
  textOf,
} from "../support/harness.ts";
import { openCutOff } from "./cut-off.ts";

const done: EngineResult = { finishReason: "stop", usage: null };

for (const { what, code = "model_error", content = "", reply } of [
  {
    what: "throws at once",
    reply() {
      throw new TypeError("secret");
    },
  },
  {
    what: "rejects later",
    content: "half",
    async reply(_, { write }) {
      write("half");
      await settle();
      throw new Error("secret");
    },
  },
  {
    what: "reports progress that JSON cannot represent",
    content: "half",
    async reply(_, output) {
      output.write("half");
      output.progress({ stage: "counting", tokens: 1n });
      return done;
    },
  },
  {
    what: "writes something other than text",
    content: "half",
    async reply(_, output) {
      output.write("half");
      output.write(undefined as unknown as string); // as of a chunk that has none, in plain JavaScript
      return done;
    },
  },
  {
    what: "reports progress without a stage",
    async reply(_, output) {
      output.progress("thinking" as unknown as EngineProgress);
      return done;
    },
  },
  {
    what: "resolves with its model's own finish reason",
    content: "whole",
    async reply(_, output) {
      output.write("whole");
      return { finishReason: "tool_calls", usage: null } as unknown as EngineResult;
    },
  },
  { what: "resolves with nothing", reply: async () => undefined as unknown as EngineResult },
  { what: "rejects with something other than an Error", reply: () => Promise.reject(null) },
  {
    what: "reports its own time-out",
    code: "model_timeout",
    reply: () => Promise.reject(new ModelError("model_timeout", "secret")),
  },
  {
    what: "reports its error with the message in place of the code", // in plain JavaScript
    reply: () => Promise.reject(new ModelError("secret" as "model_error", "secret")),
  },
  {
    what: "cannot reach a store of its own",
    reply: () => Promise.reject(new StoreUnavailable("secret")),
  },
] as readonly { what: string; code?: string; content?: string; reply: TwinEngine["reply"] }[]) {
  test(`an engine that ${what} fails its reply once, without revealing its message`, async () => {
    await using chat = await openChat(inProcess, { engines: { scripted: { reply } } });
    const answer = await chat.post("/messages/stream", { content: "Hi" });
    const text = await answer.text();
    assert.ok(!text.includes("secret"));
    const events = parseEvents(text);
    assert.equal(textOf(events), content);
    const [last, ...more] = terminal(events);
    assert.deepEqual(more, []);
    assert.ok(last?.data.type === "error" && last.data.error.code === code);
    assert.equal(events.at(-1), last);
    const [, stored] = await dataOf<MessageResource[]>(await chat.get("/messages"));
    const requestId = answer.headers.get("x-request-id");
    assert.deepEqual(last.data.error, { ...stored?.error, details: { messageId: stored?.id }, requestId });
    const normal = await chat.send();
    assert.equal(normal.status, code === "model_timeout" ? 504 : 502);
    assert.equal(await chat.status(), "idle");
  });
}

test("of an engine's usage, clients see the counts, or null if one of the three isn't a whole number that can be", async () => {
  const counts = { inputTokens: 3, outputTokens: 4, totalTokens: 7 };
  for (const [told, seen] of [
    [
      { ...counts, raw: { secret: "x" } },
      { ...counts, cachedInputTokens: null },
    ],
    [
      { ...counts, cachedInputTokens: 2 },
      { ...counts, cachedInputTokens: 2 },
    ],
    [
      { ...counts, cachedInputTokens: -1 },
      { ...counts, cachedInputTokens: null },
    ],
    [
      { ...counts, cachedInputTokens: 1_000_000_001 },
      { ...counts, cachedInputTokens: null },
    ],
    [{ ...counts, totalTokens: 1_000_000_001 }, null],
    [{ ...counts, inputTokens: Number.MAX_SAFE_INTEGER }, null],
    [{ ...counts, totalTokens: Number.NaN }, null],
    [{ inputTokens: 3n, outputTokens: 4n, totalTokens: 7n }, null],
    [undefined, null],
  ]) {
    await using chat = await openChat(inProcess);
    const { stream, run } = await chat.begin();
    run.finish({ usage: told as EngineResult["usage"] });
    const last = (await stream.rest()).at(-1);
    assert.ok(last?.data.type === "complete");
    assert.deepEqual(last.data.message.usage, seen);
  }
});

test("the echo engine pauses before each word, if it is told to", async () => {
  const clock = createManualClock(startOfTests);
  const engines = { scripted: createEchoEngine({ pauseMs: 100, clock }) };
  await using chat = await openChat(inProcess, { engines, clock });
  const stream = await chat.stream("one two three");
  await acceptedId(stream);
  for (const content of ["one", " two", " three"]) {
    const next = stream.next();
    await clock.advance(100);
    assert.deepEqual((await next).data, { type: "delta", content });
  }
  assert.equal((await stream.rest()).length, 1);
});

test("a client that reads along gets words at a reader's pace, from the same twin", async () => {
  const clock = createManualClock(startOfTests);
  const engines = { scripted: createEchoEngine({ clock }) };
  const began: string[] = [];
  const observe = { replyBegan: ({ engine }: { engine: string }) => void began.push(engine) };
  await using chat = await openChat(inProcess, { engines, clock, observe });
  const stream = await chat.stream("one two three", { Prefer: "wait=5, Reading-Pace" });
  await acceptedId(stream);
  for (const content of ["one", " two", " three"]) {
    const next = stream.next();
    await clock.advance(35);
    assert.deepEqual((await next).data, { type: "delta", content });
  }
  const paced = (await stream.rest()).at(-1)?.data;
  const atOnce = await (await chat.stream("one two three", { Prefer: "no-reading-pace" })).rest();
  assert.equal(atOnce.filter(({ data }) => data.type === "delta").length, 1);
  const last = atOnce.at(-1)?.data;
  assert.ok(paced?.type === "complete" && last?.type === "complete");
  assert.equal(paced.message.twinRevision, last.message.twinRevision);
  assert.deepEqual(began, ["scripted", "scripted"]);
});

test("an engine that the service does not have is a model_error", async () => {
  await using chat = await openChat(inProcess, { engines: {} });
  await assertErrorAnswer(await chat.send(), 502, "model_error");
});

test("what an engine writes after its end is not part of the reply", async () => {
  await using chat = await openChat(inProcess);
  const { stream, run } = await chat.begin();
  run.write("in time");
  run.finish();
  await settle();
  run.write(", too late");
  run.progress({ stage: "late" });
  const events = await stream.rest();
  assert.equal(textOf(events), "in time");
  const last = events.at(-1);
  assert.ok(last?.data.type === "complete" && last.data.message.content === "in time");
  assert.ok(events.every(({ data }) => data.type !== "progress"));
});

test("an engine that resolves or fails after it was stopped changes nothing", async () => {
  for (const end of ["finish", "fail"] as const) {
    await using chat = await openChat(inProcess);
    const { stream, messageId, run } = await chat.begin();
    await chat.cancel(messageId);
    if (end === "finish") run.finish();
    else run.fail(new Error("aborted"));
    const events = await stream.rest();
    assert.equal(terminal(events).length, 1);
    assert.equal((await chat.message(messageId)).status, "cancelled");
  }
});

test("the engine is asked once the question is stored, not before", async () => {
  const memory = createMemoryStore();
  const stored = createGate();
  const beginReply: Store["beginReply"] = async (begin) => {
    await stored.opened;
    return memory.beginReply(begin);
  };
  await using chat = await openChat(inProcess, { store: { ...memory, beginReply } });
  const beginning = chat.begin("Hi");
  await settle();
  assert.equal(chat.engine.asked, 0);
  stored.open();
  assert.equal((await beginning).run.turn.content, "Hi");
});

test("the model is given questions with their replies, without failed ones, and cancelled ones with their text", async () => {
  await using chat = await openChat(inProcess);
  await ask(chat, "one", "completed");
  await ask(chat, "two", "failed");
  await ask(chat, "three", "cancelled");
  const { run } = await chat.begin("four");
  assert.deepEqual(run.turn.history, [
    { role: "user", content: "one" },
    { role: "assistant", content: "re: one" },
    { role: "user", content: "three" },
    { role: "assistant", content: "re: three" },
  ]);
});

test("a question whose reply was cancelled before its first word isn't in the history, remembered or read", async () => {
  await using chat = await openChat(inProcess);
  const { stream, messageId } = await chat.begin("one");
  await chat.cancel(messageId);
  await stream.rest();
  await ask(chat, "two", "completed");
  await using other = await chat.another();
  for (const each of [chat, other]) {
    const { stream, run } = await each.begin("three");
    run.fail(new Error("as asked"));
    await stream.rest();
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
      return done;
    },
  };
  await using chat = await openChat(inProcess, { engines: { scripted: engine } });
  for (const _ of [1, 2, 3]) await chat.send();
  const answered = ["user", "assistant"];
  assert.deepEqual(seen, [[], answered, [...answered, ...answered]]);
});

async function ask(chat: Chat, content: string, end: "completed" | "failed" | "cancelled"): Promise<void> {
  const { stream, messageId, run } = await chat.begin(content);
  run.write(`re: ${content}`);
  if (end === "completed") run.finish();
  if (end === "failed") run.fail(new Error("as asked"));
  if (end === "cancelled") await chat.cancel(messageId);
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
  await ask(first, "one", "completed");
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
  await ask(first, "one", "completed");
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

describe("a reply whose engine acts", () => {
  for (const continues of [undefined, "partial", "exact"] as const) {
    test(`is interrupted if its process dies after that, not begun again, by an engine that continues ${continues}`, async () => {
      await using cutOff = await openCutOff({ continues });
      await using other = await cutOff.another();
      await cutOff.run.beginActing();
      cutOff.cutOff();
      await cutOff.expire();
      const { status, error } = await other.message(cutOff.messageId);
      assert.deepEqual([status, error?.code], ["failed", "interrupted"]);
      assert.equal(cutOff.engine.asked, 1);
      assert.equal(await other.status(), "idle");
    });
  }

  test("may act once that is stored, however long the store is away", async () => {
    await using cutOff = await openCutOff();
    cutOff.cutOff();
    let acts = false;
    const acting = cutOff.run.beginActing().then(() => {
      acts = true;
    });
    await cutOff.clock.advance(5_000);
    assert.equal(acts, false);
    cutOff.reconnect();
    await cutOff.clock.advance(1_000);
    await acting;
  });

  test("may not act once another process has it", async () => {
    await using cutOff = await openCutOff();
    await using other = await cutOff.another();
    cutOff.cutOff();
    await cutOff.expire();
    (await cutOff.engine.next()).finish();
    await settle();
    assert.equal((await other.message(cutOff.messageId)).attempt, 2);
    cutOff.reconnect();
    await assert.rejects(cutOff.run.beginActing(), /The reply is over/);
  });

  test("may act again within its lease, while the store is away", async () => {
    await using cutOff = await openCutOff();
    await cutOff.run.beginActing();
    cutOff.cutOff();
    let acts = false;
    void cutOff.run.beginActing().then(() => {
      acts = true;
    });
    await settle();
    assert.equal(acts, true);
    cutOff.reconnect();
  });

  test("may not act again once its lease has run out, and another process has ended it", async () => {
    await using cutOff = await openCutOff();
    await using other = await cutOff.another();
    await cutOff.run.beginActing();
    cutOff.cutOff();
    await cutOff.expire();
    assert.equal((await other.message(cutOff.messageId)).error?.code, "interrupted");
    cutOff.reconnect();
    await assert.rejects(cutOff.run.beginActing(), /The reply is over/);
  });

  test("may not act once it was cancelled, through any process", async () => {
    await using cutOff = await openCutOff();
    await using other = await cutOff.another();
    await cutOff.store.requestCancel({ owner: "alice" }, cutOff.messageId);
    await assert.rejects(cutOff.run.beginActing(), /The reply is over/);
    assert.equal((await other.message(cutOff.messageId)).status, "cancelled");
  });
});

test("an engine learns whom its reply is for", async () => {
  await using chat = await openChat(inProcess);
  const { run, messageId } = await chat.begin();
  const { conversationId } = chat;
  assert.deepEqual(run.turn.origin, { owner: "alice", endUser: null, conversationId, messageId });
  run.finish();
  const body = { twinId: "scripted", endUser: "ann" };
  const made = await chat.fixture.call("POST", "/conversations", chat.key, body);
  const { data } = (await made.json()) as { data: { id: string } };
  void chat.fixture.call("POST", `/conversations/${data.id}/messages`, chat.key, { content: "Hi" });
  const asked = await chat.engine.next();
  assert.deepEqual([asked.turn.origin?.endUser, asked.turn.origin?.conversationId], ["ann", data.id]);
  asked.finish();
});

test("calls of tools are told to followers and observers, and one that was stopped has failed", async () => {
  const calls: ToolCalled[] = [];
  const observe: Observer = { toolCalled: (call) => void calls.push(call) };
  await using chat = await openChat(inProcess, { observe });
  const { run, stream } = await chat.begin();
  const call = { stage: "tool", name: "orders/find", callId: "call_1" };
  run.progress({ ...call, state: "called" });
  await chat.clock.advance(300);
  run.progress({ ...call, state: "done" });
  run.progress({ ...call, callId: "call_2", state: "called" });
  await settle();
  await chat.cancel(run.turn.origin?.messageId ?? "");
  const told = (await stream.rest()).flatMap(({ data }) => (data.type === "progress" ? data.progress : []));
  assert.deepEqual(told, [
    { ...call, state: "called" },
    { ...call, state: "done" },
    { ...call, callId: "call_2", state: "called" },
  ]);
  assert.deepEqual(
    calls.map(({ tool, callId, status, durationMs }) => [tool, callId, status, durationMs]),
    [
      ["orders/find", "call_1", "done", 300],
      ["orders/find", "call_2", "failed", 0],
    ],
  );
});
