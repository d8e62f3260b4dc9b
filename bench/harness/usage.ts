/**
 * What a server uses, as Linux accounts for it: the CPU time and the memory of a process and of all its children.
 *
 * @module
 */

import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";

/** A process and its descendants, while they run. */
export function processTree(pid: number): number[] {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ").filter(Boolean).map(Number),
    );
    return [pid, ...children.flatMap(processTree)];
  } catch (error) {
    if (hasEnded(error)) return [];
    throw error;
  }
}

/** The CPU time of a process and its descendants, with all their threads that still run, in microseconds. */
export function cpuOf(pid: number): number {
  return sum(processTree(pid), (each) =>
    sum(readdirSync(`/proc/${each}/task`).map(Number), (thread) => {
      const [nanoseconds = "0"] = readFileSync(`/proc/${each}/task/${thread}/schedstat`, "utf8").split(" ");
      return Number(nanoseconds) / 1000;
    }),
  );
}

/** The memory that a process and its descendants occupy, in bytes. */
export function memoryOf(pid: number): number {
  return sum(processTree(pid), (each) => {
    const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${each}/status`, "utf8"))?.[1];
    return Number(resident ?? 0) * 1024;
  });
}

const collectBit = 1n << 11n; // SIGUSR2 is signal 12

/** Has those processes of a tree collect their garbage that were started with `collect.mjs`. */
export function collectGarbage(pid: number): void {
  for (const each of processTree(pid)) {
    const caught = /^SigCgt:\s+(\w+)$/m.exec(readFileSync(`/proc/${each}/status`, "utf8"))?.[1] ?? "0";
    if (BigInt(`0x${caught}`) & collectBit) process.kill(each, "SIGUSR2");
  }
}

/** The sum of a figure of processes or threads, some of which may have ended in the meantime. */
function sum(ids: readonly number[], figure: (id: number) => number): number {
  return ids.reduce((total, id) => {
    try {
      return total + figure(id);
    } catch (error) {
      if (hasEnded(error)) return total;
      throw error;
    }
  }, 0);
}

/** Whether an error of /proc says that a process has ended in the meantime. */
function hasEnded(error: unknown): boolean {
  return ["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "");
}
