/**
 * What every server of `burst` answers.
 *
 * @module
 */

const words = [
  "The",
  " sea",
  " takes",
  " what",
  " it",
  " wants",
  ",",
  " and",
  " gives",
  " back",
  " a",
  " shell",
  ".",
];

/** One reply: 256 tokens, about as long as a model's. */
export const tokens: readonly string[] = Array.from(
  { length: 256 },
  (_, index) => words[index % words.length] ?? "",
);

/** One token as an event. */
export function deltaEvent(token: string): string {
  return `data: ${JSON.stringify({ type: "delta", content: token })}\n\n`;
}
