/**
 * Lets a model be told something else in a question's place, or neither the question nor its reply, as a guard decides.
 *
 * @module
 */

import type { Step } from "./step.ts";

export const questionsTold: Step = {
  earlierProcesses: "go on", // they ask without a guard anyway
  statements: ({ text }) => [
    // Empty: neither the question nor its reply. What the person wrote stays what is shown.
    `ALTER TABLE messages ADD COLUMN told ${text}`,
    // Most conversations have none, and are read without looking for it.
    "ALTER TABLE conversations ADD COLUMN has_told SMALLINT NOT NULL DEFAULT 0",
  ],
};
