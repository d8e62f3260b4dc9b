/**
 * Reads the event stream of a chat completion: bytes in, text and an ending out.
 *
 * @module
 */

import { createParser } from "eventsource-parser";
import { type EngineResult, ModelError } from "../core/engine.ts";
import type { Usage } from "../core/store.ts";

/** Options of {@link createCompletionReader}. */
export interface CompletionReaderOptions {
  /** Receives the reply's text: what one piece of the body held of it, in one call. */
  readonly write: (text: string) => void;
  /** The longest event, in UTF-16 code units. */
  readonly maxEventLength: number;
  /** The longest reply, in UTF-16 code units. */
  readonly maxReplyLength: number;
}

/** Reads one completion. Pieces of its body may be split anywhere. */
export interface CompletionReader {
  /**
   * Reads the next piece of the body.
   *
   * @throws {ModelError} if it isn't what a completion's stream may hold. The text before that is written.
   */
  read(bytes: Uint8Array): void;
  /**
   * Reads what an unfinished last line holds, now that the body has ended.
   *
   * @throws {ModelError} as {@link read} does
   */
  end(): void;
  /** Whether anything was read. */
  readonly begun: boolean;
  /** Whether the end marker (`[DONE]`) was read: nothing that matters follows. */
  readonly done: boolean;
  /** How the reply ended. Undefined while there is neither a finish reason nor the end marker. */
  readonly result: EngineResult | undefined;
}

type FinishReason = EngineResult["finishReason"];

/** What this module takes from an event. Everything in it is checked before use. */
type JsonObject = Readonly<Record<string, unknown>>;

/** Makes a reader for one completion. */
export function createCompletionReader(options: CompletionReaderOptions): CompletionReader {
  const { write, maxEventLength, maxReplyLength } = options;
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const unifyLineEnds = createLineEnds();
  let written = 0;
  let text = "";
  let begun = false;
  let done = false;
  let finishReason: FinishReason | undefined;
  let usage: Usage | null = null;

  const parser = createParser({
    maxBufferSize: maxEventLength,
    onEvent: ({ event, data }) => {
      if (!done) readEvent(event, data);
    },
    onError: ({ type }) => {
      if (done || type === "invalid-retry") return;
      if (type === "max-buffer-size-exceeded") throw tooLongEvent();
      // A line that is no field may be a damaged one. Skipped, it would leave a hole in the reply.
      throw new ModelError(
        "model_error",
        "The model's event stream holds a line that is no field of an event.",
      );
    },
  });

  const readEvent = (event: string | undefined, data: string): void => {
    if (data.length > maxEventLength) throw tooLongEvent();
    if (data === "[DONE]") {
      done = true;
      return;
    }
    const chunk = parseChunk(data);
    if (event === "error") throw reportedError(chunk);
    const choice = firstChoice(chunk);
    if (choice) readChoice(choice);
    usage = readUsage(chunk.usage) ?? usage;
  };

  const readChoice = ({ delta, finish_reason: reason }: JsonObject): void => {
    if (isObject(delta) && typeof delta.content === "string") append(delta.content);
    // Some servers write "" where others write null.
    if (typeof reason === "string" && reason !== "") finishReason = readFinishReason(reason, written > 0);
  };

  const append = (content: string): void => {
    if (written + content.length > maxReplyLength) {
      throw new ModelError("model_error", `The model's reply is longer than ${maxReplyLength} characters.`);
    }
    written += content.length;
    text += content;
  };

  // Text that stands before an error in the same piece of the body is part of the reply, too.
  const feed = (part: string): void => {
    try {
      parser.feed(part);
    } finally {
      if (text !== "") write(text);
      text = "";
    }
  };

  const tooLongEvent = () =>
    new ModelError("model_error", `The model sent an event of more than ${maxEventLength} characters.`);

  return {
    read(bytes) {
      begun = true;
      feed(unifyLineEnds(decode(decoder, bytes)));
    },
    // Two line ends complete an unfinished line and its event.
    end: () => feed("\n\n"),
    get begun() {
      return begun;
    },
    get done() {
      return done;
    },
    get result() {
      if (finishReason === undefined && !done) return undefined;
      return { finishReason: finishReason ?? "stop", usage };
    },
  };
}

/**
 * Turns CR and CRLF into LF. The parser knows all three, but from each CR on it searches all that has arrived
 * for the next LF: a flood of CRs would occupy it for seconds.
 */
function createLineEnds(): (part: string) => string {
  let afterCarriageReturn = false;
  return (part) => {
    const rest = afterCarriageReturn && part.startsWith("\n") ? part.slice(1) : part;
    if (part !== "") afterCarriageReturn = part.endsWith("\r");
    return rest.includes("\r") ? rest.replaceAll(/\r\n?/g, "\n") : rest;
  };
}

function decode(decoder: TextDecoder, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true });
  } catch (error) {
    throw new ModelError("model_error", "The model's answer is not valid UTF-8.", { cause: error });
  }
}

/** The event's JSON object. What it says stays out of error messages: it may quote the conversation. */
function parseChunk(data: string): JsonObject {
  const value = parseJson(data);
  if (!isObject(value)) throw malformed();
  // Null in chunks of servers that write all fields always. `object: "error"` is how older vLLM reports.
  if ((value.error !== undefined && value.error !== null) || value.object === "error") {
    throw reportedError(value);
  }
  return value;
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

/** An error that the model reports instead of a chunk, with its code if that is a plain identifier. */
function reportedError(chunk: JsonObject): ModelError {
  const { error = chunk } = chunk;
  const { code, type } = isObject(error) ? error : {};
  const identifier = [code, type].find((name) => typeof name === "string" && /^[a-z_]{1,64}$/i.test(name));
  return new ModelError("model_error", `The model reported an error${identifier ? `: ${identifier}` : ""}.`);
}

/** The first choice, if there is one: a chunk that only counts tokens has none. */
function firstChoice({ choices }: JsonObject): JsonObject | undefined {
  if (choices === undefined || choices === null) return undefined;
  if (!Array.isArray(choices)) throw malformed();
  const choice: unknown = choices[0];
  if (choice !== undefined && !isObject(choice)) throw malformed();
  return choice;
}

/** Reasons that say the reply broke off, on servers that put it so instead of reporting an error. */
const brokenOff = new Set(["error", "abort", "cancelled", "insufficient_system_resource"]);

function readFinishReason(reason: string, hasText: boolean): FinishReason {
  if (brokenOff.has(reason)) {
    throw new ModelError("model_error", "The model broke its reply off.");
  }
  if ((reason === "tool_calls" || reason === "function_call") && !hasText) {
    throw new ModelError(
      "model_error",
      "The model called a tool, though none was offered, and wrote no text.",
    );
  }
  if (reason === "length" || reason === "max_tokens" || reason === "model_length") return "length";
  if (reason === "content_filter") return "content_filter";
  return "stop"; // also "eos", "end_turn" and whatever other servers call it
}

function readUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: total } = value;
  if (!isCount(inputTokens) || !isCount(outputTokens)) return undefined;
  return { inputTokens, outputTokens, totalTokens: isCount(total) ? total : inputTokens + outputTokens };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
