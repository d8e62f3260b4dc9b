/**
 * The AI SDK, with its providers for OpenAI and for what is compatible with it.
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type * as OpenAIProvider from "@ai-sdk/openai";
import type * as CompatibleProvider from "@ai-sdk/openai-compatible";
import type * as Package from "ai";
import { ModelError } from "../../core/mod.ts";
import { allOf } from "../client/collect.ts";
import { type OpenAIFixture, openOpenAI } from "../openai-clients/fixture.ts";
import { overSocket } from "../support/harness.ts";
import { skip } from "./packages.ts";

const providers = ["openai, responses", "openai, chat", "openai-compatible"] as const;

describe("the AI SDK", { skip, timeout: 300_000 }, () => {
  let ai: typeof Package;
  let openai: typeof OpenAIProvider;
  let compatible: typeof CompatibleProvider;
  before(async () => {
    ai = await import("ai");
    openai = await import("@ai-sdk/openai");
    compatible = await import("@ai-sdk/openai-compatible");
  });

  /** A twin as a model of one of the providers. */
  function modelOf(
    provider: (typeof providers)[number],
    { fixture, key: apiKey }: OpenAIFixture,
    headers: Record<string, string> = {},
    id = "ada",
  ): Package.LanguageModel {
    const options = { baseURL: `${fixture.url}/v1`, apiKey, headers };
    switch (provider) {
      case "openai, responses":
        return openai.createOpenAI(options).responses(id);
      case "openai, chat":
        return openai.createOpenAI(options).chat(id);
      case "openai-compatible":
        return compatible.createOpenAICompatible({ name: "twins", includeUsage: true, ...options })(id);
    }
  }

  for (const provider of providers) {
    test(`generates a text (${provider})`, async () => {
      await using api = await openOpenAI(overSocket);
      const asked = ai.generateText({
        model: modelOf(provider, api),
        instructions: "You are a pirate.",
        messages: [
          { role: "user", content: "One?" },
          { role: "assistant", content: "One." },
          { role: "user", content: "Two?" },
        ],
      });
      const run = await api.engine.next();
      assert.deepEqual(run.turn.history, [
        { role: "user", content: "One?" },
        { role: "assistant", content: "One." },
      ]);
      assert.equal(run.turn.content, "Two?");
      run.write("Two.");
      run.finish({ finishReason: "length", usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } });
      const { text, finishReason, usage, warnings } = await asked;
      assert.deepEqual([text, finishReason, usage.totalTokens], ["Two.", "length", 7]);
      assert.deepEqual(warnings, []);
    });

    test(`streams a text (${provider})`, async () => {
      await using api = await openOpenAI(overSocket);
      const result = ai.streamText({ model: modelOf(provider, api), prompt: "Hello?" });
      const reading = allOf(result.textStream);
      const run = await api.engine.next();
      run.write("Hi ");
      run.write("👋!");
      run.finish({ usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } });
      assert.equal((await reading).join(""), "Hi 👋!");
      assert.equal(await result.finishReason, "stop");
      assert.equal((await result.usage).totalTokens, 7);
    });

    test(`learns that a reply failed in the middle (${provider})`, async () => {
      await using api = await openOpenAI(overSocket);
      const errors: unknown[] = [];
      const result = ai.streamText({
        model: modelOf(provider, api),
        prompt: "Hello?",
        onError: ({ error }) => void errors.push(error),
      });
      const reading = allOf(result.textStream);
      const run = await api.engine.next();
      run.write("Once");
      run.fail(new ModelError("model_error", "secret"));
      await reading.catch(() => undefined);
      assert.match(JSON.stringify(errors, Object.getOwnPropertyNames(errors[0])), /model failed to reply/);
    });

    test(`is told what was wrong with a request (${provider})`, async () => {
      await using api = await openOpenAI(overSocket);
      const asked = ai.generateText({ model: modelOf(provider, api, {}, "nobody"), prompt: "Hello?" });
      await assert.rejects(asked, (error) => {
        assert.ok(ai.APICallError.isInstance(error));
        assert.deepEqual([error.statusCode, error.isRetryable], [404, false]);
        assert.match(error.message, /twin/);
        return true;
      });
    });
  }

  for (const provider of ["openai, chat", "openai-compatible"] as const) {
    test(`keeps the replies of a conversation that a header names (${provider})`, async () => {
      await using api = await openOpenAI(overSocket);
      const model = modelOf(provider, api, { "X-Conversation-Id": "chat 1" }, "echo");
      const messages: Package.ModelMessage[] = [];
      for (const content of ["One", "Two"]) {
        messages.push({ role: "user", content });
        const { text } = await ai.generateText({ model, messages });
        messages.push({ role: "assistant", content: text });
      }
      assert.deepEqual(
        (await api.messages()).map(({ content }) => content),
        ["One", "One", "Two", "Two"],
      );
    });
  }

  test("continues a conversation from its newest response", async () => {
    await using api = await openOpenAI(overSocket);
    const model = modelOf("openai, responses", api, {}, "echo");
    const first = await ai.generateText({ model, prompt: "One" });
    const previousResponseId = String(first.finalStep.providerMetadata?.openai?.responseId);
    await ai.generateText({ model, prompt: "Two", providerOptions: { openai: { previousResponseId } } });
    const messages = await api.messages();
    assert.equal(messages.length, 4);
    assert.equal(new Set(messages.map(({ conversationId }) => conversationId)).size, 1);
  });

  for (const provider of providers) {
    test(`hands on what was said before (${provider})`, async () => {
      await using api = await openOpenAI(overSocket);
      const model = modelOf(provider, api);
      const messages: Package.ModelMessage[] = [{ role: "user", content: "One?" }];
      const first = ai.generateText({ model, messages });
      const run = await api.engine.next();
      run.write("One.");
      run.finish();
      messages.push(...(await first).responseMessages, { role: "user", content: "Two?" });
      const second = ai.generateText({ model, messages });
      const { turn, finish } = await api.engine.next();
      finish();
      await second;
      assert.deepEqual(turn.history, [
        { role: "user", content: "One?" },
        { role: "assistant", content: "One." },
      ]);
      assert.equal(turn.content, "Two?");
    });
  }
});
