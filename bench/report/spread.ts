/**
 * Medians and percentiles.
 *
 * @module
 */

/** The median of some values, and their extremes. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  const high = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? high : ((sorted[middle - 1] ?? 0) + high) / 2;
}

/** Median, lowest and highest. */
export function spread(values: readonly number[]): Spread {
  return { median: median(values), low: Math.min(...values), high: Math.max(...values) };
}

/** The value below which the given share of all values lies; 0 if there are no values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** The items, in reverse order in every second round. */
export function inTurn<Item>(items: readonly Item[], round: number): readonly Item[] {
  return round % 2 === 0 ? items : items.toReversed();
}
