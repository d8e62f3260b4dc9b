/**
 * Goals: what the figures should be.
 *
 * @module
 */

import type { Row } from "./tables.ts";

/** A goal of one row of a table. */
export interface Goal {
  readonly text: string;
  met(row: Row): boolean;
}

/** The first contender's figure must be at most this multiple of the row's. */
export function timesAtMost(times: number): Goal {
  return { text: `≤ ${times} ×`, met: ({ ratio = Number.POSITIVE_INFINITY }) => ratio <= times };
}

/** The row's own figure must be at most this. */
export function atMost(value: number, unit: string): Goal {
  return { text: `≤ ${value} ${unit}`, met: ({ median }) => median <= value };
}

/** A figure in one of the row's additional columns must be at most this. */
export function columnAtMost(heading: string, value: number): Goal {
  return { text: `${heading} ≤ ${value}`, met: ({ more }) => (more[heading] ?? Number.NaN) <= value };
}

/** The row with its goal, and whether it is met. */
export function withGoal(row: Row, goal: Goal | undefined): Row {
  return goal ? { ...row, goal: goal.text, met: goal.met(row) } : row;
}
