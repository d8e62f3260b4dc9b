/**
 * Blanks around a header field's value.
 *
 * @module
 */

/**
 * A text without the spaces and tabs at its ends: what HTTP calls optional white space (RFC 9110 section 5.6.3).
 * `trim` would also take NBSP and its like, and so accept a key that was never issued; a regular expression that looks
 * for blanks before the end would try each of the 32,000 that a header section may hold.
 */
export function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text, start)) start++;
  while (end > start && isBlank(text, end - 1)) end--;
  return text.slice(start, end);
}

function isBlank(text: string, index: number): boolean {
  return text[index] === " " || text[index] === "\t";
}
