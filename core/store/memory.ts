/**
 * The store that keeps everything in this process's memory: for tests, for trying things out, and as the simplest
 * implementation of the port.
 *
 * @module
 */

import { clientTokenMethods } from "./memory-client-tokens.ts";
import { messageMethods } from "./memory-messages.ts";
import { ownTwinMethods, sweepContents } from "./memory-own-twins.ts";
import { peopleMethods } from "./memory-people.ts";
import {
  addToList,
  type ConversationEntry,
  dropClaimsOn,
  findConversation,
  insertByAge,
  isOlder,
  keepClaim,
  type MemoryRecords,
  madeBefore,
  nameOf,
  newestFirst,
  newRecords,
  portionOf,
  recordsOf,
  removeByAge,
  removeFromList,
} from "./memory-records.ts";
import {
  endRunning,
  forgetUsage,
  reachedIn,
  replyMethods,
  takeOverMethods,
  usageMethods,
} from "./memory-replies.ts";
import { reviewMethods } from "./memory-review.ts";
import { forgetTokenSums, sweepTokenSums, tokenBudgetMethods } from "./memory-token-budgets.ts";
import { forgetDeliveries, tell, webhookMethods } from "./memory-webhooks.ts";
import { lengthOf, pathTo, wholePath } from "./path.ts";
import { type ConversationRecord, isLiveKey, lastUseOf } from "./records.ts";
import type {
  ConversationSlice,
  ConversationStore,
  DeletedConversation,
  KeyStore,
  Listing,
  Reach,
  Store,
} from "./store.ts";
import type { Telling } from "./webhooks.ts";

/**
 * Creates an empty store. Its contents are lost when the process ends.
 *
 * @example
 * ```ts
 * import { createMemoryStore } from "twin-service/store";
 *
 * const store = createMemoryStore();
 * ```
 */
export function createMemoryStore(): Store & AsyncDisposable {
  const records = newRecords();
  return {
    exclusive: true,
    ...keyMethods(records),
    ...conversationMethods(records),
    ...messageMethods(records),
    ...replyMethods(records),
    ...takeOverMethods(records),
    ...claimMethods(records),
    ...clientTokenMethods(records),
    ...usageMethods(records),
    ...reviewMethods(records),
    ...peopleMethods(records),
    ...tokenBudgetMethods(records),
    ...ownTwinMethods(records),
    ...webhookMethods(records),
    async ping() {},
    async close() {},
    async [Symbol.asyncDispose]() {},
  };
}

function keyMethods(records: MemoryRecords): KeyStore {
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

    async updateKey(owner, id, change) {
      const entry = owners.get(owner)?.keys.get(id);
      if (!entry) return undefined;
      const { revokedAt, lastUsedAt } = entry.record;
      entry.record =
        "revokedAt" in change
          ? { ...entry.record, revokedAt: revokedAt ?? change.revokedAt }
          : { ...entry.record, lastUsedAt: Math.max(lastUsedAt ?? 0, change.lastUsedAt) };
      return entry.record;
    },

    async rotateKey(owner, id, { prefix, hash, previousUntil }, at) {
      const entry = owners.get(owner)?.keys.get(id);
      if (!entry || !isLiveKey(entry.record, at)) return undefined;
      const { hash: previousHash, previousHash: ended } = entry.record;
      if (ended !== null) keysByHash.delete(ended);
      entry.record = { ...entry.record, prefix, hash, previousHash, previousUntil };
      keysByHash.set(hash, entry);
      return entry.record;
    },

    async getKey(owner, id) {
      return owners.get(owner)?.keys.get(id)?.record;
    },

    async findKey(hash) {
      return keysByHash.get(hash)?.record;
    },

    async findKeys(by) {
      const all = [...new Set(keysByHash.values())].map(({ record }) => record);
      return all.filter((key) => ("id" in by ? key.id === by.id : key.prefix === by.prefix));
    },
  };
}

function conversationMethods(records: MemoryRecords): ConversationStore {
  return {
    async createConversation(conversation, claim, clientToken) {
      const made = claim?.replaces ? undefined : madeBefore(records, claim);
      if (made) return made;
      if (clientToken !== undefined && !records.clientTokens.has(clientToken)) return "token_ended";
      const owned = recordsOf(records, conversation.owner);
      const name = nameOf(conversation.endUser, conversation);
      const namesake = owned.conversationsByName.get(name);
      if (namesake) return { fingerprint: "", resourceId: namesake.record.id };
      keepClaim(records, claim, conversation.id);
      const entry: ConversationEntry = { record: conversation, messages: [], path: null, branches: [] };
      if (conversation.name !== null) owned.conversationsByName.set(name, entry);
      owned.conversations.set(conversation.id, entry);
      insertByAge(owned.conversationsByAge, entry);
      addToList(owned.conversationsByTwin, conversation.twinId, entry);
      if (conversation.endUser !== null) addToList(owned.conversationsByEndUser, conversation.endUser, entry);
      return undefined;
    },

    async getConversation(reach, which) {
      if (typeof which === "string") return findConversation(records, reach, which)?.record;
      const { conversationsByName } = recordsOf(records, reach.owner);
      return conversationsByName.get(nameOf(reach.endUser, which))?.record;
    },

    async listConversations(reach, slice) {
      return listConversations(records, reach, slice);
    },

    async countWaiting() {
      const waiting = [...records.owners.values()].flatMap(({ conversationsByAge }) =>
        conversationsByAge.flatMap(({ record }) => record.waitingSince ?? []),
      );
      return { count: waiting.length, since: waiting.reduce<number | null>(earlier, null) };
    },

    async updateConversation(reach, id, { title, last, answeredBy, metadata }, at) {
      const entry = findConversation(records, reach, id);
      if (!entry || (last && entry.record.replyId !== null)) return entry?.record;
      const { messages } = entry;
      if (last) entry.path = wholePath(pathTo(last.seq, entry.path, entry.branches), messages.length);
      entry.record = {
        ...entry.record,
        ...(title !== undefined && { title }),
        ...(answeredBy !== undefined && { answeredBy }),
        ...(answeredBy === "twin" && { waitingSince: null }),
        ...(metadata && { metadata }),
        ...(last && { lastMessageId: last.id, messageCount: lengthOf(entry.path, messages.length) }),
        updatedAt: at,
      };
      return entry.record;
    },

    async deleteConversation(
      reach,
      id,
      at,
      { idleSince = Number.POSITIVE_INFINITY, mostMessages = Number.POSITIVE_INFINITY, tells } = {},
    ) {
      const entry = findConversation(records, reach, id);
      if (entry && entry.messages.length > mostMessages) return undefined;
      if (!entry || (Number.isFinite(idleSince) && !isIdle(entry.record, idleSince))) return undefined;
      return deleteConversation(records, entry, at, tells);
    },

    async findIdleConversations({ before, after, limit }) {
      const all = [...records.owners.values()].flatMap(({ conversationsByAge }) =>
        conversationsByAge.map(({ record }) => record),
      );
      const placeOf = ({ owner, id }: Pick<ConversationRecord, "owner" | "id">) =>
        JSON.stringify([owner, id]);
      const { looked, next } = portionOf(all, placeOf, after, limit);
      const items = looked
        .filter((record) => isIdle(record, before))
        .map(({ owner, id, logLength }) => ({ owner, id, logLength }));
      return { items, next: next && { owner: next.owner, id: next.id } };
    },
  };
}

function earlier(one: number | null, other: number): number {
  return Math.min(one ?? other, other);
}

function listConversations(
  { owners }: MemoryRecords,
  { owner, endUser }: Reach,
  { twinIds, answeredBy, metadata, waiting = false, order = "desc", after, ...slice }: ConversationSlice,
): Listing<ConversationRecord> {
  const owned = owners.get(owner);
  const [twinId, ...others] = twinIds ?? [];
  const isSimple = order === "desc" && !after && answeredBy === undefined && !metadata && !waiting;
  const pairs = Object.entries(metadata ?? {});
  if (endUser === undefined && twinId !== undefined && others.length === 0 && isSimple) {
    return newestFirst(owned?.conversationsByTwin.get(twinId) ?? [], slice);
  }
  const all =
    (endUser === undefined ? owned?.conversationsByAge : owned?.conversationsByEndUser.get(endUser)) ?? [];
  const listed = all.filter(
    ({ record }) =>
      (!twinIds || twinIds.includes(record.twinId)) &&
      (answeredBy === undefined || record.answeredBy === answeredBy) &&
      pairs.every(([name, value]) => record.metadata[name] === value) &&
      (!waiting || record.waitingSince !== null),
  );
  if (waiting) {
    const longestFirst = listed
      .map(({ record }) => record)
      .sort(
        (one, other) => Number(one.waitingSince) - Number(other.waitingSince) || (one.id < other.id ? -1 : 1),
      );
    return { items: longestFirst.slice(slice.offset, slice.offset + slice.limit), total: listed.length };
  }
  if (order === "desc" && !after) return newestFirst(listed, slice);
  const inOrder = order === "asc" ? listed : listed.toReversed();
  const isLater = (entry: ConversationEntry) =>
    !after || (order === "asc" ? isOlder({ record: after }, entry) : isOlder(entry, { record: after }));
  const page = inOrder.filter(isLater).slice(slice.offset, slice.offset + slice.limit);
  return { items: page.map(({ record }) => record), total: listed.length };
}

function isIdle(record: ConversationRecord, before: number): boolean {
  return record.replyId === null && lastUseOf(record) < before;
}

function deleteConversation(
  records: MemoryRecords,
  entry: ConversationEntry,
  at: number,
  tells: Telling | undefined,
): DeletedConversation {
  const { record, messages } = entry;
  dropClaimsOn(records, record);
  const { id, owner, endUser, twinId } = record;
  const owned = recordsOf(records, owner);
  owned.conversations.delete(id);
  owned.conversationsByName.delete(nameOf(endUser, record));
  removeByAge(owned.conversationsByAge, entry);
  removeFromList(owned.conversationsByTwin, twinId, entry);
  if (endUser !== null) removeFromList(owned.conversationsByEndUser, endUser, entry);
  const ended = { status: "cancelled", finishReason: "cancelled", usage: null, error: null } as const;
  const reached = messages.flatMap((message) => {
    owned.messages.delete(message.record.id);
    if (!records.running.has(message)) return [];
    const end = { owner, conversationId: id, id: message.record.id, completedAt: at, tells, ...ended };
    return endRunning(records, message, end);
  });
  return { ...record, ...reachedIn(reached) };
}

function claimMethods(
  records: MemoryRecords,
): Pick<Store, "findClaim" | "takeLease" | "forgetEndUser" | "sweep"> {
  return {
    async findClaim(claim) {
      return madeBefore(records, claim);
    },

    async takeLease(work, lease, at) {
      const known = records.leases.get(work);
      if (known && known.holder !== lease.holder && known.until > at) return false;
      records.leases.set(work, lease);
      return true;
    },

    async forgetEndUser(owner, endUser, at, tells) {
      forgetUsage(records, owner, endUser);
      forgetTokenSums(records, owner, endUser);
      const { memories } = recordsOf(records, owner);
      for (const [name, memory] of memories) if (memory.endUser === endUser) memories.delete(name);
      for (const [id, claim] of records.claims) {
        if (claim.owner === owner && claim.endUser === endUser) records.claims.delete(id);
      }
      forgetDeliveries(records, owner, endUser);
      const subject = { conversationId: null, messageId: null, twinId: null, endUser };
      tell(records, tells, { owner, event: "person.erased", at, subject });
    },

    async sweep(at) {
      sweepContents(records, at);
      for (const expiring of [records.claims, records.clientTokens]) {
        for (const [id, { expiresAt }] of expiring) if (expiresAt <= at) expiring.delete(id);
      }
      sweepTokenSums(records, at);
    },
  };
}
