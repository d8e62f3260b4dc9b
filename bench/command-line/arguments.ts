/**
 * Numbers on the command line.
 *
 * @module
 */

/** Reads a number. `name` is what the user calls it. */
export function atLeast(least: number, text: string, name: string): number {
  const value = Number(text);
  if (value >= least && Number.isFinite(value)) return value;
  throw new Error(`${name} must be a number of at least ${least}, not ${text}.`);
}

/** As {@link atLeast}, for whole numbers. */
export function wholeAtLeast(least: number, text: string, name: string): number {
  const value = Number(text);
  if (value >= least && Number.isSafeInteger(value)) return value;
  throw new Error(`${name} must be a whole number of at least ${least}, not ${text}.`);
}
