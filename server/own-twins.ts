/**
 * What owners may choose in twins that they make over HTTP.
 *
 * @module
 */

import { getHeapStatistics } from "node:v8";
import { defaultTwinBytes, type OwnTwinsOptions } from "../core/twins/own-twins.ts";
import { loadedReader, type TwinReader } from "../core/twins/reader.ts";
import type { Engines } from "./engines.ts";
import { runtime } from "./process.ts";
import type { Settings } from "./settings.ts";
import type { OwnerToolProblem } from "./tools.ts";

/** The options of a service whose owners make twins. */
export function ownTwinsOf(
  { maxTwins, modelBaseUrl, modelName, modelChoices }: Settings,
  engines: Engines,
  toolProblem: OwnerToolProblem,
): OwnTwinsOptions {
  const models = modelName === undefined ? modelChoices : [modelName, ...modelChoices];
  return {
    maxTwins,
    models: modelBaseUrl === undefined ? [] : models,
    toolProblem,
    defaultEngine: engines.openai ? "openai" : "knowledge",
    reader: loadedReader(openReader),
    mostBytes: shareOfHeap(),
  };
}

/** A third of the heap, in bytes: while a large index is kept, another takes twice as much until it is made. */
function shareOfHeap(): number {
  return runtime === "node" ? Math.floor(getHeapStatistics().heap_size_limit / 3) : defaultTwinBytes; // others' heaps grow
}

/** What reads and judges twins: a start does not wait for it. */
async function openReader(): Promise<TwinReader> {
  return (await import("../adapters/twin-files/mod.ts")).createTwinReader();
}
