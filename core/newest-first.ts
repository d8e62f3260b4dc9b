/**
 * Lists that are stored oldest first and read newest first: a new entry is appended to the array, and a page is a slice
 * of it, however long the list is.
 *
 * @module
 */

import type { Listing, Slice } from "./store.ts";

/** An entry whose record does not change its id or age. */
export interface Aged {
  readonly record: { readonly id: string; readonly createdAt: number };
}

/** Whether `a` is listed after `b`: created earlier, or at the same time with a smaller id. */
function isOlder(a: Aged, b: Aged): boolean {
  if (a.record.createdAt !== b.record.createdAt) return a.record.createdAt < b.record.createdAt;
  return a.record.id < b.record.id;
}

/** Where `entry` is, or belongs, in a list kept oldest first. Tries the end first, where new entries belong. */
function placeByAge<Entry extends Aged>(list: readonly Entry[], entry: Entry): number {
  let [low, high] = [0, list.length];
  let middle = high - 1;
  while (low < high) {
    const probe = list[middle];
    if (probe && isOlder(probe, entry)) low = middle + 1;
    else high = middle;
    middle = (low + high) >>> 1;
  }
  return low;
}

/** Puts an entry into its place in a list kept oldest first. */
export function insertByAge<Entry extends Aged>(list: Entry[], entry: Entry): void {
  list.splice(placeByAge(list, entry), 0, entry);
}

/** Takes an entry out of a list kept oldest first. It must be in there. */
export function removeByAge<Entry extends Aged>(list: Entry[], entry: Entry): void {
  list.splice(placeByAge(list, entry), 1);
}

/** A page, newest first, of a list kept oldest first. */
export function newestFirst<Item>(
  list: readonly { record: Item }[],
  { offset, limit }: Slice,
): Listing<Item> {
  const end = Math.max(0, list.length - offset);
  const page = list.slice(Math.max(0, end - limit), end);
  return { items: page.map(({ record }) => record).reverse(), total: list.length };
}
