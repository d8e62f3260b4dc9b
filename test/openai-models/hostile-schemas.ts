/**
 * Schemas that ajv compiles in seconds, or on more stack than there is: each has less than 32,768 characters.
 *
 * @module
 */

const many = <Item>(length: number, item: (at: number) => Item) =>
  Array.from({ length }, (_, at) => item(at));
const named = (length: number, item: (at: number) => unknown) =>
  Object.fromEntries(many(length, (at) => [`a${at}`, item(at)]));

export const tooMuchToCompile: Readonly<Record<string, object>> = {
  "many schemas of which one fits": { oneOf: many(2_000, () => ({ type: "null" })) },
  "many schemas of which none fits": { oneOf: many(2_600, () => false) },
  "many alternatives": { anyOf: many(2_000, () => ({ type: "null" })) },
  "many schemas that all fit": { allOf: many(2_000, () => ({ type: "null" })) },
  "many items": { prefixItems: many(1_800, () => ({ type: "null" })) },
  "many references": {
    $defs: named(500, () => ({ type: "null" })),
    allOf: many(700, (at) => ({ $ref: `#/$defs/a${at % 500}` })),
  },
  "many names by patterns": { patternProperties: named(800, () => ({ type: "string" })) },
  "many patterns of all other names": {
    patternProperties: named(500, () => true),
    additionalProperties: false,
  },
  "many names that need others": { dependentSchemas: named(900, () => ({ minProperties: 1 })) },
  "a name that needs many others": { dependentRequired: { a: many(1_000, (at) => `a${at}`) } },
  "many members that are left": {
    unevaluatedProperties: false,
    anyOf: many(500, (at) => ({ properties: { [`a${at}`]: { type: "string" } } })),
  },
  "many members": { properties: named(1_300, () => ({ type: "string" })) },
  "many addresses": { allOf: many(500, (at) => ({ $id: `http://x/${at}`, $ref: "#" })) },
  "a long name around many schemas": {
    properties: { ["a".repeat(16_000)]: { allOf: many(300, () => ({ type: "null" })) } },
  },
};
