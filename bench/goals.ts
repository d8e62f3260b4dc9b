/**
 * What figures should be.
 *
 * @module
 */

import type { Row } from "./measure.ts";

/** A goal of one row of a table. */
export interface Goal {
  readonly text: string;
  met(row: Row): boolean;
}

/** The first contender's figure, as a multiple of this row's. */
export function timesAtLeast(times: number): Goal {
  return { text: `≥ ${times} ×`, met: ({ ratio = 0 }) => ratio >= times };
}

/** The first contender's figure, as a multiple of this row's. */
export function timesAtMost(times: number): Goal {
  return { text: `≤ ${times} ×`, met: ({ ratio = Number.POSITIVE_INFINITY }) => ratio <= times };
}

/** The row's own figure. */
export function atMost(value: number, unit: string): Goal {
  return { text: `≤ ${value} ${unit}`, met: ({ median }) => median <= value };
}

/** A figure of the row's further columns. */
export function columnAtMost(heading: string, value: number): Goal {
  return { text: `${heading} ≤ ${value}`, met: ({ more }) => (more[heading] ?? 0) <= value };
}

/** A cost that is no more than a third above the first row's, however much there is of what differs. */
export const flat: Goal = { text: "flat: ≥ 0.75 ×", met: ({ ratio = 0 }) => ratio >= 0.75 };

/** The row with its goal, and whether it is met. */
export function withGoal(row: Row, goal: Goal | undefined): Row {
  return goal ? { ...row, goal: goal.text, met: goal.met(row) } : row;
}
