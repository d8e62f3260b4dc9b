/**
 * What a commit's wait for the disk costs on this machine: that much of each durable answer is due to the disk.
 *
 * @module
 */

import { closeSync, fdatasyncSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { percentile } from "../report/spread.ts";

/** How long it takes to write 4 KB and wait until they are on disk, in milliseconds. */
export interface DiskWait {
  readonly p50: number;
  readonly p99: number;
}

/** Writes and waits a hundred times, in a folder that is created if necessary. */
export function measureDisk(folder: string): DiskWait {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "wait");
  const file = openSync(path, "w");
  const page = Buffer.alloc(4096, 1);
  const times: number[] = [];
  for (let write = 0; write < 100; write++) {
    const before = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    times.push(performance.now() - before);
  }
  closeSync(file);
  rmSync(path);
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
}
