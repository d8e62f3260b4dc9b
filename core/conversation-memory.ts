/**
 * What a process remembers of the conversations that it was asked about last: which twin they are with, and what a
 * model gets to see of them. Neither can become wrong behind its back: a conversation's twin never changes, and a
 * history is that of so many messages, all of which have ended.
 *
 * @module
 */

import { LRUCache } from "lru-cache";
import type { HistoryMessage } from "./engine.ts";
import type { Store } from "./store.ts";

/** How many exchanges before a question a model gets to see. */
const historyExchanges = 25;

/** How much is remembered, in UTF-16 code units of text. */
const maxRemembered = 32_000_000;

/** What a conversation counts for beside its history's text. */
const entrySize = 500;

/** What is remembered of a conversation. */
interface Entry {
  /** As the store has it. As it was asked for, it may be a part of the request's whole address, and would keep that. */
  readonly id: string;
  readonly owner: string;
  readonly twinId: string;
  /** How many messages it had at last sight. */
  readonly position: number;
  /** What a model gets to see of these, oldest first. Undefined: nobody has asked. */
  readonly history: readonly HistoryMessage[] | undefined;
}

/** Answers from memory what it can, and asks the store for the rest. What the store throws is passed on. */
export interface ConversationMemory {
  /**
   * The twin that a conversation is with, and how many messages it has, which may be out of date. Undefined: the
   * owner has no such conversation.
   */
  find(owner: string, id: string): Promise<Pick<Entry, "id" | "twinId" | "position"> | undefined>;
  /** What a model gets to see of a conversation's first `position` messages, oldest first. */
  historyOf(owner: string, id: string, position: number): Promise<readonly HistoryMessage[]>;
  /** Adds the exchange behind the first `position` messages, once it has ended. Empty: no model sees it. */
  add(id: string, position: number, exchange: readonly HistoryMessage[]): void;
  /** The conversation was deleted, or somebody else has ended its reply. */
  forget(id: string): void;
}

export function createConversationMemory(
  store: Pick<Store, "getConversation" | "readHistory">,
): ConversationMemory {
  const entries = new LRUCache<string, Entry>({ maxSize: maxRemembered, sizeCalculation: sizeOf });

  function update(id: string, position: number, history: Entry["history"]): void {
    const entry = entries.get(id);
    if (entry) entries.set(entry.id, { ...entry, position, history });
  }

  return {
    async find(owner, id) {
      const known = entries.get(id);
      if (known?.owner === owner) return known;
      const conversation = await store.getConversation(owner, id);
      if (!conversation) return undefined;
      const { twinId, messageCount } = conversation;
      const history = messageCount === 0 ? [] : undefined;
      const entry = { id: conversation.id, owner, twinId, position: messageCount, history };
      entries.set(entry.id, entry);
      return entry;
    },

    async historyOf(owner, id, position) {
      const known = entries.get(id);
      if (known?.history && known.position === position) return known.history;
      const history = await store.readHistory(owner, id, historyExchanges);
      update(id, position, history);
      return history;
    },

    add(id, position, exchange) {
      const known = entries.get(id);
      const before = known?.position === position ? known.history : undefined;
      update(id, position + 2, before && lastExchanges([...before, ...exchange]));
    },

    forget(id) {
      entries.delete(id);
    },
  };
}

function lastExchanges(history: readonly HistoryMessage[]): readonly HistoryMessage[] {
  const most = 2 * historyExchanges;
  return history.length > most ? history.slice(-most) : history;
}

function sizeOf({ history = [] }: Entry): number {
  return history.reduce((size, { content }) => size + content.length, entrySize);
}
