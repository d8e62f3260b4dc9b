import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Tool } from "../../core/mod.ts";
import * as model from "./model-server.ts";
import { answers, ask, parts, toldIn } from "./tools-fixture.ts";

type Call = readonly [name: string, input: Readonly<Record<string, unknown>>];

/** What tools are called with, whose model streams these chunks. */
async function callsIn(chunks: readonly string[]): Promise<{ calls: Call[]; told: (string | null)[] }> {
  const calls: Call[] = [];
  const tools = ["find", "now", "nowhere"].map((name): Tool => {
    const run = (input: Readonly<Record<string, unknown>>) => void calls.push([name, input]);
    return { name: `s/${name}`, description: name, inputSchema: { type: "object" }, run };
  });
  const { asked, out } = await ask([chunks.join("") + model.finish("tool_calls"), answers], tools, {}, ["s"]);
  assert.equal(out.text(), "It is sent.");
  return { calls, told: toldIn(asked) };
}

/** A part of a call. Undefined: the server leaves it out. */
function part(index: unknown, id: unknown, name: unknown, given: unknown): object {
  return { index, id, type: "function", function: { name, arguments: given } };
}
const none = undefined;

const one: Call[] = [["find", { n: 1 }]];
const two: Call[] = [...one, ["find", { n: 2 }]];
const forms: Readonly<Record<string, readonly [chunks: readonly string[], right: readonly Call[]]>> = {
  "late indexes": [
    [
      parts(part(0, "c1", "s_find", "")),
      parts(part(0, "", none, '{"n":1}')),
      parts(part(0, "c2", "s_find", "")),
      parts(part(1, "", none, '{"n":2}')),
    ],
    two,
  ],
  "heads without indexes": [
    [
      parts(part(none, "c1", "s_find", "")),
      parts(part(0, none, none, '{"n":1}')),
      parts(part(none, "c2", "s_find", "")),
      parts(part(1, none, none, '{"n":2}')),
    ],
    two,
  ],
  "one chunk of calls without arguments, ids and indexes": [
    [parts(part(none, none, "s_now", ""), part(none, none, "s_nowhere", ""))],
    [
      ["now", {}],
      ["nowhere", {}],
    ],
  ],
  "a name in pieces, the first of which is the name of another tool": [
    [
      parts(part(0, "c1", "s_now", "")),
      parts(part(0, "c1", "he", "")),
      parts(part(0, "c1", "re", "")),
      parts(part(0, none, none, "{}")),
    ],
    [["nowhere", {}]],
  ],
  "chunks of calls without arguments, ids and indexes": [
    [parts(part(none, none, "s_now", "")), parts(part(none, none, "s_nowhere", ""))],
    [
      ["now", {}],
      ["nowhere", {}],
    ],
  ],
  "a name in pieces, one of which is a name": [
    [parts(part(0, "c1", "s_now", "")), parts(part(0, none, "here", "")), parts(part(0, none, none, "{}"))],
    [["nowhere", {}]],
  ],
  "the arguments before the name": [
    [parts(part(0, "c1", none, '{"n":1}')), parts(part(0, none, "s_find", none))],
    one,
  ],
  "the arguments before the names of two": [
    [
      parts(part(0, none, none, '{"n":1}')),
      parts(part(0, none, "s_find", none)),
      parts(part(1, none, none, '{"n":2}')),
      parts(part(1, none, "s_find", none)),
    ],
    two,
  ],
  "an empty object before": [
    [
      parts(part(0, "c1", "s_find", "{}")),
      parts(part(0, none, none, '{"n":')),
      parts(part(0, none, none, "1}")),
    ],
    one,
  ],
  "an empty object behind": [
    [
      parts(part(0, "c1", "s_find", '{"n":1')),
      parts(part(0, none, none, "}")),
      parts(part(0, none, none, "{}")),
    ],
    one,
  ],
  "all arguments so far, each time": [
    [
      parts(part(0, "c1", "s_find", '{"n')),
      parts(part(0, "c1", "s_find", '{"n":1')),
      parts(part(0, "c1", none, '{"n":1}')),
    ],
    one,
  ],
  "objects that grow": [
    [
      parts(part(0, "c1", "s_find", "{}")),
      parts(part(0, "c1", none, '{"a":2}')),
      parts(part(0, "c1", none, '{"a":2,"n":1}')),
    ],
    [["find", { a: 2, n: 1 }]],
  ],
  "the whole again, with other blanks": [
    [
      parts(part(0, "c1", "s_find", '{"n"')),
      parts(part(0, none, none, ":1}")),
      parts(part(0, "c1", "s_find", '{ "n": 1 }')),
    ],
    one,
  ],
  "equal ids without indexes": [
    [parts(part(none, "c", "s_find", '{"n":1}')), parts(part(none, "c", "s_find", '{"n":2}'))],
    two,
  ],
  "indexes that are texts": [
    [parts(part("0", "c1", "s_find", '{"n":1}')), parts(part("1", "c2", "s_find", '{"n":2}'))],
    two,
  ],
  "JSON in JSON": [[parts(part(0, "c1", "s_find", JSON.stringify('{"n":1}')))], one],
  "JSON in JSON in pieces": [
    [parts(part(0, "c1", "s_find", '"{\\"n')), parts(part(0, none, none, '\\":1}"'))],
    one,
  ],
  "a code fence": [
    [parts(part(0, "c1", "s_find", '```json\n{"n":')), parts(part(0, none, none, "1}\n```"))],
    one,
  ],
  "null as arguments": [[parts(part(0, "c1", "s_now", null))], [["now", {}]]],
  "the word null": [[parts(part(0, "c1", "s_now", "null"))], [["now", {}]]],
  "an empty part behind": [[parts(part(0, "c1", "s_find", '{"n":1}')), parts(part(1, "", none, ""))], one],
};

const names = {
  "marks of a template behind": "s_find<|channel|>commentary",
  "the prefix functions.": "functions.s_find",
  "a number behind": "functions.s_find:0",
  "the prefix of Gemini's": "default_api:s_find",
  blanks: " s_find\n",
  "the operator's name": "s/find",
  "another mark": "s.find",
  "other letters": "S_Find",
  "a prefix and the operator's name": "functions.s/find",
};

describe("calls of a model", { timeout: 300_000 }, () => {
  for (const [form, [chunks, right]] of Object.entries(forms)) {
    test(`are read from ${form}`, async () => {
      assert.deepEqual((await callsIn(chunks)).calls, right);
    });
  }

  for (const [what, name] of Object.entries(names)) {
    test(`are of the tool that is meant by a name with ${what}`, async () => {
      const { calls } = await callsIn([parts(part(0, "c1", name, '{"n":1}'))]);
      assert.deepEqual(calls, one);
    });
  }

  test("are read from the first 1,000 parts of a chunk", async () => {
    for (const [count, right] of [
      [998, two],
      [999, one],
    ] as const) {
      const between = Array.from({ length: count }, (_, n) => part(0, none, `none_${n}`, ""));
      const chunk = [part(0, "c1", "s_find", '{"n":1}'), ...between, part(1, "c2", "s_find", '{"n":2}')];
      assert.deepEqual((await callsIn([parts(...chunk)])).calls, right);
    }
  });

  for (const name of ["", "s_", "find_s", "s_delete", "functions.", "x".repeat(2_000)]) {
    test(`are of no tool by the name ${JSON.stringify(name.slice(0, 20))}`, async () => {
      const { calls, told } = await callsIn([parts(part(0, "c1", name, '{"n":1}'))]);
      assert.deepEqual(calls, []);
      assert.match(told[0] ?? "", /There is no tool/);
    });
  }

  test("are the same however their server cuts and marks them", async () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    const input = fc.dictionary(fc.constantFrom("n", "a", "deep", '"{'), value, {
      maxKeys: 3,
      noNullPrototype: true,
    });
    const called = fc.tuple(fc.constantFrom("find", "now", "nowhere"), input);
    const shape = fc.constantFrom(...Object.keys(shapes));
    await fc.assert(
      fc.asyncProperty(
        fc.array(called, { minLength: 1, maxLength: 4 }),
        shape,
        fc.infiniteStream(fc.nat(12)),
        async (calls, name, sizes) => {
          const chunks = (shapes[name] ?? (() => []))(calls, (text) => cut(text, sizes));
          const right = calls.map(([tool, given]) => [tool, JSON.parse(JSON.stringify(given))]);
          assert.deepEqual(inOrder((await callsIn(chunks)).calls), inOrder(right), name); // they run at once
        },
      ),
      { numRuns: 300 },
    );
  });

  test("take time in proportion to their length, in however many parts", async () => {
    const pieces = Array.from({ length: 20_000 }, () => parts(part(0, none, "s_find", "a".repeat(50))));
    const { calls } = await callsIn([
      parts(part(0, "c1", "s_find", '{"q":"')),
      ...pieces,
      parts(part(0, none, none, '"}')),
    ]);
    assert.deepEqual(calls, [["find", { q: "a".repeat(1_000_000) }]]);
  });
});

function inOrder(calls: readonly unknown[]): string[] {
  return calls.map((call) => JSON.stringify(call)).sort();
}

/** How servers stream calls. `pieces`: arguments, cut anywhere. */
const shapes: Readonly<
  Record<string, (calls: readonly Call[], pieces: (text: string) => string[]) => string[]>
> = {
  "indexes and ids": (calls, pieces) =>
    calls.flatMap(([name, input], at) => [
      parts(part(at, `c${at}`, `s_${name}`, "")),
      ...pieces(JSON.stringify(input)).map((piece) => parts(part(at, none, none, piece))),
    ]),
  "the name and an id of its own in each part": (calls, pieces) =>
    calls.flatMap(([name, input], at) =>
      pieces(JSON.stringify(input)).map((piece, number) =>
        parts(part(at, `c${at}-${number}`, number === 0 ? `s_${name}` : none, piece)),
      ),
    ),
  "ids without indexes": (calls, pieces) =>
    calls.flatMap(([name, input], at) => [
      parts(part(none, `c${at}`, `s_${name}`, "")),
      ...pieces(JSON.stringify(input)).map((piece) => parts(part(none, none, none, piece))),
    ]),
  "the index 0 for all": (calls, pieces) =>
    calls.flatMap(([name, input], at) => [
      parts(part(0, `c${at}`, `s_${name}`, "")),
      ...pieces(JSON.stringify(input)).map((piece) => parts(part(0, none, none, piece))),
    ]),
  "late indexes": (calls, pieces) =>
    calls.flatMap(([name, input], at) => [
      parts(part(Math.max(0, at - 1), `c${at}`, `s_${name}`, "")),
      ...pieces(JSON.stringify(input)).map((piece) => parts(part(at, "", none, piece))),
    ]),
  "whole calls without marks": (calls) =>
    calls.map(([name, input]) => parts(part(none, none, `s_${name}`, JSON.stringify(input)))),
  "all in one chunk": (calls) => [
    parts(...calls.map(([name, input]) => part(none, none, `s_${name}`, JSON.stringify(input)))),
  ],
  interleaved: (calls, pieces) => {
    const streams = calls.map(([name, input], at) => [
      parts(part(at, `c${at}`, `s_${name}`, "")),
      ...pieces(JSON.stringify(input)).map((piece) => parts(part(at, none, none, piece))),
    ]);
    const longest = Math.max(...streams.map(({ length }) => length));
    return Array.from({ length: longest }, (_, turn) => streams.map((stream) => stream[turn] ?? "")).flat();
  },
  "an empty object before": (calls, pieces) =>
    calls.flatMap(([name, input], at) => [
      parts(part(at, `c${at}`, `s_${name}`, "{}")),
      ...pieces(JSON.stringify(input)).map((piece) => parts(part(at, none, none, piece))),
    ]),
  "all arguments so far": (calls, pieces) =>
    calls.flatMap(([name, input], at) => {
      let soFar = "";
      return pieces(JSON.stringify(input)).map((piece) => {
        soFar += piece;
        return parts(part(at, `c${at}`, `s_${name}`, soFar));
      });
    }),
  "JSON in JSON": (calls, pieces) =>
    calls.flatMap(([name, input], at) => [
      parts(part(at, `c${at}`, `s_${name}`, "")),
      ...pieces(JSON.stringify(JSON.stringify(input))).map((piece) => parts(part(at, none, none, piece))),
    ]),
  "a code fence": (calls, pieces) =>
    calls.flatMap(([name, input], at) => [
      parts(part(at, `c${at}`, `s_${name}`, "")),
      ...pieces(`\`\`\`json\n${JSON.stringify(input)}\n\`\`\``).map((piece) =>
        parts(part(at, none, none, piece)),
      ),
    ]),
  "the name behind": (calls, pieces) =>
    calls.flatMap(([name, input], at) => [
      ...pieces(JSON.stringify(input)).map((piece) => parts(part(at, none, none, piece))),
      parts(part(at, `c${at}`, `s_${name}`, none)),
    ]),
  "the name in pieces": (calls, pieces) =>
    calls.flatMap(([name, input], at) => [
      ...pieces(`s_${name}`).map((piece) => parts(part(at, `c${at}`, piece, ""))),
      ...pieces(JSON.stringify(input)).map((piece) => parts(part(at, none, none, piece))),
    ]),
};

/** A text in pieces of at least one character. */
function cut(text: string, sizes: Iterator<number>): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const size = 1 + Number(sizes.next().value);
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}
