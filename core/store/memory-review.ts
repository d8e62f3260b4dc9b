/**
 * What an owner reviews, in memory: replies that people rated, and questions without an answer.
 *
 * @module
 */

import { findMessage, type MemoryRecords, type MessageEntry } from "./memory-records.ts";
import { subjectIn, tell } from "./memory-webhooks.ts";
import { firstCharacters, type RatedReply, type UnansweredQuestion } from "./records.ts";
import type { ReviewSlice, ReviewStore } from "./store.ts";

/** The store's methods about what an owner reviews. */
export function reviewMethods(records: MemoryRecords): ReviewStore {
  const ofOwner = (owner: string) => [...(records.owners.get(owner)?.messages.values() ?? [])];
  return {
    async rateReply(reach, id, feedback, tells) {
      const entry = findMessage(records, reach, id);
      if (entry?.record.role !== "assistant" || entry.record.status === "in_progress") return;
      entry.record = { ...entry.record, feedback };
      if (!feedback) return;
      const { owner } = reach;
      const subject = subjectIn(entry.conversation, id);
      tell(records, tells, { owner, event: "feedback.given", at: feedback.updatedAt, subject });
    },

    async listFeedback(owner, slice) {
      const rated = ofOwner(owner)
        .flatMap((entry) => ratedReply(entry) ?? [])
        .filter((reply) => isListed(reply, reply.updatedAt, slice))
        .filter(({ rating }) => slice.rating === undefined || rating === slice.rating)
        .sort((one, other) => other.updatedAt - one.updatedAt || (one.messageId < other.messageId ? 1 : -1));
      const page = rated.slice(slice.offset, slice.offset + slice.limit);
      const cut = (text: string) => firstCharacters(text, slice.charactersOfEach);
      const items = page.map((reply) => ({
        ...reply,
        question: cut(reply.question),
        content: cut(reply.content),
      }));
      return { items, total: rated.length };
    },

    async listUnanswered(owner, slice) {
      const groups = new Map<string, UnansweredQuestion>();
      for (const { unanswered, record, conversation } of ofOwner(owner)) {
        if (unanswered === undefined || !isListed(conversation.record, record.createdAt, slice)) continue;
        const before = groups.get(unanswered);
        const count = (before?.count ?? 0) + 1;
        if (before && before.messageId > record.id) {
          groups.set(unanswered, { ...before, count });
          continue;
        }
        const { content, createdAt } = conversation.messages[record.seq - 1]?.record ?? record;
        const { id: messageId, conversationId } = record;
        groups.set(unanswered, {
          question: content,
          count,
          lastAskedAt: createdAt,
          conversationId,
          messageId,
        });
      }
      const listed = [...groups.values()].sort(
        (one, other) => other.count - one.count || (one.messageId < other.messageId ? 1 : -1),
      );
      const page = listed.slice(slice.offset, slice.offset + slice.limit);
      const items = page.map((asked) => ({
        ...asked,
        question: firstCharacters(asked.question, slice.charactersOfEach),
      }));
      return { items, total: listed.length };
    },
  };
}

function isListed({ twinId }: { readonly twinId: string }, moment: number, slice: ReviewSlice): boolean {
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = slice;
  return moment >= from && moment < to && (slice.twinId === undefined || slice.twinId === twinId);
}

function ratedReply({ record, conversation }: MessageEntry): RatedReply | undefined {
  const { id, conversationId, content, sources, twinRevision, feedback } = record;
  const { twinId, endUser } = conversation.record;
  const question = conversation.messages[record.seq - 1]?.record.content ?? ""; // a question is stored right before its reply
  const reply = { messageId: id, conversationId, twinId, endUser, question, content, sources, twinRevision };
  return feedback ? { ...feedback, ...reply } : undefined;
}
