/**
 * The figures of a visit, as text.
 *
 * @module
 */

import { median, percentile } from "../report/spread.ts";
import type { VisitOptions } from "./options.ts";

/** From this share of a core on, the visitor itself may be what is measured. */
const busy = 0.7;

/** What was measured so far. Times in milliseconds. */
export interface Seen {
  readonly firstTokens: number[];
  readonly gaps: number[];
  replies: number;
  characters: number;
  /** Whether the key's limit was used up before the time was. */
  limitReached: boolean;
}

/** How a visit ended. */
export interface End {
  /** How long it took, in seconds. */
  readonly seconds: number;
  /** The CPU time that the visitor itself took, as a share of a core. */
  readonly load: number;
  /** Why it ended early. */
  readonly early: string | undefined;
  /** What it could not delete, and why. */
  readonly left: string | undefined;
}

/** The figures so far, in one line. */
export function summary({ replies, firstTokens }: Seen, seconds: number): string {
  const first = firstTokens.length > 0 ? `, first token p50 ${median(firstTokens).toFixed(1)} ms` : "";
  return `${seconds.toFixed(0)} s: ${replies} replies${first}`;
}

const busyNote = ": the figures may be its limit, so ask for fewer --streams";

/** All figures, one a line. */
export function report(seen: Seen, end: End, twin: string, { streams }: VisitOptions): string {
  const { seconds, load, early, left } = end;
  const rows: [string, string][] = [
    ["twin, streams at once", `${twin}, ${streams}`],
    ["replies, all checked", String(seen.replies)],
    ["replies a second", (seen.replies / seconds).toFixed(1)],
    ["characters a second", (seen.characters / seconds).toFixed(0)],
    [`time to first token, ${quantileNames(seen.firstTokens)}`, quantiles(seen.firstTokens)],
    [`gap between deltas, ${quantileNames(seen.gaps)}`, quantiles(seen.gaps)],
    ["CPU of the benchmark itself", `${Math.round(load * 100)} % of a core${load > busy ? busyNote : ""}`],
  ];
  if (early) rows.push(["ended early", `after ${seconds.toFixed(0)} s: ${early}`]);
  if (left) rows.push(["left behind", left]);
  return rows.map(([name, value]) => `${name.padEnd(32)} ${value}`).join("\n");
}

/** Below a hundred values, the 99th percentile is the highest of them. */
function quantileNames(values: readonly number[]): string {
  return `p50 / ${values.length < 100 ? "highest" : "p99"}`;
}

function quantiles(values: readonly number[]): string {
  if (values.length === 0) return "none";
  return `${median(values).toFixed(1)} / ${percentile(values, 0.99).toFixed(1)} ms`;
}
