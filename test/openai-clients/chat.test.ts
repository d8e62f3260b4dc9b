import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ModelError } from "../../core/mod.ts";
import { createMemoryStore, type Store, type StoreSignals, StoreUnavailable } from "../../core/store/mod.ts";
import { settle } from "../support/clock.ts";
import { assertErrorAnswer, dataOf, inProcess, transports } from "../support/harness.ts";
import { assertParam, openOpenAI, readData, startSeconds } from "./fixture.ts";

interface ErrorBody {
  readonly error: { message: string; type: string; param: string | null; code: string };
}

async function errorOf(response: Response): Promise<ErrorBody["error"]> {
  return ((await response.json()) as ErrorBody).error;
}

/** A question with a text, and something else. */
function withPart(part: object): object {
  return { messages: [{ role: "user", content: [{ type: "text", text: "?" }, part] }] };
}

for (const transport of transports) {
  describe(`/v1 for OpenAI's clients, ${transport.name}`, { timeout: 120_000 }, () => {
    test("the models are the twins that the key's owner may use, and cost nothing", async () => {
      await using api = await openOpenAI(transport);
      const response = await api.send("GET", "/models");
      assert.equal(response.status, 200);
      assert.match(response.headers.get("x-request-id") ?? "", /^req_/);
      assert.equal(response.headers.get("x-ratelimit-remaining"), "500");
      const common = { object: "model", created: startSeconds, owned_by: "twin-service" };
      assert.deepEqual(await response.json(), {
        object: "list",
        data: [
          { id: "ada", ...common, name: "Ada", description: "A twin." },
          { id: "echo", ...common, name: "Echo", description: null },
        ],
      });
      const one = await api.send("GET", "/models/echo");
      assert.deepEqual(await one.json(), { id: "echo", ...common, name: "Echo", description: null });
    });

    for (const id of ["nobody", "private"]) {
      test(`the model ${id}, which the owner may not use, is not found`, async () => {
        await using api = await openOpenAI(transport);
        for (const response of [await api.send("GET", `/models/${id}`), await api.chat({ model: id })]) {
          assert.equal(response.status, 404);
          const error = await errorOf(response);
          assert.deepEqual(
            [error.type, error.param, error.code],
            ["invalid_request_error", null, "model_not_found"],
          );
        }
      });
    }

    test("a completion is the whole reply, and nothing is stored", async () => {
      await using api = await openOpenAI(transport);
      const answered = api.chat({ messages: [{ role: "user", content: "Hi" }], temperature: 0.5, foo: 1 });
      const run = await api.engine.next();
      assert.deepEqual([run.turn.history, run.turn.content, run.turn.twin.id], [[], "Hi", "ada"]);
      run.write("Hello");
      const usage = { inputTokens: 3, outputTokens: 4, totalTokens: 7, cachedInputTokens: 2 };
      run.finish({ finishReason: "length", usage });
      const response = await answered;
      assert.equal(response.status, 200);
      const { id, ...completion } = (await response.json()) as { id: string };
      assert.match(id, /^chatcmpl-[0-9a-z]{26}$/);
      assert.deepEqual(completion, {
        object: "chat.completion",
        created: startSeconds,
        model: "ada",
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: "Hello", refusal: null, annotations: [] },
            logprobs: null,
            finish_reason: "length",
          },
        ],
        usage: {
          prompt_tokens: 3,
          prompt_tokens_details: { cached_tokens: 2 },
          completion_tokens: 4,
          total_tokens: 7,
        },
      });
      assert.deepEqual(await api.messages(), []);
    });

    test("a stream has the role, the text, the finish reason, the token counts and the end marker", async () => {
      await using api = await openOpenAI(transport);
      const response = await api.chat({ stream: true, stream_options: { include_usage: true } });
      assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
      const run = await api.engine.next();
      run.write("Hel");
      run.progress({ stage: "thinking" });
      await settle();
      run.write("lo \u{1f44b}\u2028");
      run.finish();
      const text = await response.text();
      assert.ok(!text.includes("\u2028"));
      const chunks = readData(text) as { id: string; choices: object[]; usage: unknown }[];
      assert.equal(chunks.pop(), "[DONE]");
      assert.equal(new Set(chunks.map(({ id }) => id)).size, 1);
      const reason = (chunk: { choices: object[] }) =>
        (chunk.choices[0] as { finish_reason: unknown } | undefined)?.finish_reason;
      assert.deepEqual(chunks.map(reason), [...chunks.slice(0, -2).map(() => null), "stop", undefined]);
      const contents = chunks.flatMap(
        ({ choices }) => (choices[0] as { delta?: { content?: string } })?.delta ?? [],
      );
      assert.deepEqual(contents[0], { role: "assistant", content: "" });
      assert.equal(contents.map(({ content = "" }) => content).join(""), "Hello \u{1f44b}\u2028");
      assert.deepEqual(chunks.at(-1), {
        ...chunks[0],
        choices: [],
        usage: {
          prompt_tokens: 0,
          prompt_tokens_details: { cached_tokens: 0 },
          completion_tokens: 0,
          total_tokens: 0,
        },
      });
      assert.deepEqual(await api.messages(), []);
    });

    test("without being asked for, token counts are no chunk", async () => {
      await using api = await openOpenAI(transport);
      const text = await (await api.chat({ model: "echo", stream: true })).text();
      assert.ok(!text.includes("usage"));
      assert.ok(text.endsWith("data: [DONE]\n\n"));
    });

    test("messages without words are left out of the history", async () => {
      await using api = await openOpenAI(transport);
      const answered = api.chat({
        messages: [
          { role: "user", content: [{ type: "image_url", image_url: { url: "data:," } }] },
          { role: "assistant", content: "A cat." },
          { role: "user", content: "Sure?" },
          { role: "assistant", content: "\n" },
          { role: "user", content: "Well?" },
        ],
      });
      const { turn, finish } = await api.engine.next();
      finish();
      await answered;
      assert.deepEqual(
        turn.history.map(({ content }) => content),
        ["A cat.", "Sure?"],
      );
    });

    test("the client's messages are the history, and its instructions are ignored", async () => {
      await using api = await openOpenAI(transport);
      const long = Array.from({ length: 55 }, (_, number) => [
        {
          role: "user",
          content: [
            { type: "text", text: `Question ` },
            { type: "text", text: `${number}` },
          ],
        },
        { role: "assistant", content: `Answer ${number}` },
      ]).flat();
      const answered = api.chat({
        messages: [
          { role: "system", content: "You are a pirate." },
          ...long,
          { role: "assistant", content: null, tool_calls: [{ id: "1" }] },
          { role: "tool", content: "42", tool_call_id: "1" },
          { role: "user", content: "Last?" },
          { role: "developer", content: "Be a pirate." },
        ],
        tools: [{ type: "function", function: { name: "f" } }],
        tool_choice: "auto",
      });
      const { turn, finish } = await api.engine.next();
      finish();
      await answered;
      assert.equal(turn.content, "Last?");
      assert.equal(turn.history.length, 60);
      assert.deepEqual(turn.history.slice(0, 2), [
        { role: "user", content: "Question 25" },
        { role: "assistant", content: "Answer 25" },
      ]);
      assert.deepEqual(turn.history.at(-1), { role: "assistant", content: "Answer 54" });
    });

    test("tools among which a model may choose are ignored, as all are", async () => {
      await using api = await openOpenAI(transport);
      const choice = { mode: "auto", tools: [{ type: "function", name: "f" }] };
      const messages = [{ role: "user", content: "Hello?" }];
      for (const [path, body] of [
        ["/chat/completions", { messages, tool_choice: { type: "allowed_tools", allowed_tools: choice } }],
        ["/responses", { input: "Hello?", tool_choice: { type: "allowed_tools", ...choice } }],
      ] as const)
        assert.equal((await api.send("POST", path, { model: "echo", ...body })).status, 200);
    });

    for (const [kind, body, param] of [
      ["no model", { model: undefined }, "model"],
      ["a model that is no text", { model: 7 }, "model"],
      ["no messages", { messages: undefined }, "messages"],
      ["an empty list", { messages: [] }, "messages"],
      ["a reply at the end", { messages: [{ role: "assistant", content: "Hi" }] }, "messages"],
      ["a blank question", { messages: [{ role: "user", content: " \n" }] }, "messages"],
      ["a lone surrogate", { messages: [{ role: "user", content: "\ud800" }] }, "messages"],
      ["another role", { messages: [{ role: "pirate", content: "Hi" }] }, "messages[0].role"],
      ["an image", withPart({ type: "image_url" }), "messages[0].content[1]"],
      ["an input of audio", withPart({ type: "input_audio" }), "messages[0].content[1]"],
      ["two choices", { n: 2 }, "n"],
      ["spoken replies", { modalities: ["text", "audio"] }, "modalities"],
      ["a voice", { audio: { voice: "x" } }, "audio"],
      ["required tools", { tool_choice: "required" }, "tool_choice"],
      ["a certain tool", { tool_choice: { type: "function", function: { name: "f" } } }, "tool_choice"],
      [
        "one of some tools",
        { tool_choice: { type: "allowed_tools", allowed_tools: { mode: "required", tools: [] } } },
        "tool_choice",
      ],
      ["a certain function", { function_call: { name: "f" } }, "function_call"],
      ["a stream that is no boolean", { stream: "yes" }, "stream"],
    ] as const) {
      test(`${kind} is refused, with the parameter`, async () => {
        await using api = await openOpenAI(transport);
        await assertParam(api.chat(body), 400, param);
        assert.equal(api.engine.asked, 0);
      });
    }

    test("a body may have 4 MiB, and not more", async () => {
      await using api = await openOpenAI(transport);
      const body = (bytes: number) => {
        const start = '{"model":"echo","messages":[{"role":"user","content":"Hi"}],"x":"';
        return `${start}${"x".repeat(bytes - start.length - 2)}"}`;
      };
      const most = 4 * 1024 * 1024;
      assert.equal((await api.send("POST", "/chat/completions", body(most))).status, 200);
      const refused = await api.send("POST", "/chat/completions", body(most + 1)).catch(() => undefined);
      if (refused) assert.equal(refused.status, 413); // else the connection was cut while the body was being sent
    });

    test("a body may have 20,000 messages, and not more", async () => {
      await using api = await openOpenAI(transport);
      const messages = Array.from({ length: 20_001 }, () => ({ role: "user", content: "Hi" }));
      assert.equal((await api.chat({ model: "echo", messages: messages.slice(1) })).status, 200);
      await assertParam(api.chat({ model: "echo", messages }), 400, "messages");
    });

    test("errors have OpenAI's form, wherever they come from", async () => {
      await using api = await openOpenAI(transport);
      const readOnly = await api.fixture.key("read_only");
      const cases: readonly [Promise<Response>, number, string][] = [
        [api.send("GET", "/models", undefined, { authorization: "" }), 401, "invalid_api_key"],
        [api.send("GET", "/models", undefined, { authorization: "Bearer sk-1" }), 401, "invalid_api_key"],
        [api.chat({}, { authorization: `Bearer ${readOnly}` }), 403, "insufficient_scope"],
        [api.send("GET", "/nowhere"), 404, "not_found"],
        [api.send("DELETE", "/models"), 405, "method_not_allowed"],
        [api.send("POST", "/chat/completions", "{"), 400, "invalid_json"],
        [api.send("POST", "/chat/completions", "[]"), 400, "validation_error"],
      ];
      for (const [answered, status, code] of cases) {
        const response = await answered;
        const error = await errorOf(response);
        assert.deepEqual([response.status, error.type, error.code], [status, "invalid_request_error", code]);
        assert.deepEqual(Object.keys(error), ["message", "type", "param", "code"]);
        assert.match(response.headers.get("x-request-id") ?? "", /^req_/);
      }
    });

    for (const [code, status] of [
      ["model_error", 502],
      ["model_timeout", 504],
    ] as const) {
      test(`a reply that fails with ${code} is ${status}, or the last event of its stream`, async () => {
        await using api = await openOpenAI(transport);
        const answered = api.chat();
        (await api.engine.next()).fail(new ModelError(code, "secret"));
        const response = await answered;
        assert.equal(response.status, status);
        const { type, message } = await errorOf(response);
        assert.equal(type, "server_error");
        assert.ok(!message.includes("secret"));

        const stream = await api.chat({ stream: true });
        const run = await api.engine.next();
        run.write("Well");
        run.fail(new ModelError(code, "secret"));
        const events = readData(await stream.text());
        assert.ok(!events.includes("[DONE]"));
        assert.deepEqual(events.at(-1), {
          error: { message, type: "server_error", param: null, code: "server_error" },
        });
      });
    }

    test("a reply that takes too long is a time-out", async () => {
      await using api = await openOpenAI(transport, { maxReplyMs: 1_000 });
      const answered = api.chat();
      const { aborted } = await api.engine.next();
      await api.fixture.clock.advance(1_000);
      await aborted;
      assert.equal((await answered).status, 504);
    });

    test("a client that leaves its stream stops the reply", async () => {
      await using api = await openOpenAI(transport);
      const response = await api.chat({ stream: true });
      const run = await api.engine.next();
      run.write("Once");
      const reader = response.body?.getReader();
      await reader?.read();
      await reader?.cancel();
      await run.aborted;
    });

    test("the engine gets the trace context of the request, or the observer's", async () => {
      const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
      for (const own of [undefined, traceparent.replace("b7ad6b71", "00f067aa")]) {
        await using api = await openOpenAI(transport, { observe: { traceparentOf: () => own } });
        const answered = api.chat({}, { traceparent });
        const { turn, finish } = await api.engine.next();
        assert.equal(turn.traceparent, own ?? traceparent);
        finish();
        await answered;
      }
    });

    test("replies count in the usage history, although they are not stored", async () => {
      await using api = await openOpenAI(transport);
      const history = async () => {
        const response = await api.fixture.call("GET", "/usage/history?groupBy=endUser", api.key);
        return dataOf<{ group: string | null; replies: number }[]>(response);
      };
      const answered = api.chat({ user: "zoe" });
      (await api.engine.next()).finish({ usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } });
      await answered;
      assert.deepEqual(await history(), [
        { group: "zoe", replies: 1, inputTokens: 3, outputTokens: 4, cachedInputTokens: 0 },
      ]);
      await (await api.chat({ model: "echo", stream: true })).text();
      const failing = api.chat();
      (await api.engine.next()).fail(new Error("secret"));
      await failing;
      assert.deepEqual(
        (await history()).map(({ group, replies }) => [group, replies]),
        [
          [null, 2],
          ["zoe", 1],
        ],
      );
    });

    test("an erasure ends a person's replies, which then count under nobody's name", async () => {
      await using api = await openOpenAI(transport);
      const asked = ["ann", "bob"].map((user) => api.chat({ user }));
      const runs = [await api.engine.next(), await api.engine.next()];
      assert.equal((await api.fixture.call("DELETE", "/end-users/ann", api.key)).status, 200);
      for (const run of runs) run.finish({});
      await Promise.all(asked);
      const history = await api.fixture.call("GET", "/usage/history?groupBy=endUser", api.key);
      const none = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
      assert.deepEqual(await dataOf(history), [
        { group: null, replies: 1, ...none },
        { group: "bob", replies: 1, ...none },
      ]);
    });

    test("an erasure on another process ends them, too", async () => {
      const heard = new Map<string, Set<(subject: string) => void>>();
      const signals: StoreSignals = {
        notify: (topic, subject) => heard.get(topic)?.forEach((hear) => void hear(subject)),
        listen(topic, hear) {
          heard.set(topic, (heard.get(topic) ?? new Set()).add(hear));
          return () => heard.get(topic)?.delete(hear);
        },
      };
      await using api = await openOpenAI(transport, { store: { ...createMemoryStore(), signals } });
      await using other = await api.another();
      const asked = ["ann b", "ann"].map((user) => other.chat({ user }));
      const runs = [await api.engine.next(), await api.engine.next()];
      assert.equal((await api.fixture.call("DELETE", "/end-users/ann%20b", api.key)).status, 200);
      for (const run of runs) run.finish({});
      await Promise.all(asked);
      const history = await api.fixture.call("GET", "/usage/history?groupBy=endUser", api.key);
      const names = (await dataOf<{ group: string | null }[]>(history)).map(({ group }) => group);
      assert.deepEqual(names, [null, "ann"]);
    });

    test("the host is told to wait until a reply whose client has left is counted", async () => {
      const works: Promise<unknown>[] = [];
      await using api = await openOpenAI(transport, { waitUntil: (work) => void works.push(work) });
      const response = await api.chat({ stream: true });
      await api.engine.next();
      await response.body?.cancel();
      assert.equal(works.length, 1);
      await works[0];
      const history = await api.fixture.call("GET", "/usage/history", api.key);
      assert.equal((await dataOf<unknown[]>(history)).length, 1);
    });

    test("a reply is complete, although the store cannot count it", async () => {
      const store: Store = {
        ...createMemoryStore(),
        countReply: () => Promise.reject(new StoreUnavailable("away")),
      };
      const logged: string[] = [];
      await using api = await openOpenAI(transport, {
        store,
        log: (_, message) => void logged.push(message),
      });
      assert.equal((await api.chat({ model: "echo" })).status, 200);
      assert.ok(logged.includes("a reply could not be counted"));
    });

    test("silence is filled with comments", async () => {
      await using api = await openOpenAI(transport);
      const response = await api.chat({ stream: true });
      const run = await api.engine.next();
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      await reader?.read();
      const more = reader?.read();
      await api.fixture.clock.advance(5_000);
      assert.equal((await more)?.value, ": keep-alive\n\n");
      run.finish();
      await reader?.cancel();
    });

    test("below a base path, the endpoints move with it", async () => {
      await using api = await openOpenAI(transport, { basePath: "/twins" });
      assert.equal((await api.send("GET", "/models")).status, 200);
      assert.equal((await errorOf(await api.send("GET", "/x"))).type, "invalid_request_error");
    });

    test("a shutdown gives completions their time, then ends them with an error", async () => {
      await using api = await openOpenAI(transport);
      const response = await api.chat({ stream: true });
      const run = await api.engine.next();
      run.write("Once");
      const closed = api.fixture.service.close({ graceMs: 1_000 });
      await settle();
      assert.equal(run.signal.aborted, false);
      await api.fixture.clock.advance(1_000);
      await run.aborted;
      const events = readData(await response.text());
      assert.equal((events.at(-1) as ErrorBody).error.type, "server_error");
      await closed;
    });

    test("without the option, there is nothing at /v1", async () => {
      await using api = await openOpenAI(transport, { openaiApi: undefined });
      const response = await api.send("GET", "/models");
      await assertErrorAnswer(response, 404, "not_found");
    });
  });
}

test("the limits are those of the key: a completion costs one token, and too many are 429", async () => {
  await using api = await openOpenAI(inProcess);
  for (let asked = 0; asked < 500; asked++) {
    const response = await api.chat({ model: "nobody" });
    assert.equal(response.status, 404);
    await response.text();
  }
  const response = await api.chat();
  assert.equal(response.status, 429);
  assert.equal(response.headers.get("retry-after"), "8");
  const error = await errorOf(response);
  assert.deepEqual([error.type, error.code], ["requests", "rate_limit_exceeded"]);
});

test("pages of listed origins may send the header fields that they ask for", async () => {
  await using api = await openOpenAI(inProcess, { corsOrigins: ["https://app.example"] });
  const asked = "authorization, x-conversation-id, x-stainless-retry-count, x-stainless-foo, x-other";
  const headers = { origin: "https://app.example", "access-control-request-headers": asked };
  const allowed = (await api.send("OPTIONS", "/chat/completions", undefined, headers)).headers;
  assert.equal(
    allowed.get("access-control-allow-headers"),
    "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-API-Key, " +
      "authorization, x-conversation-id, x-stainless-retry-count, x-stainless-foo, x-other",
  );
  await dataOf(await api.fixture.call("GET", "/usage", api.key));
});
