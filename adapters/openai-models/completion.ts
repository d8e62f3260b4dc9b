/**
 * Reads the body of a chat completion: bytes in, text and an ending out.
 *
 * @module
 */

import { createParser, type EventSourceMessage, type ParseError } from "eventsource-parser";
import type { JsonObject } from "../../core/base/json.ts";
import type { Usage } from "../../core/store/records.ts";
import { ModelError, type ReplyOutput } from "../../core/twins/engine.ts";
import { parseBounded } from "../bounded-text.ts";
import { CallReader } from "./calls.ts";
import {
  type Completion,
  type CompletionEnd,
  firstChoice,
  isError,
  maxEventLength,
  otherMembersOf,
  readFinishReason,
  readUsage,
  requireChunk,
  textOf,
  textOfMessage,
  tooLongEvent,
} from "./chunk.ts";
import { codesOf, isFiltered, noRemedy, type Remedy, remedyAfter, sameAgain } from "./failure.ts";
import { JsonDocuments } from "./json-documents.ts";
import { ThoughtReader } from "./thoughts.ts";

/** The longest reply, in UTF-16 code units. */
const maxReplyLength = 4_194_304;
/** How many bytes may come between two chunks that have something: servers send comments and blank lines while models think. */
const maxSilentBytes = 8 * 1024 * 1024;
/** How many names of what came instead of text are kept, for the log. */
const mostOtherMembers = 16;

/** What a reader is told. */
export interface CompletionOptions {
  /** There need not be any text, because the completion goes on from some. */
  readonly mayBeEmpty: boolean;
  /** Whether a name is that of a tool that may be called. Undefined: none may, and calls are no part of the completion. */
  readonly isTool: ((name: string) => boolean) | undefined;
  /** Called if the completion ended with a reason that is not known. */
  unknownReason(reason: string): void;
}

/**
 * How far a completion's end is known. A finish reason alone is no certain end: some servers put one into every chunk.
 * `reason`: there is a finish reason, and no text came after it. `followed`: a chunk without text came after that.
 * `counted`: the chunk with the token counts did, which is the last one. `done`: the end marker was read.
 */
export type Ending = "open" | "reason" | "followed" | "counted" | "done";

/** Parses one completion. Pieces of its body may be split anywhere. */
export class CompletionReader {
  readonly #output: Pick<ReplyOutput, "write">;
  readonly #options: CompletionOptions;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  #parser: { feed(part: string): void; end(): void } | undefined;
  #afterCarriageReturn = false;
  #ending: Ending = "open";
  #text = "";
  #written = 0;
  #hasDeltas = false;
  #finishReason: CompletionEnd | undefined;
  /** Read as `length`: the reply may be cut off. */
  #unknownReason: string | undefined;
  #silentBytes = 0;
  #usage: Usage | null = null;
  readonly #otherMembers = new Set<string>();
  readonly #calls: CallReader | undefined;
  readonly #thoughts = new ThoughtReader();
  #remedy: Remedy = noRemedy;

  /** `output` receives the reply's text: all the text of one piece of the body, in one call. */
  constructor(output: Pick<ReplyOutput, "write">, options: CompletionOptions) {
    this.#output = output;
    this.#options = options;
    this.#calls = options.isTool && new CallReader(options.isTool);
  }

  /** Whether any text was written. */
  get hasText(): boolean {
    return this.#written > 0;
  }

  get ending(): Ending {
    return this.#ending;
  }

  /** What may help after an error that the model reported, or {@link read} threw. */
  get remedy(): Remedy {
    return this.hasText ? noRemedy : this.#remedy;
  }

  /**
   * How the reply ended, now that nothing more comes. Undefined: without a finish reason or the end marker.
   *
   * @throws {ModelError} if the reply has neither text nor calls, unless a filter held it back.
   */
  result(): Completion | undefined {
    if (this.#ending === "open") return undefined;
    const finishReason = this.#finishReason ?? "stop";
    const calls = this.#calls?.calls ?? [];
    const hasSome = this.hasText || (calls.length > 0 && finishReason === "stop");
    if (!hasSome && !this.#options.mayBeEmpty && finishReason !== "content_filter")
      throw this.#withoutText(finishReason);
    if (this.#unknownReason !== undefined) this.#options.unknownReason(this.#unknownReason);
    // Those of a completion that was cut off may be cut off, too.
    return {
      finishReason,
      usage: this.#usage,
      calls: finishReason === "stop" ? calls : [],
      thoughts: this.#thoughts.thoughts,
    };
  }

  /**
   * Reads the next piece of the body.
   *
   * @throws {ModelError} if it is not valid in a completion. The text before that is written.
   */
  read(bytes: Uint8Array): void {
    this.#silentBytes += bytes.length;
    if (this.#silentBytes > maxSilentBytes) {
      throw new ModelError("model_error", "The model sent more than 8 MiB without a word.");
    }
    const part = this.#unifyLineEnds(decode(this.#decoder, bytes));
    this.#parser ??= this.#parserFor(part);
    this.#writeAfter(() => this.#parser?.feed(part));
  }

  /**
   * Reads an unfinished last line, now that the body has ended.
   *
   * @throws {ModelError} as {@link read} does
   */
  end(): void {
    this.#writeAfter(() => this.#parser?.end());
  }

  /** Text before an error in the same piece of the body is part of the reply, too. */
  #writeAfter(parse: () => void): void {
    try {
      parse();
    } finally {
      const text = this.#text;
      this.#text = "";
      if (text !== "") this.#output.write(text);
    }
  }

  /** The beginning of the body tells what it is; its content type often does not. Undefined: nothing has come yet. */
  #parserFor(part: string) {
    const [first] = part.trimStart();
    if (first === undefined) return undefined;
    if (first === "{" || first === "[") {
      return new JsonDocuments((value) => this.#readChunk(value));
    }
    const parser = createParser({
      maxBufferSize: maxEventLength,
      onEvent: (event) => this.#readEvent(event),
      onError: (error) => this.#readError(error),
    });
    return {
      feed: (text: string) => parser.feed(text),
      end: () => parser.feed("\n\n"), // two line ends complete an unfinished line and its event
    };
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
    if (this.#ending === "done" || type === "invalid-retry") return;
    if (type === "max-buffer-size-exceeded") throw tooLongEvent();
    // llama.cpp reported errors so until September 2025.
    if (field === "error") throw this.#reportedError(parseBounded(value));
    // A line that is not a field may be a damaged one. Skipping it would leave a gap in the reply.
    throw new ModelError(
      "model_error",
      "The model's event stream contains a line that is not a field of an event.",
    );
  }

  #readEvent({ event, data }: EventSourceMessage): void {
    if (this.#ending === "done") return;
    if (data.length > maxEventLength) throw tooLongEvent();
    if (data.startsWith("[DONE]")) this.#ending = "done";
    else if (event === "error") throw this.#reportedError(parseBounded(data));
    else if (data.trim() !== "") this.#readChunk(parseBounded(data)); // without data, it is no event
  }

  #readChunk(value: unknown): void {
    if (isError(Array.isArray(value) ? requireChunk(value[0]) : requireChunk(value))) {
      if (!isFiltered(value)) throw this.#reportedError(value);
      this.#finishReason = "content_filter";
      this.#ending = "done";
      return;
    }
    const chunk = requireChunk(value);
    const choice = firstChoice(chunk);
    if (this.#ending !== "open") this.#ending = choice ? "followed" : "counted";
    if (choice) this.#readChoice(choice);
    this.#usage = readUsage(chunk.usage) ?? this.#usage;
  }

  #readChoice(choice: JsonObject): void {
    const text = this.#textIn(choice);
    const others = text === "" ? otherMembersOf(choice) : [];
    if (text !== "" || others.length > 0) this.#silentBytes = 0;
    if (text !== "") this.#append(text);
    else if (!this.hasText)
      for (const name of others) if (this.#otherMembers.size < mostOtherMembers) this.#otherMembers.add(name);
    if (this.#calls) {
      this.#thoughts.read(choice);
      if (this.#calls.read(choice)) this.#goOn();
    }
    const reason = readFinishReason(choice.finish_reason);
    if (reason === undefined) return;
    if (reason === "broken off") {
      this.#remedy = sameAgain;
      throw new ModelError("model_error", "The model broke off its reply.");
    }
    this.#unknownReason = reason === "unknown" ? String(choice.finish_reason).slice(0, 64) : undefined;
    this.#finishReason = reason === "unknown" ? "length" : reason;
    if (this.#ending === "open") this.#ending = "reason";
  }

  /**
   * The text in a choice's `delta`. Without deltas, that of its `message`, which servers send that do not stream, or of
   * its `text`. Some servers send a `message` with all the text besides the deltas.
   */
  #textIn({ delta, message, text }: JsonObject): string {
    const added = textOfMessage(delta);
    this.#hasDeltas ||= added !== "";
    return this.#hasDeltas ? added : textOfMessage(message) || textOf(text);
  }

  #append(text: string): void {
    if (this.#written + text.length > maxReplyLength) {
      throw new ModelError("model_error", `The model's reply is longer than ${maxReplyLength} characters.`);
    }
    this.#written += text.length;
    this.#text += text;
    this.#goOn();
  }

  /** What comes after a finish reason shows that this was not the end. */
  #goOn(): void {
    this.#finishReason = undefined;
    this.#ending = "open";
  }

  /** An error that the model reports instead of a chunk. */
  #reportedError(report: unknown): ModelError {
    this.#remedy = remedyAfter(report);
    return new ModelError("model_error", `The model reported an error${codesOf(report)}.`);
  }

  #withoutText(finishReason: string): ModelError {
    const came = this.#otherMembers.size === 0 ? "nothing" : [...this.#otherMembers].join(", ");
    return new ModelError(
      "model_error",
      `The model's reply has no text. It has ${came}, and the finish reason ${finishReason}.`,
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
