/**
 * What a model sees of a conversation before a question.
 *
 * @module
 */

import type { MessageRecord, SeenMessage } from "./messages.ts";
import { upTo } from "./slices.ts";

/** A message as a history has it. `told`: what is told in its place; null: its own text. */
export function seenMessage(
  { role, content, alone }: Pick<MessageRecord, "role" | "content" | "alone">,
  told: string | null,
): SeenMessage {
  const message = { role, content: told ?? content };
  return alone && role === "user" ? { ...message, isUnjudged: true } : message;
}

/**
 * How many of a conversation's last questions a model sees of so many with replies that did not fail: from a multiple of 25
 * on, so that what it is told begins alike 25 times in a row, and its cache serves.
 */
export function questionsSeen(answered: number): number {
  return answered < 50 ? answered : 25 + (answered % 25);
}

/** The last questions of a history that a model sees, with what follows them. */
export function windowOf<Message extends object>(history: readonly Message[]): readonly Message[] {
  let before = history.reduce((count, message) => count + Number(isQuestion(message)), 0);
  before -= questionsSeen(before);
  if (before === 0) return history; // also what was said before the first question
  return history.slice(history.findIndex((message) => isQuestion(message) && before-- === 0));
}

function isQuestion(message: object): boolean {
  return "role" in message && message.role === "user";
}

/**
 * The messages of a path, oldest first, without those of exchanges whose reply failed, or runs, and those of which nothing is
 * told. `told`: what is told in a question's place; null: the question.
 */
export function withoutFailed<
  Message extends Pick<MessageRecord, "role" | "status" | "alone"> & { readonly told: string | null },
>(path: readonly Message[]): readonly Message[] {
  return path.filter((message, index) => {
    const { alone, role } = message;
    const isQuestion = !alone && role === "user";
    const { status } = (isQuestion ? path[index + 1] : message) ?? {};
    const question = alone || isQuestion ? message : path[index - 1];
    return (status === "completed" || status === "cancelled") && question?.told !== "";
  });
}

/**
 * Decides the history that a model sees, oldest first: the window of {@link questionsSeen}, and no more characters than that.
 * The in-memory store and `ConversationCache` ask this; SQL reads by the same rules (`readHistory` in
 * `adapters/sql/messages.ts`). Failed replies are left out before that, and questions whose reply has no words after it
 * (`ConversationCache`).
 */
export function historySeen<Message extends { readonly role: string; readonly content: string }>(
  history: readonly Message[],
  characters: number,
): readonly Message[] {
  const seen = windowOf(history);
  const { length } = upTo([...seen].reverse(), characters);
  if (length === seen.length) return seen;
  const newest = seen.slice(-length);
  const first = newest.findIndex(isQuestion); // no reply without its question
  return first === -1 ? [] : newest.slice(first);
}
