/**
 * Immediate engines: their replies are stored together with the question, and nobody sees a difference.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createKnowledgeEngine } from "../../adapters/knowledge/mod.ts";
import {
  createEchoEngine,
  createMemoryStore,
  type Log,
  type MessageResource,
  type ReplyOutput,
  type Store,
  StoreUnavailable,
  type Turn,
  type TwinEngine,
} from "../../core/mod.ts";
import { type Chat, countCalls, openChat } from "../support/chat.ts";
import { createManualClock, settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import { dataOf, errorOf, eventsOf, inProcess, startOfTests, textOf } from "../support/harness.ts";

/** An engine that a test plays, which says that it is immediate. */
function immediately(reply: TwinEngine["reply"]): TwinEngine {
  return { immediate: true, reply };
}

/** Repeats the question. */
const repeating = immediately(async ({ content }, output) => {
  output.write(`re: ${content}`);
  return { finishReason: "stop", usage: null };
});

function openWith(engine: TwinEngine, store: Store = createMemoryStore(), log?: Log): Promise<Chat> {
  return openChat(inProcess, { engines: { scripted: engine }, store, ...(log && { log }) });
}

test("an immediate engine's reply is stored in one call, with its question", async () => {
  const { store, calls } = countCalls(createMemoryStore());
  await using chat = await openWith(repeating, store);
  const reply = await dataOf<MessageResource>(await chat.send("Hi"));
  assert.equal(reply.content, "re: Hi");
  assert.equal(reply.status, "completed");
  assert.deepEqual(
    [calls.get("beginReply"), calls.get("saveReply"), calls.get("endReply")],
    [1, undefined, undefined],
  );
  assert.deepEqual(await dataOf(await chat.get(`/messages/${reply.id}`)), reply);
  assert.equal(await chat.status(), "idle");
});

test("the next send finds what is needed in memory again, so that each one is a single call", async () => {
  const { store, calls } = countCalls(createMemoryStore());
  await using chat = await openWith(repeating, store);
  for (const content of ["one", "two", "three", "four", "five"]) {
    assert.equal((await chat.send(content)).status, 200);
  }
  const names = ["getConversation", "beginReply", "readHistory", "endReply"];
  assert.deepEqual(
    names.map((name) => calls.get(name) ?? 0),
    [1, 5, 0, 0],
  );
});

test("the host is asked to wait until an immediate reply is stored, whatever becomes of that", async () => {
  for (const fails of [false, true]) {
    const memory = createMemoryStore();
    const store: Store = {
      ...memory,
      beginReply: (begin) =>
        fails ? Promise.reject(new StoreUnavailable("away")) : memory.beginReply(begin),
    };
    const works: Promise<unknown>[] = [];
    const waitUntil = (work: Promise<unknown>) => void works.push(work);
    const engines = { scripted: repeating };
    await using chat = await openChat(inProcess, { engines, store, waitUntil });
    assert.equal((await chat.send()).status, fails ? 503 : 200);
    assert.equal(works.length, 1);
    await works[0];
  }
});

test("its stream has all events of a reply, and can be resumed", async () => {
  const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3 };
  await using chat = await openWith(
    immediately(async (_, output) => {
      output.progress({ stage: "thinking" });
      for (const token of ["Al", "ways\u2028", " \ud83d", "\ude00"]) output.write(token);
      return { finishReason: "length", usage };
    }),
  );
  const events = await eventsOf(await chat.post("/messages/stream", { content: "Hi" }));
  assert.deepEqual(
    events.map(({ id, data }) => [id, data.type]),
    [
      [0, "progress"],
      [0, "progress"],
      [10, "delta"],
      [10, "complete"],
    ],
  );
  assert.equal(textOf(events), "Always\u2028 😀");
  const [accepted, thinking, , last] = events.map(({ data }) => data);
  assert.ok(accepted?.type === "progress" && accepted.progress.stage === "accepted");
  assert.ok(thinking?.type === "progress" && thinking.progress.stage === "thinking");
  assert.ok(last?.type === "complete");
  const { message } = last;
  assert.equal(accepted.progress.messageId, message.id);
  assert.equal(accepted.progress.userMessageId, message.inReplyTo);
  assert.deepEqual([message.finishReason, message.usage], ["length", usage]);
  assert.deepEqual(await chat.message(message.id), message);
  const resumed = await eventsOf(await chat.get(`/messages/${message.id}/stream?after=6`));
  assert.equal(textOf(resumed), "\u2028 😀");
});

test("it is given the conversation's history, wherever that was written", async () => {
  const turns: Turn[] = [];
  const engine = immediately(async (turn) => {
    turns.push(turn);
    return { finishReason: "stop", usage: null };
  });
  const store = createMemoryStore();
  await using chat = await openWith(repeating, store);
  await chat.send("one");
  await using other = await chat.another({ engines: { scripted: engine } });
  await other.send("two"); // a process that has not seen the conversation reads it
  await chat.send("three");
  await other.send("four"); // and one that has seen less than there is
  const contents = turns.map(({ history }) => history.map(({ content }) => content));
  const after = ["one", "re: one"];
  assert.deepEqual(contents, [after, after, [...after, "three", "re: three"]]);
});

test("an engine that has to wait is asked again once the question is stored, and its first attempt is dropped", async () => {
  const store = createMemoryStore();
  const outputs: ReplyOutput[] = [];
  const stored: number[] = [];
  const gate = createGate();
  const engine = immediately(async (_, output) => {
    const attempt = outputs.push(output);
    const [conversation] = (await store.listConversations("alice", { offset: 0, limit: 1 })).items;
    stored.push(conversation?.messageCount ?? 0);
    output.write(`attempt ${attempt}`);
    await gate.opened;
    output.write(`, finished`);
    return { finishReason: "stop", usage: null };
  });
  await using chat = await openWith(engine, store);
  const sending = chat.send();
  await settle();
  assert.deepEqual(stored, [0, 2]);
  assert.deepEqual(
    outputs.map(({ signal }) => signal.aborted),
    [true, false],
  );
  gate.open();
  assert.equal((await dataOf<MessageResource>(await sending)).content, "attempt 2, finished");
  assert.equal((await dataOf<MessageResource[]>(await chat.get("/messages"))).length, 2);
});

test("an engine that has to wait, although it says that it is immediate, is asked twice only once, and the log says so", async () => {
  const asked: string[] = [];
  const warnings: unknown[] = [];
  const engine = immediately(async ({ content }) => {
    asked.push(content);
    await new Promise((resolve) => setImmediate(resolve));
    return { finishReason: "stop", usage: null };
  });
  await using chat = await openWith(engine, createMemoryStore(), (level, message, fields) => {
    if (level === "warn") warnings.push([message, fields]);
  });
  for (const content of ["one", "two", "three"]) assert.equal((await chat.send(content)).status, 200);
  assert.deepEqual(asked, ["one", "one", "two", "three"]);
  const message = "an immediate engine had to wait; from now on it is asked after a send is stored";
  assert.deepEqual(warnings, [[message, { engine: "scripted" }]]);
});

const failures: Readonly<Record<string, TwinEngine["reply"]>> = {
  "throws at once": () => {
    throw new TypeError("secret");
  },
  rejects: async (_, output) => {
    output.write("half");
    throw new TypeError("secret");
  },
  "resolves with nothing": async () => undefined as never,
};

for (const [what, reply] of Object.entries(failures)) {
  test(`an immediate engine that ${what} fails its reply once, after the question is stored`, async () => {
    const errors: string[] = [];
    await using chat = await openWith(immediately(reply), createMemoryStore(), (level, message) => {
      if (level === "error") errors.push(message);
    });
    const answer = await chat.send();
    assert.equal(answer.status, 502);
    const { code, details } = await errorOf(answer);
    assert.equal(code, "model_error");
    const failed = await chat.message(String(details?.messageId));
    assert.equal(failed.status, "failed");
    assert.equal(failed.content, what === "rejects" ? "half" : "");
    assert.deepEqual(errors, ["a reply failed"]);
    assert.equal((await dataOf<MessageResource[]>(await chat.get("/messages"))).length, 2);
    assert.equal(await chat.status(), "idle");
  });
}

test("what an immediate engine writes after its end is not part of the reply", async () => {
  let late: ReplyOutput | undefined;
  await using chat = await openWith(
    immediately(async (_, output) => {
      late = output;
      output.write("in time");
      return { finishReason: "stop", usage: null };
    }),
  );
  const response = await chat.post("/messages/stream", { content: "Hi" });
  late?.write(", too late");
  late?.progress({ stage: "late" });
  const events = await eventsOf(response);
  assert.equal(textOf(events), "in time");
  assert.equal(events.filter(({ data }) => data.type === "progress").length, 1);
  assert.equal(late?.signal.aborted, true);
});

test("of sends at the same time one is answered, and the others are told which reply made the conversation busy", async () => {
  await using chat = await openWith(repeating);
  const answers = await Promise.all(["a", "b", "c", "d"].map((content) => chat.send(content)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409]);
  const [reply] = await Promise.all(
    answers.filter(({ status }) => status === 200).map((answer) => dataOf<MessageResource>(answer)),
  );
  for (const answer of answers.filter(({ status }) => status === 409)) {
    assert.equal(answer.headers.get("retry-after"), "1");
    const { code, details } = await errorOf(answer);
    assert.deepEqual([code, details], ["conversation_busy", { messageId: reply?.id }]);
  }
  assert.equal((await dataOf<MessageResource[]>(await chat.get("/messages"))).length, 2);
  assert.equal((await chat.send("e")).status, 200);
});

test("a send beside one that was not stored is not refused", async () => {
  const memory = createMemoryStore();
  const elsewhere = createGate();
  let calls = 0;
  const store: Store = {
    ...memory,
    async beginReply(begin) {
      const isFirst = ++calls === 1;
      await elsewhere.opened; // until another process has stored a reply
      if (isFirst) throw new StoreUnavailable("away");
      return memory.beginReply(begin);
    },
  };
  await using chat = await openWith(repeating, store);
  const sending = [chat.send("lost"), chat.send("beside")];
  await settle();
  await using other = await chat.another({ store: memory });
  await other.send("elsewhere");
  elsewhere.open();
  const [lost, beside] = await Promise.all(sending);
  assert.equal(lost?.status, 503);
  assert.equal((await dataOf<MessageResource>(beside as Response)).content, "re: beside");
});

test("a store that never confirms a reply does not keep the conversation busy", async () => {
  const memory = createMemoryStore();
  let calls = 0;
  const store: Store = {
    ...memory,
    async beginReply(begin) {
      const outcome = await memory.beginReply(begin);
      return ++calls === 1 ? new Promise(() => {}) : outcome;
    },
  };
  await using chat = await openWith(repeating, store);
  void chat.send("unheard");
  await settle();
  const refused = await chat.send("at once");
  assert.equal(refused.status, 409);
  assert.equal((await chat.send("again")).status, 200);
});

test("a reply whose conversation is deleted before it is stored is 404, and nothing of it remains", async () => {
  const memory = createMemoryStore();
  const deleted = createGate();
  const store: Store = {
    ...memory,
    async beginReply(begin) {
      await deleted.opened;
      return memory.beginReply(begin);
    },
  };
  await using chat = await openWith(repeating, store);
  const sending = chat.send();
  await settle();
  const path = `/conversations/${chat.conversationId}`;
  assert.equal((await chat.fixture.call("DELETE", path, chat.key)).status, 204);
  deleted.open();
  assert.equal((await sending).status, 404);
});

test("a busy conversation refuses an immediate reply, too", async () => {
  const gate = createGate();
  let asked = 0;
  const engine = immediately(async () => {
    if (++asked <= 2) await gate.opened;
    return { finishReason: "stop", usage: null };
  });
  await using chat = await openWith(engine);
  const first = chat.send();
  await settle();
  const refused = await chat.send();
  assert.equal(refused.status, 409);
  gate.open();
  const { id } = await dataOf<MessageResource>(await first);
  assert.deepEqual((await errorOf(refused)).details, { messageId: id });
});

test("equal sends with one Idempotency-Key get the same immediate reply, at the same time and later", async () => {
  await using chat = await openWith(repeating);
  const headers = { "Idempotency-Key": "k" };
  const answers = await Promise.all([1, 2, 3].map(() => chat.send("Hi", headers)));
  answers.push(await chat.send("Hi", headers));
  const replays = answers.map((answer) => answer.headers.get("idempotency-replayed"));
  assert.deepEqual(replays, [null, "true", "true", "true"]);
  const replies = await Promise.all(answers.map((answer) => dataOf<MessageResource>(answer)));
  assert.equal(new Set(replies.map(({ id }) => id)).size, 1);
  assert.equal((await chat.send("Ho", headers)).status, 422);
});

test("a send whose storing was not confirmed succeeds if it is stored, and is 503 if it is not", async () => {
  for (const isStored of [true, false]) {
    const memory = createMemoryStore();
    const store: Store = {
      ...memory,
      async beginReply(begin) {
        if (isStored) await memory.beginReply(begin);
        throw new StoreUnavailable("the answer was lost");
      },
    };
    const warnings: string[] = [];
    await using chat = await openWith(repeating, store, (level, message) => {
      if (level === "warn") warnings.push(message);
    });
    const answer = await chat.send("Hi");
    const messages = await dataOf<MessageResource[]>(await chat.get("/messages"));
    assert.equal(answer.status, isStored ? 200 : 503);
    assert.equal(messages.length, isStored ? 2 : 0);
    const warning = "the store did not confirm the beginning of a reply, but has stored it";
    assert.deepEqual(warnings, isStored ? [warning] : []);
  }
});

describe("of the built-in engines", () => {
  for (const [name, create] of Object.entries({ createEchoEngine, createKnowledgeEngine })) {
    test(`${name} is immediate, unless it pauses`, async () => {
      const { store, calls } = countCalls(createMemoryStore());
      await using chat = await openWith(create(), store);
      await chat.send("Who are you?");
      await chat.send("Who are you?"); // the knowledge engine has read its twin's text by then
      calls.clear();
      assert.equal((await chat.send("Who are you?")).status, 200);
      assert.deepEqual([calls.get("beginReply"), calls.get("endReply")], [1, undefined]);
      const clock = createManualClock(startOfTests);
      assert.equal(create({ pauseMs: 10, clock }).immediate, false);
    });
  }
});
