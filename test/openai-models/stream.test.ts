import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  createOpenAIEngine,
  type ModelListener,
  type ModelTransport,
  type OpenAIOptions,
} from "../../adapters/openai-models/mod.ts";
import type { Log } from "../../core/mod.ts";
import { assertModelError, createHastyClock, createOutput, failure, inPieces, turn } from "./fixture.ts";
import * as model from "./model-server.ts";

describe("the OpenAI engine", () => {
  const baseUrl = "http://127.0.0.1:1/v1";

  const ask = (options: Partial<OpenAIOptions>, { output } = createOutput()) =>
    createOpenAIEngine({ baseUrl, ...options }).reply(turn(), output);

  async function read(body: string, ...splits: number[]) {
    const bytes = new TextEncoder().encode(body);
    const pieces = [0, ...splits].map((from, index) => bytes.subarray(from, splits[index]));
    const out = createOutput();
    const result = await ask({ transport: inPieces(...pieces) }, out);
    return { text: out.text(), writes: out.writes.length, result };
  }

  const assertFails = (body: string, message: RegExp) =>
    assertModelError(ask({ transport: inPieces(body), retries: 0 }), message);

  for (const [name, lineEnd] of [
    ["LF", "\n"],
    ["CRLF", "\r\n"],
    ["CR", "\r"],
  ] as const) {
    test(`text is exact wherever a body with ${name} line ends is split`, async () => {
      const text = "Grüße 日本 👋🏽\u2028\r\n";
      const body = `: comment\n\n${model.completion(text, text)}`.replaceAll("\n", lineEnd);
      const size = new TextEncoder().encode(body).length;
      const whole = await read(body);
      assert.equal(whole.text, text + text);
      for (let split = 1; split < size; split++) {
        const { text: found, result } = await read(body, split);
        assert.equal(found, whole.text, `split at ${split}`);
        assert.deepEqual(result, whole.result, `split at ${split}`);
      }
    });
  }

  test("deltas that arrive together are written together", async () => {
    assert.equal((await read(model.completion("a", "b", "c"))).writes, 1);
  });

  test("an event whose data is empty is no event", async () => {
    const body = `data:\n\ndata: \n\nid: 1\ndata:\n\n${model.completion("Hi")}`;
    assert.equal((await read(body)).text, "Hi");
  });

  test("a finish reason in every chunk does not end the reply", async () => {
    const pieces = ["Hi", ", ", "you"].map((content) =>
      model.event({ choices: [{ delta: { content }, finish_reason: "stop" }] }),
    );
    assert.equal((await read(pieces.join(""))).text, "Hi, you");
  });

  test("a text that goes on after a finish reason needs another one", async () => {
    await assertFails(model.delta("Hi") + model.finish("stop") + model.delta(", you"), /ended before/);
  });

  const completion = {
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "length" }],
    usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
  };
  for (const [form, body] of [
    ["an event", model.event(completion)],
    ["JSON", JSON.stringify(completion)],
    ["JSON over several lines", JSON.stringify(completion, null, 2)],
  ] as const) {
    test(`a whole completion instead of a stream is read: as ${form}`, async () => {
      const { text, result } = await read(body, 1, 30);
      assert.equal(text, "Hi");
      assert.deepEqual(result, {
        finishReason: "length",
        usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4, cachedInputTokens: null },
      });
    });
  }

  test("chunks may be lines of JSON instead of events", async () => {
    const lines = ["Hi", ", you"].map((content) => JSON.stringify({ choices: [{ delta: { content } }] }));
    const end = JSON.stringify({ choices: [{ delta: {}, finish_reason: "stop" }] });
    assert.equal((await read(`${[...lines, end].join("\n\n")}\n`, 5, 20, 60)).text, "Hi, you");
  });

  test("text is read from a choice's text, as in older completions", async () => {
    const body = ["Hi", ", you"].map((text) => model.event({ choices: [{ text, finish_reason: null }] }));
    assert.equal((await read(body.join("") + model.endMarker)).text, "Hi, you");
  });

  test("a message with all the text, besides the deltas, is not repeated", async () => {
    const chunk = (content: string, all: string) =>
      model.event({ choices: [{ delta: { content }, message: { role: "assistant", content: all } }] });
    const body = chunk("", "") + chunk("Hi", "Hi") + chunk(", you", "Hi, you") + chunk("", "Hi, you");
    assert.equal((await read(body + model.endMarker)).text, "Hi, you");
  });

  for (const [kind, body, came] of [
    [
      "only reasoning",
      model.event({ choices: [{ delta: { reasoning_content: "Hm", content: null } }] }) +
        model.finish("stop"),
      "It has reasoning_content, and the finish reason stop.",
    ],
    [
      "only reasoning, up to the maximum length",
      model.event({ choices: [{ delta: { reasoning: "Hm", role: "assistant" } }] }) + model.finish("length"),
      "It has reasoning, and the finish reason length.",
    ],
    [
      "only a tool call",
      model.event({ choices: [{ delta: { tool_calls: [{ index: 0 }] } }] }) + model.finish("tool_calls"),
      "It has tool_calls, and the finish reason stop.",
    ],
    ["nothing", model.endMarker, "It has nothing, and the finish reason stop."],
    [
      "only thinking in parts",
      model.event({ choices: [{ delta: { content: [{ type: "thinking", thinking: [] }] } }] }) +
        model.endMarker,
      "It has content, and the finish reason stop.",
    ],
  ] as const) {
    test(`a reply without a word is a model_error that says what came: ${kind}`, async () => {
      await assertFails(body, new RegExp(`The model's reply has no text. ${came}`));
    });
  }

  test("a reply without a word is complete if a filter held it back", async () => {
    const { text, result } = await read(model.finish("content_filter"));
    assert.equal(text, "");
    assert.equal(result.finishReason, "content_filter");
  });

  test("an end marker without a finish reason counts as stop, also without its blank line or with a trailing space", async () => {
    for (const end of [model.endMarker, "data: [DONE]", "data: [DONE] \n\n"]) {
      assert.equal((await read(model.delta("Hi") + end)).result.finishReason, "stop");
    }
  });

  test("anything after the end marker is ignored", async () => {
    assert.equal((await read(`${model.completion("Hi")}data: {]\n\nnonsense\n\n`)).text, "Hi");
  });

  const reasons = {
    stop: "stop",
    eos: "stop",
    tool_calls: "stop",
    length: "length",
    max_tokens: "length",
    MAX_TOKENS: "length",
    content_filter: "content_filter",
    "content_filter: RECITATION": "content_filter",
    SAFETY: "content_filter",
    sensitive: "content_filter",
    refusal: "content_filter",
    model_context_window_exceeded: "length",
    max_output_tokens: "length",
    incomplete: "length",
    time_limit: "length",
    repetition_truncation: "length",
    ERROR_TOXIC: "content_filter",
    RECITATION: "content_filter",
    blocklist: "content_filter",
    prohibited_content: "content_filter",
  } as const;
  for (const [reason, finishReason] of Object.entries(reasons)) {
    test(`the finish reason ${reason} becomes ${finishReason} if there is text`, async () => {
      const { result } = await read(model.delta("Hi") + model.finish(reason));
      assert.equal(result.finishReason, finishReason);
    });
  }

  for (const reason of ["MALFORMED_RESPONSE", "exception", "ERROR_LIMIT"]) {
    test(`the finish reason ${reason} fails the reply`, async () => {
      await assertFails(model.delta("Half a") + model.finish(reason), /broke off its reply/);
    });
  }

  test("an unknown finish reason counts as length, with one warning that names it", async () => {
    const warnings: unknown[] = [];
    const transport = inPieces(model.delta("Hi") + model.finish("bored"));
    const log: Log = (level, _message, fields) => void warnings.push([level, fields?.reason]);
    const engine = createOpenAIEngine({ baseUrl, transport, log });
    for (const _ of [1, 2]) {
      assert.equal((await engine.reply(turn(), createOutput().output)).finishReason, "length");
    }
    assert.deepEqual(warnings, [["warn", "bored"]]);
  });

  test("a model that sends more than 8 MiB without a word fails the reply", async () => {
    const silence = `${": waiting\n\n".repeat(1_000)}${model.delta("")}`;
    const pieces = Array<string>(Math.ceil((9 * 1024 * 1024) / silence.length)).fill(silence);
    await assertModelError(
      ask({ transport: inPieces(...pieces), retries: 0 }),
      /more than 8 MiB without a word/,
    );
  });

  test("a model may think for more than 8 MiB", async () => {
    const thought = model.event({ choices: [{ delta: { reasoning_content: "Hm. ".repeat(250_000) } }] });
    const pieces = [...Array<string>(10).fill(thought), model.completion("Hi")];
    const out = createOutput();
    await ask({ transport: inPieces(...pieces) }, out);
    assert.equal(out.text(), "Hi");
  });

  test("reasoning, roles, other choices and empty finish reasons are not part of the reply", async () => {
    const body = [
      model.event({ choices: [{ delta: { role: "assistant", content: null, reasoning_content: "Hm" } }] }),
      model.event({ choices: [{ delta: { reasoning: "Hm", content: "" }, finish_reason: "" }] }),
      model.event({ choices: [{ delta: { content: "Hi" } }, { delta: { content: "other" } }], error: null }),
      model.event({ choices: [], prompt_filter_results: [] }),
      model.completion("!"),
    ].join("");
    assert.equal((await read(body)).text, "Hi!");
  });

  test("text in parts, as sent by Mistral's reasoning models, is part of the reply; their thinking is not", async () => {
    const parts = [
      [{ type: "thinking", thinking: [{ type: "text", text: "Hm" }] }],
      [{ type: "text", text: "Hi" }],
      [{ type: "reference", reference_ids: [1] }, { type: "text", text: ", you" }, null, { type: "text" }],
    ];
    const body = parts.map((content) => model.event({ choices: [{ delta: { content } }] })).join("");
    assert.equal((await read(body + model.completion("!"))).text, "Hi, you!");
  });

  test("text that is only a number, as Cloudflare's servers send it, is part of the reply", async () => {
    const pieces = ["It costs $", 0, ".", "00", 5, "."];
    const body = pieces.map((content) => model.event({ choices: [{ delta: { content } }] })).join("");
    assert.equal((await read(body + model.finish("stop"))).text, "It costs $0.005.");
  });

  test("a model's refusal is the reply's text", async () => {
    const body = [
      model.event({ choices: [{ delta: { role: "assistant", content: null, refusal: "" } }] }),
      model.event({ choices: [{ delta: { refusal: "I'd rather not." } }] }),
      model.finish("stop"),
    ].join("");
    assert.equal((await read(body)).text, "I'd rather not.");
  });

  test("a whole event beyond the limit is refused, even if it arrives in one piece", async () => {
    const transport = inPieces(model.delta("x".repeat(1_048_576)));
    await assert.rejects(ask({ transport }), /event of more than 1048576 characters/);
  });

  test("an event that would become far more values than it has text is refused", async () => {
    const thought = `{"choices":[{"delta":{"reasoning":[${"{},".repeat(60_000)}{}]}}]}`;
    for (const body of [`data: ${thought}\n\n`, `${thought}\n`]) {
      const transport = inPieces(body + model.completion("Hi"));
      await assertModelError(ask({ transport, retries: 0 }), /not a chunk|neither an event stream nor JSON/);
    }
  });

  test("of what a reply has instead of text, few names are kept", async () => {
    const letters = (n: number) => [...String(n)].map((digit) => "abcdefghij"[Number(digit)]).join("");
    const delta = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`name_${letters(n)}`, 1]));
    const body = model.event({ choices: [{ delta }] }) + model.finish("stop") + model.endMarker;
    await assert.rejects(ask({ transport: inPieces(body), retries: 0 }), ({ message }: Error) => {
      assert.match(message, /has no text. It has name_a, name_b, /);
      return message.length < 1_000;
    });
  });

  test("text that comes together with a reason that breaks the reply off is kept", async () => {
    const body = model.event({ choices: [{ delta: { content: "Hi" }, finish_reason: "error" }] });
    const out = createOutput();
    await assert.rejects(ask({ transport: inPieces(body) }, out), /broke off its reply/);
    assert.equal(out.text(), "Hi");
  });

  test("invalid token counts become null", async () => {
    const counts = { usage: { prompt_tokens: -1, completion_tokens: "2" } };
    const body = model.delta("Hi") + model.event({ choices: [], ...counts }) + model.endMarker;
    assert.equal((await read(body)).result.usage, null);
  });

  test("a missing total of tokens is computed", async () => {
    const counts = { usage: { prompt_tokens: 3, completion_tokens: 4 } };
    const body = model.delta("Hi") + model.event({ choices: [], ...counts }) + model.endMarker;
    assert.deepEqual((await read(body)).result.usage, {
      inputTokens: 3,
      outputTokens: 4,
      totalTokens: 7,
      cachedInputTokens: null,
    });
  });

  for (const [name, counts, cached] of [
    ["OpenAI's name", { prompt_tokens_details: { cached_tokens: 64 } }, 64],
    ["DeepSeek's name", { prompt_cache_hit_tokens: 64, prompt_tokens_details: null }, 64],
    ["no whole number", { prompt_tokens_details: { cached_tokens: 0.5 } }, null],
  ] as const) {
    test(`cached tokens are read under ${name}`, async () => {
      const usage = { prompt_tokens: 100, completion_tokens: 4, ...counts };
      const body = model.delta("Hi") + model.event({ choices: [], usage }) + model.endMarker;
      assert.equal((await read(body)).result.usage?.cachedInputTokens, cached);
    });
  }

  test("a reply can be aborted even if its transport never reports anything", async () => {
    const out = createOutput();
    const replied = ask({ transport: () => () => {} }, out);
    out.abort(new Error("Enough."));
    await assert.rejects(replied, /Enough/);
  });

  test("events of an attempt's connection are ignored once it is closed", async () => {
    const out = createOutput();
    const listeners: ModelListener[] = [];
    const closed: number[] = [];
    const transport: ModelTransport = (_url, _request, listener) => {
      const attempt = listeners.push(listener);
      queueMicrotask(() => (attempt === 1 ? listener.fail(new Error("Reset.")) : answer()));
      return () => closed.push(attempt);
    };
    const answer = () => {
      for (const listener of listeners) listener.begin(200, new Headers());
      for (const listener of listeners) listener.read(new TextEncoder().encode(model.delta("Hi")));
      listeners[0]?.fail(new Error("Reset again."));
      listeners[0]?.end();
      listeners[1]?.read(new TextEncoder().encode(model.finish("stop")));
      listeners[1]?.end();
    };
    assert.equal((await ask({ transport, clock: createHastyClock() }, out)).finishReason, "stop");
    assert.equal(out.text(), "Hi");
    assert.deepEqual(closed, [1, 2]);
  });

  test("the model is not asked again if the output fails", async () => {
    let asked = 0;
    const answer = inPieces(model.completion("Hi"));
    const transport: ModelTransport = (...request) => {
      asked++;
      return answer(...request);
    };
    const write = () => {
      throw new Error("The output failed.");
    };
    const output = { ...createOutput().output, write };
    await assert.rejects(ask({ transport }, { ...createOutput(), output }), /output failed/);
    assert.equal(asked, 1);
  });

  test("connecting for 10 s is a model_timeout, and not tried again", async () => {
    let asked = 0;
    const transport: ModelTransport = (_url, _request, listener) => {
      asked++;
      const cause = Object.assign(new Error("Connect Timeout Error"), { code: "UND_ERR_CONNECT_TIMEOUT" });
      queueMicrotask(() => listener.fail(new TypeError("fetch failed", { cause })));
      return () => {};
    };
    const error = await failure(ask({ transport }));
    assert.equal(error.code, "model_timeout");
    assert.equal(error.message, "Connecting to the model took more than 10 s.");
    assert.equal(asked, 1);
  });

  test("a transport that returns nothing to close a connection with fails the reply, and the error says so", async () => {
    const transport = (async () => {}) as unknown as ModelTransport; // in plain JavaScript
    const error = await failure(ask({ transport, clock: createHastyClock() }));
    assert.match(
      String(error.cause),
      /transport .+ must be a function that closes the connection, not \[object Pro/,
    );
  });

  test("a reply ends as it did even if its connection cannot be closed", async () => {
    const out = createOutput();
    const transport: ModelTransport = () => () => assert.fail("It is closed already.");
    const replied = ask({ transport }, out);
    out.abort(new Error("Enough."));
    await assert.rejects(replied, /Enough/);
  });

  test("trailing slashes of the address do not matter", async () => {
    const urls: string[] = [];
    const answer = inPieces(model.completion("Hi"));
    const transport: ModelTransport = (url, ...request) => {
      urls.push(url);
      return answer(url, ...request);
    };
    await ask({ baseUrl: "https://api.example/v1//", transport });
    assert.deepEqual(urls, ["https://api.example/v1/chat/completions"]);
  });

  for (const address of [
    "",
    "localhost:11434/v1",
    "ftp://models/v1",
    "http://me:key@models/v1",
    "http://key@models/v1",
    "http://:key@models/v1",
    "http://m/v1#key",
    "http://m/v1?k=key",
    "http://m/v1/chat/completions",
    "http://m/v1/responses/",
  ]) {
    test(`the address ${JSON.stringify(address)} is refused`, () => {
      assert.throws(() => createOpenAIEngine({ baseUrl: address }), /^TypeError: The model's address must/);
    });
  }

  test("options that would be misunderstood are refused, such as retries that would never end", () => {
    const refused: readonly [options: Record<string, unknown>, message: RegExp][] = [
      [{ retries: Number.NaN }, /createOpenAIEngine: retries must be a number that is not negative, not NaN/],
      [{ retries: "3" }, /retries must be a number that is not negative, not "3"/],
      [{ apikey: "sk-1" }, /apikey is not known; the names are baseUrl, apiKey, .+/],
      [{ transport: null }, /transport must be a function that sends requests, not null/],
    ];
    for (const [options, message] of refused) {
      assert.throws(() => createOpenAIEngine({ baseUrl, ...options }), { name: "TypeError", message });
    }
  });

  test("a key that no header can carry is refused, without revealing it", () => {
    assert.throws(() => createOpenAIEngine({ baseUrl, apiKey: "sk secret\n" }), {
      message: "The model's API key must be printable ASCII without spaces.",
    });
  });
});
