/**
 * White space around a header field's value.
 *
 * @module
 */

/**
 * A text without leading and trailing spaces and tabs, HTTP's optional white space (RFC 9110 section 5.6.3). `trim`
 * would also remove NBSP and the like, and so accept a key that was never issued; a regular expression for trailing
 * white space would retry at each of the 32,000 spaces that a header section may have.
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
