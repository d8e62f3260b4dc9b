/**
 * The simulation's engine: it behaves well, badly, or not at all, as chance decides.
 */

import { sleep } from "../../core/base/clock.ts";
import { type EngineResult, ModelError, type ReplyOutput, type TwinEngine } from "../../core/mod.ts";
import type { Ledger } from "./store.ts";
import type { World } from "./world.ts";

/** One reply that an engine was asked for. */
export interface EngineRun {
  readonly content: string;
  readonly signal: AbortSignal;
  readonly alive: () => boolean;
  /** What it wrote before it was done or told to stop. */
  written: string;
  settled: boolean;
}

export interface EngineHouse {
  /** Every reply that was asked for, in any process. */
  readonly runs: EngineRun[];
  /** The engine of one process. */
  engineOf(alive: () => boolean): TwinEngine;
}

const pieces = ["word ", "😀", "\ud83d", "\ude00", "\0", "\u2028", "", "é", "x".repeat(5_000)] as const;

export function createEngineHouse(world: World, ledger: Ledger): EngineHouse {
  const { random } = world;
  const runs: EngineRun[] = [];

  function isStored(content: string): boolean {
    return [...ledger.replies.values()].some(({ question }) => question.content === content);
  }

  /** The user's message must be stored before an engine is asked to answer it, and must be answered only once. */
  function judge(content: string): void {
    if (runs.some((run) => run.content === content)) world.violate(`two generations for "${content}"`);
    if (!isStored(content)) world.violate(`an engine was asked before "${content}" was stored`);
  }

  function write(run: EngineRun, output: ReplyOutput, text: string): void {
    if (!run.signal.aborted) run.written += text;
    output.write(text);
  }

  /** Without `pause`, it waits for nothing. */
  async function play(run: EngineRun, output: ReplyOutput, pause?: (ms: number) => Promise<void>) {
    const character = random.next();
    if (character < 0.06) throw new TypeError("throws at once");
    if (pause && character < 0.1) await new Promise(() => {}); // silent forever
    for (let count = random.between(0, 12); count > 0; count--) {
      if (pause && random.chance(0.6)) await pause(random.pick([0, 1, 10, 100, 700, 3_000]));
      if (output.signal.aborted && random.chance(0.7)) break;
      if (random.chance(0.1)) output.progress({ stage: "thinking", left: count });
      else write(run, output, random.pick(pieces));
    }
    if (pause && character < 0.14) await new Promise(() => {}); // stops in the middle
    if (character < 0.2)
      throw random.pick<unknown>([new ModelError("model_timeout", "slow"), null, "no Error"]);
    if (pause && character < 0.3) void pause(random.between(0, 50)).then(() => output.write("too late"));
    run.settled = true;
    return { finishReason: random.pick(["stop", "length"]), usage: null } satisfies EngineResult;
  }

  return {
    runs,
    engineOf(alive) {
      const clock = world.clockOf(alive);
      const pause = (milliseconds: number) => sleep(clock, milliseconds);
      const waits = random.chance(0.65);
      return {
        reply({ content }, output) {
          const { signal } = output;
          judge(content);
          const run: EngineRun = { content, signal, alive, written: "", settled: false };
          world.trace(`engine asked "${content}"`);
          runs.push(run);
          // Some throw before they return a promise.
          if (random.chance(0.03)) {
            run.settled = true;
            throw new RangeError("throws before it begins");
          }
          return play(run, output, waits ? pause : undefined).catch((error: unknown) => {
            run.settled = true;
            throw error;
          });
        },
      };
    },
  };
}
