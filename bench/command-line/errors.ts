/**
 * What is printed about an error.
 *
 * @module
 */

/** The error's message. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The first sentence of its message: what Node's `parseArgs` adds to that is of no use here. */
export function firstSentenceOf(error: unknown): string {
  const [sentence = ""] = messageOf(error).split(/\.\s/);
  return sentence.endsWith(".") ? sentence : `${sentence}.`;
}
