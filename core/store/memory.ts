/**
 * The store that keeps everything in this process's memory: for tests, for trying things out, and as the simplest
 * implementation of the port.
 *
 * @module
 */

import { claimMethods, keepClaim, madeBefore } from "./memory-claims.ts";
import { messageMethods } from "./memory-messages.ts";
import {
  type ConversationEntry,
  findConversation,
  insertByAge,
  type MemoryRecords,
  newestFirst,
  newRecords,
  recordsOf,
  removeByAge,
} from "./memory-records.ts";
import { replyMethods } from "./memory-replies.ts";
import { isLiveKey } from "./records.ts";
import type { Store } from "./store.ts";

/**
 * Creates an empty store. Its contents are lost when the process ends.
 *
 * @example
 * ```ts
 * import { createMemoryStore } from "twin-service";
 *
 * const store = createMemoryStore();
 * ```
 */
export function createMemoryStore(): Store {
  const records = newRecords();
  return {
    exclusive: true,
    ...keyMethods(records),
    ...conversationMethods(records),
    ...messageMethods(records),
    ...replyMethods(records),
    ...claimMethods(records),
    async ping() {},
    async close() {},
  };
}

type KeyMethods = Pick<Store, "createKey" | "listKeys" | "revokeKey" | "findKey" | "touchKey">;

function keyMethods(records: MemoryRecords): KeyMethods {
  const { owners, keysByHash } = records;
  return {
    async createKey(key, maxLive) {
      const { keys, keysByAge } = recordsOf(records, key.owner);
      const live = keysByAge.filter(({ record }) => isLiveKey(record, key.createdAt));
      if (live.length >= maxLive) return "limit_reached";
      const entry = { record: key };
      keys.set(key.id, entry);
      keysByHash.set(key.hash, entry);
      insertByAge(keysByAge, entry);
      return "created";
    },

    async listKeys(owner, slice) {
      return newestFirst(owners.get(owner)?.keysByAge ?? [], slice);
    },

    async revokeKey(owner, id, at) {
      const entry = owners.get(owner)?.keys.get(id);
      if (entry) entry.record = { ...entry.record, revokedAt: entry.record.revokedAt ?? at };
      return entry?.record;
    },

    async findKey(hash) {
      return keysByHash.get(hash)?.record;
    },

    async touchKey(owner, id, at) {
      const entry = owners.get(owner)?.keys.get(id);
      if (!entry || at <= (entry.record.lastUsedAt ?? -1)) return;
      entry.record = { ...entry.record, lastUsedAt: at };
    },
  };
}

type ConversationMethods = Pick<
  Store,
  "createConversation" | "getConversation" | "listConversations" | "renameConversation" | "deleteConversation"
>;

function conversationMethods(records: MemoryRecords): ConversationMethods {
  const { owners, running } = records;
  return {
    async createConversation(conversation, claim) {
      const made = madeBefore(records, claim);
      if (made) return made;
      keepClaim(records, claim, conversation.id);
      const { conversations, conversationsByAge, conversationsByTwin } = recordsOf(
        records,
        conversation.owner,
      );
      const entry: ConversationEntry = { record: conversation, messages: [] };
      conversations.set(conversation.id, entry);
      insertByAge(conversationsByAge, entry);
      const ofTwin = conversationsByTwin.get(conversation.twinId) ?? [];
      conversationsByTwin.set(conversation.twinId, ofTwin);
      insertByAge(ofTwin, entry);
      return undefined;
    },

    async getConversation(owner, id) {
      return findConversation(records, owner, id)?.record;
    },

    async listConversations(owner, { twinId, ...slice }) {
      const owned = owners.get(owner);
      const entries =
        twinId === undefined ? owned?.conversationsByAge : owned?.conversationsByTwin.get(twinId);
      return newestFirst(entries ?? [], slice);
    },

    async renameConversation(owner, id, title, at) {
      const entry = findConversation(records, owner, id);
      if (entry) entry.record = { ...entry.record, title, updatedAt: at };
      return entry?.record;
    },

    async deleteConversation(owner, id) {
      const entry = findConversation(records, owner, id);
      if (!entry) return undefined;
      const { conversations, conversationsByAge, conversationsByTwin, messages } = recordsOf(records, owner);
      conversations.delete(id);
      removeByAge(conversationsByAge, entry);
      const ofTwin = conversationsByTwin.get(entry.record.twinId) ?? [];
      removeByAge(ofTwin, entry);
      if (ofTwin.length === 0) conversationsByTwin.delete(entry.record.twinId);
      for (const message of entry.messages) {
        messages.delete(message.record.id);
        running.delete(message);
      }
      return entry.record;
    },
  };
}
