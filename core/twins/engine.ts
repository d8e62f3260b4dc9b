/**
 * The port for engines, which write twins' replies, and the engine that only echoes.
 *
 * @module
 */

import { type Clock, sleep, systemClock } from "../base/clock.ts";
import type { Decisions, FinishReason, PendingCall, PendingCalls, Usage } from "../store/records.ts";
import type { Twin } from "./twins.ts";

/** An earlier message of a conversation, as a model sees it. */
export interface HistoryMessage {
  readonly role: "user" | "assistant";
  readonly content: string;
}

/** Whom a reply is for, and where it is. */
export interface TurnOrigin {
  readonly owner: string;
  /** The owner's own id of the person who asks. Null: none was named. */
  readonly endUser: string | null;
  /** Null: the reply is not stored. */
  readonly conversationId: string | null;
  /** The reply's own id. */
  readonly messageId: string;
}

/** A form in which a client wants a reply: as JSON, of any kind or as a JSON Schema has it. */
export type ReplyFormat =
  | { readonly type: "json_object" }
  | {
      readonly type: "json_schema";
      /** 1 to 64 letters, digits, `_` and `-`. */
      readonly name: string;
      readonly description?: string | undefined;
      readonly schema: Readonly<Record<string, unknown>>;
      /** Whether the model is held to the schema as it writes. Absent: its server decides. */
      readonly strict?: boolean | undefined;
    };

/** What a twin is asked to reply to. */
export interface Turn {
  readonly twin: Twin;
  /**
   * Earlier messages, oldest first: questions with their replies, without those whose reply failed or was cancelled before
   * its first word. All while there are fewer than 50 questions, then 25 to 49 from a multiple of 25 on, with 2 Mi characters
   * at most (`historySeen` in `core/store/records.ts`). A copy, which may be changed.
   */
  readonly history: readonly HistoryMessage[];
  /** The user's message. */
  readonly content: string;
  /**
   * What the app has the twin know of the person who asks: facts, no instructions, 1 to 4,000 characters. Null: nothing.
   * Undefined: the engine is asked outside of a service.
   */
  readonly memory?: string | null | undefined;
  /** Whom the reply is for. Undefined: the engine is asked outside of a service. */
  readonly origin?: TurnOrigin | undefined;
  /** The W3C trace context (https://www.w3.org/TR/trace-context/) to pass on to the model. Undefined: there is none. */
  readonly traceparent?: string | undefined;
  /**
   * Whether the client reads along (`Prefer: reading-pace`): an engine that has its whole text at once then writes word by
   * word. Absent: it does not say so.
   */
  readonly readAlong?: boolean | undefined;
  /** The form that the reply is to have, which the engine has checked. Absent: text. */
  readonly format?: ReplyFormat | undefined;
  /**
   * The text that an earlier process has written of the reply, for an engine that `continues` from it: what it writes is
   * added to that. Absent: the reply begins.
   */
  readonly partial?: string;
  /** Whether calls may wait for the person who asks. Absent: nobody can be asked. */
  readonly mayAsk?: boolean | undefined;
  /**
   * The calls with which the reply before has ended, now that they are decided. Absent: it has ended with none. `isTold`: whether
   * the history ends with the words of that reply, which may have had none.
   */
  readonly decided?: (DecidedCalls & { readonly isTold: boolean }) | undefined;
}

/** Calls that are decided. */
export interface DecidedCalls extends Pick<PendingCalls, "state"> {
  /** `decision`: undefined where the person has written something else instead. */
  readonly calls: readonly (PendingCall & { readonly decision: Decisions[string] | undefined })[];
}

/** What an engine writes its reply to. */
export interface ReplyOutput {
  /**
   * Appends text: one or more tokens, split anywhere. Never blocks: a follower that falls behind catches up from the
   * reply's text. Text written after the signal has aborted is ignored.
   *
   * @throws {TypeError} for anything but a string.
   */
  write(text: string): void;
  /**
   * Tells followers something besides the text, as a `progress` event: `{ stage, … }`. It is not stored: followers on
   * another process, or after the reply's end, do not get it.
   *
   * @throws {TypeError} without a stage, and for values that JSON cannot represent, such as a `bigint`.
   */
  progress(progress: EngineProgress): void;
  /**
   * To be awaited before anything that must not happen twice, such as the run of a tool. Once it resolves, it is stored that
   * the reply ends as interrupted if its process dies: no other process begins it again. Rejects if the reply is over.
   */
  beginActing(): Promise<void>;
  /**
   * Lets a person answer from now on: once the reply has ended, its question waits for one, in the same transaction. What the
   * reply says tells the person who asked. Without effect in a reply that is not stored, or is cancelled.
   */
  handOver(): void;
  /**
   * Counts what the engine holds besides the reply's text, in bytes, as it arrives: what tools answer, a request that is being
   * sent. So many more or, if negative, fewer. False: that would be more than the owner or its end user may hold; nothing is
   * counted, and the engine must do without. All is given back at the reply's end.
   */
  hold(bytes: number): boolean;
  /**
   * Aborts when the reply is not wanted any more (cancelled, timed out, taken over, shut down). Release everything then. It is
   * created when first read: an engine that wraps an output must pass it on explicitly, because a spread leaves it out.
   */
  readonly signal: AbortSignal;
}

/** An engine's own `progress` event: a stage and its own fields, JSON only. */
export interface EngineProgress {
  readonly stage: string;
  readonly [field: string]: unknown;
}

/** How an engine's reply ended, if it did not fail. Any other finish reason fails it. */
export interface EngineResult {
  readonly finishReason: Extract<FinishReason, "stop" | "length" | "content_filter" | "tool_calls">;
  /** With `tool_calls`, where {@link Turn.mayAsk}: the calls that wait for the person. */
  readonly pending?: PendingCalls | undefined;
  /**
   * Null if tokens are not counted. If one of the counts is not a whole number, clients see null; `cachedInputTokens` may be
   * absent.
   */
  readonly usage: (Omit<Usage, "cachedInputTokens"> & Partial<Pick<Usage, "cachedInputTokens">>) | null;
}

/**
 * Writes replies. A rejection fails the reply: a {@link ModelError} with its own code, anything else as
 * `model_error`. Both are logged, and the client learns only the code.
 */
export interface TwinEngine {
  /**
   * How the engine goes on with a reply whose process has died. `exact`: the same turn always gets the same text, so it is
   * asked again, and the text that is there already is left out. `partial`: it goes on from `turn.partial`. Default: a
   * reply that has some text ends as interrupted, and only one that has none is begun again.
   */
  readonly continues?: "exact" | "partial" | undefined;
  /**
   * Whether it asks a model, whose tokens are counted. False: its replies cost nothing, and budgets of tokens do not concern
   * them. Default true.
   */
  readonly asksModel?: boolean | undefined;
  /**
   * Says what is wrong with a form, in words that go on from its name, or undefined: then the engine replies in that form, or
   * rejects. Absent: it knows no form but text.
   */
  checkFormat?(format: ReplyFormat): Promise<string | undefined>;
  /**
   * Rejects a whole reply that does not have a form: called where a guard has replaced some of what the engine wrote. Default:
   * nothing is rejected.
   */
  requireFormat?(format: ReplyFormat, reply: string): Promise<void>;
  /** Called once for each attempt at a reply, after the question is stored. */
  reply(turn: Turn, output: ReplyOutput): Promise<EngineResult>;
  /**
   * Called with all twins of a source that name the engine, at the start and after each change, such as by `openTwinFiles`:
   * what takes long may begin before a question comes. Never throws. Default: nothing.
   */
  prepare?(twins: readonly Twin[]): void;
  /**
   * What the log says about a failed reply of this twin besides the error: where the engine asked, such as an address and
   * a model. Without secrets. Default: nothing.
   */
  logFields?(twin: Twin): Readonly<Record<string, unknown>>;
}

/** Options of a {@link ModelError}. */
export interface ModelErrorOptions extends ErrorOptions {
  /** What clients are told, without secrets or a server's words. Default: what the code says. */
  readonly told?: string | undefined;
}

/** The model behind an engine failed, or took too long. The message is for the log, not for clients. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  readonly code: "model_error" | "model_timeout";
  /** What clients are told. Undefined: what the code says. */
  readonly told: string | undefined;

  constructor(code: "model_error" | "model_timeout", message: string, options: ModelErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.told = options.told;
  }
}

/** How fast an engine writes a text that is available as a whole. */
export interface PacingOptions {
  /** Pause before each word, in milliseconds. Default: none, so that the whole text is written at once, except to
   * a client that reads along. */
  readonly pauseMs?: number | undefined;
  /** The clock that pauses run on. Default: the system's. */
  readonly clock?: Clock | undefined;
}

/**
 * An engine that streams the user's own text back, word by word: for tests, demos and benchmarks.
 *
 * @example
 * ```ts
 * import { createEchoEngine } from "twin-service";
 *
 * const engines = { echo: createEchoEngine({ pauseMs: 50 }) };
 * ```
 */
export function createEchoEngine(options: PacingOptions = {}): TwinEngine {
  return {
    continues: "exact",
    asksModel: false,
    async reply(turn, output) {
      await writeWords(turn.content, turn, output, options);
      return { finishReason: "stop", usage: null };
    },
  };
}

/** The pause before each word for a client that reads along, in milliseconds: about a model's pace. */
const readingPauseMs = 35;

/** Writes a text word by word, until the signal aborts. */
export async function writeWords(
  text: string,
  { readAlong }: Turn,
  output: ReplyOutput,
  { pauseMs = readAlong ? readingPauseMs : 0, clock = systemClock }: PacingOptions,
): Promise<void> {
  for (const word of text.match(/\s*\S+\s*$|\s*\S+/gu) ?? []) {
    if (pauseMs > 0) {
      await sleep(clock, pauseMs);
      if (output.signal.aborted) return;
    }
    output.write(word);
  }
}
