/**
 * Reads the event stream of a chat completion: bytes in, text and an ending out.
 *
 * @module
 */

import {
  createParser,
  type EventSourceMessage,
  type EventSourceParser,
  type ParseError,
} from "eventsource-parser";
import { isCount, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { Usage } from "../../core/store/records.ts";
import { type EngineResult, ModelError, type ReplyOutput } from "../../core/twins/engine.ts";
import { codesOf, saysTooLong } from "./failure.ts";

/** The limits of a completion. */
export interface CompletionLimits {
  /** The longest event, in UTF-16 code units. */
  readonly maxEventLength: number;
  /** The longest reply, in UTF-16 code units. */
  readonly maxReplyLength: number;
}

type FinishReason = EngineResult["finishReason"];

/** Parses one completion. Pieces of its body may be split anywhere. */
export class CompletionReader {
  readonly #output: Pick<ReplyOutput, "write">;
  readonly #limits: CompletionLimits;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  readonly #parser: EventSourceParser;
  #afterCarriageReturn = false;
  #begun = false;
  #done = false;
  #text = "";
  #written = 0;
  #finishReason: FinishReason | undefined;
  #usage: Usage | null = null;
  #tooLong = false;

  /** `output` receives the reply's text: all the text of one piece of the body, in one call. */
  constructor(output: Pick<ReplyOutput, "write">, limits: CompletionLimits) {
    this.#output = output;
    this.#limits = limits;
    this.#parser = createParser({
      maxBufferSize: limits.maxEventLength,
      onEvent: (event) => this.#readEvent(event),
      onError: (error) => this.#readError(error),
    });
  }

  /** Whether anything was read. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Whether the end marker (`[DONE]`) was read. Nothing that matters follows. */
  get done(): boolean {
    return this.#done;
  }

  /** How the reply ended. Undefined while there is neither a finish reason nor the end marker. */
  get result(): EngineResult | undefined {
    if (this.#finishReason === undefined && !this.#done) return undefined;
    return { finishReason: this.#finishReason ?? "stop", usage: this.#usage };
  }

  /** Whether the model reported, instead of a reply, that the conversation is too long for it. */
  get tooLong(): boolean {
    return this.#tooLong;
  }

  /**
   * Reads the next piece of the body.
   *
   * @throws {ModelError} if it is not valid in a completion's stream. The text before that is written.
   */
  read(bytes: Uint8Array): void {
    this.#begun = true;
    this.#feed(this.#unifyLineEnds(decode(this.#decoder, bytes)));
  }

  /**
   * Reads an unfinished last line, now that the body has ended.
   *
   * @throws {ModelError} as {@link read} does
   */
  end(): void {
    this.#feed("\n\n"); // two line ends complete an unfinished line and its event
  }

  /** Text before an error in the same piece of the body is part of the reply, too. */
  #feed(part: string): void {
    try {
      this.#parser.feed(part);
    } finally {
      const text = this.#text;
      this.#text = "";
      if (text !== "") this.#output.write(text);
    }
  }

  /**
   * Turns CR and CRLF into LF. The parser knows all three, but after each CR it searches the whole input for the next
   * LF: many CRs would occupy it for seconds.
   */
  #unifyLineEnds(part: string): string {
    const rest = this.#afterCarriageReturn && part.startsWith("\n") ? part.slice(1) : part;
    if (part !== "") this.#afterCarriageReturn = part.endsWith("\r");
    return rest.includes("\r") ? rest.replaceAll(/\r\n?/g, "\n") : rest;
  }

  #readError({ type, field, value = "" }: ParseError): void {
    if (this.#done || type === "invalid-retry") return;
    if (type === "max-buffer-size-exceeded") throw this.#tooLongEvent();
    // llama.cpp reported errors so until September 2025.
    if (field === "error") throw this.#reportedError(parseJson(value));
    // A line that is not a field may be a damaged one. Skipping it would leave a gap in the reply.
    throw new ModelError(
      "model_error",
      "The model's event stream contains a line that is not a field of an event.",
    );
  }

  #readEvent({ event, data }: EventSourceMessage): void {
    if (this.#done) return;
    if (data.length > this.#limits.maxEventLength) throw this.#tooLongEvent();
    if (data.startsWith("[DONE]")) {
      this.#done = true;
      return;
    }
    const chunk = parseChunk(data);
    if (event === "error" || isError(chunk)) throw this.#reportedError(chunk);
    const choice = firstChoice(chunk);
    if (choice) this.#readChoice(choice);
    this.#usage = readUsage(chunk.usage) ?? this.#usage;
  }

  #readChoice({ delta, finish_reason: reason }: JsonObject): void {
    // OpenAI's models write to `refusal` instead when they decline.
    if (isJsonObject(delta)) this.#append(textOf(delta.content) + textOf(delta.refusal));
    // Some servers write "" where others write null.
    if (typeof reason === "string" && reason !== "")
      this.#finishReason = readFinishReason(reason, this.#written > 0);
  }

  #append(content: string): void {
    const { maxReplyLength } = this.#limits;
    if (this.#written + content.length > maxReplyLength) {
      throw new ModelError("model_error", `The model's reply is longer than ${maxReplyLength} characters.`);
    }
    this.#written += content.length;
    this.#text += content;
  }

  /** An error that the model reports instead of a chunk. */
  #reportedError(report: unknown): ModelError {
    this.#tooLong = this.#written === 0 && saysTooLong(report);
    return new ModelError("model_error", `The model reported an error${codesOf(report)}.`);
  }

  #tooLongEvent(): ModelError {
    const { maxEventLength } = this.#limits;
    return new ModelError(
      "model_error",
      `The model sent an event of more than ${maxEventLength} characters.`,
    );
  }
}

function decode(decoder: TextDecoder, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true });
  } catch (error) {
    throw new ModelError("model_error", "The model's answer is not valid UTF-8.", { cause: error });
  }
}

/** The event's JSON object. Its content stays out of error messages, because it may quote the conversation. */
function parseChunk(data: string): JsonObject {
  const value = parseJson(data);
  if (!isJsonObject(value)) throw malformed();
  return value;
}

/** Some servers always send the field `error`, as null. Older vLLM reports an error as `object: "error"`. */
function isError({ error, object }: JsonObject): boolean {
  return (error !== undefined && error !== null) || object === "error";
}

function parseJson(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    // The parser's message quotes what it read, so it isn't passed on as the cause.
    throw malformed();
  }
}

function malformed(): ModelError {
  return new ModelError("model_error", "The model sent an event that is not a chunk of a chat completion.");
}

/** The first choice, if there is one: a chunk with only token counts has none. */
function firstChoice({ choices }: JsonObject): JsonObject | undefined {
  if (choices === undefined || choices === null) return undefined;
  if (!Array.isArray(choices)) throw malformed();
  const choice: unknown = choices[0];
  if (choice !== undefined && !isJsonObject(choice)) throw malformed();
  return choice;
}

/**
 * The text of a delta's content. Mistral's reasoning models send it in parts, some of which are not text. Cloudflare
 * sends a token that is only digits as a number.
 */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (typeof content === "number") return String(content);
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (isTextPart(part) ? part.text : "")).join("");
}

function isTextPart(part: unknown): part is { readonly text: string } {
  return isJsonObject(part) && part.type === "text" && typeof part.text === "string";
}

/** Finish reasons of servers that end a broken-off reply with one, instead of reporting an error. */
const brokenOff = new Set([
  "error",
  "abort",
  "cancelled",
  "timeout",
  "insufficient_system_resource",
  "network_error",
]);
/** Finish reasons for a reply that has reached its maximum length. */
const fullLength = new Set(["length", "max_tokens", "model_length"]);
/**
 * Finish reasons for a reply that a filter cut off. Gemini adds the filter's name after a colon, and gateways pass its
 * own names on; "sensitive" is GLM's word, "refusal" Claude's.
 */
const filtered = new Set([
  "content_filter",
  "safety",
  "recitation",
  "blocklist",
  "prohibited_content",
  "spii",
  "sensitive",
  "refusal",
  "guardrail_intervened",
]);

function readFinishReason(told: string, hasText: boolean): FinishReason {
  const [reason = ""] = told.toLowerCase().split(":");
  if (brokenOff.has(reason)) {
    throw new ModelError("model_error", "The model broke off its reply.");
  }
  if ((reason === "tool_calls" || reason === "function_call") && !hasText) {
    throw new ModelError(
      "model_error",
      "The model called a tool, though none was offered, and wrote no text.",
    );
  }
  if (fullLength.has(reason)) return "length";
  if (filtered.has(reason)) return "content_filter";
  return "stop"; // also "eos", "end_turn" and whatever other servers call it
}

function readUsage(value: unknown): Usage | undefined {
  if (!isJsonObject(value)) return undefined;
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: total } = value;
  if (!isCount(inputTokens) || !isCount(outputTokens)) return undefined;
  return { inputTokens, outputTokens, totalTokens: isCount(total) ? total : inputTokens + outputTokens };
}
