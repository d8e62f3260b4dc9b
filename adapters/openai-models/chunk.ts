/**
 * Reads one chunk of a chat completion, in the forms that servers give it.
 *
 * @module
 */

import { isCount, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { Usage } from "../../core/store/records.ts";
import { type EngineResult, ModelError } from "../../core/twins/engine.ts";

/** A call that a model asks for. */
export interface ModelCall {
  /** Empty: the server gave none. */
  readonly id: string;
  /** The name of a tool, as the model knows it. */
  readonly name: string;
  /** JSON, or what the model wrote instead. */
  readonly arguments: string;
  /** What else the server said about it, and wants back, such as Gemini's signatures of thoughts. */
  readonly others: JsonObject;
}

/** How a completion may end: whether calls wait for a person is not the model's to say. */
export type CompletionEnd = Exclude<EngineResult["finishReason"], "tool_calls">;

/** A completion at its end. */
export interface Completion {
  readonly finishReason: CompletionEnd;
  readonly usage: Usage | null;
  /** The tools that the model calls before it goes on. */
  readonly calls: readonly ModelCall[];
  /** The thoughts that it wants back with the results of these, as members of its message. */
  readonly thoughts: JsonObject;
}

/** The longest line or event of a response, in UTF-16 code units. */
export const maxEventLength = 1_048_576;

/** The error for a longer one. */
export function tooLongEvent(): ModelError {
  return new ModelError("model_error", `The model sent an event of more than ${maxEventLength} characters.`);
}

/** The event's JSON object. Its content stays out of error messages, because it may quote the conversation. */
export function requireChunk(value: unknown): JsonObject {
  if (!isJsonObject(value)) throw malformed();
  return value;
}

/**
 * Some servers always send the field `error`, as null. Older vLLM reports an error as `object: "error"`, MiniMax as
 * `base_resp`, which its replies have too, and others as `code` and `message` instead of choices.
 */
export function isError({ error, object, base_resp, code, message, choices }: JsonObject): boolean {
  if ((error !== undefined && error !== null) || object === "error") return true;
  if (isJsonObject(base_resp) && isCount(base_resp.status_code)) return base_resp.status_code > 0;
  const hasCode = typeof code === "string" || typeof code === "number";
  return hasCode && typeof message === "string" && !Array.isArray(choices);
}

/** The first choice, if there is one: a chunk with only token counts has none. */
export function firstChoice({ choices }: JsonObject): JsonObject | undefined {
  if (choices === undefined || choices === null) return undefined;
  if (!Array.isArray(choices)) throw malformed();
  const choice: unknown = choices[0];
  if (choice !== undefined && !isJsonObject(choice)) throw malformed();
  return choice;
}

function malformed(): ModelError {
  return new ModelError("model_error", "The model sent an event that is not a chunk of a chat completion.");
}

/** The text of a choice's `delta` or `message`. OpenAI's models write to `refusal` when they decline. */
export function textOfMessage(message: unknown): string {
  return isJsonObject(message) ? textOf(message.content) + textOf(message.refusal) : "";
}

/**
 * The text of a message's content. Mistral's reasoning models send it in parts, some of which are not text. Cloudflare
 * sends a token that is only digits as a number.
 */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (typeof content === "number") return String(content);
  if (!Array.isArray(content)) return "";
  return content
    .map((part: unknown) => (isJsonObject(part) && part.type === "text" ? textOf(part.text) : ""))
    .join("");
}

/** The members of a choice that have a value but no text that belongs to a reply, such as `reasoning`, for the log. */
export function otherMembersOf({ delta, message }: JsonObject): string[] {
  const members = { ...(isJsonObject(message) && message), ...(isJsonObject(delta) && delta) };
  return Object.entries(members).flatMap(([name, value]) => {
    const isBlank = value === null || value === "" || (Array.isArray(value) && value.length === 0);
    return name !== "role" && /^[a-z_]{1,64}$/i.test(name) && !isBlank ? name : [];
  });
}

/** What a finish reason means. `broken off`: some servers end a reply with one instead of reporting an error. */
export type FinishMeaning = CompletionEnd | "broken off" | "unknown";

/** The finish reasons of servers, in lower case. */
const meanings = new Map<string, FinishMeaning>(
  Object.entries({
    stop: "stop eos eos_token end_turn stop_sequence tool_calls tool_use function_call complete completed finished",
    length:
      "length max_tokens max_length model_length max_output_tokens model_context_window_exceeded incomplete time_limit " +
      "repetition_truncation",
    // "sensitive" is GLM's word, "refusal" Claude's; gateways pass Gemini's and Cohere's on.
    content_filter:
      "content_filter safety recitation blocklist prohibited_content spii sensitive refusal guardrail_intervened " +
      "error_toxic",
    "broken off":
      "error abort cancelled timeout insufficient_system_resource network_error malformed_response " +
      "malformed_function_call exception error_limit",
  } satisfies Partial<Record<FinishMeaning, string>>).flatMap(([meaning, reasons]) =>
    reasons.split(" ").map((reason) => [reason, meaning as FinishMeaning] as const),
  ),
);

/** What a finish reason means. Undefined: none was given; some servers write "" where others write null. */
export function readFinishReason(value: unknown): FinishMeaning | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  const [reason = ""] = value.slice(0, 64).toLowerCase().split(":"); // Gemini adds the filter's name after a colon
  return meanings.get(reason) ?? "unknown";
}

/** The token counts in a chunk. Undefined: it has none that are whole. */
export function readUsage(value: unknown): Usage | undefined {
  if (!isJsonObject(value)) return undefined;
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: total } = value;
  if (!isCount(inputTokens) || !isCount(outputTokens)) return undefined;
  const totalTokens = isCount(total) ? total : inputTokens + outputTokens;
  // OpenAI's name, and DeepSeek's. "null" in the details is as good as none.
  const details = isJsonObject(value.prompt_tokens_details) ? value.prompt_tokens_details : {};
  const cached = [details.cached_tokens, value.prompt_cache_hit_tokens].find(isCount);
  return { inputTokens, outputTokens, totalTokens, cachedInputTokens: cached ?? null };
}
