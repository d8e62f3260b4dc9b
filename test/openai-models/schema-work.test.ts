/**
 * What the work of a schema is for: it bounds the code that ajv makes of it.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { mostSchemaWork, workOfSchema } from "../../adapters/openai-models/schema-work.ts";
import type { JsonObject } from "../../core/base/json.ts";

/** How long the code of a schema is. */
function codeOf(schema: JsonObject): number {
  let length = 0;
  const process = (code: string) => {
    length += code.length;
    return code;
  };
  new Ajv2020({
    strict: false,
    logger: false,
    validateSchema: false,
    inlineRefs: false,
    loopRequired: 10,
    loopEnum: 10,
    code: { optimize: false, process },
  }).compile(schema);
  return length;
}

const { schema: schemas } = fc.letrec<{ schema: JsonObject | boolean }>((tie) => {
  const schema = tie("schema");
  const list = fc.array(schema, { minLength: 1, maxLength: 20 });
  const name = fc.oneof(fc.constantFrom("a", "b", "type", "$ref"), fc.string({ maxLength: 200 }));
  const names = fc.uniqueArray(name, { maxLength: 20 });
  const named = fc.array(fc.tuple(name, schema), { maxLength: 20 }).map(Object.fromEntries);
  const keywords: Record<string, fc.Arbitrary<unknown>> = {
    type: fc.constantFrom("string", "object", "array", "integer", ["null", "number"]),
    minimum: fc.integer(),
    maxLength: fc.nat(),
    pattern: fc.constant("^a"),
    required: names,
    enum: fc.array(fc.jsonValue({ maxDepth: 1 }), { minLength: 1, maxLength: 20 }),
    const: fc.jsonValue({ maxDepth: 1 }),
    properties: named,
    patternProperties: fc.array(fc.tuple(fc.constantFrom("^a", "b$", "c"), schema)).map(Object.fromEntries),
    dependentSchemas: named,
    dependentRequired: fc.array(fc.tuple(name, names), { maxLength: 5 }).map(Object.fromEntries),
    prefixItems: list,
    anyOf: list,
    oneOf: list,
    allOf: list,
    uniqueItems: fc.boolean(),
    $ref: fc.constant("#"),
  };
  for (const keyword of [
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "propertyNames",
  ])
    keywords[keyword] = schema;
  for (const keyword of ["items", "contains", "not", "if", "then", "else"]) keywords[keyword] = schema;
  const keyword = fc.oneof(...Object.entries(keywords).map(([key, of]) => fc.tuple(fc.constant(key), of)));
  const some = fc
    .array(keyword, { maxLength: 4 })
    .map((members) => Object.fromEntries(members) as JsonObject);
  return { schema: fc.oneof({ maxDepth: 4 }, fc.boolean(), some) };
});

describe("the work of a schema", { timeout: 300_000 }, () => {
  test("bounds the code that is made of it", () => {
    fc.assert(
      fc.property(schemas, (schema) => {
        if (typeof schema === "boolean") return;
        const work = workOfSchema(schema);
        if (work > mostSchemaWork) return;
        assert.ok(codeOf(schema) < 1_000 * (1 + work), `${codeOf(schema)} for ${work}`);
      }),
      { numRuns: 300 },
    );
  });
});
