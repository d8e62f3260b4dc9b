import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import {
  apiKey,
  assertModelError,
  createHastyClock,
  createOutput,
  failure,
  start,
  transports,
  turn,
  twin,
} from "./fixture.ts";
import * as model from "./model-server.ts";

for (const [name, transport] of Object.entries(transports)) {
  describe(`the OpenAI engine over ${name}`, { timeout: 30_000 }, () => {
    test("a reply's text, finish reason and token counts are the model's", async (t) => {
      const { out, reply } = await start(t, transport, [model.reply("Hel", "lo", "!")]);
      assert.deepEqual(await reply(), {
        finishReason: "stop",
        usage: { inputTokens: 7, outputTokens: 3, totalTokens: 10 },
      });
      assert.equal(out.text(), "Hello!");
    });

    test("the request carries instructions, history, question, model, temperature and key", async (t) => {
      const { server, reply } = await start(t, transport, [], { model: "small" });
      const history = [
        { role: "user", content: "One?" },
        { role: "assistant", content: "One." },
      ] as const;
      await reply(turn({ history, twin: twin({ model: "large", temperature: 0 }) }));
      const request = await server.received(0);
      assert.equal(`${request.method} ${request.path}`, "POST /v1/chat/completions");
      assert.equal(request.headers.authorization, `Bearer ${apiKey}`);
      assert.equal(request.headers["content-type"], "application/json");
      assert.deepEqual(request.body, {
        model: "large",
        messages: [{ role: "system", content: "You are Ada." }, ...history, { role: "user", content: "Hi?" }],
        temperature: 0,
        stream: true,
        stream_options: { include_usage: true },
      });
    });

    test("what isn't set isn't sent: instructions, temperature, key", async (t) => {
      const { server, reply } = await start(t, transport, [], { model: "small", apiKey: undefined });
      await reply(turn({ twin: twin({ instructions: " \n" }) }));
      const request = await server.received(0);
      assert.equal(request.headers.authorization, undefined);
      assert.deepEqual(request.body, {
        model: "small",
        messages: [{ role: "user", content: "Hi?" }],
        stream: true,
        stream_options: { include_usage: true },
      });
    });

    test("text is exact when every byte arrives by itself", async (t) => {
      const text = "Grüße, 日本! 👋🏽\r\n";
      const body = model.completion(...text).replaceAll("\n", "\r\n");
      const { out, reply } = await start(t, transport, [model.byteByByte(body)]);
      assert.equal((await reply()).finishReason, "stop");
      assert.equal(out.text(), text);
    });

    test("a reply without an end marker ends with its body", async (t) => {
      const { out, reply } = await start(t, transport, [
        model.send(model.delta("Hi") + model.finish("length")),
      ]);
      assert.deepEqual(await reply(), { finishReason: "length", usage: null });
      assert.equal(out.text(), "Hi");
    });

    const badAnswers: readonly [string, model.Script, RegExp][] = [
      [
        "HTML with status 200",
        model.send("<html>", { headers: { "content-type": "text/html" } }),
        /text\/html/,
      ],
      ["JSON", model.send("{}", { headers: { "content-type": "application/json" } }), /application\/json/],
      [
        "an error with status 200",
        model.send('{"error":{"code":429}}', { headers: { "content-type": "application/json" } }),
        /application\/json: 429\.$/,
      ],
      ["an empty body", model.send(""), /ended before/],
      ["an end without finish reason or marker", model.send(model.delta("Hi")), /ended before/],
      ["a body cut within an event", model.send('data: {"choices":[{"del'), /not a chunk/],
      ["malformed JSON", model.send("data: {]\n\n"), /not a chunk/],
      ["JSON that is not an object", model.send("data: []\n\n"), /not a chunk/],
      ["choices that are not a list", model.send('data: {"choices":{}}\n\n'), /not a chunk/],
      ["a line that is not a field", model.send("Hello\n\ndata: [DONE]\n\n"), /not a field/],
      ["invalid UTF-8", model.send(Uint8Array.of(0x64, 0xff, 0x0a)), /UTF-8/],
      ["an error event", model.send('event: error\ndata: {"message":"secret"}\n\n'), /reported an error\.$/],
      [
        "an older vLLM's error",
        model.send(model.event({ object: "error", message: "x" })),
        /reported an error/,
      ],
      [
        "an older llama.cpp's error",
        model.send('error: {"code":500,"message":"secret","type":"server_error"}\n\ndata: [DONE]\n\n'),
        /reported an error: 500, server_error\.$/,
      ],
      ["the finish reason abort", model.send(model.finish("abort")), /broke off its reply/],
      [
        "the finish reason network_error",
        model.send(model.delta("Hi") + model.finish("network_error")),
        /broke off its reply/,
      ],
      [
        "a time limit of the model server",
        model.send(model.delta("Hi") + model.finish("timeout")),
        /broke off its reply/,
      ],
      ["a tool call without text", model.send(model.finish("tool_calls")), /called a tool/],
      ["status 401", model.refuse(401), /status 401/],
      ["status 500", model.refuse(500), /status 500/],
      ["status 204", model.refuse(204), /status 204/],
    ];
    for (const [kind, script, message] of badAnswers) {
      test(`${kind} is a model_error, and not retried`, async (t) => {
        const { server, clock, reply } = await start(t, transport, [script]);
        await assertModelError(reply(), message);
        assert.equal(server.requests.length, 1);
        assert.equal(clock.pending, 0);
      });
    }

    for (const status of [400, 422]) {
      test(`a server that answers a request for token counts with ${status} is asked without them from then on`, async (t) => {
        const { server, engine, out } = await start(t, transport, [
          model.refuse(status),
          model.reply("Hi"),
          model.reply(", you"),
        ]);
        await engine.reply(turn(), out.output);
        await engine.reply(turn(), out.output);
        assert.equal(out.text(), "Hi, you");
        const asked = server.requests.map(({ body }) => Object.hasOwn(body as object, "stream_options"));
        assert.deepEqual(asked, [true, false, false]);
      });

      test(`status ${status} for another reason is a model_error, and token counts are still requested`, async (t) => {
        const { server, engine, reply } = await start(t, transport, [
          model.refuse(status),
          model.refuse(status),
          model.reply("Hi"),
        ]);
        await assertModelError(reply(), new RegExp(`status ${status}`));
        assert.equal(server.requests.length, 2);
        await engine.reply(turn(), createOutput().output);
        assert.ok(Object.hasOwn((await server.received(2)).body as object, "stream_options"));
      });
    }

    test("token counts that one model refuses are still requested of another", async (t) => {
      const { server, engine, reply } = await start(t, transport, [model.refuse(422), model.reply("Hi")]);
      await reply();
      await engine.reply(turn({ twin: twin({ model: "large" }) }), createOutput().output);
      assert.ok(Object.hasOwn((await server.received(2)).body as object, "stream_options"));
    });

    const json = { "content-type": "application/json; charset=utf-8" };
    const refuseWith = (status: number, body: unknown) =>
      model.send(JSON.stringify(body), { status, headers: json });
    const exchanges = [1, 2, 3].flatMap((number) => [
      { role: "user", content: `Question ${number}` } as const,
      { role: "assistant", content: `Answer ${number}` } as const,
    ]);
    const tooLong: readonly [server: string, script: model.Script][] = [
      ["OpenAI", refuseWith(400, { error: { message: "Too much.", code: "context_length_exceeded" } })],
      [
        "llama.cpp",
        refuseWith(400, { error: { code: 400, message: "…", type: "exceed_context_size_error" } }),
      ],
      [
        "llama.cpp before September 2025",
        model.send('error: {"code":400,"message":"the request exceeds the available context size"}\n\n'),
      ],
      [
        "vLLM",
        refuseWith(400, {
          error: { message: "This model's maximum context length is 8192 tokens. However, …", code: 400 },
        }),
      ],
      [
        "LiteLLM",
        refuseWith(400, { error: { message: "litellm.ContextWindowExceededError: …", code: "400" } }),
      ],
      [
        "xAI",
        refuseWith(400, {
          code: "Client specified an invalid argument",
          error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        }),
      ],
      [
        "Gemini",
        refuseWith(400, [
          {
            error: {
              code: 400,
              message: "The input token count (9) exceeds the maximum number of tokens (8).",
            },
          },
        ]),
      ],
      [
        "Mistral",
        refuseWith(400, {
          message:
            "Prompt contains 9 tokens and 0 draft tokens, too large for model with 8 maximum context length",
          code: "3051",
        }),
      ],
      [
        "Anthropic",
        refuseWith(400, { error: { message: "prompt is too long: 9 tokens > 8 maximum", code: "x_error" } }),
      ],
      ["Cohere", refuseWith(400, { message: "too many tokens: size limit exceeded by 1 tokens." })],
      ["Groq", refuseWith(400, { error: { message: "Please reduce the length of the messages." } })],
      ["a proxy", model.refuse(413)],
      [
        "LM Studio",
        model.send('event: error\ndata: {"error":{"message":"Input does not fit in context length."}}\n\n'),
      ],
      [
        "Text Generation Inference",
        model.send(
          'data:{"error":{"message":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096.' +
            ' Given: 4097 `inputs` tokens and 1 `max_new_tokens`","http_status_code":422}}\n\ndata:[DONE]\n\n',
        ),
      ],
    ];
    for (const [kind, script] of tooLong) {
      test(`a conversation that is too long for the model's context is shortened: ${kind}`, async (t) => {
        const { server, out, reply } = await start(t, transport, [script, script, model.reply("Hi")]);
        await reply(turn({ history: [...exchanges, ...exchanges] }));
        assert.equal(out.text(), "Hi");
        const asked = server.requests.map(({ body }) => (body as { messages: unknown[] }).messages);
        const instructions = { role: "system", content: "You are Ada." };
        const question = { role: "user", content: "Hi?" };
        assert.deepEqual(asked.slice(1), [
          [instructions, ...exchanges, question],
          [instructions, ...exchanges.slice(4), question],
        ]);
      });
    }

    for (const [kind, message] of [
      ["minute", "Too many tokens, please wait before trying again."],
      ["day", "Too many tokens per day, please wait before trying again."],
    ]) {
      test(`a limit of tokens per ${kind}, as Bedrock has it, is a model_error: no fewer messages`, async (t) => {
        const script = model.send(model.event({ error: { code: "400", message } }));
        const { server, reply } = await start(t, transport, [script, model.reply("Hi")]);
        await assertModelError(reply(turn({ history: exchanges })), /reported an error: 400\.$/);
        assert.equal(server.requests.length, 1);
      });
    }

    test("status 429 is retried with all earlier messages, whatever it says of their length", async (t) => {
      const limit = { error: { message: "Limit reached: reduce the length of the messages." } };
      const { server, reply } = await start(t, transport, [refuseWith(429, limit), model.reply("Hi")], {
        clock: createHastyClock(),
      });
      await reply(turn({ history: exchanges }));
      const asked = server.requests.map(({ body }) => (body as { messages: unknown[] }).messages.length);
      assert.deepEqual(asked, [8, 8]);
    });

    test("a question that is too long for the model's context by itself is a model_error", async (t) => {
      const script = refuseWith(400, { error: { message: "secret", code: "context_length_exceeded" } });
      const { server, reply } = await start(t, transport, [script]);
      await assertModelError(reply(turn({ history: exchanges })), /status 400: context_length_exceeded\.$/);
      const asked = server.requests.map(({ body }) => (body as { messages: unknown[] }).messages.length);
      assert.deepEqual(asked, [8, 4, 2]);
    });

    test("an error about the context's length after some text is a model_error, and not retried", async (t) => {
      const error = { error: { code: "context_length_exceeded" } };
      const { server, reply } = await start(t, transport, [
        model.send(model.delta("Hi") + model.event(error)),
      ]);
      await assertModelError(reply(turn({ history: exchanges })), /context_length_exceeded/);
      assert.equal(server.requests.length, 1);
    });

    test("text before an error in the stream is written, and the error's code is reported", async (t) => {
      const error = { error: { code: "context_length_exceeded", message: "secret" } };
      const { out, reply } = await start(t, transport, [model.send(model.delta("Hi") + model.event(error))]);
      const { message } = await failure(reply());
      assert.equal(message, "The model reported an error: context_length_exceeded.");
      assert.equal(out.text(), "Hi");
    });

    for (const [server, body, told] of [
      ["OpenAI", { error: { message: "secret", type: "quota", code: "quota" } }, ": quota."],
      ["Gemini", [{ error: { code: 403, message: "secret", status: "DENIED" } }], ": 403, DENIED."],
      ["Mistral", { message: "secret", type: "x_error", param: null, code: "3001" }, ": 3001, x_error."],
      ["Cloudflare", { success: false, errors: [{ code: 5007, message: "secret" }], result: {} }, ": 5007."],
      ["a server that says nothing else", { detail: "secret" }, "."],
      ["a server whose JSON is malformed", "{secret", "."],
      ["a server whose JSON is too long", { error: { code: "quota", message: "x".repeat(20_000) } }, "."],
    ] as const) {
      test(`an error status is reported with the codes in its body: ${server}`, async (t) => {
        const text = typeof body === "string" ? body : JSON.stringify(body);
        const { reply } = await start(t, transport, [model.send(text, { status: 403, headers: json })]);
        assert.equal((await failure(reply())).message, `The model answered with status 403${told}`);
      });
    }

    for (const [error, told] of [
      [{ code: 502, message: "secret" }, ": 502"], // OpenRouter
      [{ code: 503, message: "secret", status: "UNAVAILABLE" }, ": 503, UNAVAILABLE"], // Gemini
      [{ code: "500", message: "secret", type: "server_error" }, ": 500, server_error"], // LiteLLM
      [{ code: 4_111_111_111_111_111, message: "secret" }, ""],
    ] as const) {
      test(`an error in the stream with ${inspect(error)} is reported with${told || "out code"}`, async (t) => {
        const { reply } = await start(t, transport, [model.send(model.event({ error }))]);
        assert.equal((await failure(reply())).message, `The model reported an error${told}.`);
      });
    }

    test("an endless line is cut off at its limit", async (t) => {
      const { server, reply } = await start(t, transport, [
        model.hangAfter(`data: ${"x".repeat(10_000_000)}`),
      ]);
      await assertModelError(reply(), /event of more than 1048576 characters/);
      await (await server.received(0)).closed;
    });

    test("a reply is cut off at its limit", async (t) => {
      const parts = [model.delta("12345"), model.delta("67890"), model.delta("!")];
      const { server, out, reply } = await start(t, transport, [model.hangAfter(...parts)], {
        maxReplyLength: 10,
      });
      await assertModelError(reply(), /longer than 10 characters/);
      assert.equal(out.text(), "1234567890");
      await (await server.received(0)).closed;
    });

    test("a redirect is not followed", async (t) => {
      const elsewhere = await model.startModelServer();
      t.after(() => elsewhere.close());
      const location = `${elsewhere.baseUrl}/chat/completions`;
      for (const status of [301, 302, 303, 307, 308]) {
        const { reply } = await start(t, transport, [model.refuse(status, { location })]);
        await assertModelError(reply(), new RegExp(`status ${status}`));
      }
      assert.equal(elsewhere.requests.length, 0);
    });

    test("the model is not asked if the output is already aborted", async (t) => {
      const { server, out, reply } = await start(t, transport);
      out.abort();
      await assert.rejects(reply(), { name: "AbortError" });
      assert.equal(server.requests.length, 0);
    });

    test("no failure reveals the key", async (t) => {
      const scripts = [
        model.refuse(401),
        model.send(model.event({ error: { code: apiKey, message: apiKey } })),
      ];
      for (const script of scripts) {
        const error = await failure((await start(t, transport, [script])).reply());
        assert(!inspect(error, { depth: 10 }).includes(apiKey));
      }
    });
  });
}
