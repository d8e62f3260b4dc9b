/**
 * Asks an engine through a guard: what the guard refuses never reaches the reply's text.
 *
 * @module
 */

import { type Clock, isWithin } from "../base/clock.ts";
import type { SeenMessage } from "../store/records.ts";
import {
  type EngineProgress,
  type EngineResult,
  type HistoryMessage,
  ModelError,
  type ReplyOutput,
  type Turn,
  type TwinEngine,
} from "../twins/engine.ts";
import { type Guard, requireVerdict, type Verdict } from "../twins/guard.ts";
import { mostReplyLength } from "./feed.ts";

/** How long a guard may take, in milliseconds. */
const verdictMs = 10_000;
/** How long text is held for the end of its sentence, in milliseconds, and how much of it, in UTF-16 code units. */
const sentenceMs = 2_000;
const sentenceLength = 2_000;

/** What asking through a guard needs. */
export interface Guarding {
  /** Undefined: there is none. */
  readonly guard: Guard | undefined;
  readonly clock: Clock;
  /**
   * Whether the history is in the words of a client, which may have said anything before; else the guard knows what it tells,
   * but for questions that were stored alone.
   */
  readonly isSaidByClient: boolean;
  /**
   * Stores what later histories tell in the question's place; empty: neither the question nor its reply. Resolves once that is
   * stored.
   */
  replaceQuestion(told: string): Promise<void>;
}

/** Asks the guard about the question, then the engine, whose text the guard sees before anybody else. */
export async function askGuarded(
  { guard, clock, isSaidByClient, replaceQuestion }: Guarding,
  engine: TwinEngine,
  turn: Turn,
  output: ReplyOutput,
): Promise<EngineResult> {
  if (!guard) return engine.reply(turn, output);
  const verdict = await judgeQuestion(guard, clock, turn);
  if (verdict && "stop" in verdict) {
    await replaceQuestion("");
    output.progress({ stage: "guard", side: "input" });
    output.write(verdict.stop); // the reply ends in the same breath: it is never saved with this text, and in progress
    return filtered;
  }
  if (verdict) await replaceQuestion(verdict.replace);
  const history = await passHistory(guard, clock, turn, isSaidByClient);
  const asked = { ...turn, history, ...(verdict && { content: verdict.replace }) };
  if (!guard.output) return engine.reply(asked, output);
  return new Checkpoint(guard, clock, asked, output).pass(engine);
}

function judgeQuestion(guard: Guard, clock: Clock, turn: Turn): Promise<Verdict> {
  return judge(clock, "question", () => {
    return turn.content === "" ? undefined : guard.input?.(turn.content, turn); // it may decide of calls alone
  });
}

/**
 * A history as it may be told: each question of it is judged, as if it were asked, that was not when it was stored, or that a
 * client sends. Of one that is stopped, neither it nor what was said to it.
 */
async function passHistory(
  guard: Guard,
  clock: Clock,
  turn: Turn,
  isSaidByClient: boolean,
): Promise<readonly HistoryMessage[]> {
  const history: readonly SeenMessage[] = turn.history;
  const verdicts = await Promise.all(
    history.map(async ({ role, content, isUnjudged = isSaidByClient }, index) => {
      if (role === "assistant" || !isUnjudged) return undefined; // what a twin makes of the former is judged
      return judgeQuestion(guard, clock, { ...turn, content, history: history.slice(0, index) });
    }),
  );
  let isStopped = false;
  return history.flatMap(({ role, content }, index) => {
    const verdict = verdicts[index];
    if (role === "user") isStopped = Boolean(verdict && "stop" in verdict);
    if (isStopped) return [];
    return { role, content: verdict && "replace" in verdict ? verdict.replace : content };
  });
}

const filtered: EngineResult = { finishReason: "content_filter", usage: null };

/** What an engine writes to instead of the reply: text waits here until the guard has let it pass. */
class Checkpoint implements ReplyOutput {
  readonly #guard: Guard;
  readonly #clock: Clock;
  readonly #turn: Turn;
  readonly #output: ReplyOutput;
  /** Ends the engine: the guard has stopped the reply, or it is not wanted any more. */
  readonly #abort = new AbortController();
  /** The reply's text that has passed. */
  #told: string;
  #isReplaced = false;
  /** What waits, since when, and how long its first whole sentences are. */
  #waiting = "";
  #since = 0;
  #sentences: number[] = [];
  /** How the engine's part ended: it has returned or thrown, or would write too much. */
  #engineEnd: "open" | "ended" | "too long" = "open";
  #changed = () => {};

  constructor(guard: Guard, clock: Clock, turn: Turn, output: ReplyOutput) {
    this.#guard = guard;
    this.#clock = clock;
    this.#turn = turn;
    this.#output = output;
    this.#told = turn.partial ?? "";
  }

  /** Runs the engine, and resolves with how the reply ends. */
  async pass(engine: TwinEngine): Promise<EngineResult> {
    const { signal } = this.#output;
    const leave = () => {
      this.#abort.abort(signal.reason);
      this.#changed();
    };
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    let result: EngineResult | undefined;
    const answering = (async () => {
      result = await engine.reply(this.#turn, this);
      return result;
    })();
    const ended = () => {
      if (this.#engineEnd === "open") this.#engineEnd = "ended";
      this.#changed();
    };
    answering.then(ended, ended);
    try {
      if (await this.#check()) return { ...filtered, usage: result?.usage ?? null };
      if (this.#engineEnd === "too long") return { finishReason: "length", usage: null };
      const ended = await answering;
      const { format } = this.#turn;
      if (format && this.#isReplaced && ended.finishReason === "stop")
        await engine.requireFormat?.(format, this.#told);
      return ended;
    } finally {
      signal.removeEventListener("abort", leave);
      this.#abort.abort();
    }
  }

  /** Lets text pass until nothing more comes, or the guard stops the reply: then, true. */
  async #check(): Promise<boolean> {
    for (;;) {
      if (this.#output.signal.aborted) return false;
      const text = this.#next();
      if (text === "") {
        if (this.#engineEnd !== "open") return false;
        await this.#change();
        continue;
      }
      const whole = this.#told + text;
      const isBlank = text.trim() === "";
      const verdict = isBlank
        ? undefined
        : await judge(this.#clock, "reply", () => this.#guard.output?.(text, this.#turn, whole));
      if (this.#output.signal.aborted) return false;
      if (verdict && "stop" in verdict) {
        this.#output.progress({ stage: "guard", side: "output" });
        this.#output.write(verdict.stop);
        return true;
      }
      this.#tell(text, verdict ? verdict.replace : text);
    }
  }

  /** The text that has passed is held as well, for the guard. */
  #tell(text: string, told: string): void {
    this.#isReplaced ||= told !== text;
    this.#output.hold(2 * (told.length - text.length));
    this.#told += told;
    this.#output.write(told);
  }

  /** What the guard is to be asked about now. Empty: nothing yet. */
  #next(): string {
    const isWhole = this.#engineEnd !== "open";
    if (this.#guard.hold === "reply") return isWhole ? this.#take(this.#waiting.length) : "";
    if (this.#sentences.length === 0) this.#sentences = sentencesIn(this.#waiting.slice(0, sentenceLength));
    const sentence = this.#sentences.shift();
    if (sentence !== undefined) return this.#take(sentence);
    if (this.#waiting.length >= sentenceLength) return this.#take(sentenceLength);
    const isLate = this.#waiting !== "" && !isWithin(sentenceMs, this.#since, this.#clock.now());
    return isWhole || isLate ? this.#take(this.#waiting.length) : "";
  }

  /** Takes what waits, up to a length, but no half surrogate pair of which the other half may come. */
  #take(length: number): string {
    const isHalf = /[\ud800-\udbff]$/.test(this.#waiting.slice(length - 1, length));
    const isEnd = length === this.#waiting.length && this.#engineEnd !== "open";
    const end = isHalf && !isEnd ? length - 1 : length;
    const text = this.#waiting.slice(0, end);
    this.#waiting = this.#waiting.slice(end);
    this.#since = this.#clock.now();
    return text;
  }

  /** Resolves once there may be something to ask about: more text, the engine's end, an abort, or time that has passed. */
  async #change(): Promise<void> {
    let callOff = () => {};
    await new Promise<void>((resolve) => {
      this.#changed = resolve;
      if (this.#waiting === "" || this.#guard.hold === "reply") return;
      callOff = this.#clock.after(Math.max(0, this.#since + sentenceMs - this.#clock.now()), resolve);
    });
    callOff();
  }

  readonly write = (text: string): void => {
    if (typeof text !== "string") this.#output.write(text); // it says what is wrong
    if (text === "" || this.#engineEnd !== "open" || this.#abort.signal.aborted) return;
    const length = this.#told.length + this.#waiting.length + text.length;
    if (length <= mostReplyLength && this.#output.hold(2 * text.length)) {
      if (this.#waiting === "") this.#since = this.#clock.now();
      this.#waiting += text;
    } else {
      this.#engineEnd = "too long";
      this.#abort.abort();
    }
    this.#changed();
  };

  readonly progress = (progress: EngineProgress): void => this.#output.progress(progress);
  readonly beginActing = (): Promise<void> => this.#output.beginActing();
  readonly handOver = (): void => this.#output.handOver();
  readonly hold = (bytes: number): boolean => this.#output.hold(bytes);

  get signal(): AbortSignal {
    return this.#abort.signal;
  }
}

const segmenter = new Intl.Segmenter("en", { granularity: "sentence" });

/**
 * The lengths of the sentences that a text begins with, without those whose end may turn out to be none once more text comes:
 * what decides that is the next letter or mark (SB8 of Unicode's annex 29).
 */
function sentencesIn(text: string): number[] {
  if (text === "") return [];
  const lengths: number[] = [];
  for (const { segment, index } of segmenter.segment(text)) {
    const end = index + segment.length;
    const isParagraph = /[\n\u0085\u2028\u2029]$/.test(segment);
    if (!isParagraph && !/[\p{L}\p{Sentence_Terminal}\r\n\u0085\u2028\u2029]/u.test(text.slice(end))) break;
    lengths.push(segment.length);
  }
  return lengths;
}

/**
 * What the guard says of a text.
 *
 * @throws {ModelError} if it throws, says something else, or takes too long
 */
async function judge(clock: Clock, of: string, ask: () => unknown): Promise<Verdict> {
  let callOff = () => {};
  try {
    const said = ask();
    if (!isThenable(said)) return requireVerdict(said);
    const late = new Promise<never>((_, reject) => {
      const error = new Error(`It took more than ${verdictMs} ms.`);
      callOff = clock.after(verdictMs, () => reject(error));
    });
    return requireVerdict(await Promise.race([said, late]));
  } catch (error) {
    throw new ModelError("model_error", `The guard failed for a ${of}.`, { cause: error });
  } finally {
    callOff();
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
