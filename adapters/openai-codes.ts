/**
 * A model server's codes for a failure. Its messages are left out, because they may quote the conversation or the key.
 *
 * @module
 */

import { isJsonObject } from "../core/json.ts";

/** An error's simple codes, as the end of a sentence about it. `value` is the JSON that was received. */
export function codesOf(value: unknown): string {
  const said: unknown = Array.isArray(value) ? value[0] : value; // Gemini sends a list
  const { error = said } = isJsonObject(said) ? said : {};
  const { code, status, type } = isJsonObject(error) ? error : {};
  const codes = new Set([code, status, type].filter(isPlainCode)); // OpenAI's code and type are often the same
  return codes.size === 0 ? "" : `: ${[...codes].join(", ")}`;
}

/** An identifier, or a number like an HTTP status, which some servers write as text. */
function isPlainCode(value: unknown): boolean {
  const isCode = typeof value === "string" || typeof value === "number";
  return isCode && /^(?:[a-z_]{1,64}|\d{1,5})$/i.test(String(value));
}
