/**
 * Checks twin files and their golden questions.
 *
 * @module
 */

import process from "node:process";
import { checkTwins } from "../../adapters/twin-files/mod.ts";
import { visibleLine } from "../../core/base/visible.ts";
import type { CommandConfig } from "../command-line.ts";
import { openLog } from "../log.ts";
import { judgeByServers, readMcpServers } from "../tools.ts";
import { blameTwinsDir, findTwins, warnOfSamples } from "../twins.ts";

/** Prints what is wrong, and has the process exit with 1 then. */
export async function check({ settings }: CommandConfig<"check">, samples: string): Promise<void> {
  const twinsDir = findTwins(settings, samples);
  warnOfSamples(settings, twinsDir, openLog(settings));
  const toolProblem = judgeByServers(await readMcpServers(settings));
  const engines = settings.modelBaseUrl === undefined ? ["knowledge", "echo"] : undefined;
  const { lines, passed } = await checkTwins(twinsDir, { toolProblem, engines }).catch(
    blameTwinsDir(twinsDir),
  );
  process.stdout.write(lines.map((line) => `${visibleLine(line)}\n`).join(""));
  if (!passed) process.exitCode = 1;
}
