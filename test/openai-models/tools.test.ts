import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  createOpenAIEngine,
  type ModelTransport,
  type OpenAIOptions,
} from "../../adapters/openai-models/mod.ts";
import { fetchTransport } from "../../adapters/openai-models/transport.ts";
import { createManualClock, settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import { assertModelError, createHastyClock, createOutput, inPieces, start, turn, twin } from "./fixture.ts";
import * as model from "./model-server.ts";
import { answers, ask, asksForOrder, called, orders, parts, serverThat, toldIn } from "./tools-fixture.ts";

describe("tools of a model", { timeout: 300_000 }, () => {
  test("a call runs, its result is told, and the texts around it are the reply", async () => {
    const { tool, inputs, contexts } = orders();
    const first = model.delta("Let me look. ") + asksForOrder;
    const { asked, out, result } = await ask([first, answers], [tool]);
    assert.equal(out.text(), "Let me look. \n\nIt is sent.");
    assert.deepEqual(inputs, [{ number: 7 }]);
    assert.equal(contexts[0]?.callId, "call_1");
    assert.deepEqual(asked[0]?.tools, [
      {
        type: "function",
        function: { name: "orders_find", description: tool.description, parameters: tool.inputSchema },
      },
    ]);
    assert.deepEqual(asked[1]?.messages.slice(-2), [
      {
        role: "assistant",
        content: "Let me look. ",
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "orders_find", arguments: '{"number":7}' } },
        ],
      },
      { role: "tool", tool_call_id: "call_1", content: '{"number":7,"state":"sent"}' },
    ]);
    assert.deepEqual(asked[1]?.tools, asked[0]?.tools);
    assert.deepEqual(out.progress, [
      { stage: "tool", name: "orders/find", callId: "call_1", state: "called" },
      { stage: "tool", name: "orders/find", callId: "call_1", state: "done" },
    ]);
    assert.equal(result.finishReason, "stop");
    assert.deepEqual(result.usage, {
      inputTokens: 107,
      outputTokens: 11,
      totalTokens: 118,
      cachedInputTokens: null,
    });
  });

  test("a twin that names no tools is offered none, and one that names some these, in one order", async () => {
    const tools = ["weather/now", "orders/find", "weather/forecast", "ordersx/y"].map((name) => ({
      ...orders().tool,
      name,
    }));
    assert.equal((await ask([answers], tools, {}, [])).asked[0]?.tools, undefined);
    const namesFor = async (...names: string[]) =>
      (await ask([answers], tools.toReversed(), {}, names)).asked[0]?.tools?.map(
        (tool) => tool.function.name,
      );
    assert.deepEqual(await namesFor("weather/now", "orders"), ["orders_find", "weather_now"]);
    assert.deepEqual(await namesFor("weather"), ["weather_forecast", "weather_now"]);
  });

  test("models get names that they accept, each once", async () => {
    const names = ["a/b.c", "a/b c", `a/${"long".repeat(20)}1`, `a/${"long".repeat(20)}2`, "a/ümlaut"];
    const tools = names.map((name) => ({ ...orders().tool, name }));
    const { asked } = await ask([answers], tools, {}, ["a"]);
    const given = asked[0]?.tools?.map((tool) => tool.function.name) ?? [];
    assert.equal(new Set(given).size, 5);
    for (const name of given) assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/);
  });

  const find = { name: "orders_find" };
  for (const [form, body] of [
    [
      "name and arguments in pieces",
      parts({ index: 0, id: "c", type: "function", function: { name: "orders_", arguments: "" } }) +
        parts({ index: 0, function: { name: "find" } }) +
        parts({ index: 0, function: { arguments: '{"num' } }) +
        parts({ index: 0, function: { arguments: 'ber":7}' } }),
    ],
    [
      "neither index nor id",
      parts({ function: { ...find, arguments: '{"num' } }) + parts({ function: { arguments: 'ber":7}' } }),
    ],
    [
      "the name in every piece",
      parts({ index: 0, id: "c", function: { ...find, arguments: '{"number"' } }) +
        parts({ index: 0, id: "c", function: { ...find, arguments: ":7}" } }),
    ],
    ["arguments as an object", parts({ index: 0, id: "c", function: { ...find, arguments: { number: 7 } } })],
    ["the whole call twice", called({ number: 7 }) + called({ number: 7 })],
    [
      "a message instead of deltas",
      model.event({
        choices: [
          { message: { tool_calls: [{ id: "c", function: { ...find, arguments: '{"number":7}' } }] } },
        ],
      }),
    ],
    [
      "pieces that each have an id of their own", // vLLM until 0.8
      parts({ index: 0, id: "c1", function: { ...find, arguments: "" } }) +
        parts({ index: 0, id: "c2", function: { arguments: '{"num' } }) +
        parts({ index: 0, id: "c3", function: { arguments: 'ber":7}' } }),
    ],
    [
      "a chunk that has blank text, too",
      model.event({
        choices: [
          {
            delta: {
              content: "",
              tool_calls: [{ index: 0, id: "c", function: { ...find, arguments: '{"number":7}' } }],
            },
          },
        ],
      }),
    ],
    [
      "a function call of the older kind",
      model.event({ choices: [{ delta: { function_call: { ...find, arguments: '{"number":7}' } } }] }),
    ],
  ] as const) {
    for (const end of [model.finish("tool_calls"), model.finish("stop"), model.endMarker]) {
      test(`a call is read from ${form}, before ${JSON.stringify(end.slice(6, 60))}`, async () => {
        const { tool, inputs } = orders();
        const { out } = await ask([body + end, answers], [tool]);
        assert.deepEqual(inputs, [{ number: 7 }]);
        assert.equal(out.text(), "It is sent.");
      });
    }
  }

  for (const part of ["delta", "message"]) {
    test(`a call is read beside the text of the same ${part}`, async () => {
      const { tool, inputs } = orders();
      const calls = [{ index: 0, id: "c", function: { ...find, arguments: '{"number":7}' } }];
      const content = "Let me look. ";
      const body = model.event({
        choices: [{ [part]: { content, tool_calls: calls }, finish_reason: "tool_calls" }],
      });
      const { asked, out } = await ask([body + model.endMarker, answers], [tool]);
      assert.deepEqual(inputs, [{ number: 7 }]);
      assert.equal(out.text(), "Let me look. \n\nIt is sent.");
      assert.equal(asked[1]?.messages.at(-2)?.content, content);
    });
  }

  for (const [form, bodies] of [
    [
      "one chunk",
      [
        parts(
          ...[1, 2].map((n) => ({
            index: n - 1,
            id: `c${n}`,
            function: { ...find, arguments: `{"number":${n}}` },
          })),
        ),
      ],
    ],
    [
      "one chunk without indexes",
      [parts(...[1, 2].map((n) => ({ id: `c${n}`, function: { ...find, arguments: `{"number":${n}}` } })))],
    ],
    [
      "chunks that all have the index 0",
      [1, 2].map((n) =>
        parts({ index: 0, id: `c${n}`, function: { ...find, arguments: `{"number":${n}}` } }),
      ),
    ],
    [
      "chunks without ids and indexes",
      [1, 2].map((n) => parts({ function: { ...find, arguments: `{"number":${n}}` } })),
    ],
    [
      "chunks with the same id",
      [1, 2].map((n) =>
        parts({ index: n - 1, id: "same", function: { ...find, arguments: `{"number":${n}}` } }),
      ),
    ],
  ] as const) {
    test(`several calls are read from ${form}, each with an id of its own`, async () => {
      const { tool, inputs, contexts } = orders();
      const { asked } = await ask([bodies.join("") + model.finish("tool_calls"), answers], [tool]);
      assert.deepEqual(inputs, [{ number: 1 }, { number: 2 }]);
      assert.equal(new Set(contexts.map(({ callId }) => callId)).size, 2);
      assert.deepEqual(toldIn(asked), ['{"number":1,"state":"sent"}', '{"number":2,"state":"sent"}']);
      const ids = asked[1]?.messages
        .findLast(({ role }) => role === "assistant")
        ?.tool_calls?.map(({ id }) => id);
      assert.deepEqual(
        ids,
        contexts.map(({ callId }) => callId),
      );
    });
  }

  for (const [name, pieces, whole] of [
    ["reasoning", ["Hm", "m."], "Hmm."],
    ["reasoning_content", ["Hm", "m."], "Hmm."],
    [
      "reasoning_details",
      [[{ type: "reasoning.text", text: "Hm" }], [{ signature: "s" }]],
      [{ type: "reasoning.text", text: "Hm" }, { signature: "s" }],
    ],
    [
      "thinking_blocks",
      [[{ type: "thinking", thinking: "Hm", signature: "s" }]],
      [{ type: "thinking", thinking: "Hm", signature: "s" }],
    ],
    ["extra_content", [{ google: { thought_signature: "s" } }], { google: { thought_signature: "s" } }],
  ] as const) {
    test(`thoughts under the name ${name} are told back as they came, streamed or whole`, async () => {
      const streamed = pieces
        .map((piece) => model.event({ choices: [{ delta: { [name]: piece } }] }))
        .join("");
      const calls = [{ id: "c", function: { ...find, arguments: '{"number":7}' } }];
      const message = model.event({ choices: [{ message: { [name]: whole, tool_calls: calls } }] });
      for (const body of [streamed + called({ number: 7 }), streamed + message, message]) {
        const { asked } = await ask([body + model.finish("tool_calls"), answers], [orders().tool]);
        const told = asked[1]?.messages.at(-2) as unknown as Readonly<Record<string, unknown>>;
        assert.deepEqual(told[name], whole);
      }
    });
  }

  test("what a server says besides of a call, and its model's thoughts, are told back", async () => {
    const signed = { extra_content: { google: { thought_signature: "abc" } } };
    const body =
      model.event({ choices: [{ delta: { reasoning_content: "Hm" } }] }) +
      model.event({ choices: [{ delta: { reasoning_content: "m." } }] }) +
      called({ number: 7 }, signed) +
      model.finish("tool_calls");
    const { asked } = await ask([body, answers], [orders().tool]);
    const message = asked[1]?.messages.at(-2) as unknown as {
      reasoning_content: string;
      tool_calls: object[];
    };
    assert.equal(message.reasoning_content, "Hmm.");
    assert.deepEqual((message.tool_calls[0] as typeof signed).extra_content, signed.extra_content);
  });

  for (const [kind, args, told] of [
    ["of the wrong type", { number: "7" }, /refused: \/number must be integer/],
    ["that are missing", {}, /refused:.*must have required property 'number'/],
    ["that are no JSON", '{"number":', /not a JSON object/],
    ["that are no object", "[7]", /not a JSON object/],
  ] as const) {
    test(`arguments ${kind} are refused, and the model is told so`, async () => {
      const { tool, inputs } = orders();
      const { asked, out } = await ask([called(args) + model.finish("tool_calls"), answers], [tool]);
      assert.deepEqual(inputs, []);
      assert.match(toldIn(asked)[0] ?? "", told);
      assert.deepEqual(
        out.progress.map(({ state }) => state),
        ["called", "failed"],
      );
      assert.equal(out.text(), "It is sent.");
    });
  }

  test("a schema of an older draft is checked as that draft", async () => {
    const { tool, inputs } = orders();
    const inputSchema = { ...tool.inputSchema, $schema: "http://json-schema.org/draft-07/schema#" };
    await ask([asksForOrder, answers], [{ ...tool, inputSchema }]);
    assert.deepEqual(inputs, [{ number: 7 }]);
  });

  test("a tool that does not exist is a failed call, and the model goes on", async () => {
    const body =
      parts({ index: 0, id: "c", function: { name: "delete_all", arguments: "{}" } }) +
      model.finish("tool_calls");
    const { asked, out } = await ask([body, answers], [orders().tool]);
    assert.match(toldIn(asked)[0] ?? "", /There is no tool "delete_all"/);
    assert.deepEqual(
      out.progress.map(({ name, state }) => [name, state]),
      [
        ["unknown", "called"],
        ["unknown", "failed"],
      ],
    );
  });

  test("a tool that fails is told with its words", async () => {
    const { tool } = orders(() => {
      throw new Error("There is no order 7.");
    });
    const { asked, out } = await ask([asksForOrder, answers], [tool]);
    assert.match(toldIn(asked)[0] ?? "", /failed: There is no order 7\./);
    assert.deepEqual(
      out.progress.map(({ state }) => state),
      ["called", "failed"],
    );
  });

  test("a tool that takes 30 s is stopped, and the model is told so", async () => {
    const clock = createManualClock();
    const { opened, open } = createGate();
    const { tool, contexts } = orders(() => {
      open();
      return new Promise(() => {});
    });
    const asking = ask([asksForOrder, answers], [tool], { clock });
    await opened;
    await clock.advance(30_000);
    const { asked } = await asking;
    assert.match(toldIn(asked)[0] ?? "", /took more than 30 s/);
    assert.equal(contexts[0]?.signal.aborted, true);
    assert.equal(clock.pending, 0);
  });

  test("at most four run at once", async () => {
    let [running, most] = [0, 0];
    const { tool } = orders(async () => {
      most = Math.max(most, ++running);
      await settle();
      running--;
    });
    const calls = Array.from({ length: 9 }, (_, n) => ({
      index: n,
      id: `c${n}`,
      function: { ...find, arguments: `{"number":${n}}` },
    }));
    const { asked } = await ask([parts(...calls) + model.finish("tool_calls"), answers], [tool]);
    assert.equal(most, 4);
    assert.equal(toldIn(asked).length, 9);
  });

  test("after eight rounds the model is asked once more, and may not call", async () => {
    const { tool, inputs } = orders();
    const { asked, out } = await ask(
      [...Array<string>(8).fill(asksForOrder), model.delta("Enough.") + asksForOrder],
      [tool],
    );
    assert.equal(inputs.length, 8);
    assert.deepEqual(
      asked.map(({ tool_choice: choice }) => choice),
      [...Array(8).fill(undefined), "none"],
    );
    assert.deepEqual(asked.at(-1)?.tools, asked[0]?.tools); // some servers refuse calls without the tools that they are of
    assert.equal(out.text(), "Enough.");
  });

  for (const [before, after, whole] of [
    ["Let me look.", "It is sent.", "Let me look.\n\nIt is sent."],
    ["Let me look.\n", "It is sent.", "Let me look.\n\nIt is sent."],
    ["Let me look.\n\n", "It is sent.", "Let me look.\n\nIt is sent."],
    ["Let me look.", "\n\nIt is sent.", "Let me look.\n\nIt is sent."],
    ["", "It is sent.", "It is sent."],
    ["\n", "It is sent.", "\nIt is sent."],
    ["Let me look.", "", "Let me look."],
  ] as const) {
    test(`a blank line is between the texts ${JSON.stringify(before)} and ${JSON.stringify(after)}`, async () => {
      const first = (before && model.delta(before)) + asksForOrder;
      const last = [...after].map((letter) => model.delta(letter)).join("") + model.finish("stop");
      const { out } = await ask([first, last], [orders().tool]);
      assert.equal(out.text(), whole);
    });
  }

  for (const [kind, value, told] of [
    ["text", "As it is.", "As it is."],
    ["nothing", undefined, ""],
    ["a list", [1, { a: "ü" }], '[1,{"a":"ü"}]'],
    ["a lone surrogate", "a\ud800b", "a\ufffdb"],
  ] as const) {
    test(`a result that is ${kind} is told as it should be`, async () => {
      const { asked } = await ask([asksForOrder, answers], [orders(() => value).tool]);
      assert.deepEqual(toldIn(asked), [told]);
    });
  }

  for (const letter of ["x", "ü", "日", "👋"]) {
    test(`a long result is cut at 64 KiB, not inside a character, with a note: ${letter}`, async () => {
      const { asked } = await ask([asksForOrder, answers], [orders(() => `a${letter.repeat(70_000)}`).tool]);
      const [text = "", note = ""] = (toldIn(asked)[0] ?? "").split("\n\n");
      const size = new TextEncoder().encode(text).length;
      assert.ok(size <= 65_536 && size > 65_536 - 4, String(size));
      assert.match(text, new RegExp(`^a(${letter})+$`, "u"));
      assert.ok(note.length > 0 && new TextEncoder().encode(note).length <= 300);
    });
  }

  test("before each tool runs, it is stored that the reply is not begun again", async () => {
    const order: string[] = [];
    const { tool } = orders(() => void order.push("run"));
    const out = createOutput();
    const output = { ...out.output, beginActing: async () => void order.push("stored") };
    const transport = (() => {
      let asked = 0;
      return ((...request) =>
        inPieces(asked++ < 2 ? asksForOrder : answers)(...request)) satisfies ModelTransport;
    })();
    const engine = createOpenAIEngine({ baseUrl: "http://127.0.0.1:1/v1", transport, tools: [tool] });
    await engine.reply(turn({ twin: twin({ tools: ["orders"] }) }), output);
    assert.deepEqual(order, ["stored", "run", "stored", "run"]);
  });

  test("a reply that is over before that runs no tool", async () => {
    const { tool, inputs } = orders();
    const output = {
      ...createOutput().output,
      beginActing: () => Promise.reject(new Error("The reply is over.")),
    };
    const engine = createOpenAIEngine({
      baseUrl: "http://127.0.0.1:1/v1",
      transport: inPieces(asksForOrder),
      tools: [tool],
    });
    await assert.rejects(
      engine.reply(turn({ twin: twin({ tools: ["orders"] }) }), output),
      /The reply is over/,
    );
    assert.deepEqual(inputs, []);
  });

  test("a reply that is cancelled stops its tools at once", async () => {
    const { opened, open } = createGate();
    const { tool, contexts } = orders(() => {
      open();
      return new Promise(() => {});
    });
    const out = createOutput();
    const clock = createManualClock();
    const engine = createOpenAIEngine({
      baseUrl: "http://127.0.0.1:1/v1",
      clock,
      transport: inPieces(asksForOrder),
      tools: [tool],
    });
    const replied = assert.rejects(
      engine.reply(turn({ twin: twin({ tools: ["orders"] }) }), out.output),
      /Enough/,
    );
    await opened;
    out.abort(new Error("Enough."));
    await replied;
    assert.equal(contexts[0]?.signal.aborted, true);
    assert.equal(clock.pending, 0);
  });

  test("calls of a completion that was cut off do not run", async () => {
    const { tool, inputs } = orders();
    const { result } = await ask(
      [model.delta("Let me") + called('{"number":7') + model.finish("length")],
      [tool],
    );
    assert.equal(result.finishReason, "length");
    assert.deepEqual(inputs, []);
  });

  test("a connection that breaks after a call is tried again, and the tool is not", async (t) => {
    const { tool, inputs } = orders();
    const scripts = [model.send(asksForOrder), model.resetAtOnce, model.send(answers)];
    const { server, out, engine } = await start(t, fetchTransport, scripts, {
      tools: [tool],
      clock: createHastyClock(),
    });
    await engine.reply(turn({ twin: twin({ tools: ["orders"] }) }), out.output);
    assert.equal(server.requests.length, 3);
    assert.equal(inputs.length, 1);
    assert.equal(out.text(), "It is sent.");
  });

  test("a reply has 64 calls, then the model may not call any more", async () => {
    const { tool, inputs } = orders();
    const many = (from: number, count: number) =>
      parts(
        ...Array.from({ length: count }, (_, n) => ({
          index: n,
          id: `c${from + n}`,
          function: { ...find, arguments: `{"number":${from + n}}` },
        })),
      ) + model.finish("tool_calls");
    const { asked, out } = await ask([many(0, 60), many(60, 100), answers], [tool]);
    assert.equal(inputs.length, 64);
    assert.deepEqual(
      asked.map(({ tool_choice: choice }) => choice),
      [undefined, undefined, "none"],
    );
    const messages = asked[2]?.messages ?? [];
    assert.equal(messages.flatMap(({ tool_calls: calls = [] }) => calls).length, 64);
    assert.equal(out.text(), "It is sent.");
  });

  test("a reply's results have 1 MiB, then the model may not call any more", async () => {
    const { tool } = orders(() => "ü".repeat(40_000));
    const many = Array.from({ length: 20 }, (_, n) => ({
      index: n,
      id: `c${n}`,
      function: { ...find, arguments: `{"number":${n}}` },
    }));
    const { asked } = await ask([parts(...many) + model.finish("tool_calls"), answers], [tool]);
    assert.equal(asked[1]?.tool_choice, "none");
    const size = toldIn(asked).reduce((sum, text) => sum + new TextEncoder().encode(text ?? "").length, 0);
    assert.ok(size > 1_000_000 && size < 1_048_576 + 20 * 300, String(size));
  });

  test("what tools answer is held, and they are not run where no more may be", async () => {
    const { tool, inputs } = orders(() => "ü".repeat(40_000));
    const transport = serverThat(({ tool_choice: choice }) => (choice === "none" ? answers : asksForOrder));
    const engine = createOpenAIEngine({ baseUrl: "http://127.0.0.1:1/v1", transport, tools: [tool] });
    for (const [most, runs] of [
      [10_000_000, 8],
      [300_000, 3],
      [1_000, 0],
    ] as const) {
      inputs.length = 0;
      transport.asked.length = 0;
      let held = 0;
      const out = createOutput();
      const hold = (bytes: number) => {
        if (bytes > 0 && held + bytes > most) return false;
        held += bytes;
        return true;
      };
      await engine.reply(turn({ twin: twin({ tools: ["orders"] }) }), { ...out.output, hold });
      assert.equal(inputs.length, runs);
      assert.ok(held > runs * 60_000, String(held));
      assert.equal(out.text(), "It is sent.");
      if (runs < 8) assert.match(toldIn(transport.asked).at(-1) ?? "", /The tool was not run/);
    }
  });

  test("arguments without end are a model_error", async () => {
    const { tool, inputs } = orders();
    const endless = Array.from({ length: 20 }, () => called(`{"number":"${"7".repeat(60_000)}`)).join("");
    await assertModelError(
      ask([endless + model.finish("tool_calls")], [tool], { retries: 0 }).then(({ result }) => result),
      /more than 1 Mi characters/,
    );
    assert.deepEqual(inputs, []);
  });

  for (const [what, head] of [
    ["names", { index: 0, id: "call_1", function: { name: "n".repeat(100_000) } }],
    ["ids", { id: "i".repeat(100_000), function: { name: "orders_find" } }],
  ] as const) {
    test(`${what} of calls without end are not kept`, async () => {
      const heads = Array.from({ length: 60 }, (_, n) =>
        parts({ ...head, id: head.id + n, function: { ...head.function, arguments: n === 0 ? "{}" : "" } }),
      );
      const asking = ask([heads.join("") + model.finish("tool_calls"), answers], [orders().tool], {
        retries: 0,
      });
      const { asked } = await asking.catch((error) => {
        assert.match(error.message, /more than 1 Mi characters/);
        return { asked: [] };
      });
      assert.ok(JSON.stringify(asked).length < 1_200_000);
    });
  }

  test("a call whose parts have ever new indexes is one", async () => {
    const { tool, inputs } = orders();
    const pieces = [...'{"number":7}'].map((text, n) => ({
      index: n * 1_000,
      function: { arguments: text },
    }));
    const more = Array.from({ length: 3_000 }, (_, n) => ({
      index: 20_000 + n,
      function: { arguments: " " },
    }));
    const body = called("", { index: 0 }) + [...pieces, ...more].map((piece) => parts(piece)).join("");
    const { out } = await ask([body + model.finish("tool_calls"), answers], [tool]);
    assert.deepEqual(inputs, [{ number: 7 }]);
    assert.equal(out.text(), "It is sent.");
  });

  test("a name that is no tool's is looked for once in all of them", async () => {
    let looks = 0;
    const many = Array.from({ length: 100 }, (_, n) => ({
      ...orders().tool,
      get name() {
        looks += 1;
        return `orders/find_${n}`;
      },
    }));
    const heads = Array.from({ length: 500 }, (_, n) => ({ index: n, function: { name: `other_${n}` } }));
    await ask([heads.map((head) => parts(head)).join("") + model.finish("tool_calls"), answers], many);
    assert.ok(looks < 100 * 100, `${looks} looks at the names of 100 tools`);
  });

  test("of an error without end, what it says of tools first is looked at", async () => {
    const others = { ...orders().tool, name: "orders/other" };
    const refusal = (words: string) =>
      model.event({ error: { code: 400, message: `${words} The schema of tool 'orders_other' is odd.` } });
    for (const [words, left] of [
      ["", 1],
      ["x".repeat(20_000), 2],
    ] as const) {
      const asking = ask([refusal(words), answers], [orders().tool, others], { retries: 0 });
      const { asked } = await asking;
      const offered = asked.map(({ tools = [] }) => tools.length);
      assert.deepEqual(offered.includes(1), left === 1, String(offered));
    }
  });

  test("thoughts in many pieces are joined once", async () => {
    // If each piece copied what was there before, these would take minutes.
    const names = Array.from({ length: 60_000 }, (_, n) => `n${n}`);
    const streamed = names.map((name) =>
      model.event({ choices: [{ delta: { extra_content: { [name]: 1 } } }] }),
    );
    const body = streamed.join("") + called({ number: 7 }) + model.finish("tool_calls");
    const { asked } = await ask([body, answers], [orders().tool]);
    const told = asked[1]?.messages.at(-2) as unknown as { readonly extra_content: object };
    assert.deepEqual(Object.keys(told.extra_content), names);
  });

  test("tools whose definitions come to more than 1 Mi characters are not offered, and the log names them", async () => {
    const logged: unknown[] = [];
    const log: OpenAIOptions["log"] = (_level, _message, fields) => void logged.push(fields);
    const tools = ["a", "b", "c"].map((name) => ({
      ...orders().tool,
      name: `orders/${name}`,
      description: "d".repeat(name === "b" ? 700_000 : 400_000),
    }));
    let deep: object = {};
    for (let level = 0; level < 100_000; level++) deep = { not: deep };
    const { asked } = await ask(
      [answers],
      [...tools, { ...orders().tool, name: "orders/deep", inputSchema: { ...deep } }],
      { log },
    );
    assert.deepEqual(
      asked[0]?.tools?.map((tool) => tool.function.name),
      ["orders_a", "orders_c"],
    );
    assert.deepEqual(logged, [{ tools: ["orders/b", "orders/deep"], count: 2 }]);
  });

  test("a server whose tools are told at length takes no tool of another server away", async () => {
    const { tool } = orders();
    const long = ["a", "b", "c"].map((name) => ({
      ...tool,
      name: `archive/${name}`,
      description: "d".repeat(340_000),
    }));
    const tools = [...long, { ...tool, description: "d".repeat(50_000) }];
    const { asked } = await ask([answers], tools, {}, ["archive", "orders"]);
    const offered = asked[0]?.tools?.map((one) => one.function.name);
    assert.deepEqual(offered, ["archive_a", "archive_b", "orders_find"]);
  });

  test("options that are no tools are refused", () => {
    for (const tools of [
      {},
      [{}],
      [{ ...orders().tool, run: undefined }],
      [{ ...orders().tool, inputSchema: true }],
    ]) {
      assert.throws(
        () => createOpenAIEngine({ baseUrl: "http://127.0.0.1:1/v1", tools: tools as never }),
        /tools must be a list of tools/,
      );
    }
  });
});
