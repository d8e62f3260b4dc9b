/**
 * Telling kinds of JSON values apart.
 *
 * @module
 */

/** An object of JSON: no array, and not null. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
