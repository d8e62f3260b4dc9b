/**
 * Distinguishes kinds of JSON values. Apart from the rules for options, because readers of wire formats need no more.
 *
 * @module
 */

/** A JSON object: neither an array nor null. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isString(value: unknown): value is string {
  return typeof value === "string";
}

/** A whole number that isn't negative. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
