/**
 * What is measured of live streams, and what was found.
 *
 * @module
 */

import { median } from "../report/spread.ts";
import { type Bounds, limitMs } from "./capacity.ts";
import type { FirstTokens } from "./first-token.ts";
import type { Session, Stretch } from "./session.ts";

/** So many streams, each with so many tokens a second. */
export interface Cell {
  readonly streams: number;
  readonly perSecond: number;
}

/** What was found about one contender. */
export interface Findings {
  readonly session: Session;
  readonly cells: Map<Cell, Stretch[]>;
  first?: FirstTokens;
  /** Memory of the server with its first streams, in bytes. */
  memoryBefore?: number;
  /** Memory of one silent stream with its connection to the model, in bytes. */
  perStream?: number;
  capacity?: Bounds;
  /** Why it takes no further part. */
  failure?: string;
}

/** Tokens a second of a model as people usually meet it, and of a fast one. */
export const slow = 20;
const fast = 80;

/** In the order in which they are measured. */
export const cells: readonly Cell[] = [200, 1000, 2000].flatMap((streams) =>
  [slow, fast].map((perSecond) => ({ streams, perSecond })),
);

/** Whether a contender is measured with so many streams: it may have fallen behind already, or take fewer. */
export function takesPart(findings: Findings, cell: Cell): boolean {
  const { mostStreams = cell.streams } = findings.session.contender;
  return cell.streams <= mostStreams && !fellBehind(findings, cell);
}

/** Whether a contender did not keep up with as many or fewer streams, at this or a lower rate. */
function fellBehind({ cells }: Findings, { streams, perSecond }: Cell): boolean {
  return [...cells].some(
    ([cell, stretches]) =>
      cell.streams <= streams &&
      cell.perSecond <= perSecond &&
      (cell.streams < streams || cell.perSecond < perSecond) &&
      stretches.length > 0 &&
      delayOf(stretches) > limitMs,
  );
}

/** The 99th percentile of the delay: the median of the rounds. */
export function delayOf(stretches: readonly Stretch[]): number {
  return median(stretches.map(({ delayP99 }) => delayP99));
}

/** Between which numbers of streams the capacity lies, as far as the cells tell. */
export function knownBounds({ cells }: Findings): Bounds {
  const tried = [...cells].filter(([cell, stretches]) => cell.perSecond === slow && stretches.length > 0);
  const streamsWhere = (carried: boolean) =>
    tried.filter(([, stretches]) => delayOf(stretches) <= limitMs === carried).map(([cell]) => cell.streams);
  return { carried: Math.max(0, ...streamsWhere(true)), tooMany: Math.min(...streamsWhere(false)) };
}
