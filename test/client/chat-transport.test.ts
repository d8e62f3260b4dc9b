/**
 * The transport of the AI SDK's `useChat`, without a page.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ChatChunk, createChatTransport } from "../../client/ai-sdk.ts";
import { TwinClient } from "../../client/mod.ts";
import { openChat } from "../support/chat.ts";
import { overSocket } from "../support/harness.ts";

const messages = [{ role: "user", parts: [{ type: "text", text: "Hello?" }] }];

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
