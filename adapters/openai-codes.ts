/**
 * What a model server says about a failure: its codes, and whether the conversation is too long. Its messages are read,
 * but never passed on, because they may quote the conversation or the key.
 *
 * @module
 */

import { isJsonObject } from "../core/base/json.ts";

/** An error's simple codes, as the end of a sentence about it. `value` is the JSON that was received. */
export function codesOf(value: unknown): string {
  const error = errorIn(value);
  const { code, status, type } = isJsonObject(error) ? error : {};
  const codes = new Set([code, status, type].filter(isPlainCode)); // OpenAI's code and type are often the same
  return codes.size === 0 ? "" : `: ${[...codes].join(", ")}`;
}

/**
 * How servers say that a conversation has more tokens than their model's context: some with a code, most of them only
 * in the message.
 */
const tooLong = new RegExp(
  [
    "context[ _]?(?:length|size|window)", // most: OpenAI, llama.cpp, vLLM, LM Studio, LiteLLM …
    "(?:is|are) too (?:long|large)", // Anthropic, Bedrock; not what "took too long"
    "(?:input|prompt) length", // xAI, Z.ai
    "(?:input|model) token (?:count|limit)", // Gemini, Moonshot
    "too many tokens(?!(?: per day)?, please wait)", // Cohere; not Bedrock's limits per minute and per day
    "reduce the length", // Groq
    "`inputs`", // Text Generation Inference
  ].join("|"),
  "i",
);

/** Whether the error in the JSON that was received is that the conversation is too long for the model. */
export function saysTooLong(value: unknown): boolean {
  const error = errorIn(value);
  const said = isJsonObject(error) ? [error.code, error.type, error.message] : [error];
  return said.some((text) => typeof text === "string" && tooLong.test(text));
}

function errorIn(value: unknown): unknown {
  const said: unknown = Array.isArray(value) ? value[0] : value; // Gemini sends a list
  const { errors, error = said } = isJsonObject(said) ? said : {};
  return Array.isArray(errors) ? errors[0] : error; // Cloudflare has a list within its answer
}

/** An identifier, or a number like an HTTP status, which some servers write as text. */
function isPlainCode(value: unknown): boolean {
  const isCode = typeof value === "string" || typeof value === "number";
  return isCode && /^(?:[a-z_]{1,64}|\d{1,5})$/i.test(String(value));
}
