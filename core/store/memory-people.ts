/**
 * What twins know of people, in memory.
 *
 * @module
 */

import { compareTexts } from "../base/order.ts";
import { type MemoryRecords, memoryName, portionOf, recordsOf } from "./memory-records.ts";
import { firstCharacters, type PersonMemory } from "./records.ts";
import type { IdleMemory, PeopleStore } from "./store.ts";

/** The store's methods about what twins know of people. */
export function peopleMethods(records: MemoryRecords): PeopleStore {
  return {
    async listMemories(owner, endUser, { twinId, after = "", limit, charactersOfEach }) {
      const all = [...(records.owners.get(owner)?.memories.values() ?? [])];
      return all
        .filter((memory) => memory.endUser === endUser && (twinId ?? memory.twinId) === memory.twinId)
        .filter((memory) => compareTexts(memory.twinId, after) > 0)
        .sort((one, other) => compareTexts(one.twinId, other.twinId))
        .slice(0, limit)
        .map((memory) => ({ ...memory, content: firstCharacters(memory.content, charactersOfEach) }));
    },

    async setMemory(of, memory, { idleSince } = {}) {
      const { owner, endUser, twinId } = of;
      const { memories } = recordsOf(records, owner);
      const name = memoryName(of);
      if (memory) {
        memories.set(name, { owner, endUser, twinId, ...memory });
        return true;
      }
      const known = memories.get(name);
      if (idleSince !== undefined && known && !isIdle(records, known, idleSince)) return false;
      return memories.delete(name);
    },

    async findIdleMemories({ before, after, limit }) {
      const all = [...records.owners.values()].flatMap(({ memories }) => [...memories.values()]);
      const { looked, next } = portionOf(all, placeOf, after, limit);
      const idle = looked.filter((memory) => isIdle(records, memory, before));
      const items = idle.map(({ owner, endUser, twinId }) => ({ owner, endUser, twinId }));
      return { items, next: next && { owner: next.owner, endUser: next.endUser, twinId: next.twinId } };
    },
  };
}

function isIdle(
  { owners }: MemoryRecords,
  { owner, endUser, updatedAt }: PersonMemory,
  before: number,
): boolean {
  return updatedAt < before && !owners.get(owner)?.conversationsByEndUser.has(endUser);
}

function placeOf({ owner, endUser, twinId }: IdleMemory): string {
  return JSON.stringify([owner, endUser, twinId]);
}
