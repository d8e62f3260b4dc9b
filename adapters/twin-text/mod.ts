/**
 * What reads and judges the text of a twin, wherever it is kept: in a folder, or in the store.
 *
 * @module
 */

import type { TwinFault } from "../../core/twins/reader.ts";
import type { Twin } from "../../core/twins/twins.ts";

export {
  idRule,
  largestTwinFile,
  readTwinFile,
  TwinFaults,
  type TwinFile,
  type TwinFileOptions,
  tooLarge,
} from "./file.ts";
export { type AskedQuestion, askQuestion } from "./questions.ts";

/** What is not read as it looks in a twin's instructions, which begin on that line of its file. */
export async function textFaults(
  { name, instructions }: Pick<Twin, "name" | "instructions">,
  instructionsLine: number,
): Promise<TwinFault[]> {
  // Loaded here, because a folder is opened without it.
  const { readInstructions } = await import("../../knowledge/mod.ts");
  return readInstructions(name, instructions).warnings.map(({ line, message }) => ({
    path: "body",
    line: instructionsLine + line - 1,
    message,
  }));
}
