/**
 * The branches of a conversation, of which one is its current path.
 *
 * @module
 */

import type { Message } from "../../client/mod.ts";

/** The messages on the path to its last one, oldest first. */
export function pathTo(messages: readonly Message[], lastMessageId: string | null): Message[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const path: Message[] = [];
  for (let at = byId.get(lastMessageId ?? ""); at; at = byId.get(at.after ?? "")) path.push(at);
  return path.reverse();
}

/** What was asked in a question's place, the question itself included, oldest first. */
export function versionsOf(messages: readonly Message[], question: Message): Message[] {
  return messages.filter(({ role, after }) => role === "user" && after === question.after);
}

/** The end of the newest path that a question is on. */
export function endOf(messages: readonly Message[], question: Message): string {
  let last = question;
  for (let next: Message | undefined = question; next; ) {
    last = next;
    next = messages.findLast(({ after }) => after === last.id);
  }
  return last.id;
}
