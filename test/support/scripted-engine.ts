/**
 * An engine whose every step a test decides.
 */

import type { EngineProgress, EngineResult, Turn, TwinEngine } from "../../core/mod.ts";

/** One reply that the engine was asked for. */
export interface Run {
  readonly turn: Turn;
  readonly signal: AbortSignal;
  /** Resolves once the signal aborts. */
  readonly aborted: Promise<void>;
  write(text: string): void;
  progress(progress: EngineProgress): void;
  beginActing(): Promise<void>;
  finish(result?: Partial<EngineResult>): void;
  fail(error: unknown): void;
}

export interface ScriptedEngine extends TwinEngine {
  /** How many replies it was asked for. */
  readonly asked: number;
  /** What it was asked for, in order. */
  readonly turns: readonly Turn[];
  /** The next reply that it is asked for, or the oldest one that no test has taken yet. */
  next(): Promise<Run>;
}

export function createScriptedEngine(): ScriptedEngine {
  const runs: Run[] = [];
  const waiting: ((run: Run) => void)[] = [];
  const turns: Turn[] = [];

  return {
    get asked() {
      return turns.length;
    },
    turns,
    reply(turn, output) {
      turns.push(turn);
      return new Promise((resolve, reject) => {
        const run: Run = {
          turn,
          signal: output.signal,
          aborted: new Promise((done) => output.signal.addEventListener("abort", () => done())),
          write: (text) => output.write(text),
          progress: (progress) => output.progress(progress),
          beginActing: () => output.beginActing(),
          finish: (result) => resolve({ finishReason: "stop", usage: null, ...result }),
          fail: reject,
        };
        const take = waiting.shift();
        if (take) take(run);
        else runs.push(run);
      });
    },
    async next() {
      return runs.shift() ?? new Promise((resolve) => waiting.push(resolve));
    },
  };
}
