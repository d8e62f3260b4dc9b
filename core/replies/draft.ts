/**
 * A reply as its engine writes it, and how it ends.
 *
 * @module
 */

import { isCount, isJsonObject, isString } from "../base/json.ts";
import type { Held } from "../base/memory-budget.ts";
import { unusable } from "../base/rules.ts";
import type { FinalState, ReplyFailure, Source, Usage } from "../store/records.ts";
import { type EngineProgress, type EngineResult, ModelError, type ReplyOutput } from "../twins/engine.ts";
import { encodeJson } from "../wire/sse.ts";
import { type ReplyFeed, ReplyText } from "./feed.ts";

/** Is told what an engine does. */
export interface DraftWatcher {
  /** Called before the first text of the reply, whichever attempt writes it. */
  firstText(): void;
  /** A tool is called, or its call has ended. */
  tool(progress: EngineProgress): void;
  /** The engine is about to do what must not happen twice: resolves once that is stored. */
  acts(): Promise<void>;
}

/** What an engine has written so far, the output for it to write to, and how the reply ends. */
export class Draft {
  /** How the reply ends, once that is decided. */
  readonly outcome: Promise<Outcome>;
  /** The sections of the twin's knowledge that the engine has named. */
  sources: readonly Source[] | undefined;
  /** Whether the question is to wait for a person once the reply has ended. */
  handsOver = false;
  /** Whether the engine, asked again, wrote another text than the first time. */
  differs = false;
  readonly #feed: ReplyFeed;
  readonly #watcher: DraftWatcher;
  /** What the reply holds besides its text. */
  readonly #memory: Held;
  #hasText: boolean;
  /** What an engine has written so far that repeats the text that is there. Undefined: it goes on with that text. */
  #repeated: ReplyText | undefined;
  #decide: (outcome: Outcome) => void = () => {};
  /** Created when an engine reads its signal: many never do. */
  #abort: AbortController | undefined;
  #closed = false;

  /** `repeats`: the engine writes the text that is there again before it goes on. */
  constructor(feed: ReplyFeed, watcher: DraftWatcher, memory: Held, repeats: boolean) {
    this.#feed = feed;
    this.#watcher = watcher;
    this.#memory = memory;
    this.#hasText = feed.text.length > 0;
    if (repeats) this.#repeated = new ReplyText();
    this.outcome = new Promise((resolve) => {
      this.#decide = resolve;
    });
  }

  /** Whether the outcome is decided: what the engine still writes is ignored. */
  get closed(): boolean {
    return this.#closed;
  }

  /** The reply ends in this way, unless its outcome is already decided. */
  end(outcome: Outcome): void {
    if (this.#closed) return;
    this.#closed = true;
    (this.#repeated ?? this.#feed.text).end();
    this.#catchUp();
    this.#feed.whole = true;
    const isComplete = outcome !== "lost" && outcome.status === "completed";
    if (isComplete && this.#repeated) this.differs = true;
    this.#decide(this.differs && isComplete ? failed("interrupted") : outcome);
  }

  /** The same, and the engine is to stop: its signal aborts immediately. */
  stop(outcome: Outcome): void {
    this.end(outcome);
    this.#abort?.abort();
  }

  output(): ReplyOutput {
    return new EngineOutput({
      write: this.#write,
      progress: (progress) => this.#addProgress(progress),
      beginActing: () => this.#beginActing(),
      handOver: () => {
        if (!this.#closed) this.handsOver = true;
      },
      hold: (bytes) => !this.#closed && this.#memory.reserve(bytes),
      signal: () => this.#signal(),
    });
  }

  readonly #write = (text: string): void => {
    if (!isString(text)) throw new TypeError(`An engine's write() takes a string, not ${typeof text}.`);
    if (this.#closed || text === "") return;
    if (!this.#hasText) {
      this.#hasText = true;
      this.#watcher.firstText();
    }
    if (this.#repeated) {
      if (this.#memory.reserve(2 * text.length)) {
        this.#repeated.append(text);
        this.#catchUp();
      } else this.stop(cutOff);
    } else if (this.#feed.append(text)) this.#feed.tell();
    else this.stop(cutOff);
  };

  /** Shows what the engine writes, once it has repeated all that is there. */
  #catchUp(): void {
    const { text } = this.#feed;
    const repeated = this.#repeated;
    if (!repeated || repeated.length < text.length) return;
    if (repeated.slice(0, text.length) === text.toString()) {
      this.#feed.text = repeated;
      this.#repeated = undefined;
      this.#feed.tell();
    } else {
      this.differs = true;
      this.stop(failed("interrupted"));
    }
  }

  #addProgress(progress: EngineProgress): void {
    if (!isString(progress?.stage)) throw new TypeError("An engine's progress() takes { stage: string, … }.");
    if (this.#closed) return;
    const json = encodeJson(progress); // here, so that the engine gets the error for what JSON cannot represent
    if (!this.#memory.reserve(2 * json.length)) return; // clients do without
    this.#feed.progress.push(json);
    if (progress.stage === "sources") this.sources = sourcesOf(progress.sources);
    if (progress.stage === "tool") this.#watcher.tool(progress);
    this.#feed.tell();
  }

  async #beginActing(): Promise<void> {
    if (!this.#closed) await this.#watcher.acts();
    if (this.#closed) throw new Error("The reply is over.");
  }

  #signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#closed) this.#abort.abort();
    }
    return this.#abort.signal;
  }
}

/** What is stored of an engine's sources. Undefined: these are none. */
function sourcesOf(named: unknown): readonly Source[] | undefined {
  if (!Array.isArray(named)) return undefined;
  return named
    .filter((one: unknown) => isJsonObject(one) && isString(one.heading) && Number.isFinite(one.score))
    .map(({ heading, document, score }: Source) => {
      return { heading, document: isString(document) ? document : null, score };
    });
}

/**
 * What an engine writes to. A class, because V8 puts object literals with a getter into the old generation, and they
 * would keep the whole reply until a full garbage collection.
 */
class EngineOutput implements ReplyOutput {
  readonly write: ReplyOutput["write"];
  readonly progress: ReplyOutput["progress"];
  readonly beginActing: ReplyOutput["beginActing"];
  readonly handOver: ReplyOutput["handOver"];
  readonly hold: ReplyOutput["hold"];
  readonly #signal: () => AbortSignal;

  constructor({
    write,
    progress,
    beginActing,
    handOver,
    hold,
    signal,
  }: Omit<ReplyOutput, "signal"> & { signal(): AbortSignal }) {
    this.write = write;
    this.progress = progress;
    this.beginActing = beginActing;
    this.handOver = handOver;
    this.hold = hold;
    this.#signal = signal;
  }

  get signal(): AbortSignal {
    return this.#signal();
  }
}

/** How a reply ends, before that is stored. `lost`: it is no longer its producer's to end. */
export type Outcome = FinalState | "lost";

const finishReasons = new Set<unknown>(["stop", "length", "content_filter", "tool_calls"]);

/**
 * The engine finished the reply.
 *
 * @throws {TypeError} for any other finish reason: an engine in plain JavaScript may return its model's.
 */
export function completed(result: EngineResult): FinalState {
  const finishReason = result?.finishReason;
  const pending = finishReason === "tool_calls" ? result.pending : undefined;
  if (!finishReasons.has(finishReason) || (finishReason === "tool_calls" && !pending)) {
    throw unusable(
      "An engine's finishReason",
      '"stop", "length", "content_filter" or, with pending, "tool_calls"',
      finishReason,
    );
  }
  const state = { status: "completed", finishReason, usage: countsOf(result.usage), error: null } as const;
  return pending ? { ...state, pending } : state;
}

/** The most tokens that are believed: sums of what some servers say would be numbers that no store gives back. */
const mostTokens = 1e9;

function isTokens(value: unknown): value is number {
  return isCount(value) && value <= mostTokens;
}

/** Only the counts, because an engine may pass on other things that its model says. Null if one of them is missing. */
function countsOf(usage: Partial<Usage> | null): Usage | null {
  const { inputTokens, outputTokens, totalTokens, cachedInputTokens } = usage ?? {};
  if (!isTokens(inputTokens) || !isTokens(outputTokens) || !isTokens(totalTokens)) return null;
  const cached = isTokens(cachedInputTokens) ? cachedInputTokens : null;
  return { inputTokens, outputTokens, totalTokens, cachedInputTokens: cached };
}

/** The reply became too long, or held too much memory; its text so far is kept. */
const cutOff: FinalState = { status: "completed", finishReason: "length", usage: null, error: null };

/** The reply was cancelled; its text so far is kept. */
export const cancelled: FinalState = {
  status: "cancelled",
  finishReason: "cancelled",
  usage: null,
  error: null,
};

const failureMessages: Record<ReplyFailure["code"], string> = {
  model_error: "The twin's model failed to reply.",
  model_timeout: "The twin's model took too long to reply.",
  interrupted: "The reply was interrupted before it was finished.",
};

/** What clients are told of an error, if it says so. */
export function toldOf(error: unknown): string | undefined {
  return error instanceof ModelError ? error.told : undefined;
}

/** The reply failed; its text so far is kept. `message`: what clients are told. */
export function failed(code: ReplyFailure["code"], message: string = failureMessages[code]): FinalState {
  return {
    status: "failed",
    finishReason: "error",
    usage: null,
    error: { code, message },
  };
}
