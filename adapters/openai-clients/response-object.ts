/**
 * A reply as a response of OpenAI's Responses API.
 *
 * @module
 */

import { isString } from "../../core/base/json.ts";
import type { MessageRecord, Usage } from "../../core/store/records.ts";
import { serverError } from "./errors.ts";

/** What a response has besides its reply. */
export interface ResponseHead {
  /** The reply's message. */
  readonly messageId: string;
  readonly conversationId: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly model: string;
  /** Whether the request asked for an answer at once. Default false. */
  readonly background?: boolean;
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
  const { status, finishReason, error, usage } = reply;
  if (status === "in_progress") return responseInProgress(head);
  const reason = finishReason === "length" ? "max_output_tokens" : finishReason;
  const isIncomplete = responseStatus(reply) === "incomplete";
  return {
    ...members(head),
    status: responseStatus(reply),
    error: error && { code: serverError("").code, message: error.message },
    incomplete_details: isIncomplete ? { reason } : null,
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

/** All members that OpenAI's types require, in the state before any output. */
function members({ messageId, conversationId, createdAt, model, background = false }: ResponseHead) {
  return {
    id: responseId(messageId),
    object: "response",
    created_at: Math.floor(createdAt / 1000),
    status: "in_progress",
    access_programs: null,
    background,
    conversation: { id: conversationId },
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    metadata: {},
    model,
    output: [] as object[],
    parallel_tool_calls: false,
    previous_response_id: null,
    reasoning: null,
    service_tier: null,
    store: true,
    temperature: null,
    text: { format: { type: "text" } },
    tool_choice: "none",
    tools: [],
    top_p: null,
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
