/**
 * What people and models wrote, for a terminal: characters that would control it, or turn the direction of the text around
 * them, are shown instead of obeyed.
 *
 * @module
 */

const controls = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

/** A text on one line: `\u001b` stands for the character, as in JSON. */
export function visibleLine(text: string): string {
  return text.replace(controls, escapeOf);
}

/** A text with its line ends and tabs. */
export function visible(text: string): string {
  return text.replace(controls, (character) => (/[\n\t]/.test(character) ? character : escapeOf(character)));
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
