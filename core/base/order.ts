/**
 * The order of texts.
 *
 * @module
 */

/**
 * Compares texts by code point, as UTF-8 bytes sort. JavaScript's < compares UTF-16 units, which differs beyond U+FFFF.
 */
export function compareTexts(one: string, other: string): number {
  if (one === other) return 0;
  const [left, right] = [[...one], [...other]];
  const at = left.findIndex((character, index) => character !== right[index]);
  if (at === -1) return -1; // `one` is the beginning of `other`
  return (left[at]?.codePointAt(0) ?? 0) - (right[at]?.codePointAt(0) ?? -1);
}
