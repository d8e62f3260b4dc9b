/**
 * The simulation's engine: it behaves well, badly, or not at all, as chance decides.
 */

import { sleep } from "../../core/base/clock.ts";
import {
  type EngineResult,
  ModelError,
  type ReplyOutput,
  type Twin,
  type TwinEngine,
} from "../../core/mod.ts";
import type { Ledger } from "./ledger.ts";
import { createRandom, type World } from "./world.ts";

/** One attempt at a reply that an engine was asked for. */
export interface EngineRun {
  readonly content: string;
  readonly signal: AbortSignal;
  readonly alive: () => boolean;
  /** The text that it was to go on from. */
  readonly partial: string;
  /** The texts of the history that it was given. */
  readonly history: readonly string[];
  /** What it wrote before it was done or told to stop. */
  written: string;
  /** It has done what must not happen twice. */
  acted: boolean;
  /** It has handed over to a person, before it was told to stop. */
  handedOver: boolean;
  settled: boolean;
}

/** Whether a process is alive, and until when it stands still. */
export interface Living {
  readonly alive: () => boolean;
  readonly frozenUntil: () => number;
}

/** The operator's twin. */
export const theTwin = "twin";

const pieces = ["word ", "😀", "\ud83d", "\ude00", "\0", "\u2028", "", "é", "x".repeat(5_000)] as const;

/** The engines of all processes. */
export class EngineHouse {
  /** Every attempt that was asked for, in any process. */
  readonly runs: EngineRun[] = [];
  readonly #world: World;
  readonly #ledger: Ledger;
  readonly #continues: TwinEngine["continues"];
  /** When each question was first sent. */
  readonly #askedAt = new Map<string, number>();

  /** `continues`: how all engines of this run go on with a reply. */
  constructor(world: World, ledger: Ledger, continues: TwinEngine["continues"]) {
    this.#world = world;
    this.#ledger = ledger;
    this.#continues = continues;
  }

  /** A client sends a question. */
  noteAsked(content: string): void {
    if (!this.#askedAt.has(content)) this.#askedAt.set(content, this.#world.now());
  }

  /** The engine of one process. */
  engineOf({ alive, frozenUntil }: Living): TwinEngine {
    const { random } = this.#world;
    const clock = this.#world.clockOf(alive, frozenUntil);
    const pause = (milliseconds: number) => sleep(clock, milliseconds);
    const waits = random.chance(0.65);
    return {
      continues: this.#continues,
      reply: ({ twin, content, partial = "", history: said }, output) => {
        const { signal } = output;
        this.#judge(content, twin);
        const history = said.map((message) => message.content);
        const begun = { written: "", acted: false, handedOver: false, settled: false };
        const run: EngineRun = { content, signal, alive, partial, history, ...begun };
        this.#world.trace(`engine asked "${content}"${partial && ` from ${partial.length} on`}`);
        this.runs.push(run);
        // Some throw before they return a promise.
        if (random.chance(0.03)) {
          run.settled = true;
          throw new RangeError("throws before it begins");
        }
        return this.#play(run, output, waits ? pause : undefined).catch((error: unknown) => {
          run.settled = true;
          throw error;
        });
      },
    };
  }

  /** The user's message must be stored before an engine is asked to answer it, and only once for each attempt. */
  #judge(content: string, twin: Twin): void {
    const replies = [...this.#ledger.replies.values()];
    const stored =
      replies.find(({ question }) => question.content === content) ??
      this.#world.violate(`an engine was asked before "${content}" was stored`);
    const before = this.runs.filter((run) => run.content === content).length;
    if (before >= stored.attempt) this.#world.violate(`more generations for "${content}" than attempts`);
    if (twin.id === theTwin) return;
    // All attempts go on with the version that the reply began with.
    const { revision } = this.#ledger.versions.requireWhole(twin);
    if (revision !== stored.twinRevision)
      this.#world.violate(`"${content}" is answered by ${revision}, and began with ${stored.twinRevision}`);
    this.#ledger.versions.requireNotice(twin.id, twin.name, this.#askedAt.get(content) ?? 0);
  }

  /** Runs a tool: once it may, no other attempt may ever, not even one that began before. */
  async #act(run: EngineRun, output: ReplyOutput): Promise<void> {
    const call = { stage: "tool", name: "orders/find", callId: String(run.written.length) };
    output.progress({ ...call, state: "called" });
    await output.beginActing();
    const others = this.runs.filter(({ content, acted }) => content === run.content && acted);
    if (others.some((other) => other !== run))
      this.#world.violate(`two attempts at "${run.content}" ran tools`);
    run.acted = true;
    output.progress({ ...call, state: "done" });
  }

  /** Without `pause`, it waits for nothing. An exact engine writes what follows from the question. */
  async #play(run: EngineRun, output: ReplyOutput, pause?: (ms: number) => Promise<void>) {
    const { random } = this.#world;
    const chance = this.#continues === "exact" ? createRandom(hashOf(run.content)) : random;
    const character = chance.next();
    if (character < 0.06) throw new TypeError("throws at once");
    if (pause && character < 0.1) await new Promise(() => {}); // silent forever
    for (let count = chance.between(0, 12); count > 0; count--) {
      if (pause && random.chance(0.6)) await pause(random.pick([0, 1, 10, 100, 700, 3_000]));
      if (output.signal.aborted && random.chance(0.7)) break;
      if (chance.chance(0.05)) await this.#act(run, output);
      else if (chance.chance(0.02)) handOver(run, output);
      else if (chance.chance(0.1)) output.progress({ stage: "thinking", left: count });
      else write(run, output, chance.pick(pieces));
    }
    if (pause && character < 0.14) await new Promise(() => {}); // stops in the middle
    if (character < 0.2)
      throw random.pick<unknown>([new ModelError("model_timeout", "slow"), null, "no Error"]);
    if (pause && character < 0.3) void pause(random.between(0, 50)).then(() => output.write("too late"));
    run.settled = true;
    return { finishReason: random.pick(["stop", "length"]), usage: null } satisfies EngineResult;
  }
}

function handOver(run: EngineRun, output: ReplyOutput): void {
  run.handedOver ||= !run.signal.aborted;
  output.handOver();
}

function write(run: EngineRun, output: ReplyOutput, text: string): void {
  if (!run.signal.aborted) run.written += text;
  output.write(text);
}

function hashOf(text: string): number {
  let hash = 0;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}
