/**
 * What twins know of people, in memory.
 *
 * @module
 */

import { type MemoryRecords, memoryName, recordsOf } from "./memory-records.ts";
import type { Store } from "./store.ts";

/** The store's methods about what twins know of people. */
export function peopleMethods(records: MemoryRecords): Pick<Store, "listMemories" | "setMemory"> {
  return {
    async listMemories(owner, endUser, twinId) {
      const all = [...(records.owners.get(owner)?.memories.values() ?? [])];
      return all
        .filter((memory) => memory.endUser === endUser && (twinId ?? memory.twinId) === memory.twinId)
        .sort((one, other) => (one.twinId < other.twinId ? -1 : 1));
    },

    async setMemory(of, memory) {
      const { memories } = recordsOf(records, of.owner);
      if (memory) memories.set(memoryName(of), { ...of, ...memory });
      else memories.delete(memoryName(of));
    },
  };
}
