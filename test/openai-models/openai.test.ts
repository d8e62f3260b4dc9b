import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inspect, promisify } from "node:util";
import { brotliCompressSync, constants, createGzip, deflateSync, gunzip, gzipSync } from "node:zlib";
import { fetchTransport } from "../../adapters/openai-models/transport.ts";
import { runtime } from "../support/runtime.ts";
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

function messagesIn(request: model.ReceivedRequest): readonly unknown[] {
  return (request.body as { readonly messages: readonly unknown[] }).messages;
}

for (const [name, transport] of Object.entries(transports)) {
  describe(`the OpenAI engine over ${name}`, { timeout: 300_000 }, () => {
    test("a reply's text, finish reason and token counts are the model's", async (t) => {
      const { out, reply } = await start(t, transport, [model.reply("Hel", "lo", "!")]);
      assert.deepEqual(await reply(), {
        finishReason: "stop",
        usage: { inputTokens: 7, outputTokens: 3, totalTokens: 10, cachedInputTokens: null },
      });
      assert.equal(out.text(), "Hello!");
      assert.deepEqual(out.progress, []);
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

    for (const [encoding, compress] of [
      ["gzip", gzipSync],
      ["br", brotliCompressSync],
      ["deflate", deflateSync],
    ] as const) {
      test(`a reply that is compressed with ${encoding}, though that was not asked for, is read`, {
        skip: encoding === "br" && runtime === "deno" && "Deno's streams have no Brotli",
      }, async (t) => {
        const body = compress(model.completion("Hi", ", you"));
        const script = model.send(body, { headers: { "content-encoding": encoding } });
        const { server, out, reply } = await start(t, transport, [script]);
        await reply();
        assert.equal(out.text(), "Hi, you");
        assert.equal((await server.received(0)).headers["accept-encoding"], "identity");
      });
    }

    test("compressed text arrives before the reply ends", async (t) => {
      const { server, engine, out } = await start(t, transport);
      server.script((response) => {
        response.writeHead(200, { "content-encoding": "gzip", "content-type": "text/event-stream" });
        const gzip = createGzip({ flush: constants.Z_SYNC_FLUSH });
        gzip.pipe(response);
        gzip.write(model.delta("Hi"));
      });
      const rejected = assert.rejects(engine.reply(turn(), out.output));
      await out.firstWrite;
      out.abort();
      await rejected;
      await (await server.received(0)).closed;
    });

    test("what a compressed answer would become is not made once the connection is closed", async (t) => {
      const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ": waiting\n\n"));
      const { server } = await start(t, transport, [
        model.send(bomb, { headers: { "content-encoding": "gzip", "content-type": "text/event-stream" } }),
      ]);
      let bytesRead = 0;
      await new Promise<void>((closed, failed) => {
        const url = `${server.baseUrl}/chat/completions`;
        const close = transport(
          url,
          { method: "POST", headers: { "accept-encoding": "identity" }, body: "{}" },
          {
            begin() {},
            read(bytes) {
              bytesRead += bytes.length;
              close();
              closed();
            },
            end: () => failed(new Error("It has ended.")),
            fail: failed,
          },
        );
      });
      await promisify(gunzip)(bomb); // which takes as long
      const ofPiece = runtime === "deno" ? 2 : 1; // Deno makes at once what a piece of 8 KB becomes
      assert.ok(bytesRead < ofPiece * 1024 * 1024, String(bytesRead));
    });

    const oneMember = runtime === "deno" && "Deno refuses a gzip answer of several members";
    test("a compressed answer is received as fast as it is unpacked", { skip: oneMember }, async (t) => {
      const nothing = Buffer.concat(Array<Uint8Array>(50_000).fill(gzipSync("")));
      let sent = 0;
      const { server } = await start(t, transport, [
        (response) => {
          response.writeHead(200, { "content-encoding": "gzip", "content-type": "text/event-stream" });
          const send = () => {
            do sent += nothing.length;
            while (response.write(nothing));
          };
          response.write(Buffer.concat([nothing, gzipSync(":")]));
          response.on("drain", send);
          send();
        },
      ]);
      await new Promise<void>((closed, failed) => {
        const request = { method: "POST", headers: {}, body: "{}" } as const;
        const close = transport(`${server.baseUrl}/chat/completions`, request, {
          begin() {},
          read() {
            closed();
            close();
          },
          end: () => failed(new Error("It has ended.")),
          fail: failed,
        });
      });
      assert.ok(sent < 12_000_000, `${sent} bytes are sent before a million is unpacked`);
    });

    const long = runtime === "bun" && "Bun's fetch gives pieces of up to a megabyte";
    test("others have their turn while a model sends as fast as it can", { skip: long }, async (t) => {
      const { out, reply } = await start(t, transport, [
        model.send(model.delta("a".repeat(1_000)).repeat(4_000) + model.completion("!")),
      ]);
      let [turns, written, longest] = [0, 0, 0];
      let next = setImmediate(function count() {
        turns += 1;
        written = 0;
        next = setImmediate(count);
      });
      t.after(() => clearImmediate(next));
      const { output } = out;
      const counted = {
        ...output,
        write(text: string) {
          written += text.length;
          longest = Math.max(longest, written);
          output.write(text);
        },
      };
      await reply(turn(), counted);
      assert.equal(out.text().length, 4_000_001);
      assert.ok(longest < 250_000, `${longest} characters at one of ${turns} turns`);
    });

    test("an endless line is cut off at its limit", async (t) => {
      const { server, reply } = await start(t, transport, [
        model.hangAfter(`data: ${"x".repeat(10_000_000)}`),
      ]);
      await assertModelError(reply(), /event of more than 1048576 characters/);
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

    test("no failure reveals the key", async (t) => {
      const scripts = [
        model.refuse(401),
        model.send(model.event({ error: { code: apiKey, message: apiKey } })),
      ];
      for (const script of scripts) {
        const error = await failure(
          (await start(t, transport, [script], { clock: createHastyClock() })).reply(),
        );
        assert(!inspect(error, { depth: 10 }).includes(apiKey));
      }
    });
  });
}

describe("the OpenAI engine and what servers answer", { timeout: 300_000 }, () => {
  test("where the twin searches its knowledge, the request has what fits the question, and progress names it", async (t) => {
    const { server, out, reply } = await start(t, fetchTransport, []);
    const instructions = "You are Ada.\n\n## Lamp\n\nIt turns.\n\n## Fog horn\n\nIt is loud.";
    await reply(turn({ content: "does the lamp turn?", twin: twin({ instructions, knowledge: "search" }) }));
    const { body } = await server.received(0);
    assert.deepEqual(out.progress, [
      { stage: "sources", sources: [{ heading: "Lamp", document: null, score: 0.79 }] },
    ]);
    assert.deepEqual(body, {
      messages: [
        { role: "system", content: "You are Ada." },
        {
          role: "user",
          content:
            "<knowledge>\nWhat you know that may fit the question:\n\n## Lamp\n\nIt turns.\n</knowledge>\n\n" +
            "does the lamp turn?",
        },
      ],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  const badAnswers: readonly [string, model.Script, RegExp][] = [
    [
      "HTML with status 200",
      model.send("<html>", { headers: { "content-type": "text/html" } }),
      /text\/html/,
    ],
    ["JSON that is cut off", model.send('{"choices":[{'), /neither an event stream nor JSON/],
    ["an error with status 200", model.send('{"error":{"code":401}}'), /reported an error: 401\.$/],
    ["an end without finish reason or marker", model.send(model.delta("Hi")), /ended before/],
    ["a body cut within an event", model.send('data: {"choices":[{"del'), /not a chunk/],
    ["malformed JSON", model.send("data: {]\n\n"), /not a chunk/],
    ["JSON that is not an object", model.send("data: []\n\n"), /not a chunk/],
    ["choices that are not a list", model.send('data: {"choices":{}}\n\n'), /not a chunk/],
    ["a line that is not a field", model.send("Hello\n\ndata: [DONE]\n\n"), /not a field/],
    ["invalid UTF-8", model.send(Uint8Array.of(0x64, 0xff, 0x0a)), /UTF-8/],
    [
      "an error event",
      model.send('event: error\ndata: {"message":"secret","code":404}\n\n'),
      /reported an error: 404\.$/,
    ],
    [
      "an older vLLM's error",
      model.send(model.event({ object: "error", message: "x", code: 404 })),
      /reported an error: 404\.$/,
    ],
    [
      "an older llama.cpp's error",
      model.send('error: {"code":403,"message":"secret","type":"x_error"}\n\ndata: [DONE]\n\n'),
      /reported an error: 403, x_error\.$/,
    ],
    ["the finish reason abort", model.send(model.delta("Hi") + model.finish("abort")), /broke off its reply/],
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
    ["status 401", model.refuse(401), /status 401/],
    ["status 204", model.refuse(204), /status 204/],
  ];
  for (const [kind, script, message] of badAnswers) {
    test(`${kind} is a model_error, and not retried`, async (t) => {
      const { server, clock, reply } = await start(t, fetchTransport, [script]);
      await assertModelError(reply(), message);
      assert.equal(server.requests.length, 1);
      assert.equal(clock.pending, 0);
    });
  }

  for (const status of [400, 422]) {
    test(`a server that answers a request for token counts with ${status} is asked without them afterwards`, async (t) => {
      const { server, engine, out } = await start(t, fetchTransport, [
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
      const { server, engine, reply } = await start(t, fetchTransport, [
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
    const { server, engine, reply } = await start(t, fetchTransport, [model.refuse(422), model.reply("Hi")]);
    await reply();
    await engine.reply(turn({ twin: twin({ model: "large" }) }), createOutput().output);
    assert.ok(Object.hasOwn((await server.received(2)).body as object, "stream_options"));
  });

  const json = { "content-type": "application/json; charset=utf-8" };
  const refuseWith = (status: number, body: unknown) =>
    model.send(JSON.stringify(body), { status, headers: json });
  const answered = [1, 2, 3].flatMap((number) => [
    { role: "user", content: `Question ${number}` } as const,
    { role: "assistant", content: `Answer ${number}` } as const,
  ]);
  /** Refuses conversations of more than this many messages like the server in question. */
  const tooLongFor = (most: number, refusal: model.Script): model.Script => {
    const answer = model.reply("Hi");
    return (response, request) => (messagesIn(request).length > most ? refusal : answer)(response, request);
  };
  const tooLong: readonly [server: string, refusal: model.Script][] = [
    ["OpenAI", refuseWith(400, { error: { message: "Too much.", code: "context_length_exceeded" } })],
    ["llama.cpp before September 2025", model.send('error: {"code":400,"message":"too long"}\n\n')],
    ["one that says it in a way of its own", refuseWith(400, { detail: "Das Gespräch ist zu lang." })],
    ["OpenRouter", refuseWith(400, { error: { message: "Provider", metadata: { raw: "too long" } } })],
    ["one that says nothing", model.refuse(400)],
    ["one that validates", model.refuse(422)],
    ["a proxy", model.refuse(413)],
    ["one that fails on it", refuseWith(500, { error: { message: "CUDA out of memory" } })],
    ["LM Studio", model.send('event: error\ndata: {"error":{"message":"It does not fit."}}\n\n')],
    ["one with an error as JSON", refuseWith(200, { error: { message: "Too long.", code: 400 } })],
    [
      "Text Generation Inference",
      model.send(model.event({ error: { message: "Too long.", http_status_code: 422 } }) + model.endMarker),
    ],
  ];
  for (const [kind, refusal] of tooLong) {
    for (const most of kind === "OpenAI" ? [8, 4, 2] : [4]) {
      test(`a conversation of 14 messages is shortened for a context of ${most}: ${kind}`, async (t) => {
        const { server, engine, out } = await start(t, fetchTransport, [], { clock: createHastyClock() });
        server.script(tooLongFor(most, refusal));
        await engine.reply(turn(), createOutput().output); // token counts are no problem of this server
        await engine.reply(turn({ history: [...answered, ...answered] }), out.output);
        assert.equal(out.text(), "Hi");
        const kept = most === 8 ? answered : most === 4 ? answered.slice(4) : [];
        const asked = server.requests.at(-1);
        assert.deepEqual(asked && messagesIn(asked), [
          { role: "system", content: "You are Ada." },
          ...kept,
          { role: "user", content: "Hi?" },
        ]);
      });
    }
  }

  test("status 429 is retried with all earlier messages, whatever it says of their length", async (t) => {
    const limit = { error: { message: "Limit reached: reduce the length of the messages." } };
    const { server, reply } = await start(t, fetchTransport, [refuseWith(429, limit), model.reply("Hi")], {
      clock: createHastyClock(),
    });
    await reply(turn({ history: answered }));
    assert.deepEqual(
      server.requests.map((request) => messagesIn(request).length),
      [8, 8],
    );
  });

  test("a question that is too long for the model's context by itself is a model_error", async (t) => {
    const script = refuseWith(413, { error: { message: "secret", code: "context_length_exceeded" } });
    const { server, reply } = await start(t, fetchTransport, [script]);
    await assertModelError(reply(turn({ history: answered })), /status 413: context_length_exceeded\.$/);
    assert.deepEqual(
      server.requests.map((request) => messagesIn(request).length),
      [8, 4, 2],
    );
  });

  test("text before an error in the stream is kept, and nothing is asked again, even about the context's length", async (t) => {
    const error = { error: { code: "context_length_exceeded", message: "secret" } };
    const scripts = [model.send(model.delta("Hi") + model.event(error))];
    const { server, out, reply } = await start(t, fetchTransport, scripts);
    const { message } = await failure(reply(turn({ history: answered })));
    assert.equal(message, "The model reported an error: context_length_exceeded.");
    assert.equal(out.text(), "Hi");
    assert.equal(server.requests.length, 1);
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
      const { reply } = await start(t, fetchTransport, [model.send(text, { status: 403, headers: json })]);
      assert.equal((await failure(reply())).message, `The model answered with status 403${told}`);
    });
  }

  for (const [error, told] of [
    [{ code: 502, message: "secret" }, ": 502"], // OpenRouter
    [{ code: 503, message: "secret", status: "UNAVAILABLE" }, ": 503, UNAVAILABLE"], // Gemini
    [{ code: "500", message: "secret", type: "server_error" }, ": 500, server_error"], // LiteLLM
    [{ type: "overloaded_error", message: "Overloaded" }, ": overloaded_error"], // Anthropic
    [{ code: 4_111_111_111_111_111, message: "secret" }, ""],
  ] as const) {
    test(`an error in the stream with ${inspect(error)} is retried, and reported with${told || "out code"}`, async (t) => {
      const clock = createHastyClock();
      const { server, reply } = await start(t, fetchTransport, [model.send(model.event({ error }))], {
        clock,
      });
      assert.equal((await failure(reply())).message, `The model reported an error${told}.`);
      assert.equal(server.requests.length, 3);
    });
  }

  for (const [body, told, asked] of [
    [{ base_resp: { status_code: 1008, status_msg: "insufficient balance" }, choices: null }, ": 1008", 1],
    [{ base_resp: { status_code: 1002, status_msg: "rate limit" } }, ": 1002", 3],
    [{ code: 20012, message: "Model does not exist.", data: null }, ": 20012", 1],
    [{ code: 50603, message: "System is too busy. Please try again later.", data: null }, ": 50603", 3],
    [{ code: "InvalidApiKey", message: "Invalid API-key provided." }, ": InvalidApiKey", 1],
    [{ code: 503, message: "" }, ": 503", 3],
  ] as const) {
    test(`status 200 with ${JSON.stringify(body)} is reported, and asked ${asked} times`, async (t) => {
      const script = model.send(JSON.stringify(body), { headers: json });
      const { server, reply } = await start(t, fetchTransport, [script], { clock: createHastyClock() });
      assert.equal((await failure(reply())).message, `The model reported an error${told}.`);
      assert.equal(server.requests.length, asked);
    });
  }

  test("a reply that says beside its text that nothing is wrong is a reply", async (t) => {
    const fine = { base_resp: { status_code: 0, status_msg: "" }, choices: [{ delta: { content: "Hi" } }] };
    const { out, reply } = await start(t, fetchTransport, [
      model.send(model.event(fine) + model.finish("stop")),
    ]);
    await reply();
    assert.equal(out.text(), "Hi");
  });

  const filtered = { error: { message: "secret", type: null, code: "content_filter", status: 400 } };
  for (const [kind, script, text] of [
    ["Azure's status 400", refuseWith(400, filtered), ""],
    ["an error in the stream", model.send(model.delta("Hi") + model.event(filtered)), "Hi"],
  ] as const) {
    test(`a question that a filter refuses is asked once, and its reply says so: ${kind}`, async (t) => {
      const { server, out, reply } = await start(t, fetchTransport, [script]);
      const result = await reply(turn({ history: answered }));
      assert.deepEqual(result, { finishReason: "content_filter", usage: null });
      assert.equal(out.text(), text);
      assert.equal(server.requests.length, 1);
    });
  }

  test("a finish reason for an overload, before any text, is retried", async (t) => {
    const scripts = [model.send(model.finish("insufficient_system_resource")), model.reply("Second")];
    const { out, reply } = await start(t, fetchTransport, scripts, { clock: createHastyClock() });
    await reply();
    assert.equal(out.text(), "Second");
  });

  const types = ["text/plain", "application/x-ndjson", "application/json", ""];
  for (const answer of [{ status: 201 }, ...types.map((type) => ({ headers: { "content-type": type } }))]) {
    test(`an event stream may be answered with ${inspect(answer)}`, async (t) => {
      const { out, reply } = await start(t, fetchTransport, [model.send(model.completion("Hi"), answer)]);
      await reply();
      assert.equal(out.text(), "Hi");
    });
  }

  test("a server that sends no event streams to those who accept nothing else gets what it needs", async (t) => {
    const answer = model.reply("Hi");
    const { server, engine, out } = await start(t, fetchTransport);
    server.script((response, request) =>
      (/application\/json/.test(request.headers.accept ?? "") ? answer : model.refuse(406))(
        response,
        request,
      ),
    );
    await engine.reply(turn(), out.output);
    assert.equal(out.text(), "Hi");
  });

  test("a reply is cut off at its limit", async (t) => {
    const parts = [...Array<string>(8).fill(model.delta("x".repeat(524_288))), model.delta("!")];
    const { server, out, reply } = await start(t, fetchTransport, [model.hangAfter(...parts)]);
    await assertModelError(reply(), /longer than 4194304 characters/);
    assert.equal(out.text().length, 4_194_304);
    await (await server.received(0)).closed;
  });

  test("the model is not asked if the output is already aborted", async (t) => {
    const { server, out, reply } = await start(t, fetchTransport);
    out.abort();
    await assert.rejects(reply(), { name: "AbortError" });
    assert.equal(server.requests.length, 0);
  });
});
