/**
 * How much work a schema asks for, before anything is made of it: ajv makes code of it in one go, and so holds the thread.
 *
 * @module
 */

import { isJsonObject, isString, type JsonObject } from "../../core/base/json.ts";

/** The longest schema that is compiled, in UTF-16 code units of JSON. */
const longestSchema = 32_768;
/** The most levels of JSON, as in bodies of requests: each schema is compiled within the one around it, on one stack. */
const mostLevels = 64;
/** The most work that a schema may ask for. A unit takes up to 60 µs: a keyword, a schema, or a value within. */
export const mostSchemaWork = 800;

/** Says which schemas are accepted, in words that go on from a colon. */
export const acceptedSchemas = `it may have ${longestSchema} characters, ${mostLevels} levels, and ${mostSchemaWork} keywords and schemas in all, of which a $ref counts as 11`;

/** What nothing is checked by, where it is no object. */
const annotations: ReadonlySet<string> = new Set(["title", "description", "default", "format", "$comment"]);

/** What names a place, here or elsewhere. */
const places: ReadonlySet<string> = new Set([
  "$ref",
  "$dynamicRef",
  "$recursiveRef",
  "$id",
  "id",
  "$anchor",
  "$dynamicAnchor",
]);

/** Lists that become one condition, which takes time with more than their square: of names of members, and of patterns. */
function conditions(name: string, members: object): readonly (readonly unknown[])[] {
  if (name === "patternProperties") return [Object.keys(members)];
  if (name !== "dependentRequired" && name !== "dependencies") return [];
  return Object.values(members).filter((member) => Array.isArray(member));
}

/** The work of a schema. Infinity: it is too long or too deep. */
export function workOfSchema(schema: JsonObject): number {
  if (JSON.stringify(schema).length > longestSchema) return Number.POSITIVE_INFINITY;
  const references = new Set<unknown>();

  /** `name`: of the member that it is. `path`: how long the names of all around it are. */
  function workOf(value: unknown, name: string, path: number, level: number): number {
    if (level > mostLevels) return Number.POSITIVE_INFINITY;
    const own = (typeof value === "boolean" ? 3 : 1) + path / 1_000; // the code names the place of each in full
    if (typeof value !== "object" || value === null) {
      if (annotations.has(name)) return 0;
      if (!places.has(name) || references.has(value)) return own;
      if (name === "$ref") references.add(value);
      return own + 10; // each place becomes a function, and is sought
    }
    const isList = Array.isArray(value);
    let work = own;
    for (const { length } of conditions(name, value)) work += length ** 2 / 32;
    for (const [key, member] of Object.entries(value)) {
      const isItem = isList && (isString(member) || typeof member === "number" || member === null);
      work += isItem ? 1 / 4 : workOf(member, key, path + key.length + 1, level + 1);
    }
    return work;
  }
  return workOf(schema, "", 0, 0);
}

/** How many parts a value has: values, and one more for each 48 code units of text. */
export function sizeOf(value: unknown): number {
  let size = 0;
  const left = [value];
  while (left.length > 0) {
    const part = left.pop();
    size += isString(part) ? 1 + part.length / 48 : 1;
    if (Array.isArray(part)) for (const item of part) left.push(item);
    else if (isJsonObject(part))
      for (const [name, member] of Object.entries(part)) {
        size += name.length / 48;
        left.push(member);
      }
  }
  return size;
}
