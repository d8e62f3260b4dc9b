import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Tool } from "../../core/mod.ts";
import { tooMuchToCompile } from "./hostile-schemas.ts";
import * as model from "./model-server.ts";
import { answers, ask, called, toldIn } from "./tools-fixture.ts";

/** What comes of a call with this input of a tool with this schema: its input, or what the model is told. */
async function call(schema: object, input: object) {
  const inputs: unknown[] = [];
  const logged: string[] = [];
  const run: Tool["run"] = (given) => void inputs.push(given);
  const tool: Tool = {
    name: "orders/find",
    description: "Finds.",
    inputSchema: { type: "object", ...schema },
    run,
  };
  const log = (_level: string, _message: string, fields?: Readonly<Record<string, unknown>>) => {
    if (Array.isArray(fields?.reasons)) logged.push(...fields.reasons.map(String));
  };
  const { asked } = await ask([called(input) + model.finish("tool_calls"), answers], [tool], { log });
  assert.equal(asked[0]?.tools?.length, 1);
  return { input: inputs[0], told: toldIn(asked)[0] ?? "", logged };
}

const uuid = "01234567-89ab-cdef-0123-456789abcdef";
const pattern = (of: string) => ({ properties: { q: { type: "string", pattern: of } } });
const references = {
  // Each level of an input doubles the work.
  $defs: {
    x: {
      anyOf: [1, 2].map((title) => ({
        title: String(title),
        required: ["a"],
        properties: { a: { $ref: "#/$defs/x" } },
      })),
    },
  },
  properties: { a: { $ref: "#/$defs/x" } },
};
const nested = (levels: number): object => (levels === 0 ? {} : { a: nested(levels - 1) });

describe("the input of a tool", { timeout: 300_000 }, () => {
  test("whose tools are called together is checked by one schema after another, with others in between", async (t) => {
    let turn = 0;
    const turns = setInterval(() => turn++, 0);
    t.after(() => clearInterval(turns));
    const compiledIn: number[] = [];
    const log = (_level: string, _message: string, fields?: Readonly<Record<string, unknown>>) => {
      if (Array.isArray(fields?.reasons)) compiledIn.push(turn);
    };
    const tools = Array.from({ length: 12 }, (_, number): Tool => {
      const inputSchema = { type: "object", ...pattern(`(?=${number})`) }; // one that is told to be unchecked
      return { name: `orders/t${number}`, description: "Finds.", inputSchema, run: () => "ok" };
    });
    const calls = tools.map((_, index) =>
      called(
        { q: "a" },
        { index, id: `call_${index}`, function: { name: `orders_t${index}`, arguments: "{}" } },
      ),
    );
    await ask([calls.join("") + model.finish("tool_calls"), answers], tools, { log });
    assert.equal(compiledIn.length, 12);
    assert.equal(new Set(compiledIn).size, 12, String(compiledIn));
  });

  for (const [kind, schema, input, right] of [
    ["what is optional", { properties: { m: { type: "string" } } }, { n: 1, m: null }, { n: 1 }],
    [
      "what another schema describes",
      { properties: { m: { $ref: "#/$defs/s" } }, $defs: { s: { type: "string" } } },
      { m: null },
      {},
    ],
    [
      "one of several",
      { properties: { m: { anyOf: [{ type: "string" }, { type: "integer" }] } } },
      { m: null },
      {},
    ],
    [
      "what lies deeper",
      { properties: { l: { items: { properties: { "a/b": { enum: ["x"] } } } } } },
      { l: [{ "a/b": null }] },
      { l: [{}] },
    ],
    ["what may be null", { properties: { m: { type: ["string", "null"] } } }, { m: null }, { m: null }],
    ["what is not described", {}, { m: null }, { m: null }],
  ] as const) {
    test(`that is null for ${kind} is ${JSON.stringify(right)}`, async () => {
      assert.deepEqual((await call(schema, input)).input, right);
    });
  }

  test("that is null for what is required is refused", async () => {
    const { input, told } = await call(
      { properties: { n: { type: "integer" } }, required: ["n"] },
      { n: null },
    );
    assert.equal(input, undefined);
    assert.match(told, /refused:.*must have required property 'n'/);
  });

  for (const [kind, of, right, wrong] of [
    ["an escape that the flag u refuses", "^\\d{4}\\-\\d{2}$", "2026-11", "2026-1x"],
    ["a group that Python names", "^(?P<year>\\d{4})$", "2026", "x"],
    ["letters of any script", "^\\p{L}+$", "größe", "7"],
    ["small and capital letters", "(?i)^[a-z]{2,500}$", "Ab", "7"],
    ["groups of hexadecimal digits", "^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$", uuid, "7"],
    ["what would take years by trying", "^([a-z]+)*$", "a".repeat(40), `${"a".repeat(40)}!`],
  ] as const) {
    test(`is checked against a pattern with ${kind}`, async () => {
      assert.deepEqual((await call(pattern(of), { q: right })).input, { q: right });
      assert.match((await call(pattern(of), { q: wrong })).told, /refused: \/q must match pattern/);
    });
  }

  // Not `of of`: Node's own reader of TypeScript takes that for an error.
  for (const given of [
    "^(?=a)b",
    "(a)\\1",
    "((a{100}){100}){100}",
    `(${"a?".repeat(200)}){500}`,
    "(?:a{31}){31}".repeat(120),
    "(?:[[:word:](]a{31}){31}".repeat(60),
    "(?:a{0,31}\\Q(\\E){31}".repeat(60),
    "a{1000,}".repeat(300),
    `(?i)${"[\u0100-\u{1e900}]".repeat(400)}`,
    `(?i)${"[\\u0100-\\uffff]".repeat(80)}`,
  ]) {
    test(`is not checked against the pattern ${given.slice(0, 30)}, and the log says so`, async () => {
      const { input, logged } = await call(pattern(given), { q: "x" });
      assert.deepEqual(input, { q: "x" });
      assert.match(logged.join(), /cannot be checked in linear time/);
    });
  }

  for (const [kind, schema, input] of [
    ["a pattern and a long text", pattern("^(\\w+\\s?){900}$"), { q: "a ".repeat(20_000) }],
    [
      "names under a pattern",
      { patternProperties: { "^(\\w+\\s?){900}$": {} } },
      { ["a ".repeat(20_000)]: 1 },
    ],
    ["schemas that refer to themselves", references, nested(40)],
    ["a schema without end", { $ref: "#" }, {}],
    [
      "unique lists in a list",
      { properties: { l: { items: { allOf: Array(8).fill({ uniqueItems: true }) } } } },
      { l: Array(15_000).fill([1, 2]) },
    ],
    [
      "many alternatives that fail before one that does not",
      { properties: { l: { items: { anyOf: [...Array(200).fill({ type: "null" }), { type: "number" }] } } } },
      { l: Array(24_000).fill(1) },
    ],
    [
      "each of many values that are objects",
      { properties: { l: { items: { enum: [...Array(600).fill({}), 1] } } } },
      { l: Array(24_000).fill(1) },
    ],
    [
      "how long a long text is, many times",
      { properties: { q: { allOf: Array(300).fill({ maxLength: 900_000 }) } } },
      { q: "a".repeat(400_000) },
    ],
    [
      "each of many conditions on each of many items",
      {
        properties: {
          l: { items: { allOf: Array.from({ length: 300 }, (_, maximum) => ({ maximum: 9 + maximum })) } },
        },
      },
      { l: Array(45_000).fill(1) },
    ],
  ] as const) {
    test(`that would take long to check is refused: ${kind}`, async () => {
      const { input: given, told } = await call(schema, input);
      assert.equal(given, undefined);
      assert.match(told, /refused: they take too long to check/);
    });
  }

  test("is checked where schemas that refer to themselves end", async () => {
    assert.match(
      (await call(references, nested(4))).told,
      /refused: \/a\/a\/a\/a must have required property/,
    );
  });

  test("has no item twice where a schema says so, in whatever order its members are", async () => {
    const schema = { properties: { l: { uniqueItems: true } } };
    assert.deepEqual((await call(schema, { l: [1, "1", [1], { a: 1 }] })).told, "");
    assert.match(
      (
        await call(schema, {
          l: [
            { a: 1, b: 2 },
            { b: 2, a: 1 },
          ],
        })
      ).told,
      /\/l must not have duplicate items/,
    );
  });

  for (const [kind, schema] of Object.entries({
    "draft-04's exclusiveMinimum": {
      $schema: "http://json-schema.org/draft-04/schema#",
      properties: { n: { minimum: 0, exclusiveMinimum: true } },
    },
    "OpenAPI 3.0's exclusiveMinimum": { properties: { n: { minimum: 0, exclusiveMinimum: true } } },
    "a $ref to what is not there": { properties: { n: { $ref: "#/$defs/Gone" } } },
    "a $ref to another document": { properties: { n: { $ref: "https://shop.example/order.json" } } },
    "the type any": { properties: { n: { type: "any" } } },
    "nullable without a type": { properties: { n: { nullable: true } } },
    "more than 32 Ki characters": { properties: { n: { type: "integer", description: "n".repeat(40_000) } } },
  })) {
    test(`is not checked against a schema with ${kind}, and the log says so`, async () => {
      const { input, logged } = await call(schema, { n: "x" });
      assert.deepEqual(input, { n: "x" });
      assert.equal(logged.length, 1);
    });
  }

  const nots = Array.from({ length: 1_000 }).reduce<object>((not) => ({ not }), { type: "string" });
  for (const [kind, schema] of Object.entries({ ...tooMuchToCompile, "schemas in schemas": nots })) {
    test(`is not checked against ${kind}, and the log says what may be`, async () => {
      const { input, logged } = await call({ ...schema, type: "object" }, { n: "x" });
      assert.deepEqual(input, { n: "x" });
      assert.match(logged.join(), /^it may have 32768 characters, 64 levels, and 800 keywords/);
    });
  }

  test("is checked against the largest schema that is compiled, and no larger one", async () => {
    const schema = (names: number) => ({
      properties: Object.fromEntries(
        Array.from({ length: names }, (_, at) => [`a${at}`, { type: "string" }]),
      ),
    });
    assert.match((await call(schema(390), { a0: 1 })).told, /refused: \/a0 must be string/);
    assert.deepEqual((await call(schema(400), { a0: 1 })).input, { a0: 1 });
  });

  for (const [draft, schema] of Object.entries({
    "2020-12": { properties: { at: { prefixItems: [{ type: "number" }] } } },
    "2019-09": {
      $schema: "https://json-schema.org/draft/2019-09/schema",
      properties: { at: { items: [{ type: "number" }] } },
    },
    "draft-07": {
      $schema: "http://json-schema.org/draft-07/schema#",
      properties: { at: { items: [{ type: "number" }] } },
    },
    "draft-04": {
      $schema: "http://json-schema.org/draft-04/schema#",
      id: "https://shop.example/find",
      properties: { at: { items: [{ type: "number" }] } },
    },
  })) {
    test(`is checked as ${draft} has it`, async () => {
      assert.match((await call(schema, { at: ["x"] })).told, /refused: \/at\/0 must be number/);
    });
  }
});
