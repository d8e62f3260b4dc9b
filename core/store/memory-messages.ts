/**
 * Reading messages in memory.
 *
 * @module
 */

import {
  type ConversationEntry,
  findConversation,
  findMessage,
  type MemoryRecords,
  type MessageEntry,
} from "./memory-records.ts";
import { lengthOf, type MessagePath, pathTo, placeOn, placesOf, rangesAt } from "./path.ts";
import { mostCharactersRead, windowOf } from "./records.ts";
import type { Store } from "./store.ts";

/** The store's methods that read messages. */
export function messageMethods(
  records: MemoryRecords,
): Pick<Store, "getMessage" | "listMessages" | "readHistory"> {
  return {
    async getMessage(reach, id, { conversationId, skip = 0 } = {}) {
      const record = findMessage(records, reach, id)?.record;
      if (!record || (conversationId !== undefined && record.conversationId !== conversationId))
        return undefined;
      return skip === 0 ? record : { ...record, content: Array.from(record.content).slice(skip).join("") };
    },

    async listMessages(reach, conversationId, { order, offset, limit, after, path: which, characters }) {
      const entry = findConversation(records, reach, conversationId);
      if (!entry) return undefined;
      const { messages } = entry;
      const path = which === "all" ? null : entry.path;
      const length = lengthOf(path, messages.length);
      const behind = after === undefined ? undefined : findMessage(records, reach, after);
      const place = behind?.conversation === entry ? placeOn(path, behind.record.seq) : undefined;
      if (after !== undefined && place === undefined) return undefined;
      const { first, last, total } = placesOf({ order, offset, limit }, length, place);
      const items = messagesAt(entry, path, first, last).map(({ record }) => record);
      const inOrder = order === "asc" ? items : items.reverse();
      return { items: upTo(inOrder, characters), total };
    },

    async readHistory(reach, conversationId, seq) {
      const entry = findConversation(records, reach, conversationId);
      if (!entry) return [];
      const path = pathTo(seq, entry.path, entry.branches);
      const before = messagesAt(entry, path, 0, lengthOf(path, 0) - 1);
      const answered = before.filter((_, index) => {
        const { status } = before[index | 1]?.record ?? {}; // the reply has the odd place
        return status === "completed" || status === "cancelled";
      });
      const seen = windowOf(answered.map(({ record }) => ({ role: record.role, content: record.content })));
      const { length } = upTo([...seen].reverse(), mostCharactersRead);
      return seen.slice(seen.length - length + (length % 2)); // no reply without its question
    },
  };
}

/** The first messages that have so many characters together; at least one. */
function upTo<Message extends { readonly content: string }>(
  messages: readonly Message[],
  characters = Number.POSITIVE_INFINITY,
): readonly Message[] {
  if (messages.reduce((sum, { content }) => sum + content.length, 0) <= characters) return messages;
  let left = characters;
  const end = messages.findIndex(({ content }, index) => {
    left -= Array.from(content).length;
    return left < 0 && index > 0;
  });
  return end === -1 ? messages : messages.slice(0, end);
}

function messagesAt(
  entry: ConversationEntry,
  path: MessagePath,
  first: number,
  last: number,
): MessageEntry[] {
  return rangesAt(path, first, last).flatMap(([from, to]) => entry.messages.slice(from, to));
}
