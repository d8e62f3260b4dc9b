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
import { firstCharacters, historySeen, seenMessage, upTo, withoutFailed } from "./records.ts";
import type { MessageStore } from "./store.ts";

/** The store's methods that read messages. */
export function messageMethods(records: MemoryRecords): MessageStore {
  return {
    async getMessage(reach, id, { conversationId, skip = 0, characters }) {
      const record = findMessage(records, reach, id)?.record;
      if (!record || (conversationId !== undefined && record.conversationId !== conversationId))
        return undefined;
      const rest = record.content.slice(firstCharacters(record.content, skip).length);
      return { ...record, content: firstCharacters(rest, characters) };
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

    async readHistory(reach, conversationId, { after, characters }) {
      const entry = findConversation(records, reach, conversationId);
      const last = findMessage(records, reach, after);
      if (!entry || last?.conversation !== entry) return [];
      const path = pathTo(last.record.seq, entry.path, entry.branches);
      const messages = messagesAt(entry, path, 0, lengthOf(path, 0)).map(({ record, told = null }) => {
        return { ...record, told };
      });
      const history = withoutFailed(messages).map((message) => seenMessage(message, message.told));
      return historySeen(history, characters);
    },
  };
}

function messagesAt(
  entry: ConversationEntry,
  path: MessagePath,
  first: number,
  last: number,
): MessageEntry[] {
  return rangesAt(path, first, last).flatMap(([from, to]) => entry.messages.slice(from, to));
}
