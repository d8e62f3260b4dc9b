/**
 * Finds a page of an owner's twins, and counts them, in an index alone: no row is read that is not on the page. The one before
 * did not have the version, which says that a twin is not deleted.
 *
 * @module
 */

import type { Step } from "./step.ts";

export const ownTwinsInOrder: Step = {
  earlierProcesses: "go on", // their lists are read by this one, too
  statements: () => [
    "CREATE INDEX own_twins_in_order ON own_twins (owner, name, id, version) WHERE version IS NOT NULL",
    "DROP INDEX own_twins_by_name",
  ],
};
