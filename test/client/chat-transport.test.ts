/**
 * The transport of the AI SDK's `useChat`, without a page.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ChatChunk, createChatTransport, toUIMessages } from "../../client/ai-sdk.ts";
import { TwinClient } from "../../client/mod.ts";
import { createTwinList } from "../../core/mod.ts";
import { createKnowledgeEngine } from "../../knowledge/mod.ts";
import { openChat } from "../support/chat.ts";
import { createManualClock, settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import { newTwin, openFixture, overSocket } from "../support/harness.ts";
import { runtime } from "../support/runtime.ts";

const messages = [{ id: "u1", role: "user", parts: [{ type: "text", text: "Hello?" }] }];
const submit = { trigger: "submit-message", messageId: undefined } as const;

describe("a message of a chat whose conversation is busy", () => {
  test("is sent after the running reply, and answered by its own, though the client is set to follow", async () => {
    await using chat = await openChat(overSocket);
    const { run: running } = await chat.begin("Elsewhere?");
    const gate = createGate();
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const response = await globalThis.fetch(input, init);
      if (response.status === 409) gate.open();
      return response;
    };
    const client = new TwinClient({ baseUrl: chat.fixture.url, apiKey: chat.key, onBusy: "follow", fetch });
    const transport = createChatTransport(client, { twinId: "scripted" });
    const chunks = await transport.sendMessages({
      ...submit,
      chatId: chat.conversationId,
      messages,
      abortSignal: undefined,
    });
    await gate.opened;
    running.write("Elsewhere.");
    running.finish();
    const run = await chat.engine.next();
    run.write("Hello!");
    run.finish();
    let text = "";
    for await (const chunk of chunks) if (chunk.type === "text-delta") text += chunk.delta;
    assert.equal(text, "Hello!");
    const stored = (await client.messages.list(chat.conversationId, { path: "all" })).data;
    assert.deepEqual(
      stored.map(({ content, after }) => [content, after === null]),
      [
        ["Elsewhere?", true],
        ["Elsewhere.", false],
        ["Hello?", true], // the chat shows nothing that it could go on from
        ["Hello!", false],
      ],
    );
  });
});

/** A chat with an id of its own making, whose replies the test writes. */
async function openOwnChat() {
  const chat = await openChat(overSocket);
  const client = new TwinClient({ baseUrl: chat.fixture.url, apiKey: chat.key });
  const transport = createChatTransport(client, { twinId: "scripted" });
  const user = (id: string, text: string) => ({ id, role: "user", parts: [{ type: "text", text }] });
  type Options = Partial<Parameters<typeof transport.sendMessages>[0]>;
  /** Sends what the chat shows, and has it answered. Resolves with the reply, as the chat shows it. */
  async function ask(shown: (typeof messages)[number][], says: string, options: Options = {}) {
    const sending = { ...submit, chatId: "my chat", messages: shown, abortSignal: undefined, ...options };
    const chunks = await transport.sendMessages(sending);
    const run = await chat.engine.next();
    run.write(says);
    run.finish();
    let id = "";
    for await (const chunk of chunks) if (chunk.type === "start") id = chunk.messageId;
    return { id, role: "assistant", parts: [{ type: "text", text: says }] };
  }
  /** The words on the conversation's current path. */
  async function path() {
    const [conversation] = (await client.conversations.list()).data;
    return (await client.messages.list(String(conversation?.id))).data.map(({ content }) => content);
  }
  return {
    chat,
    client,
    transport,
    user,
    ask,
    path,
    [Symbol.asyncDispose]: () => chat[Symbol.asyncDispose](),
  };
}

describe("a chat that thinks again", () => {
  test("regenerates a reply without asking twice, wherever it is", async () => {
    await using opened = await openOwnChat();
    const { user, ask, path } = opened;
    const [first, second] = [user("u1", "One?"), user("u2", "Two?")];
    const one = await ask([first], "One.");
    await ask([first, one, second], "Two.");
    const regenerate = { trigger: "regenerate-message" } as const;
    const again = await ask([first, one, second], "Two!", regenerate);
    assert.deepEqual(await path(), ["One?", "One.", "Two?", "Two!"]);
    await ask([first], "One!", { ...regenerate, messageId: one.id });
    assert.deepEqual(await path(), ["One?", "One!"]);
    assert.notEqual(again.id, one.id);
  });

  test("goes on from before a message that is edited, also one that was read from the service", async () => {
    await using opened = await openOwnChat();
    const { client, user, ask, path } = opened;
    const first = user("u1", "One?");
    const one = await ask([first], "One.");
    await ask([first, one, user("u2", "Two?")], "Two.");
    await ask([first, one, user("u2", "Three?")], "Three.", { messageId: "u2" });
    assert.deepEqual(await path(), ["One?", "One.", "Three?", "Three."]);
    const [conversation] = (await client.conversations.list()).data;
    const history = toUIMessages((await client.messages.list(String(conversation?.id))).data);
    const stored = history[2]?.id ?? "";
    await ask([user(stored, "Four?")], "Four.", { messageId: stored });
    assert.deepEqual(await path(), ["One?", "One.", "Four?", "Four."]);
  });

  test("goes on from the reply that it shows, also where another window has gone on", async () => {
    await using opened = await openOwnChat();
    const { user, ask, path } = opened;
    const [first, second] = [user("u1", "One?"), user("u2", "Two?")];
    const one = await ask([first], "One.");
    const elsewhere = await ask([first], "One!", { trigger: "regenerate-message", messageId: one.id });
    await ask([first, one, second], "Two.");
    assert.deepEqual(await path(), ["One?", "One.", "Two?", "Two."]);
    await ask([first, elsewhere, second], "Two!");
    assert.deepEqual(await path(), ["One?", "One!", "Two?", "Two!"]);
    await ask([user("u3", "Three?")], "Three.");
    assert.deepEqual(await path(), ["Three?", "Three."]);
  });
});

describe("a chat with an id of its own making", () => {
  test("goes on from a question whose reply has no words: stopped before them, or failed", async () => {
    await using opened = await openOwnChat();
    const { chat, transport, user, path } = opened;
    const stop = new AbortController();
    const shown = [user("u1", "One?"), user("u2", "Two?"), user("u3", "Three?")];
    const send = (count: number) =>
      transport.sendMessages({
        ...submit,
        chatId: "my chat",
        messages: shown.slice(0, count),
        abortSignal: count === 1 ? stop.signal : undefined,
      });
    const first = await send(1);
    const stopped = await chat.engine.next();
    stop.abort();
    await stopped.aborted;
    for await (const _ of first);
    const second = await send(2);
    (await chat.engine.next()).fail(new Error("No model."));
    for await (const _ of second);
    const third = await send(3);
    (await chat.engine.next()).finish();
    for await (const _ of third);
    assert.deepEqual(await path(), ["One?", "", "Two?", "", "Three?", ""]);
  });

  test("finds its running reply again", async () => {
    await using opened = await openOwnChat();
    const { chat, transport, user } = opened;
    assert.equal(await transport.reconnectToStream({ chatId: "my chat" }), null);
    const shown = [user("u1", "One?")];
    await transport.sendMessages({ ...submit, chatId: "my chat", messages: shown, abortSignal: undefined });
    const run = await chat.engine.next();
    const again = await transport.reconnectToStream({ chatId: "my chat" });
    run.write("One.");
    run.finish();
    let text = "";
    for await (const chunk of again ?? []) if (chunk.type === "text-delta") text += chunk.delta;
    assert.equal(text, "One.");
  });
});

describe("a reply that ends after the chat's messages were read, and before it is followed again", () => {
  for (const [when, sinceMs, types] of [
    ["just now", 1_000, ["start", "text-start", "text-delta", "text-end", "finish"]],
    ["long ago", 120_000, []],
  ] as const) {
    test(`${when} is told ${types.length > 0 ? "whole" : "no more"}`, async () => {
      const clock = createManualClock(Date.now() - sinceMs);
      await using chat = await openChat(overSocket, { clock });
      const client = new TwinClient({ baseUrl: chat.fixture.url, apiKey: chat.key });
      const transport = createChatTransport(client, { twinId: "scripted" });
      const { run, stream } = await chat.begin();
      assert.equal(toUIMessages((await client.messages.list(chat.conversationId)).data).length, 1);
      run.write("Hello!");
      run.finish();
      await stream.rest();
      const told: string[] = [];
      const chunks = await transport.reconnectToStream({ chatId: chat.conversationId });
      for await (const { type } of chunks ?? []) told.push(type);
      assert.deepEqual(told, types);
    });
  }
});

describe("what a chat cannot send", () => {
  const words = (text: string) => ({ type: "text", text });
  const picture = { type: "file", mediaType: "image/png", url: "data:image/png;base64," };
  for (const [what, shown, says] of [
    [
      "pictures",
      { id: "u1", role: "user", parts: [...(messages[0]?.parts ?? []), picture] },
      /pictures cannot/,
    ],
    ["a twin's words", { id: "a1", role: "assistant", parts: [words("Hel")] }, /not the user's/],
  ] as const) {
    test(`is refused: ${what}`, async () => {
      await using opened = await openOwnChat();
      const { client, transport } = opened;
      const sending = { ...submit, chatId: "my chat", messages: [shown], abortSignal: undefined };
      await assert.rejects(
        transport.sendMessages({ ...sending, messages: [{ ...shown, parts: [...shown.parts] }] }),
        says,
      );
      assert.equal((await client.conversations.list()).data.length, 1); // the one that the test began with
    });
  }
});

describe("the sources of a reply", () => {
  test("are parts of its message, as it is written and after a reload", async () => {
    await using fixture = await openFixture(overSocket, {
      twins: createTwinList([
        {
          id: "shop",
          name: "Shop",
          engine: "knowledge",
          instructions: "## Parking\n\nBehind the house.",
          documents: [{ path: "hours.md", text: "## Opening hours\n\nWe open at 9." }],
        },
      ]),
      engines: { knowledge: createKnowledgeEngine() },
    });
    const client = new TwinClient({ baseUrl: fixture.url, apiKey: await fixture.key() });
    const transport = createChatTransport(client, { twinId: "shop" });
    const { id: chatId } = await client.conversations.create({ twinId: "shop" });
    const question = { id: "u1", role: "user", parts: [{ type: "text", text: "When do you open?" }] };
    const sending = { ...submit, chatId, messages: [question], abortSignal: undefined };
    const parts: unknown[] = [];
    for await (const chunk of await transport.sendMessages(sending)) {
      if (chunk.type === "source-document") parts.push(chunk);
    }
    const [, reply] = toUIMessages((await client.messages.list(chatId)).data);
    const expected = {
      type: "source-document",
      mediaType: "text/markdown",
      title: "Opening hours",
      filename: "hours.md",
    };
    assert.deepEqual(parts, [{ ...expected, sourceId: `${reply?.id}-0` }]);
    assert.deepEqual(reply?.parts.slice(1), parts);
  });
});

describe("a chat that is stopped", () => {
  test("says why its reply could not be cancelled", async () => {
    await using chat = await openChat(overSocket);
    const fetch: typeof globalThis.fetch = (input, init) => {
      if (!String(input).endsWith("/cancel")) return globalThis.fetch(input, init);
      const error = { code: "rate_limited", message: "The limit is used up." };
      return Promise.resolve(Response.json({ error }, { status: 429 }));
    };
    const client = new TwinClient({ baseUrl: chat.fixture.url, apiKey: chat.key, fetch });
    const transport = createChatTransport(client, { twinId: "scripted" });
    const stopping = new AbortController();
    const chunks = await transport.sendMessages({
      ...submit,
      chatId: chat.conversationId,
      messages,
      abortSignal: stopping.signal,
    });
    const reader = chunks.getReader();
    (await chat.engine.next()).write("Hel");
    assert.equal((await reader.read()).value?.type, "start");
    stopping.abort();
    const types: string[] = [];
    let last: ChatChunk | undefined;
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      last = read.value;
      types.push(last.type);
    }
    assert.deepEqual(types, ["text-start", "text-delta", "error"]);
    assert.deepEqual(last, { type: "error", errorText: "The limit is used up." });
  });

  test("and followed again at once, as a component that is mounted twice does, goes on", {
    skip: runtime !== "node" && `${runtime} cannot set a test's timers`,
  }, async (t) => {
    await using chat = await openChat(overSocket);
    const client = new TwinClient({ baseUrl: chat.fixture.url, apiKey: chat.key });
    const transport = createChatTransport(client, { twinId: "scripted" });
    const { run } = await chat.begin();
    run.write("Hel");
    const stopping = new AbortController();
    const chatId = chat.conversationId;
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const first = await transport.reconnectToStream({ chatId, abortSignal: stopping.signal });
    stopping.abort();
    await first?.cancel();
    const second = await transport.reconnectToStream({ chatId });
    t.mock.timers.tick(1000);
    await settle();
    t.mock.timers.reset();
    run.finish();
    const types: string[] = [];
    for await (const { type } of second ?? []) types.push(type);
    assert.deepEqual(types, ["start", "text-start", "text-delta", "text-end", "finish"]);
    const [, reply] = (await client.messages.list(chatId)).data;
    assert.equal(reply?.status, "completed");
  });

  test("before it was sent sends nothing", async () => {
    await using chat = await openChat(overSocket);
    const client = new TwinClient({ baseUrl: chat.fixture.url, apiKey: chat.key });
    const transport = createChatTransport(client, { twinId: "scripted" });
    const abortSignal = AbortSignal.abort();
    const sending = transport.sendMessages({ ...submit, chatId: chat.conversationId, messages, abortSignal });
    await assert.rejects(sending, { name: "AbortError" });
    assert.equal((await client.messages.list(chat.conversationId)).data.length, 0);
  });
});

test("calls that wait are asked for as useChat does, and its answer decides them", async () => {
  await using chat = await openChat(overSocket, {
    twins: createTwinList([newTwin({ id: "scripted", engine: "scripted", confirm: ["orders"] })]),
  });
  const client = new TwinClient({ baseUrl: chat.fixture.url, apiKey: chat.key });
  const transport = createChatTransport(client, { twinId: "scripted" });
  const sending = { ...submit, chatId: chat.conversationId, abortSignal: undefined };
  const read = async (stream: ReadableStream<ChatChunk>) => {
    const all: ChatChunk[] = [];
    for await (const chunk of stream) all.push(chunk);
    return all;
  };
  const first = read(await transport.sendMessages({ ...sending, messages }));
  const calls = ["a", "b"].map((callId) => ({
    callId,
    name: "orders/cancel",
    arguments: { number: callId },
  }));
  const run = await chat.engine.next();
  run.write("May I?");
  run.finish({ finishReason: "tool_calls", pending: { calls, state: "kept" } });
  const [start, ...chunks] = await first;
  assert.ok(start?.type === "start");
  const request = (id: string) => [
    {
      type: "tool-input-available",
      toolCallId: id,
      toolName: "orders/cancel",
      input: { number: id },
      dynamic: true,
    },
    { type: "tool-approval-request", approvalId: id, toolCallId: id },
  ];
  assert.deepEqual(chunks.slice(3), [
    ...request("a"),
    ...request("b"),
    { type: "finish", finishReason: "tool-calls" },
  ]);
  const { data } = await client.messages.list(chat.conversationId);
  const part = (id: string, state: string, approval: object) => ({
    type: "dynamic-tool",
    toolName: "orders/cancel",
    toolCallId: id,
    state,
    input: { number: id },
    approval: { id, ...approval },
  });
  assert.deepEqual(toUIMessages(data)[1]?.parts.slice(1), [
    part("a", "approval-requested", {}),
    part("b", "approval-requested", {}),
  ]);
  const answered = {
    id: start.messageId,
    role: "assistant",
    parts: [
      part("a", "approval-responded", { approved: true }),
      part("b", "approval-responded", { approved: false }),
    ],
  };
  const second = read(await transport.sendMessages({ ...sending, messages: [...messages, answered] }));
  const next = await chat.engine.next();
  assert.deepEqual(
    next.turn.decided?.calls.map(({ callId, decision }) => [callId, decision]),
    [
      ["a", "approve"],
      ["b", "deny"],
    ],
  );
  assert.equal(next.turn.decided?.state, "kept");
  next.write("Done.");
  next.finish();
  const [approved, denied, ...rest] = await second;
  assert.deepEqual(approved, { type: "tool-output-available", toolCallId: "a", output: null, dynamic: true });
  assert.deepEqual(denied, { type: "tool-output-denied", toolCallId: "b" });
  assert.deepEqual(
    rest.map(({ type }) => type),
    ["start", "reset-step", "text-start", "text-delta", "text-end", "finish"],
  );
  const shown = toUIMessages((await client.messages.list(chat.conversationId)).data);
  assert.deepEqual(
    shown.map(({ role, parts }) => [role, parts.length]),
    [
      ["user", 1],
      ["assistant", 1],
      ["assistant", 1],
    ],
  );
});
