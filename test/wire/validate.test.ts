import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { routes } from "../../core/api/routes.ts";
import { validate } from "../../core/http/validate.ts";
import type { InputSchema } from "../../core/wire/schemas.ts";
import { runtime } from "../support/runtime.ts";

// An independent implementation of JSON Schema, which generates code and so cannot be used everywhere.
const ajv = new Ajv2020({
  allErrors: true,
  ownProperties: true,
  allowUnionTypes: true,
  formats: {
    text: (text: string) =>
      /[^\p{White_Space}\uFEFF]/u.test(text) && !text.includes("\0") && text.isWellFormed(),
    "date-time": true,
    uri: true,
  },
});

const values = fc.oneof(
  fc.constantFrom(null, true, 0, 1, 3650, 3651, 0.5, -1, "", " ", "a\0", "\ud800", "read_only", "asc"),
  fc.integer(),
  fc.string({ unit: "binary", maxLength: 3 }),
  fc.nat(3).chain((extra) => fc.constantFrom(99, 199, 254).map((length) => "😀".repeat(length + extra))),
  fc.constantFrom([], ["tag"], {}, { content: "hello" }),
  fc.dictionary(fc.string({ maxLength: 2 }), fc.oneof(fc.string(), fc.integer()), { maxKeys: 20 }),
);

for (const [schema, name] of inputSchemas()) {
  test(`${name} is accepted and refused as JSON Schema says`, () => {
    const accepts = ajv.compile(schema);
    const names = Object.keys(schema.properties ?? {});
    const objects = fc.record(Object.fromEntries(names.map((each) => [each, values])), { requiredKeys: [] });
    let accepted = 0;
    fc.assert(
      fc.property(fc.oneof({ weight: 9, arbitrary: objects }, values), (value) => {
        const refused = validate(schema, value).map(({ path }) => path);
        if (accepts(value)) accepted++;
        const expected = (accepts.errors ?? []).map(
          ({ instancePath, params }) => instancePath.split("/")[1] ?? params.missingProperty ?? "body",
        );
        assert.deepEqual(new Set(refused), new Set(expected));
      }),
      { numRuns: 500, seed: 1 },
    );
    assert.ok(accepted > 0 && accepted < 500, "only accepted or only refused values were generated");
  });
}

function inputSchemas(): Map<InputSchema, string> {
  const schemas = new Map<InputSchema, string>();
  for (const { operationId, body, query } of routes) {
    if (query) schemas.set(query, `the query of ${operationId}`);
    if (body) schemas.set(body, `the body of ${operationId}`);
  }
  return schemas;
}

test("inherited members do not count as the body's", () => {
  const errors = validate(
    { type: "object", properties: { constructor: { type: "string" } }, required: ["constructor"] } as const,
    {},
  );
  assert.deepEqual(
    errors.map(({ path }) => path),
    ["constructor"],
  );
});

const flag = "--disallow-code-generation-from-strings";
const commands = {
  node: [flag, "--import", "tsx", "test/wire/without-code-generation.ts"],
  deno: ["run", "-A", "--no-check", `--v8-flags=${flag}`, "test/wire/without-code-generation.ts"],
  bun: undefined,
};
const command = commands[runtime];

test("the service works where generating code from strings is forbidden", {
  skip: !command && "Bun has no such flag",
}, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, command ?? []);
  assert.equal(stdout.trim(), "EvalError 201 400");
});
