/**
 * The folder of twin files that the server serves.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { codeOf } from "../adapters/system.ts";
import { openTwinFiles, type TwinFiles } from "../adapters/twin-files/mod.ts";
import type { Log } from "../core/base/log.ts";
import type { Engines } from "./engines.ts";
import { ConfigError, nameOf, type Settings } from "./settings.ts";
import type { ToolProblem } from "./tools.ts";

/** Opens a folder of twin files. Rejects with a one-line error if it cannot be used. */
export async function openTwins(
  twinsDir: string,
  engines: Engines,
  log: Log,
  toolProblem: ToolProblem,
): Promise<TwinFiles> {
  const defaultEngine = engines.openai ? "openai" : "knowledge";
  const options = { defaultEngine, engines, log, toolProblem };
  return openTwinFiles(twinsDir, options).catch(blameTwinsDir(twinsDir));
}

/** Explains a folder of twin files that cannot be read. */
export function blameTwinsDir(twinsDir: string): (error: unknown) => never {
  return (error) => {
    if (codeOf(error) === undefined) throw error; // already a one-line error about a twin file
    const problem = `the folder ${twinsDir} cannot be read (${codeOf(error)})`;
    const accepted = "choose a folder of Markdown files that this process can read";
    throw new ConfigError(`${nameOf("twinsDir")}: ${problem}; ${accepted}.`, { cause: error });
  };
}

/** The folder of the settings; else `./twins`, or the samples if that folder does not exist. */
export function findTwins({ twinsDir }: Settings, samples: string): string {
  if (twinsDir !== undefined) return twinsDir;
  const own = "./twins";
  return existsSync(own) || !existsSync(samples) ? own : samples;
}

/** Says so if the sample twins are served, as no setting asks for them. */
export function warnOfSamples({ twinsDir }: Settings, folder: string, log: Log): void {
  if (twinsDir !== undefined || folder === "./twins") return;
  log("warn", "there is no folder ./twins, so the sample twins are served", { folder });
}
