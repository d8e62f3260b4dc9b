/**
 * What is not read as it looks in a twin's text.
 *
 * @module
 */

import type { TwinFault } from "../../core/twins/reader.ts";
import type { Twin } from "../../core/twins/twins.ts";

/** What is not read as it looks in a twin's instructions, which begin on that line of its file. */
export async function textFaults(
  { name, instructions }: Pick<Twin, "name" | "instructions">,
  instructionsLine: number,
): Promise<TwinFault[]> {
  // Loaded here, because a folder is opened without it.
  const { readInstructionsInTurns } = await import("../../knowledge/text/sections.ts");
  const { warnings } = await readInstructionsInTurns(name, instructions);
  return warnings.map(({ line, message }) => ({
    path: "body",
    line: instructionsLine + line - 1,
    message,
  }));
}
