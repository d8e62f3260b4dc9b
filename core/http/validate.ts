/**
 * Validates input by walking its schema. Nothing is compiled, so this also works where code must not be generated at
 * run time.
 *
 * @module
 */

import { isJsonObject } from "../base/json.ts";
import type { FieldError } from "../wire/errors.ts";
import {
  type InputSchema,
  type Property,
  propertiesOf,
  type ValueSchema,
  type ValueType,
} from "../wire/schemas.ts";

/** The invalid fields of an object; empty if it is valid. */
export function validate(schema: InputSchema, value: unknown): FieldError[] {
  if (!isJsonObject(value)) return [{ path: "body", message: "must be a JSON object" }];
  return wrongProperties(schema, value).map(([path, property]) => {
    const missing = !Object.hasOwn(value, path);
    return { path, message: `${missing ? "is required:" : "must be"} ${accepted(property)}` };
  });
}

function wrongProperties(
  schema: InputSchema,
  value: Readonly<Record<string, unknown>>,
): Property<ValueSchema>[] {
  return propertiesOf(schema).filter(([name, property]) =>
    Object.hasOwn(value, name) ? !fits(property, value[name]) : schema.required?.includes(name),
  );
}

function fits(schema: ValueSchema, value: unknown): boolean {
  if (!typesOf(schema).some((type) => isOfType(type, value))) return false;
  if (schema.enum) return schema.enum.some((allowed) => allowed === value);
  if (typeof value === "string") return fitsText(schema, value);
  return typeof value !== "number" || isBetween(schema.minimum, schema.maximum, value);
}

function typesOf({ type }: ValueSchema): readonly ValueType[] {
  return typeof type === "string" ? [type] : type;
}

function isOfType(type: ValueType, value: unknown): boolean {
  if (type === "integer") return Number.isInteger(value);
  return type === "null" ? value === null : typeof value === type;
}

function fitsText({ minLength, maxLength, format }: ValueSchema, text: string): boolean {
  if (format === "text" && !isText(text)) return false;
  return isBetween(minLength, maxLength, codePoints(text));
}

function isBetween(minimum = -Infinity, maximum = Infinity, value: number): boolean {
  return minimum <= value && value <= maximum;
}

/** JSON Schema counts characters, not UTF-16 code units. */
function codePoints(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}

/** Text that every store keeps unchanged, and that is not blank. */
function isText(text: string): boolean {
  return /[^\p{White_Space}\uFEFF]/u.test(text) && !text.includes("\0") && text.isWellFormed();
}

/** What a schema accepts, in words. */
export function accepted(schema: ValueSchema): string {
  const types = typesOf(schema).filter((type) => type !== "null");
  const orNull = types.length < typesOf(schema).length ? "null or " : ""; // first: after a text's rules it would look like one of them
  return orNull + types.map((type) => acceptedType(type, schema)).join(" or ");
}

function acceptedType(type: ValueType, schema: ValueSchema): string {
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
  if (type === "integer") return `a whole number from ${schema.minimum} to ${schema.maximum}`;
  const length = schema.maxLength
    ? `${schema.minLength} to ${schema.maxLength} characters`
    : "at least 1 character";
  const text = schema.format === "text" ? ", not only white space, without NUL or lone surrogates" : "";
  return `a string of ${length}${text}`;
}
