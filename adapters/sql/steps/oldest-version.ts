/**
 * Lets a PostgreSQL database say which programs can use it, so that one of an earlier version starts on newer tables, as
 * in a rolling upgrade, unless a step excludes it. A SQLite file has one process, which is the newest.
 *
 * @module
 */

import type { Step } from "./step.ts";

export const oldestVersion: Step = {
  earlierProcesses: "go on",
  statements: ({ name }) =>
    name === "postgres" ? ["ALTER TABLE schema_version ADD COLUMN oldest INTEGER"] : [],
};
