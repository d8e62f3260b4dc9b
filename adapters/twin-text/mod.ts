/**
 * What reads and judges the text of a twin, wherever it is kept: in a folder, or in the store.
 *
 * @module
 */

export {
  idRule,
  largestTwinFile,
  readTwinFile,
  TwinFaults,
  type TwinFile,
  type TwinFileOptions,
  tooLarge,
  usualEngines,
} from "./file.ts";
export { type AskedQuestion, askQuestion } from "./questions.ts";
export { createTwinReader, type TwinReaderOptions } from "./reader.ts";
export { textFaults } from "./text-faults.ts";
