/**
 * Full garbage collections, for tests of what is kept. V8's, so not on Bun.
 */

import { memoryUsage } from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { runtime } from "./runtime.ts";

/** Why tests that collect garbage are left out here, or false. */
export const skipOffV8 = runtime === "bun" && "Bun runs no V8, whose switch this takes";

/** Collects all that nobody reaches any more, also what turns up when others have let go of it. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const gc: () => void = runInNewContext("gc");
  for (let round = 0; round < 5; round++) {
    gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The bytes of the JavaScript heap that somebody still reaches. */
export async function heapInUse(): Promise<number> {
  await collectGarbage();
  return memoryUsage().heapUsed;
}
