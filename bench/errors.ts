/**
 * What is told of an error.
 *
 * @module
 */

/** Its message. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The first sentence of its message: Node's `parseArgs` goes on with what is of no use here. */
export function firstSentenceOf(error: unknown): string {
  const [sentence = ""] = messageOf(error).split(/\.\s/);
  return sentence.endsWith(".") ? sentence : `${sentence}.`;
}
