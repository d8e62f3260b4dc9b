/**
 * What to call a conversation by the words that it begins with.
 *
 * @module
 */

/** How many characters of a text stand for it. */
const length = 60;

/** A text's first words, in one line: whole characters, as half of one is no text. */
export function firstWords(text: string): string {
  const line = text.trim().replace(/\s+/g, " ");
  return [...line.slice(0, 2 * length)].slice(0, length).join("");
}
