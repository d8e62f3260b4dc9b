/**
 * A reply as a chat completion: whole, and in chunks.
 *
 * @module
 */

import type { FinishReason, MessageRecord, Usage } from "../../core/store/records.ts";
import { shuttingDown } from "../../core/wire/errors.ts";
import { jsonPieces } from "../../core/wire/json.ts";
import type { ReplyEvents } from "../../core/wire/resources.ts";
import { encodeJson } from "../../core/wire/sse.ts";
import { serverError } from "./errors.ts";

/** What all chunks of a completion have. */
export interface CompletionHead {
  /** The reply's message. */
  readonly messageId: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly model: string;
}

/** A completion as one document. */
export function completionDocument(reply: MessageRecord, head: CompletionHead): Generator<string> {
  const message = { role: "assistant", content: reply.content, refusal: null, annotations: [] };
  const choice = { index: 0, message, logprobs: null, finish_reason: finishReason(reply.finishReason) };
  return jsonPieces({
    ...headMembers(head, "chat.completion"),
    choices: [choice],
    usage: usageMembers(reply.usage),
  });
}

/** The chunks of a completion. What they have in common is written once. */
export class ChatEvents implements ReplyEvents {
  readonly #head: string;
  readonly #includesUsage: boolean;

  /** `includesUsage`: whether a chunk with the token counts follows the last one. */
  constructor(head: CompletionHead, includesUsage: boolean) {
    this.#head = encodeJson(headMembers(head, "chat.completion.chunk")).slice(0, -1);
    this.#includesUsage = includesUsage;
  }

  accepted(): string {
    return this.#chunk('{"role":"assistant","content":""}', "null");
  }

  progress(): string {
    return "";
  }

  continued(): undefined {
    return undefined;
  }

  delta(json: string): string {
    return this.#chunk(`{"content":${json}}`, "null");
  }

  ended({ error, finishReason: reason, usage }: MessageRecord): Iterable<string> {
    if (error) return [errorEvent(error.message)];
    const last = this.#chunk("{}", `"${finishReason(reason)}"`);
    const counts = this.#includesUsage
      ? `data: ${this.#head},"choices":[],"usage":${JSON.stringify(usageMembers(usage))}}\n\n`
      : "";
    return [`${last}${counts}data: [DONE]\n\n`];
  }

  /** Chunks cannot be resumed, and a stream that just ended would look complete. */
  released(): string {
    return errorEvent(shuttingDown().message);
  }

  #chunk(delta: string, reason: string): string {
    const choice = `{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${reason}}`;
    return `data: ${this.#head},"choices":[${choice}]${this.#includesUsage ? ',"usage":null' : ""}}\n\n`;
  }
}

function errorEvent(message: string): string {
  return `data: ${encodeJson({ error: serverError(message) })}\n\n`;
}

function headMembers({ messageId, createdAt, model }: CompletionHead, object: string) {
  return {
    id: `chatcmpl-${messageId.replace(/^msg_/, "")}`,
    object,
    created: Math.floor(createdAt / 1000),
    model,
  };
}

/** A reply that was cancelled ends with `stop`, as there is no word for it. */
function finishReason(reason: FinishReason | null): "stop" | "length" | "content_filter" {
  return reason === "length" || reason === "content_filter" ? reason : "stop";
}

function usageMembers(usage: Usage | null) {
  const { inputTokens = 0, outputTokens = 0, totalTokens = 0, cachedInputTokens } = usage ?? {};
  return {
    prompt_tokens: inputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens ?? 0 },
    completion_tokens: outputTokens,
    total_tokens: totalTokens,
  };
}
