/**
 * Days of UTC, by which usage and budgets of tokens are counted.
 *
 * @module
 */

/** A day, in milliseconds. */
export const dayMs: number = 24 * 3600 * 1000;

/** The day of a moment, `YYYY-MM-DD` in UTC. */
export function dayOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 10);
}
