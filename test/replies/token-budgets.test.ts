/**
 * Budgets of tokens: what replies reserve as they begin, and settle as they end, in whatever process.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createMcpApi } from "../../adapters/mcp-clients/mod.ts";
import { createOpenAIApi } from "../../adapters/openai-clients/mod.ts";
import { signToken } from "../../core/auth/jwt.ts";
import { createEchoEngine, createTwinList, type Log } from "../../core/mod.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import type {
  ClientTokenResource,
  CreatedApiKeyResource,
  MessageResource,
  UsageResource,
} from "../../core/wire/schemas.ts";
import { type Chat, type ChatOptions, countCalls, openChat } from "../support/chat.ts";
import { createManualClock } from "../support/clock.ts";
import {
  assertErrorAnswer,
  assertRefusedField,
  dataOf,
  fixtureSecret,
  inProcess,
  jsonRequest,
  newTwin,
  startOfTests,
  transports,
} from "../support/harness.ts";
import { createScriptedEngine } from "../support/scripted-engine.ts";
import { openCutOff } from "./cut-off.ts";

/** What a reply to "Hello?" reserves: 51 characters of the twin's text and 6, and 512 tokens. */
const reserved = 527;
const midnight = "2026-01-03T00:00:00.000Z";
const nextMonth = "2026-02-01T00:00:00.000Z";
const usage = (totalTokens: number) => ({
  usage: { inputTokens: totalTokens - 1, outputTokens: 1, totalTokens },
});

/** A key of alice, whose JWT may have a claim. */
async function keyWith(chat: Chat, fields: object, tokensPerDay?: number): Promise<CreatedApiKeyResource> {
  const { clock } = chat;
  const token = await signToken({
    ...{ secret: fixtureSecret, sub: "alice", expiresInSeconds: 60, clock },
    tokensPerDay,
  });
  const given = { name: "a key", scope: "full_access", ...fields };
  return dataOf(await chat.fixture.call("POST", "/auth/api-keys", token, given));
}

async function tokenWith(chat: Chat, key: string, fields: object): Promise<ClientTokenResource> {
  return dataOf(await chat.fixture.call("POST", "/client-tokens", key, { endUser: "ann", ...fields }));
}

async function budgetsOf(chat: Chat, credential: string): Promise<UsageResource["budgets"]> {
  return (await dataOf<UsageResource>(await chat.fixture.call("GET", "/usage", credential))).budgets;
}

/** Sends into a new conversation. */
async function send(
  chat: Chat,
  credential: string,
  content = "Hello?",
  twinId = "scripted",
): Promise<Response> {
  const id = await chat.fixture.conversation(credential, twinId);
  return chat.fixture.call("POST", `/conversations/${id}/messages`, credential, { content });
}

/** Has a reply take so many tokens. */
async function spend(chat: Chat, credential: string, totalTokens: number): Promise<void> {
  const sent = send(chat, credential);
  const run = await chat.engine.next();
  run.write("Hi");
  run.finish(usage(totalTokens));
  assert.equal((await sent).status, 200);
}

function openWith(options: ChatOptions = {}): Promise<Chat> {
  return openChat(inProcess, options);
}

for (const transport of transports) {
  describe(`budgets of tokens, ${transport.name}`, () => {
    test("a key's are shown, reserved while a reply runs, and used as it ends", async () => {
      await using chat = await openChat(transport);
      const { key, id, ...made } = await keyWith(chat, { tokensPerDay: 1000, tokensPerMonth: 1e12 });
      assert.deepEqual([made.tokensPerDay, made.tokensPerMonth], [1000, 1e12]);
      const day = { scope: "key", period: "day", limit: 1000, used: 0, reserved: 0, resetAt: midnight };
      const month = { ...day, period: "month", limit: 1e12, resetAt: nextMonth };
      assert.deepEqual(await budgetsOf(chat, key), [day, month]);
      const sent = send(chat, key);
      const run = await chat.engine.next();
      assert.deepEqual(await budgetsOf(chat, key), [
        { ...day, reserved },
        { ...month, reserved },
      ]);
      run.write("Hi");
      run.finish(usage(40));
      await sent;
      assert.deepEqual(await budgetsOf(chat, key), [
        { ...day, used: 40 },
        { ...month, used: 40 },
      ]);
      assert.deepEqual(await budgetsOf(chat, chat.key), [], "another key has none");
    });

    test("one that is used up refuses a send with 429, which stores nothing and costs a request", async () => {
      await using chat = await openChat(transport);
      const { key } = await keyWith(chat, { tokensPerDay: 100 });
      await spend(chat, key, 100);
      const refused = await send(chat, key);
      assert.equal(refused.headers.get("retry-after"), "75355", "seconds to midnight");
      assert.equal(refused.headers.get("x-ratelimit-remaining"), "496");
      const { details } = await assertErrorAnswer(refused, 429, "budget_exceeded");
      assert.deepEqual(details, { scope: "key", limit: 100, resetAt: midnight });
      const [last] = await dataOf<{ id: string; messageCount: number }[]>(
        await chat.fixture.call("GET", "/conversations", key),
      );
      assert.equal(last?.messageCount, 0);
      const streamed = await chat.fixture.call("POST", `/conversations/${last?.id}/messages/stream`, key, {
        content: "Hello?",
      });
      await assertErrorAnswer(streamed, 429, "budget_exceeded");
      await chat.clock.advance(75_355_000);
      await spend(chat, key, 5);
    });

    test("they are 1 to 10¹², or null", async () => {
      await using chat = await openChat(transport);
      const token = await chat.fixture.token();
      for (const [path, credential, fields] of [
        ["/auth/api-keys", token, { name: "a key" }],
        ["/client-tokens", chat.key, { endUser: "ann" }],
      ] as const) {
        for (const name of ["tokensPerDay", "tokensPerMonth"]) {
          for (const value of [0, 1e12 + 1, 1.5, "5"]) {
            const body = { ...fields, [name]: value };
            await assertRefusedField(await chat.fixture.call("POST", path, credential, body), name);
          }
          const made = await chat.fixture.call("POST", path, credential, { ...fields, [name]: null });
          assert.equal((await dataOf<Record<string, unknown>>(made))[name], null);
        }
      }
    });
  });
}

describe("budgets of tokens", () => {
  test("of two that are used up, the one that resets last is told", async () => {
    await using chat = await openWith();
    const { key } = await keyWith(chat, { tokensPerDay: 10, tokensPerMonth: 10 });
    await spend(chat, key, 10);
    const refused = await send(chat, key);
    assert.equal(refused.headers.get("retry-after"), "86400", "a day at most");
    const { details } = await assertErrorAnswer(refused, 429, "budget_exceeded");
    assert.deepEqual(details, { scope: "key", limit: 10, resetAt: nextMonth });
  });

  test("an end user's is kept for the key and the person, whatever the token, as the latest one says", async () => {
    await using chat = await openWith();
    const { key } = await keyWith(chat, { tokensPerDay: 10_000 });
    const first = await tokenWith(chat, key, { tokensPerDay: 100 });
    assert.deepEqual([first.tokensPerDay, first.tokensPerMonth], [100, null]);
    await spend(chat, first.token, 60);
    const shown = { scope: "endUser", period: "day", limit: 100, used: 60, reserved: 0, resetAt: midnight };
    assert.deepEqual(await budgetsOf(chat, first.token), [shown]);
    assert.deepEqual(
      (await budgetsOf(chat, key)).map(({ scope, used }) => [scope, used]),
      [["key", 60]],
    );
    const second = await tokenWith(chat, key, { tokensPerDay: 60 });
    for (const { token } of [first, second]) {
      const { details } = await assertErrorAnswer(await send(chat, token), 429, "budget_exceeded");
      assert.deepEqual(details, { scope: "endUser", limit: 60, resetAt: midnight });
    }
    const { token: bobs } = await tokenWith(chat, key, { endUser: "bob", tokensPerDay: 60 });
    await spend(chat, bobs, 9_940);
    await tokenWith(chat, key, { tokensPerDay: null });
    const { details } = await assertErrorAnswer(await send(chat, first.token), 429, "budget_exceeded");
    assert.deepEqual(details, { scope: "key", limit: 10_000, resetAt: midnight });
  });

  test("erasing a person erases what its budget had", async () => {
    await using chat = await openWith();
    const make = () => tokenWith(chat, chat.key, { tokensPerDay: 100 });
    await spend(chat, (await make()).token, 100);
    await chat.fixture.call("DELETE", "/end-users/ann", chat.key);
    assert.equal((await budgetsOf(chat, (await make()).token))[0]?.used, 0);
  });

  test("a twin's counts all of its replies, and is not shown", async () => {
    await using chat = await openWith({
      twins: createTwinList([newTwin({ id: "scripted", engine: "scripted", tokensPerDay: 50 })]),
    });
    await spend(chat, chat.key, 50);
    const other = await chat.fixture.key("full_access", "bob");
    assert.deepEqual(await budgetsOf(chat, other), []);
    const { details } = await assertErrorAnswer(await send(chat, other), 429, "budget_exceeded");
    assert.deepEqual(details, { scope: "twin", limit: 50, resetAt: midnight });
  });

  test("an owner's counts the replies of all of its keys, and is raised by the JWT that made one of them", async () => {
    await using chat = await openWith({ ownerTokensPerDay: 50 });
    const shown = { scope: "owner", period: "day", limit: 50, used: 50, reserved: 0, resetAt: midnight };
    const { key } = await keyWith(chat, {});
    await spend(chat, key, 50);
    assert.deepEqual(await budgetsOf(chat, chat.key), [shown]);
    const { details } = await assertErrorAnswer(await send(chat, chat.key), 429, "budget_exceeded");
    assert.deepEqual(details, { scope: "owner", limit: 50, resetAt: midnight });
    await spend(chat, await chat.fixture.key("full_access", "bob"), 1);
    const { id } = await keyWith(chat, {}, 200);
    await keyWith(chat, {}, 20);
    assert.deepEqual(await budgetsOf(chat, chat.key), [{ ...shown, limit: 200 }]);
    await spend(chat, chat.key, 10);
    await chat.fixture.call("DELETE", `/auth/api-keys/${id}`, await chat.fixture.token());
    assert.deepEqual(await budgetsOf(chat, chat.key), [{ ...shown, used: 60 }]);
    await assertErrorAnswer(await send(chat, key), 429, "budget_exceeded");
  });

  test("without an owner's, a JWT's claim sets none", async () => {
    await using chat = await openWith();
    const { key } = await keyWith(chat, {}, 200);
    assert.deepEqual(await budgetsOf(chat, key), []);
  });

  test("a rotated key has used what it had", async () => {
    await using chat = await openWith();
    const { key, id } = await keyWith(chat, { tokensPerDay: 10 });
    await spend(chat, key, 10);
    const token = await chat.fixture.token();
    const rotated = await chat.fixture.call("POST", `/auth/api-keys/${id}/rotate`, token, {});
    const { key: next } = await dataOf<CreatedApiKeyResource>(rotated);
    for (const secret of [key, next])
      await assertErrorAnswer(await send(chat, secret), 429, "budget_exceeded");
  });

  test("what a model does not count is estimated; a cancelled reply counts with its text, one without text not", async () => {
    await using chat = await openWith();
    const { key } = await keyWith(chat, { tokensPerDay: 10_000 });
    const used = async () => (await budgetsOf(chat, key)).map(({ used, reserved }) => [used, reserved]);
    const sent = send(chat, key);
    const run = await chat.engine.next();
    run.write("12345678");
    run.finish();
    await sent;
    assert.deepEqual(await used(), [[17, 0]], "15 told and 2 written");
    const failing = send(chat, key);
    (await chat.engine.next()).fail(new Error("no"));
    assert.equal((await failing).status, 502);
    assert.deepEqual(await used(), [[17, 0]]);
    const id = await chat.fixture.conversation(key, "scripted");
    const root = `/conversations/${id}/messages`;
    const cancelled = chat.fixture.call("POST", root, key, { content: "Hello?" });
    (await chat.engine.next()).write("1234");
    const [, { id: messageId } = { id: "" }] = await dataOf<{ id: string }[]>(
      await chat.fixture.call("GET", root, key),
    );
    await chat.fixture.call("POST", `${root}/${messageId}/cancel`, key);
    await cancelled;
    assert.deepEqual(await used(), [[33, 0]], "15 told and 1 written");
  });

  test("what a conversation has said before is reserved, too", async () => {
    await using chat = await openWith();
    const { key } = await keyWith(chat, { tokensPerDay: 10_000 });
    const id = await chat.fixture.conversation(key, "scripted");
    const ask = () => chat.fixture.call("POST", `/conversations/${id}/messages`, key, { content: "Hello?" });
    for (const more of [0, 251]) {
      const sent = ask();
      const run = await chat.engine.next();
      assert.equal((await budgetsOf(chat, key))[0]?.reserved, reserved + more, "6 and 1,000 characters");
      run.write("x".repeat(1000));
      run.finish(usage(1));
      await sent;
    }
  });

  test("deleting a conversation gives back what its running reply has reserved", async () => {
    await using chat = await openWith();
    const { key } = await keyWith(chat, { tokensPerDay: 10_000 });
    const id = await chat.fixture.conversation(key, "scripted");
    const sent = chat.fixture.call("POST", `/conversations/${id}/messages`, key, { content: "Hello?" });
    await chat.engine.next();
    await chat.fixture.call("DELETE", `/conversations/${id}`, key);
    await sent;
    assert.deepEqual(
      (await budgetsOf(chat, key)).map(({ used, reserved }) => [used, reserved]),
      [[0, 0]],
    );
  });

  test("engines that ask no model are always admitted, and who has no budget costs no call of the store", async () => {
    const counted = countCalls(createMemoryStore());
    await using chat = await openWith({
      store: counted.store,
      twins: createTwinList([newTwin({ id: "echo" }), newTwin({ id: "scripted", engine: "scripted" })]),
      engines: { echo: createEchoEngine(), scripted: createScriptedEngine() },
    });
    const { key } = await keyWith(chat, { tokensPerDay: 1 });
    const [used] = await budgetsOf(chat, key);
    for (const _ of [1, 2]) assert.equal((await send(chat, key, "Hello?", "echo")).status, 200);
    assert.deepEqual(await budgetsOf(chat, key), [used]);
    const calls = async (credential: string) => {
      counted.calls.clear();
      assert.equal((await send(chat, credential, "Hello?", "echo")).status, 200);
      return [...counted.calls].sort();
    };
    assert.deepEqual(await calls(key), await calls(chat.key));
    assert.deepEqual(await budgetsOf(chat, chat.key), []);
    assert.equal(counted.calls.has("readTokenBudgets"), false);
  });

  test("at 80 and at 100 % a log line says whose budget it is", async () => {
    const lines: object[] = [];
    const log: Log = (level, message, fields) => {
      if (message.includes("budget")) lines.push({ level, message, ...fields });
    };
    await using chat = await openWith({ log, ownerTokensPerDay: 1000 });
    const { key, id: keyId } = await keyWith(chat, { tokensPerDay: 100 });
    for (const total of [79, 1, 19]) await spend(chat, key, total);
    const line = { level: "warn", scope: "key", owner: "alice", keyId, period: "day", limit: 100 };
    const at80 = { ...line, percent: 80, message: "80 % of a budget of tokens are used up" };
    assert.deepEqual(lines, [at80]);
    await spend(chat, key, 901);
    const owners = { level: "warn", scope: "owner", owner: "alice", period: "day", limit: 1000 };
    const all = "100 % of a budget of tokens are used up";
    assert.deepEqual(lines.slice(1), [
      { ...line, percent: 100, message: all },
      { ...owners, percent: 80, message: at80.message },
      { ...owners, percent: 100, message: all },
    ]);
  });

  test("that a model does not count is said in the log once", async () => {
    const lines: string[] = [];
    await using chat = await openWith({ log: (_, message) => void lines.push(message) });
    const { key } = await keyWith(chat, { tokensPerDay: 10_000 });
    const said = () => lines.filter((line) => line.includes("does not count its tokens")).length;
    for (const [credential, times] of [
      [chat.key, 0],
      [key, 1],
      [key, 1],
    ] as const) {
      const sent = send(chat, credential);
      const run = await chat.engine.next();
      run.write("Hi");
      run.finish();
      await sent;
      assert.equal(said(), times);
    }
  });

  test("20 senders at once in two processes take no more than there is", async () => {
    const store = { ...createMemoryStore(), exclusive: false };
    await using one = await openWith({ store });
    await using other = await one.another();
    const { key } = await keyWith(one, { tokensPerDay: 2000 });
    const sent = Array.from({ length: 20 }, (_, n) => send(n % 2 ? one : other, key));
    const runs = await Promise.all([1, 2, 3, 4].map(() => one.engine.next()));
    for (const run of runs) {
      run.write("Hi");
      run.finish(usage(reserved));
    }
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    assert.deepEqual(
      [statuses.filter((status) => status === 200).length, new Set(statuses)],
      [4, new Set([200, 429])],
    );
    assert.equal((await budgetsOf(other, key))[0]?.used, 4 * reserved);
  });

  test("what a killed process has reserved is settled by the process that ends its reply, or takes it over", async () => {
    const ofTwin = {
      scope: "twin",
      owner: "",
      of: "scripted",
      endUser: null,
      period: "day",
      limit: 9000,
    } as const;
    for (const continues of [undefined, "exact"] as const) {
      await using two = await openCutOff({
        saved: "One two ",
        ...(continues && { continues }),
        tokensPerDay: 9000,
      });
      const state = async () => {
        const [found] = await two.store.readTokenBudgets([ofTwin], two.clock.now());
        return [found?.used, found?.reserved];
      };
      assert.deepEqual(await state(), [0, reserved]);
      await using other = await two.another();
      two.cutOff();
      await two.expire();
      if (continues) {
        const run = await other.engine.next();
        assert.deepEqual(await state(), [0, reserved]);
        run.write("One two three");
        run.finish(usage(30));
        await other.resume(two.messageId).then((stream) => stream.rest());
        assert.deepEqual(await state(), [30, 0]);
      } else assert.deepEqual(await state(), [17, 0], "15 told and 2 saved");
    }
  });
});

describe("budgets of tokens at other doors", () => {
  async function openDoors() {
    const clock = createManualClock(startOfTests);
    const options = { openaiApi: createOpenAIApi(), mcpApi: createMcpApi(), clock };
    const chat = await openWith(options);
    const { key } = await keyWith(chat, { tokensPerDay: 100 });
    const post = (path: string, body: object) =>
      chat.service.fetch(
        new Request(`http://twins.test${path}`, { method: "POST", ...jsonRequest(key, body) }),
      );
    const completion = (fields: object = {}) =>
      post("/v1/chat/completions", {
        model: "scripted",
        messages: [{ role: "user", content: "Hello?" }],
        ...fields,
      });
    return { chat, key, post, completion, [Symbol.asyncDispose]: () => chat[Symbol.asyncDispose]() };
  }

  test("a reply of /v1 that is not stored reserves and counts", async () => {
    await using doors = await openDoors();
    const { chat, key, completion } = doors;
    const asked = completion();
    const run = await chat.engine.next();
    assert.equal((await budgetsOf(chat, key))[0]?.reserved, reserved);
    await assertErrorCode(await completion(), "insufficient_quota");
    run.write("Hi");
    run.finish(usage(100));
    assert.equal((await asked).status, 200);
    assert.deepEqual(
      (await budgetsOf(chat, key)).map(({ used, reserved }) => [used, reserved]),
      [[100, 0]],
    );
    for (const fields of [{}, { stream: true }]) {
      const refused = await completion(fields);
      assert.equal(refused.headers.get("retry-after"), "75355");
      await assertErrorCode(refused, "insufficient_quota");
    }
    const response = await doors.post("/v1/responses", { model: "scripted", input: "Hello?" });
    await assertErrorCode(response, "insufficient_quota");
  });

  test("/mcp says it to the model", async () => {
    await using doors = await openDoors();
    await spend(doors.chat, doors.key, 100);
    const params = { name: "ask_twin", arguments: { twin: "scripted", question: "Hello?" } };
    const request = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const refused = await doors.post("/mcp", request);
    assert.equal(refused.status, 200);
    const { result } = (await refused.json()) as {
      result: { isError: boolean; content: { text: string }[] };
    };
    assert.equal(result.isError, true);
    assert.match(result.content[0]?.text ?? "", /100 tokens a day/);
  });

  async function assertErrorCode(response: Response, code: string): Promise<void> {
    assert.equal(response.status, 429);
    const { error } = (await response.json()) as { error: { code: string; type: string } };
    assert.deepEqual([error.code, error.type], [code, code]);
  }
});

/** Sends into a conversation, and has the reply say something. Resolves with the reply. */
async function ask(chat: Chat, key: string, id: string, body: object, said: string) {
  const sent = chat.fixture.call("POST", `/conversations/${id}/messages`, key, body);
  const run = await chat.engine.next();
  run.write(said);
  run.finish(usage(10));
  return dataOf<MessageResource>(await sent);
}

const toldBefore = (chat: Chat) => chat.engine.turns.at(-1)?.history.map(({ content }) => content);

test("what is edited away is not told where a budget holds", async () => {
  await using chat = await openWith();
  const { key } = await keyWith(chat, { tokensPerDay: 100_000 });
  const id = await chat.fixture.conversation(key, "scripted");
  const first = await ask(chat, key, id, { content: "One?" }, "First.");
  await ask(chat, key, id, { content: "Two?" }, "Second.");
  await ask(chat, key, id, { content: "Three?", after: first.id }, "Third.");
  assert.deepEqual(toldBefore(chat), ["One?", "First."]);
});

test("the branch that was chosen is told where a budget holds", async () => {
  await using chat = await openWith();
  const { key } = await keyWith(chat, { tokensPerDay: 100_000 });
  const id = await chat.fixture.conversation(key, "scripted");
  const first = await ask(chat, key, id, { content: "One?" }, "First.");
  await ask(chat, key, id, { content: "Two?", after: null }, "Second.");
  await chat.fixture.call("PATCH", `/conversations/${id}`, key, { lastMessageId: first.id });
  await ask(chat, key, id, { content: "Three?" }, "Third.");
  assert.deepEqual(toldBefore(chat), ["One?", "First."]);
});

test("a reply in whose place a message comes is told with all of its words where a budget holds", async () => {
  await using chat = await openWith();
  const { key } = await keyWith(chat, { tokensPerDay: 100_000 });
  const id = await chat.fixture.conversation(key, "scripted");
  const path = `/conversations/${id}/messages`;
  const replaced = chat.fixture.call("POST", path, key, { content: "One?" });
  const run = await chat.engine.next();
  run.write("First.");
  await ask(chat, key, id, { content: "Two?", whenBusy: "replace" }, "Second.");
  assert.deepEqual(toldBefore(chat), ["One?", "First."]);
  assert.equal((await dataOf<MessageResource>(await replaced)).status, "cancelled");
});

test("the question of a reply in whose place a message comes is reserved, too", async () => {
  await using chat = await openWith();
  const { key } = await keyWith(chat, { tokensPerDay: 100_000 });
  const id = await chat.fixture.conversation(key, "scripted");
  const path = `/conversations/${id}/messages`;
  for (const [said, told] of [
    ["First.", 1006],
    ["", 0],
  ] as const) {
    const replaced = chat.fixture.call("POST", path, key, { content: "x".repeat(1000), after: null });
    const run = await chat.engine.next();
    run.write(said);
    const sent = chat.fixture.call("POST", path, key, { content: "Hello?", whenBusy: "replace" });
    const next = await chat.engine.next();
    await replaced;
    const last = chat.engine.turns.at(-1)?.history.reduce((sum, { content }) => sum + content.length, 0);
    assert.equal(last, told);
    assert.equal((await budgetsOf(chat, key))[0]?.reserved, 512 + Math.ceil((57 + told) / 4));
    next.finish(usage(10));
    await sent;
  }
});

test("no reply is stopped for a message that is refused, as others have used the budget up", async () => {
  const twin = newTwin({ id: "scripted", engine: "scripted", tokensPerDay: 1000, handover: true });
  await using chat = await openChat(inProcess, { twins: createTwinList([twin]) });
  const { run, messageId } = await chat.begin();
  await spend(chat, chat.key, 1000);
  const replace = () => chat.post("/messages", { content: "Wait.", whenBusy: "replace" });
  await assertErrorAnswer(await replace(), 429, "budget_exceeded");
  assert.equal((await chat.message(messageId)).status, "in_progress");
  const path = `/conversations/${chat.conversationId}`;
  await chat.fixture.call("PATCH", path, chat.key, { answeredBy: "person" });
  assert.equal((await replace()).status, 202, "what waits for a person takes no tokens");
  assert.equal((await chat.message(messageId)).status, "cancelled");
  run.finish();
});

test("of a reply that a guard stops, it is not said that its model does not count", async () => {
  const lines: string[] = [];
  await using chat = await openWith({
    guard: { input: () => ({ stop: "Not that." }) },
    log: (_, message) => lines.push(message),
  });
  const { key } = await keyWith(chat, { tokensPerDay: 100_000 });
  assert.equal((await send(chat, key)).status, 200);
  assert.deepEqual(
    lines.filter((line) => line.includes("does not count")),
    [],
  );
});

for (const what of ["deleted", "erased"]) {
  test(`what a reply took that is ${what} is told in the log and to webhooks, where a budget is reached by it`, async () => {
    const lines: object[] = [];
    await using chat = await openWith({ log: (_, message, fields) => lines.push({ message, ...fields }) });
    const { call, token } = chat.fixture;
    const url = "https://example.com/";
    const hook = await call("POST", "/webhooks", await token(), { url, events: ["budget.reached"] });
    const { key } = await keyWith(chat, { tokensPerDay: 18 });
    const made = await call("POST", "/conversations", key, { twinId: "scripted", endUser: "ann" });
    const { id } = await dataOf<{ id: string }>(made);
    const sent = call("POST", `/conversations/${id}/messages`, key, { content: "Hello?" });
    (await chat.engine.next()).write("1234");
    await chat.clock.advance(1000);
    await call("DELETE", what === "deleted" ? `/conversations/${id}` : "/end-users/ann", key);
    await sent;
    assert.equal((await budgetsOf(chat, key))[0]?.used, 16);
    assert.equal(lines.filter((line) => "percent" in line && line.percent === 80).length, 1);
    const { id: hookId } = await dataOf<{ id: string }>(hook);
    const told = await call("GET", `/webhooks/${hookId}/deliveries`, await token());
    assert.equal((await dataOf<object[]>(told)).length, 1);
  });
}
