/**
 * A server whose twins are asked, and say, only what a moderation model lets pass.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { startModeration } from "../openai-models/moderation-server.ts";
import { dataOf } from "../support/harness.ts";
import { assertRefusal, call, converse, createKey, createScratch, mint } from "./fixture.ts";
import { runServer, startServer } from "./process.ts";

const scratch = await createScratch();

interface Told {
  readonly content: string;
  readonly finishReason: string;
}

test("MODERATION_MODEL decides what twins are asked, and its key is for its own address alone", async () => {
  await using moderation = await startModeration();
  const { flags } = await scratch();
  const variables = { MODEL_BASE_URL: "http://127.0.0.1:1/v1", MODEL_API_KEY: "sk-model" };
  for (const [more, credential] of [
    [{ MODERATION_API_KEY: "sk-moderation" }, "Bearer sk-moderation"],
    [{}, undefined],
    [{ MODEL_BASE_URL: moderation.baseUrl }, "Bearer sk-model"],
  ] as const) {
    const address = { MODERATION_MODEL: "moderator", MODERATION_BASE_URL: moderation.baseUrl };
    const server = await startServer(flags, { ...variables, ...address, ...more });
    const key = await createKey(server, await mint(flags));
    const messages = await converse(server, key, "echo");
    const ask = async (content: string) => dataOf<Told>(await call(messages, "POST", key, { content }));
    const stopped = await ask("It is forbidden.");
    assert.equal(stopped.finishReason, "content_filter");
    assert.equal(stopped.content, "I can't talk about that.");
    assert.equal((await ask("Hello.")).content, "Hello.");
    assert.equal(moderation.credentials.at(-1), credential);
    await server.stop();
  }
});

test("MODERATION_MODEL without an address stops the start", async () => {
  const { flags } = await scratch();
  const ended = await runServer(flags, { MODERATION_MODEL: "moderator" });
  assertRefusal(ended, /MODERATION_MODEL .*set MODERATION_BASE_URL or MODEL_BASE_URL/);
});

test("MODERATION_MODEL decides in the chat of a terminal, too", async () => {
  await using moderation = await startModeration();
  const { flags } = await scratch();
  const variables = { MODERATION_MODEL: "moderator", MODERATION_BASE_URL: moderation.baseUrl };
  const input = "It is forbidden.\nHello.\n";
  const chat = await runServer(["chat", "echo", ...flags], variables, { input });
  assert.equal(chat.code, 0, chat.stderr);
  assert.deepEqual(chat.stdout.trimEnd().split("\n").slice(1), [
    "Echo: I can't talk about that.",
    "Echo: Hello.",
  ]);
});
