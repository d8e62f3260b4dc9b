/**
 * The fourth scenario: one short answer, behind a key, a limit and a schema, beside frameworks with plugins for these.
 *
 * @module
 */

import { compare, type Entry } from "../burst/compare.ts";
import type { Contender } from "../contenders/contender.ts";
import { createKey, twinService } from "../contenders/twin-service/contender.ts";
import type { Effort, Stage } from "../live/session.ts";
import { timesAtMost } from "../report/goals.ts";
import { loadNotes } from "../report/notes.ts";
import type { Part } from "../report/tables.ts";
import { peersKey, requestsPerHour } from "./twins.ts";

/** Compares contenders. */
export async function list(
  contenders: readonly Contender[],
  { load }: Stage,
  effort: Effort,
): Promise<Part[]> {
  const rows = await compare(contenders.map(entryOf), load, effort, "cost");
  return [{ unit: "CPU µs a request", rows, notes: loadNotes(rows) }];
}

function entryOf(contender: Contender): Entry {
  const isPeer = contender !== twinService;
  return {
    contender,
    async request(url) {
      const key = isPeer ? peersKey : await createKey(url, requestsPerHour);
      return { method: "GET", path: "/api/v1/twins", headers: { Authorization: `Bearer ${key}` } };
    },
    kind: "list",
    ...(isPeer && { goal: timesAtMost(1) }),
  };
}
