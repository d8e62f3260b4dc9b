import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createOpenAIEngine } from "../../adapters/openai-models/mod.ts";
import type { Clock, Tool } from "../../core/mod.ts";
import { createHastyClock, createOutput, turn, twin } from "./fixture.ts";
import * as model from "./model-server.ts";
import { answers, asksForOrder, type Body, orders, type Refused, serverThat } from "./tools-fixture.ts";

/** Asks one engine again and again, whose twin may use `tools`. */
function openEngine(answer: (body: Body) => string | Refused, tools: readonly Tool[] = [orders().tool]) {
  const server = serverThat(answer);
  const logged: [string, unknown][] = [];
  const hasty = createHastyClock();
  let passed = 0;
  const clock: Clock = { now: () => hasty.now() + passed, after: hasty.after };
  const engine = createOpenAIEngine({
    baseUrl: "http://127.0.0.1:1/v1",
    transport: server,
    tools,
    clock,
    log: (_level, message, fields) => void logged.push([message, fields?.tools]),
  });
  const names = [...new Set(tools.map(({ name }) => name.split("/", 1)[0] ?? ""))];
  const history = [
    { role: "user", content: "a" },
    { role: "assistant", content: "b" },
  ] as const;
  return {
    logged,
    wait(milliseconds: number) {
      passed += milliseconds;
    },
    /** The text of a reply, or "failed", and how many tools the model was offered with each request. */
    async reply() {
      server.asked.length = 0;
      const out = createOutput();
      const ended = await engine
        .reply(turn({ twin: twin({ tools: names }), history: [...history] }), out.output)
        .then(out.text, () => "failed");
      return {
        text: ended,
        offered: server.asked.map(({ tools = [] }) => tools.length),
        asked: server.asked,
      };
    },
  };
}

const hasResult = ({ messages }: Body) => messages.some(({ role }) => role === "tool");
const refuses = "a model's server refuses tools, so it is asked without them";

describe("a model's server that refuses tools", { timeout: 300_000 }, () => {
  for (const [server, status, error, isBelieved] of [
    ["Ollama", 400, { error: { message: "registry.ollama.ai/library/gemma does not support tools" } }, true],
    ["vLLM", 400, { message: '"auto" tool choice requires --enable-auto-tool-choice' }, true],
    ["OpenRouter", 404, { error: { message: "No endpoints found that support tool use." } }, true],
    ["pydantic", 422, { detail: [{ loc: ["body", "tools"], msg: "Extra inputs are not permitted" }] }, true],
    ["one that does not implement it", 501, { error: { message: "tools are not implemented" } }, true],
    ["llama.cpp", 500, { error: { message: "tools param requires --jinja flag" } }, false],
    ["one that says nothing", 400, {}, false],
  ] as const) {
    test(`is asked without them, and by ${isBelieved ? "two signs" : "no"} conclusion not again: ${server}`, async () => {
      const { reply, logged, wait } = openEngine(({ tools }) =>
        tools ? { status, error } : model.completion("Hi"),
      );
      const first = await reply();
      assert.equal(first.text, "Hi");
      assert.deepEqual([first.offered.at(0), first.offered.at(-1)], [1, 0]);
      assert.equal((await reply()).offered.at(0), isBelieved ? 0 : 1);
      wait(5 * 60_000);
      assert.equal((await reply()).offered.at(0), 1); // minutes later, it may have been mended
      assert.deepEqual(logged, [[refuses, undefined]]);
    });
  }

  test("is asked with them again where the clock is set back", async () => {
    const { reply, wait } = openEngine(({ tools }) =>
      tools
        ? { status: 400, error: { error: { message: "gemma does not support tools" } } }
        : model.completion("Hi"),
    );
    await reply();
    assert.equal((await reply()).offered.at(0), 0);
    wait(-60 * 60_000);
    assert.equal((await reply()).offered.at(0), 1);
  });

  const failures: Readonly<Record<string, Refused>> = {
    "a conversation that is too long": {
      status: 400,
      error: { error: { message: "prompt is too long: messages and tools have 210000 tokens" } },
    },
    "an overload": { status: 503, error: { error: { message: "The tool-calling backend is overloaded." } } },
    "a limit": { status: 429, error: { error: { message: "Too many requests with tools." } } },
    "a thought that was not given back": {
      status: 400,
      error: { error: { message: "Function call is missing a thought_signature in functionCall parts." } },
    },
    "calls that the server cannot match": {
      status: 400,
      error: { message: "Not the same number of function calls and responses" },
    },
    "a call that the model wrote wrongly": {
      status: 500,
      error: {
        error: { message: "error parsing tool call: raw='{\"n\":1' err=unexpected end of JSON input" },
      },
    },
    "a call that the model wrote wrongly (400)": {
      status: 400,
      error: {
        error: { message: "Failed to call a function.", code: "tool_use_failed", failed_generation: "x" },
      },
    },
  };
  for (const [what, refused] of Object.entries(failures)) {
    for (const worked of [true, false]) {
      test(`is asked with them again in the next reply after ${what}, ${worked ? "" : "not "}knowing that tools work`, async () => {
        let failing = false;
        const { reply } = openEngine(({ tools }) => (failing && tools ? refused : answers));
        if (worked) await reply();
        failing = true;
        await reply();
        failing = false;
        const { text, offered } = await reply();
        const isBelieved = !worked && /missing|Not the same/.test(JSON.stringify(refused)); // it answered without tools
        assert.deepEqual([text, offered], ["It is sent.", [isBelieved ? 0 : 1]]);
      });
      test(`is not judged by an answer that is no second sign: ${what}, ${worked ? "" : "not "}knowing`, async () => {
        let failing = false;
        const { reply } = openEngine(() => (failing ? refused : answers));
        if (worked) await reply();
        failing = true;
        assert.equal((await reply()).text, "failed");
        failing = false;
        assert.deepEqual((await reply()).offered, [1]);
      });
    }
  }

  test("a call that the model wrote wrongly is asked for again before tools are left out", async () => {
    let left = 1;
    const { reply } = openEngine((body) => {
      if (hasResult(body)) return answers;
      return left-- > 0 ? (failures["a call that the model wrote wrongly"] as Refused) : asksForOrder;
    });
    assert.deepEqual((await reply()).offered, [1, 1, 1]);
  });

  const bad = { ...orders().tool, name: "orders/bad" };
  for (const [server, message] of [
    ["OpenAI", "Invalid schema for function 'orders_bad': 'uri-template' is not a valid format."],
    ["Anthropic", "tools.0.custom.input_schema: JSON schema is invalid"],
    ["Gemini", "tools[0].function_declarations[0].parameters.properties: unknown"],
    [
      "pydantic",
      '{"loc":["body","tools",0,"function","parameters"],"msg":"Input should be a valid dictionary"}',
    ],
  ] as const) {
    test(`is asked without the tool alone that it names: ${server}`, async () => {
      const isBad = ({ tools = [] }: Body) => tools.some(({ function: { name } }) => name === "orders_bad");
      const { reply, logged } = openEngine(
        (body) => {
          if (isBad(body))
            return { status: 400, error: { error: { message, code: "invalid_request_error" } } };
          return hasResult(body) ? answers : asksForOrder;
        },
        [orders().tool, bad],
      );
      const { text, offered } = await reply();
      assert.deepEqual([text, offered[0], offered[1]], ["It is sent.", 2, 1]);
      await reply();
      assert.deepEqual(logged, [
        ["a model's server refuses some tools, so it is asked without these", ["orders_bad"]],
      ]);
    });
  }

  test("is told in words what its model looked up, when it refuses calls in the middle of a reply", async () => {
    const { reply } = openEngine((body) => {
      if (!hasResult(body)) return body.tools ? asksForOrder : answers;
      return { status: 400, error: { error: { message: "Function call is missing a thought_signature" } } };
    });
    const { text, asked } = await reply();
    assert.equal(text, "It is sent.");
    const last = asked.at(-1)?.messages.at(-1);
    assert.equal(last?.role, "user");
    assert.match(last?.content ?? "", /orders_find \{"number":7\}[\s\S]*"state":"sent"/);
  });
});
