/**
 * What twins know of people, in memory.
 *
 * @module
 */

import { type MemoryRecords, memoryName, recordsOf } from "./memory-records.ts";
import { firstCharacters } from "./records.ts";
import type { Store } from "./store.ts";

/** The store's methods about what twins know of people. */
export function peopleMethods(records: MemoryRecords): Pick<Store, "listMemories" | "setMemory"> {
  return {
    async listMemories(owner, endUser, { twinId, after = "", limit, charactersOfEach }) {
      const all = [...(records.owners.get(owner)?.memories.values() ?? [])];
      return all
        .filter((memory) => memory.endUser === endUser && (twinId ?? memory.twinId) === memory.twinId)
        .filter((memory) => memory.twinId > after)
        .sort((one, other) => (one.twinId < other.twinId ? -1 : 1))
        .slice(0, limit)
        .map((memory) => ({ ...memory, content: firstCharacters(memory.content, charactersOfEach) }));
    },

    async setMemory(of, memory) {
      const { memories } = recordsOf(records, of.owner);
      if (memory) memories.set(memoryName(of), { ...of, ...memory });
      else memories.delete(memoryName(of));
    },
  };
}
