/**
 * Full garbage collections, for tests of what stays in memory. They are V8's, so not for Bun.
 */

import { memoryUsage } from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { runtime } from "./runtime.ts";

/** Why tests that collect garbage are left out here, or false. */
export const skipOffV8 = runtime === "bun" && "it needs a flag of V8, which Bun does not run";

/** Collects everything unreachable, including what becomes so only through earlier rounds. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const gc: () => void = runInNewContext("gc");
  for (let round = 0; round < 5; round++) {
    gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The bytes of the JavaScript heap that are still reachable. */
export async function heapInUse(): Promise<number> {
  await collectGarbage();
  return memoryUsage().heapUsed;
}
