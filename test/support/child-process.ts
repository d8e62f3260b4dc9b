/**
 * What all processes that tests start have in common.
 */

import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";

/** Why a clean shutdown by a signal cannot be tested here, or false: on Windows every signal ends a process at once. */
export const withoutSignals: string | false = process.platform === "win32" && "Windows has no signals";

export type Variables = Readonly<Record<string, string>>;

const { PATH = "", HOME = "", TMPDIR } = process.env;

/**
 * What tests pass on of their own environment: nothing that configures the server, or a client of it. Nor is coverage
 * collected: Node would have each of a hundred processes write it to disk, and what they run is run in-process, too. Nor does
 * Deno look for another version, which a test's proxy would be asked for.
 */
export const surroundings: Variables = {
  PATH,
  HOME,
  ...(TMPDIR && { TMPDIR }),
  NODE_V8_COVERAGE: "",
  DENO_NO_UPDATE_CHECK: "1",
};

/**
 * How long a process may run: then it is killed. A test that fails leaves its server running, for which Node's test
 * runner would wait forever.
 */
export const limitedTime = { timeout: 600_000, killSignal: "SIGKILL" } as const;

/** A process's exit code and output. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Collects what a process writes. `ended` resolves once it has ended and its output is complete. */
export function collectOutput(child: ChildProcessByStdio<Writable | null, Readable, Readable>) {
  const output = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      output[stream] += text;
    });
  }
  const ended: Promise<Ended> = once(child, "close").then(([code]) => ({ code, ...output }));
  return { output, ended };
}
