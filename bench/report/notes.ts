/**
 * What a table's figures alone do not say: where they may be the load generator's limit.
 *
 * @module
 */

import { headings, type Row } from "./tables.ts";

/** From this share of a core, in percent, and this lateness of timers, in milliseconds, a note mentions them. */
const busy = 90;
const late = 10;

/** A load generator of this share of a core, busier than the server, may be the limit, too. */
const nearlyBusy = 75;

/** Says which figures may be the load generator's limit, and which are those of a full core. */
export function loadNotes(rows: readonly Row[]): string[] {
  const notes: string[] = [];
  const note = (what: string, named: readonly Row[], meaning: string) => {
    if (named.length > 0) notes.push(`${what} with: ${named.map(({ name }) => name).join("; ")}. ${meaning}`);
  };
  const limited = rows.filter(
    ({ more: { [headings.loadCpu]: load = 0, [headings.serverCpu]: server = 0 } }) =>
      load >= busy || (load >= nearlyBusy && load > server),
  );
  note("The load generator used up its core, or nearly,", limited, "Their figures may be its limit.");
  const open = rows.filter(({ more }) => headings.lag in more); // offered tokens at a fixed rate
  const lagging = open.filter(({ more }) => (more[headings.lag] ?? 0) >= late);
  note("The load generator was late itself", lagging, "Their delays include that.");
  const full = open.filter(({ more }) => (more[headings.serverCpu] ?? 0) >= busy);
  note(
    "The server used up its core",
    full,
    "It falls behind and combines more tokens into each write, so a token costs less than its share; delays are those of a queue.",
  );
  return notes;
}
