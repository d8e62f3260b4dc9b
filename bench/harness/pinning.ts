/**
 * How processes are run: the server under test on one core, all others on another, with enough file descriptors.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import process from "node:process";

/** The core of the server under test, and that of the model and the load generator. */
export type Core = 0 | 1;

/** Whether each has its own core. Without `taskset` (Linux), the system decides. */
export const pinned: boolean =
  availableParallelism() > 1 &&
  ["0", "1"].every((core) => spawnSync("taskset", ["-c", core, "true"]).status === 0);

const hasShell = process.platform !== "win32";

/** Allows many file descriptors; if the system refuses, as many as it permits. */
const raiseLimit = `ulimit -n 65536 2>/dev/null || ulimit -n "$(ulimit -Hn)" 2>/dev/null`;

/** The command that runs another on a core. The shell replaces itself, so the process is the one that was asked for. */
export function onCore(core: Core, command: readonly string[]): [string, readonly string[]] {
  const run = pinned ? ["taskset", "-c", String(core), ...command] : command;
  const [program = "", ...parameters] = hasShell
    ? ["sh", "-c", `${raiseLimit}; exec "$@"`, "sh", ...run]
    : run;
  return [program, parameters];
}

/** How many files and sockets such a process may have open at once. */
export function descriptorLimit(): number {
  if (!hasShell) return Number.POSITIVE_INFINITY;
  const limit = spawnSync("sh", ["-c", `${raiseLimit}; ulimit -n`])
    .stdout.toString()
    .trim();
  return limit === "unlimited" ? Number.POSITIVE_INFINITY : Number(limit);
}
