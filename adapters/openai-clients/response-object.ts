/**
 * A reply as a response of OpenAI's Responses API.
 *
 * @module
 */

import { isString } from "../../core/base/json.ts";
import type { MessageRecord, Usage } from "../../core/store/records.ts";
import type { ReplyFormat } from "../../core/twins/engine.ts";
import { serverError } from "./errors.ts";

/** What a response has besides its reply. */
export interface ResponseHead {
  /** The reply's message. */
  readonly messageId: string;
  /** Null: it is in none, as it is not stored. */
  readonly conversationId: string | null;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly model: string;
  /** Whether the request asked for an answer at once. Default false. */
  readonly background?: boolean;
  /** Whether it is stored. Default true. */
  readonly store?: boolean;
  /** The form that was asked for, as long as that is known. Default: text. */
  readonly format?: ReplyFormat | undefined;
}

/** The id of a reply's response. */
export function responseId(messageId: string): string {
  return messageId.replace(/^msg_/, "resp_");
}

/** The id of a response's reply. Undefined: it cannot be one. */
export function messageIdOf(id: unknown): string | undefined {
  return isString(id) && /^resp_[0-9a-z]+$/.test(id) ? id.replace("resp_", "msg_") : undefined;
}

/** How a response stands. */
export type ResponseStatus = "in_progress" | "completed" | "incomplete" | "cancelled" | "failed";

/** The status of a reply's response. */
export function responseStatus({ status, finishReason }: MessageRecord): ResponseStatus {
  const isCut = finishReason === "length" || finishReason === "content_filter";
  return status === "completed" && isCut ? "incomplete" : status;
}

/** A response while its reply is in progress: without output. */
export function responseInProgress(head: ResponseHead): object {
  return { ...members(head), status: "in_progress" };
}

/** A reply's response. */
export function responseObject(head: ResponseHead, reply: MessageRecord): object {
  const { status, finishReason, error, usage, completedAt } = reply;
  if (status === "in_progress") return responseInProgress(head);
  const reason = finishReason === "length" ? "max_output_tokens" : finishReason;
  const state = responseStatus(reply);
  return {
    ...members(head),
    status: state,
    completed_at: state === "completed" && completedAt !== null ? Math.floor(completedAt / 1000) : null,
    error: error && { code: serverError("").code, message: error.message },
    incomplete_details: state === "incomplete" ? { reason } : null,
    output: [outputItem(reply)],
    usage: usageMembers(usage),
  };
}

/** A reply as the only item of its response's output. */
export function outputItem(reply: MessageRecord): object {
  const status = responseStatus(reply) === "completed" ? "completed" : "incomplete";
  return { id: reply.id, type: "message", status, role: "assistant", content: [outputText(reply.content)] };
}

/** A text as the only part of an item. */
export function outputText(text: string): object {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

/** All members that OpenAI's types and Open Responses require, in the state before any output. */
function members({
  messageId,
  conversationId,
  createdAt,
  model,
  background = false,
  store = true,
  format,
}: ResponseHead) {
  return {
    id: responseId(messageId),
    object: "response",
    created_at: Math.floor(createdAt / 1000),
    status: "in_progress",
    access_programs: null,
    background,
    completed_at: null as number | null,
    conversation: conversationId === null ? null : { id: conversationId },
    error: null,
    frequency_penalty: 0,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    metadata: {},
    model,
    output: [] as object[],
    parallel_tool_calls: false,
    presence_penalty: 0,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: null,
    safety_identifier: null,
    service_tier: "default",
    store,
    temperature: 1,
    text: { format: format ?? { type: "text" } },
    tool_choice: "none",
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    usage: null as object | null,
    user: null,
  };
}

function usageMembers(usage: Usage | null) {
  const { inputTokens = 0, outputTokens = 0, totalTokens = 0, cachedInputTokens } = usage ?? {};
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens ?? 0, cache_write_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: totalTokens,
  };
}
