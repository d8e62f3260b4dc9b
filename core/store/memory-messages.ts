/**
 * Reading messages in memory.
 *
 * @module
 */

import {
  findConversation,
  findMessage,
  type MemoryRecords,
  type MessageEntry,
  newestFirst,
} from "./memory-records.ts";
import { type MessageRecord, windowOf } from "./records.ts";
import type { Listing, MessageSlice, Store } from "./store.ts";

type MessageMethods = Pick<Store, "getMessage" | "listMessages" | "readHistory">;

/** The store's methods that read messages. */
export function messageMethods(records: MemoryRecords): MessageMethods {
  return {
    async getMessage(reach, id, { conversationId, skip = 0 } = {}) {
      const record = findMessage(records, reach, id)?.record;
      if (!record || (conversationId !== undefined && record.conversationId !== conversationId))
        return undefined;
      return skip === 0 ? record : { ...record, content: Array.from(record.content).slice(skip).join("") };
    },

    async listMessages(reach, conversationId, slice) {
      const entry = findConversation(records, reach, conversationId);
      if (!entry) return undefined;
      if (slice.after === undefined) return listMessages(entry.messages, slice, undefined);
      const after = findMessage(records, reach, slice.after);
      return after?.conversation === entry ? listMessages(entry.messages, slice, after.seq) : undefined;
    },

    async readHistory(reach, conversationId) {
      const all = findConversation(records, reach, conversationId)?.messages ?? [];
      const answered = all.filter((_, index) => {
        const { status } = all[index | 1]?.record ?? {}; // the reply has the odd number
        return status === "completed" || status === "cancelled";
      });
      return windowOf(answered.map(({ record }) => ({ role: record.role, content: record.content })));
    },
  };
}

/** A page by arithmetic on `seq`, without walking the messages before it. `after` is an index of `messages`. */
function listMessages(
  messages: readonly MessageEntry[],
  { offset, limit, order }: MessageSlice,
  after: number | undefined,
): Listing<MessageRecord> {
  if (order === "asc") {
    const from = (after ?? -1) + 1;
    const page = messages.slice(from + offset, from + offset + limit);
    return { items: page.map(({ record }) => record), total: messages.length - from };
  }
  const total = after ?? messages.length;
  const { items } = newestFirst(messages, { offset: messages.length - total + offset, limit });
  return { items, total };
}
