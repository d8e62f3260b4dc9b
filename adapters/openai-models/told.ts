/**
 * Messages as a model is told them.
 *
 * @module
 */

/** A message as a model is told it. */
export interface Told {
  readonly role: string;
  readonly content: string;
}

/** Messages of one role in a row as one message, because some chat templates accept only users and assistants in turn. */
export function inTurn(messages: readonly Told[]) {
  const told: { role: string; content: string }[] = [];
  for (const { role, content } of messages) {
    const last = told.at(-1);
    if (last?.role === role) last.content += `\n\n${content}`;
    else told.push({ role, content });
  }
  return told;
}
