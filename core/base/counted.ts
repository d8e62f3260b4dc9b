/**
 * Numbers of things in sentences.
 *
 * @module
 */

/** A number with the noun that it counts: `1 day`, `2 days`. */
export function counted(number: number, noun: string, plural: string = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : plural}`;
}
