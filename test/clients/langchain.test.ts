/**
 * LangChain, with its package for OpenAI.
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type * as Package from "@langchain/openai";
import { allOf } from "../client/collect.ts";
import { type OpenAIFixture, openOpenAI } from "../openai-clients/fixture.ts";
import { overSocket } from "../support/harness.ts";
import { skip } from "./packages.ts";

describe("LangChain", { skip, timeout: 300_000 }, () => {
  let library: typeof Package;
  before(async () => {
    library = await import("@langchain/openai");
  });

  function modelOf(
    { fixture, key: apiKey }: OpenAIFixture,
    { headers = {}, ...options }: Partial<Package.ChatOpenAIFields> & { headers?: HeadersInit } = {},
  ): Package.ChatOpenAI {
    const configuration = { baseURL: `${fixture.url}/v1`, defaultHeaders: headers };
    return new library.ChatOpenAI({ model: "ada", apiKey, maxRetries: 0, configuration, ...options });
  }

  for (const useResponsesApi of [false, true]) {
    const way = useResponsesApi ? "a response" : "a completion";

    test(`asks for ${way}`, async () => {
      await using api = await openOpenAI(overSocket);
      const asked = modelOf(api, { useResponsesApi }).invoke([
        ["system", "You are a pirate."],
        ["human", "One?"],
        ["ai", "One."],
        ["human", "Two?"],
      ]);
      const run = await api.engine.next();
      assert.deepEqual(run.turn.history, [
        { role: "user", content: "One?" },
        { role: "assistant", content: "One." },
      ]);
      run.write("Two.");
      run.finish({ usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } });
      const reply = await asked;
      assert.equal(reply.text, "Two.");
      assert.equal(Object(reply.usage_metadata).total_tokens, 7);
    });

    test(`hands on what was said before, for ${way}`, async () => {
      await using api = await openOpenAI(overSocket);
      const model = modelOf(api, { useResponsesApi });
      const first = model.invoke("One?");
      const run = await api.engine.next();
      run.write("One.");
      run.finish();
      const second = model.invoke([["human", "One?"], await first, ["human", "Two?"]]);
      const { turn, finish } = await api.engine.next();
      finish();
      await second;
      assert.deepEqual(turn.history, [
        { role: "user", content: "One?" },
        { role: "assistant", content: "One." },
      ]);
    });

    test(`streams ${way}`, async () => {
      await using api = await openOpenAI(overSocket);
      const streaming = modelOf(api, { useResponsesApi }).stream("Hello?");
      const run = await api.engine.next();
      run.write("Hi ");
      run.write("👋!");
      run.finish({ usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } });
      const chunks = await allOf(await streaming);
      assert.equal(chunks.map(({ text }) => text).join(""), "Hi 👋!");
      const whole = chunks.reduce((before, chunk) => before.concat(chunk));
      assert.equal(Object(whole.usage_metadata).total_tokens, 7);
    });
  }

  test("keeps the replies of a conversation that a header names", async () => {
    await using api = await openOpenAI(overSocket);
    const model = modelOf(api, { model: "echo", headers: { "X-Conversation-Id": "chat 1" }, user: "zoe" });
    await model.invoke("One");
    await model.invoke([
      ["human", "One"],
      ["ai", "One"],
      ["human", "Two"],
    ]);
    assert.deepEqual(
      (await api.messages()).map(({ content }) => content),
      ["One", "One", "Two", "Two"],
    );
  });

  test("is told what was wrong with a request", async () => {
    await using api = await openOpenAI(overSocket);
    await assert.rejects(modelOf(api, { model: "nobody" }).invoke("Hello?"), { status: 404 });
    await assert.rejects(modelOf(api, { n: 2 }).invoke("Hello?"), { status: 400, param: "n" });
  });
});
