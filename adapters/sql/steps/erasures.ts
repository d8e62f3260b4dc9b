/**
 * Keeps who was erased for a day, by a digest, so that a reply of theirs that is not stored, and ends in another process
 * after that, counts under nobody's name.
 *
 * @module
 */

import type { Step } from "./step.ts";

export const erasures: Step = {
  earlierProcesses: "go on",
  statements: ({ text, keyed }) => [
    `CREATE TABLE erasures (
      person ${text} NOT NULL PRIMARY KEY,
      at BIGINT NOT NULL
    ) ${keyed}`,
    "CREATE INDEX erasures_by_age ON erasures (at)",
  ],
};
