/**
 * The package `openai`, as its users use it.
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type * as Package from "openai";
import { ModelError } from "../../core/mod.ts";
import { allOf } from "../client/collect.ts";
import { type OpenAIFixture, openOpenAI } from "../openai-clients/fixture.ts";
import { dataOf, overSocket } from "../support/harness.ts";
import { skip } from "./packages.ts";

/** The members that a type requires. */
type RequiredMember<T> = { [K in keyof T]-?: object extends Pick<T, K> ? never : K }[keyof T];

/** Fails unless an object has these members, of which the compiler knows that its type requires no others. */
function assertHas<T extends object>(value: T | undefined, members: Record<RequiredMember<T>, true>): void {
  const missing = Object.keys(members).filter((name) => !(name in (value ?? {})));
  assert.deepEqual(missing, []);
}

describe("openai", { skip, timeout: 300_000 }, () => {
  let library: typeof Package;
  before(async () => {
    library = await import("openai");
  });

  function connect({ fixture, key }: OpenAIFixture, options: Package.ClientOptions = {}): Package.OpenAI {
    return new library.OpenAI({ baseURL: `${fixture.url}/v1`, apiKey: key, maxRetries: 0, ...options });
  }

  const question: Pick<Package.OpenAI.ChatCompletionCreateParamsNonStreaming, "model" | "messages"> = {
    model: "ada",
    messages: [{ role: "user", content: "Hello?" }],
  };

  test("lists the models, and reads one", async () => {
    await using api = await openOpenAI(overSocket);
    const client = connect(api);
    assert.deepEqual(
      (await allOf(client.models.list())).map(({ id }) => id),
      ["ada", "echo"],
    );
    assert.equal((await client.models.retrieve("ada")).owned_by, "twin-service");
  });

  test("gets a completion", async () => {
    await using api = await openOpenAI(overSocket);
    const asked = connect(api).chat.completions.create(question);
    const run = await api.engine.next();
    run.write("Hi!");
    run.finish({ usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } });
    const completion = await asked;
    assert.equal(completion.choices[0]?.message.content, "Hi!");
    assert.equal(completion.usage?.total_tokens, 7);
    assert.match(completion._request_id ?? "", /^req_/);
  });

  test("is told that a budget is used up, as a quota", async () => {
    await using api = await openOpenAI(overSocket);
    const token = await api.fixture.token();
    const fields = { name: "a key", scope: "full_access", tokensPerDay: 7 };
    const made = await api.fixture.call("POST", "/auth/api-keys", token, fields);
    const { key } = await dataOf<{ key: string }>(made);
    const client = connect({ ...api, key });
    const asked = client.chat.completions.create(question);
    const run = await api.engine.next();
    run.write("Hi!");
    run.finish({ usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } });
    await asked;
    for (const ask of [
      () => client.chat.completions.create(question),
      () => client.chat.completions.create({ ...question, stream: true }),
      () => client.responses.create({ model: "ada", input: "Hello?" }),
    ]) {
      await assert.rejects(ask, (error) => {
        assert.ok(error instanceof library.RateLimitError);
        assert.deepEqual(
          [error.status, error.code, error.type],
          [429, "insufficient_quota", "insufficient_quota"],
        );
        return true;
      });
    }
  });

  test("streams a completion", async () => {
    await using api = await openOpenAI(overSocket);
    const stream = connect(api).chat.completions.stream({
      ...question,
      stream_options: { include_usage: true },
    });
    const texts: string[] = [];
    stream.on("content", (text) => texts.push(text));
    const run = await api.engine.next();
    run.write("Hi ");
    run.write("👋!");
    run.finish({ usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } });
    const completion = await stream.finalChatCompletion();
    assert.equal(texts.join(""), "Hi 👋!");
    assert.equal(completion.choices[0]?.message.content, "Hi 👋!");
    assert.equal(completion.choices[0]?.finish_reason, "stop");
    assert.equal(completion.usage?.total_tokens, 7);
  });

  test("stops a completion by leaving its stream", async () => {
    await using api = await openOpenAI(overSocket);
    const stream = connect(api).chat.completions.stream(question);
    const run = await api.engine.next();
    run.write("Once");
    await stream.emitted("content");
    stream.abort();
    await run.aborted;
    await assert.rejects(stream.done(), library.APIUserAbortError);
  });

  test("throws the error that ends a stream", async () => {
    await using api = await openOpenAI(overSocket);
    const stream = connect(api).chat.completions.stream(question);
    const run = await api.engine.next();
    run.write("Once");
    run.fail(new ModelError("model_error", "secret"));
    await assert.rejects(stream.finalChatCompletion(), {
      constructor: library.APIError,
      type: "server_error",
      message: "The twin's model failed to reply.",
    });
  });

  test("creates a response, and reads it", async () => {
    await using api = await openOpenAI(overSocket);
    const client = connect(api);
    const asked = client.responses.create({ model: "ada", input: "Hello?" });
    const run = await api.engine.next();
    run.write("Hi!");
    run.finish();
    const response = await asked;
    assert.deepEqual([response.output_text, response.status], ["Hi!", "completed"]);
    const { _request_id: one, ...created } = response;
    const { _request_id: other, ...read } = await client.responses.retrieve(response.id);
    assert.deepEqual(read, created);
    assert.notEqual(one, other);
  });

  test("gets a response with all members that its types require", async () => {
    await using api = await openOpenAI(overSocket);
    const response = await connect(api).responses.create({ model: "echo", input: "Hello?" });
    assertHas<Package.OpenAI.Responses.Response>(response, {
      id: true,
      access_programs: true,
      created_at: true,
      error: true,
      incomplete_details: true,
      instructions: true,
      metadata: true,
      model: true,
      object: true,
      output: true,
      output_text: true,
      parallel_tool_calls: true,
      temperature: true,
      tool_choice: true,
      tools: true,
      top_p: true,
    });
    const [item] = response.output;
    assert.ok(item?.type === "message");
    assertHas<Package.OpenAI.Responses.ResponseOutputMessage>(item, {
      id: true,
      content: true,
      role: true,
      status: true,
      type: true,
    });
    const [part] = item.content;
    assert.ok(part?.type === "output_text");
    assertHas<Package.OpenAI.Responses.ResponseOutputText>(part, {
      annotations: true,
      text: true,
      type: true,
    });
    assertHas<Package.OpenAI.Responses.ResponseUsage>(response.usage, {
      input_tokens: true,
      input_tokens_details: true,
      output_tokens: true,
      output_tokens_details: true,
      total_tokens: true,
    });
    assertHas(response.usage?.input_tokens_details, { cache_write_tokens: true, cached_tokens: true });
    assertHas(response.usage?.output_tokens_details, { reasoning_tokens: true });
  });

  test("gets a completion with all members that its types require", async () => {
    await using api = await openOpenAI(overSocket);
    const completion = await connect(api).chat.completions.create({ ...question, model: "echo" });
    assertHas<Package.OpenAI.ChatCompletion>(completion, {
      id: true,
      choices: true,
      created: true,
      model: true,
      object: true,
    });
    const [choice] = completion.choices;
    assertHas(choice, { finish_reason: true, index: true, logprobs: true, message: true });
    assertHas(choice?.message, { content: true, refusal: true, role: true });
    assertHas(completion.usage, { completion_tokens: true, prompt_tokens: true, total_tokens: true });
  });

  test("streams a response", async () => {
    await using api = await openOpenAI(overSocket);
    const stream = connect(api).responses.stream({ model: "ada", input: "Hello?" });
    const texts: string[] = [];
    stream.on("response.output_text.delta", ({ delta }) => texts.push(delta));
    const run = await api.engine.next();
    run.write("Hi ");
    run.write("👋!");
    run.finish({ usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } });
    const response = await stream.finalResponse();
    assert.equal(texts.join(""), "Hi 👋!");
    assert.deepEqual([response.output_text, response.usage?.total_tokens], ["Hi 👋!", 7]);
  });

  test("continues a conversation from any of its responses", async () => {
    await using api = await openOpenAI(overSocket);
    const client = connect(api);
    const first = await client.responses.create({ model: "echo", input: "One" });
    const body = { model: "echo", input: "Two", previous_response_id: first.id };
    const second = await client.responses.create(body);
    assert.deepEqual(second.conversation, first.conversation);
    const again = await client.responses.create({ ...body, input: "Or two" });
    assert.deepEqual(again.conversation, first.conversation);
    await assert.rejects(client.responses.create({ ...body, previous_response_id: "resp_none" }), {
      constructor: library.BadRequestError,
      param: "previous_response_id",
    });
  });

  test("begins a response in the background, and follows it", async () => {
    await using api = await openOpenAI(overSocket);
    const client = connect(api);
    const { id, status } = await client.responses.create({
      model: "ada",
      input: "Hello?",
      background: true,
    });
    assert.equal(status, "in_progress");
    const following = client.responses.stream({ response_id: id });
    const run = await api.engine.next();
    run.write("Hi!");
    run.finish();
    assert.equal((await following.finalResponse()).output_text, "Hi!");
  });

  test("cancels a response", async () => {
    await using api = await openOpenAI(overSocket);
    const client = connect(api);
    const stream = await client.responses.create({ model: "ada", input: "Hello?", stream: true });
    const run = await api.engine.next();
    run.write("Once");
    for await (const event of stream) {
      if (event.type === "response.created") {
        const { status, output } = await client.responses.cancel(event.response.id);
        assert.equal(status, "cancelled");
        assert.match(JSON.stringify(output), /"text":"Once"/);
      }
      if (event.type === "response.incomplete") assert.equal(event.response.status, "cancelled");
    }
    await run.aborted;
  });

  test("begins a conversation with items, pages through them, and deletes it", async () => {
    await using api = await openOpenAI(overSocket);
    const client = connect(api);
    assert.deepEqual((await client.conversations.create()).metadata, {});
    const { id } = await client.conversations.create({
      items: [
        { type: "message", role: "user", content: "I am Ada." },
        { type: "message", role: "assistant", content: "Hello, Ada." },
      ],
      metadata: { topic: "boats" },
    });
    const list = await client.conversations.items.create(id, {
      items: [{ type: "message", role: "user", content: [{ type: "input_text", text: "I have a boat." }] }],
      include: ["file_search_call.results"],
    });
    assertHas(list, { data: true, first_id: true, has_more: true, last_id: true, object: true });
    const response = await client.responses.create({ model: "echo", input: "And you?", conversation: id });
    const texts = (await allOf(client.conversations.items.list(id, { limit: 2, order: "asc" }))).map(
      (item) =>
        item.type === "message" && item.content[0] && "text" in item.content[0]
          ? item.content[0].text
          : undefined,
    );
    assert.deepEqual(texts, ["I am Ada.", "Hello, Ada.", "I have a boat.", "And you?", "And you?"]);
    const input = await allOf(client.responses.inputItems.list(response.id));
    assert.deepEqual(
      input.map((item) => item.type),
      ["message"],
    );
    const [first] = list.data;
    const where = { conversation_id: id };
    assert.deepEqual(await client.conversations.items.retrieve(first?.id ?? "", where), first);
    await assert.rejects(client.conversations.items.delete(first?.id ?? "", where), {
      constructor: library.BadRequestError,
    });
    const conversation = await client.conversations.update(id, { metadata: { topic: "tents" } });
    assertHas(conversation, { id: true, created_at: true, metadata: true, object: true });
    assert.deepEqual(await client.conversations.retrieve(id), conversation);
    assert.deepEqual(await client.conversations.delete(id), {
      id,
      object: "conversation.deleted",
      deleted: true,
    });
    await assert.rejects(client.conversations.retrieve(id), { constructor: library.NotFoundError });
  });

  test("deletes a response, and asks for one that is not stored", async () => {
    await using api = await openOpenAI(overSocket);
    const client = connect(api);
    const body = { model: "echo", input: "Hello?" } as const;
    const { id } = await client.responses.create(body);
    await client.responses.delete(id);
    await assert.rejects(client.responses.retrieve(id), { constructor: library.NotFoundError });
    const stream = client.responses.stream({ ...body, store: false });
    const unstored = await stream.finalResponse();
    assert.deepEqual([unstored.output_text, unstored.conversation], ["Hello?", null]);
    await assert.rejects(client.responses.retrieve(unstored.id), { constructor: library.NotFoundError });
    assert.deepEqual(await api.conversations(), []);
  });

  test("throws the error of each status", async () => {
    await using api = await openOpenAI(overSocket);
    const client = connect(api);
    const ask = (options: Package.ClientOptions, body: object = {}) =>
      client.withOptions(options).chat.completions.create({ ...question, ...body });
    const readOnly = { apiKey: await api.fixture.key("read_only") };
    const named = { defaultHeaders: { "X-Conversation-Id": "1" } };
    const running = ask(named);
    const run = await api.engine.next();
    const { AuthenticationError, PermissionDeniedError, NotFoundError, BadRequestError, ConflictError } =
      library;
    const cases = [
      [ask({ apiKey: "sk-1" }), AuthenticationError, 401, "invalid_api_key", null],
      [ask(readOnly), PermissionDeniedError, 403, "insufficient_scope", null],
      [ask({}, { model: "nobody" }), NotFoundError, 404, "model_not_found", null],
      [ask({}, { n: 2 }), BadRequestError, 400, "validation_error", "n"],
      [ask(named), ConflictError, 409, "conversation_busy", null],
    ] as const;
    for (const [asked, kind, status, code, param] of cases) {
      await assert.rejects(asked, (error: Package.APIError) => {
        assert.ok(error instanceof kind);
        assert.deepEqual([error.status, error.code, error.param], [status, code, param]);
        assert.match(error.requestID ?? "", /^req_/);
        return true;
      });
    }
    run.fail(new ModelError("model_error", "secret"));
    await assert.rejects(running, { constructor: library.InternalServerError, status: 502 });
  });
});
