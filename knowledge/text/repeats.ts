/**
 * What is said in several places of a text although it is written once: a few bytes could repeat a long text as often as they
 * like.
 *
 * @module
 */

/** What may still be repeated, in UTF-16 code units. */
export interface Repeats {
  left: number;
}

const leastRoom = 1024 * 1024;

/** A text may become twice as long. */
export function roomForRepeats({ length }: { readonly length: number }): Repeats {
  return { left: Math.max(leastRoom, length) };
}

/** Whether a text may be repeated once more: it takes room then. */
export function repeat(repeats: Repeats, { length }: string): boolean {
  const fits = length <= repeats.left;
  if (fits) repeats.left -= length;
  return fits;
}
