/**
 * Where kept databases are, and by what a step is known.
 */

import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { postgresDialect, schemaVersion, sqliteDialect, steps } from "../../adapters/sql/schema.ts";

/** The folder of the kept databases of a version. */
export function keptFolder(version: number): string {
  return fileURLToPath(new URL(`../../test/upgrades/kept/${version}`, import.meta.url));
}

/** The version of the first step. */
export const firstVersion: number = schemaVersion - steps.length + 1;

/** A digest of all that the step to a version says and runs. */
export function digestOf(version: number): string {
  const step = steps[version - firstVersion];
  const statements = [sqliteDialect, postgresDialect].map((dialect) => [
    ...(step?.statements(dialect) ?? []),
  ]);
  return createHash("sha256")
    .update(JSON.stringify([step?.earlierProcesses, statements]))
    .digest("hex");
}
