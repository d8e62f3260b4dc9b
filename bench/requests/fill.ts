/**
 * Fills a store with records before it is measured, through the store's own methods.
 *
 * @module
 */

import type { ConversationRecord, MessageRecord } from "../../core/store/records.ts";
import type { Store } from "../../core/store/store.ts";

/** When the first record was created. */
export const start: number = Date.UTC(2026, 0, 1);

const empty = { endUser: null, title: null, replyId: null, messageCount: 0, lastMessageAt: null };

/** A conversation without messages. */
export function conversationRecord(
  fields: Pick<ConversationRecord, "id" | "owner"> & Partial<ConversationRecord>,
): ConversationRecord {
  const createdAt = fields.createdAt ?? start;
  return { twinId: "twin-10", ...empty, createdAt, updatedAt: createdAt, ...fields };
}

const text = "What a twin says in a paragraph of ordinary length. ".repeat(12);

/** A conversation to fill. */
export interface Conversation {
  readonly owner: string;
  readonly id: string;
}

/** How many questions share a transaction. */
const perTurn = 500;

/** Fills an empty conversation with questions and replies; every fifth reply has failed. */
export async function converse(store: Store, conversation: Conversation, questions: number): Promise<void> {
  for (let first = 0; first < questions; first += perTurn) {
    const some = Math.min(perTurn, questions - first);
    await Promise.all(Array.from({ length: some }, (_, index) => ask(store, conversation, first + index)));
  }
}

/** Begins a reply and ends it without waiting in between: a store works in the order in which it is called. */
async function ask(store: Store, { owner, id }: Conversation, index: number): Promise<void> {
  const prefix = `msg_${id.slice(-12)}${index.toString(36).padStart(8, "0")}`;
  const question = message(`${prefix}q`, id, { content: "And then?", role: "user" });
  const reply = message(`${prefix}r`, id, {
    status: "in_progress",
    completedAt: null,
    inReplyTo: question.id,
  });
  const status = index % 5 === 0 ? "failed" : "completed";
  const end = { status, finishReason: "stop", usage: null, error: null, content: text } as const;
  const [begun, ended] = await Promise.all([
    store.beginReply({
      owner,
      question,
      reply,
      lease: { holder: "bench", until: start },
      position: 2 * index,
    }),
    store.endReply({ owner, conversationId: id, id: reply.id, completedAt: start, ...end }),
  ]);
  if (begun.result !== "begun" || !ended)
    throw new Error(`Question ${index} in ${id} was not stored: ${begun.result}.`);
}

function message(id: string, conversationId: string, fields: Partial<MessageRecord>): MessageRecord {
  return {
    id,
    conversationId,
    role: "assistant",
    content: "",
    status: "completed",
    finishReason: null,
    inReplyTo: null,
    usage: null,
    error: null,
    sources: null,
    twinRevision: null,
    attempt: 1,
    continuedFrom: null,
    createdAt: start,
    completedAt: start,
    ...fields,
  };
}
