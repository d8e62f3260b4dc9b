/**
 * The transport of the AI SDK's `useChat`, without a page.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ChatChunk, createChatTransport } from "../../client/ai-sdk.ts";
import { TwinClient } from "../../client/mod.ts";
import { openChat } from "../support/chat.ts";
import { settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import { overSocket } from "../support/harness.ts";
import { runtime } from "../support/runtime.ts";

const messages = [{ role: "user", parts: [{ type: "text", text: "Hello?" }] }];

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
    const stored = (await client.messages.list(chat.conversationId)).data.map(({ content }) => content);
    assert.deepEqual(stored, ["Elsewhere?", "Elsewhere.", "Hello?", "Hello!"]);
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
    const first = await transport.reconnectToStream({ chatId, abortSignal: stopping.signal });
    t.mock.timers.enable({ apis: ["setTimeout"] });
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
    const sending = transport.sendMessages({ chatId: chat.conversationId, messages, abortSignal });
    await assert.rejects(sending, { name: "AbortError" });
    assert.equal((await client.messages.list(chat.conversationId)).data.length, 0);
  });
});
