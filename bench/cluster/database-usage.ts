/**
 * The CPU time of PostgreSQL, as Linux accounts for it.
 *
 * @module
 */

import { readdirSync, readFileSync } from "node:fs";
import { cpuOf } from "../harness/usage.ts";

/** The CPU time that PostgreSQL's processes have used for a database, in microseconds. */
export function cpuOfDatabase(name: string): number {
  const pids = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry) && isFor(name, entry));
  return pids.reduce((sum, pid) => sum + cpuOf(Number(pid)), 0);
}

function isFor(name: string, pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(` ${name} `);
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return false; // it has ended
    throw error;
  }
}
