/**
 * A script of the project as a process of its own, started as its users start it.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import {
  collectOutput,
  type Ended,
  limitedTime,
  surroundings,
  type Variables,
  withoutSignals,
} from "./child-process.ts";
import { runtime } from "./runtime.ts";

/** Why what runs only on Node cannot be tested here, or false. */
export const skipOffNode: string | false = runtime !== "node" && "it runs only on Node";

/** The same, for scripts that are told to stop. */
export const skipWithoutSignals: string | false = skipOffNode || withoutSignals;

/** A running script. */
export interface Script {
  readonly pid: number;
  /** Its exit code and its output, once it has ended. */
  readonly ended: Promise<Ended>;
  /** Waits for something that it causes. Rejects if it ends first. */
  until<Found>(happens: Promise<Found>): Promise<Found>;
  /** Resolves once its output matches, on either stream. Rejects if it ends first. */
  said(pattern: RegExp): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Stops reading its standard output, as `head` does. */
  closeOutput(): void;
}

/** Starts a script, named by its path in the project, with these environment variables and few others. */
export function startScript(path: string, args: readonly string[], variables: Variables = {}): Script {
  const child = launch(path, args, variables);
  const { output, ended } = collectOutput(child);
  const early: Promise<never> = ended.then(({ code, stdout, stderr }) => {
    throw new Error(`${path} ended with ${code} before what the test waits for: ${stdout}${stderr}`);
  });
  early.catch(() => {}); // it always ends; only those who wait for something need to know
  const until = <Found>(happens: Promise<Found>) => Promise.race([happens, early]);
  return {
    pid: child.pid ?? 0,
    ended,
    until,
    async said(pattern) {
      while (!pattern.test(output.stdout) && !pattern.test(output.stderr)) {
        await until(Promise.race([once(child.stdout, "data"), once(child.stderr, "data")]));
      }
    },
    signal: (signal) => void child.kill(signal),
    closeOutput: () => void child.stdout.destroy(),
  };
}

/** What a runtime is told before a script in TypeScript. */
function flagsOf(name: typeof runtime): string[] {
  if (name === "bun") return [];
  if (name === "deno") return ["run", "--allow-all", "--no-check"];
  return process.features.typescript ? [] : ["--import", "tsx"]; // where Node does not strip types itself
}

function launch(path: string, args: readonly string[], variables: Variables) {
  const script = fileURLToPath(new URL(`../../${path}`, import.meta.url));
  return spawn(process.execPath, [...flagsOf(runtime), script, ...args], {
    env: { ...surroundings, ...variables },
    stdio: ["ignore", "pipe", "pipe"],
    ...limitedTime,
  });
}

/** Runs a script until it ends by itself. */
export function runScript(path: string, args: readonly string[], variables: Variables = {}): Promise<Ended> {
  return startScript(path, args, variables).ended;
}
