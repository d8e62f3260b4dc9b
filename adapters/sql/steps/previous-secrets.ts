/**
 * Lets a key have two secrets for a while: the one before its last rotation works until a moment. Earlier processes refuse it,
 * and client tokens of a key that was rotated since they were made.
 *
 * @module
 */

import type { Step } from "./step.ts";

export const previousSecrets: Step = {
  earlierProcesses: "must end",
  statements: ({ text }) => [
    `ALTER TABLE api_keys ADD COLUMN previous_hash ${text}`,
    "ALTER TABLE api_keys ADD COLUMN previous_until BIGINT",
    // An owner has few keys that are live, so that this table is small.
    `CREATE UNIQUE INDEX api_keys_by_previous ON api_keys (previous_hash)
      WHERE previous_hash IS NOT NULL`,
  ],
};
