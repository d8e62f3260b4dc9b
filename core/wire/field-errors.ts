/**
 * What is wrong with a body or a query, field by field, in words.
 *
 * @module
 */

import type { Validator } from "./built/validators.ts";
import type { FieldError } from "./errors.ts";
import {
  anyTextPattern,
  asciiPattern,
  dayPattern,
  endUserPattern,
  type InputSchema,
  textOrNonePattern,
  textPattern,
  type ValueSchema,
  type ValueType,
} from "./schemas.ts";

/** The invalid fields of an input, each once. `errors`: what its validator found. */
export function fieldErrors(schema: InputSchema, errors: Validator["errors"]): FieldError[] {
  const messages = new Map<string, string>();
  for (const { instancePath, missing } of errors ?? []) {
    const path = instancePath.split("/")[1] ?? missing;
    const property = path === undefined ? undefined : schema.properties[path];
    if (path === undefined || !property) return [{ path: "body", message: "must be a JSON object" }];
    const verb = missing !== undefined ? "is required:" : "must be";
    messages.set(path, `${verb} ${accepted(property)}`);
  }
  return Object.keys(schema.properties).flatMap((path) => {
    const message = messages.get(path);
    return message === undefined ? [] : { path, message };
  });
}

/** What a schema accepts, in words. */
export function accepted(schema: ValueSchema): string {
  const all: readonly ValueType[] = typeof schema.type === "string" ? [schema.type] : schema.type;
  const types = all.filter((type) => type !== "null");
  const orNull = types.length < all.length ? "null or " : ""; // first: after a text's rules it would look like one of them
  return orNull + types.map((type) => acceptedType(type, schema)).join(" or ");
}

function acceptedType(type: ValueType, schema: ValueSchema): string {
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
  if (type === "boolean") return "true or false";
  if (type === "array")
    return `a list of at least ${schema.minItems}, each ${schema.items ? accepted(schema.items) : "anything"}`;
  if (type === "object") return acceptedPairs(schema);
  if (type === "integer") return `a whole number from ${schema.minimum} to ${schema.maximum}`;
  if (schema.pattern === dayPattern) return "a day, YYYY-MM-DD";
  return `a string of ${lengthOf(schema)}${wordsOfPattern.get(schema.pattern) ?? ""}`;
}

function acceptedPairs({ maxProperties, propertyNames, additionalProperties: values }: ValueSchema): string {
  const [name, value] = [propertyNames, values].map((each) => (each ? accepted(each) : "anything"));
  return `an object of at most ${maxProperties} members, whose name is ${name}, and whose value is ${value}`;
}

function lengthOf({ minLength, maxLength }: ValueSchema): string {
  return maxLength ? `${minLength} to ${maxLength} characters` : "at least 1 character";
}

const wordsOfPattern = new Map<string | undefined, string>([
  [textPattern, ", not only white space, without NUL or lone surrogates"],
  [textOrNonePattern, ", not only white space, without NUL or lone surrogates"],
  [anyTextPattern, " without NUL or lone surrogates"],
  [asciiPattern, " of printable ASCII"],
  [endUserPattern, ", neither . nor .., without control characters or lone surrogates"],
]);
