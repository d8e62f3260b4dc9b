/**
 * What replies took, in memory.
 *
 * @module
 */

import type { ConversationEntry, MemoryRecords, UsageEntry } from "./memory-records.ts";
import type { EndReply } from "./records.ts";
import { dayOf, type Store, type UsageGroup, type UsageSum } from "./store.ts";

/** Adds a reply that has ended. */
export function addUsage(
  records: MemoryRecords,
  { record }: ConversationEntry,
  keyId: string | undefined,
  end: EndReply,
): void {
  const { owner, endUser, twinId: twin } = record;
  const { inputTokens = 0, outputTokens = 0 } = end.usage ?? {};
  const day = dayOf(end.completedAt);
  add(records, { owner, keyId, endUser, twin, day, replies: 1, inputTokens, outputTokens });
}

/** Lets an end user's sums count under nobody in particular. */
export function forgetUsage(records: MemoryRecords, owner: string, endUser: string): void {
  for (const [name, entry] of [...records.usage]) {
    if (entry.owner !== owner || entry.endUser !== endUser) continue;
    records.usage.delete(name);
    add(records, { ...entry, endUser: null });
  }
}

function add({ usage }: MemoryRecords, more: UsageEntry): void {
  const name = JSON.stringify([more.owner, more.keyId, more.endUser, more.twin, more.day]);
  const known = usage.get(name);
  const { replies = 0, inputTokens = 0, outputTokens = 0 } = known ?? {};
  usage.set(name, {
    ...more,
    replies: replies + more.replies,
    inputTokens: inputTokens + more.inputTokens,
    outputTokens: outputTokens + more.outputTokens,
  });
}

/** The store's method about usage. */
export function usageMethods({ usage }: MemoryRecords): Pick<Store, "listUsage"> {
  return {
    async listUsage(owner, { from, to, groupBy, offset, limit }) {
      const sums = new Map<string, UsageSum>();
      for (const entry of usage.values()) {
        if (entry.owner !== owner || entry.day < from || entry.day > to) continue;
        const group = groupOf(entry, groupBy);
        const sum = sums.get(group ?? "") ?? { group, replies: 0, inputTokens: 0, outputTokens: 0 };
        sums.set(group ?? "", {
          group,
          replies: sum.replies + entry.replies,
          inputTokens: sum.inputTokens + entry.inputTokens,
          outputTokens: sum.outputTokens + entry.outputTokens,
        });
      }
      const names = [...sums.keys()].sort();
      const items = names.slice(offset, offset + limit).flatMap((name) => sums.get(name) ?? []);
      return { items, total: sums.size };
    },
  };
}

function groupOf(entry: UsageEntry, groupBy: UsageGroup): string | null {
  return entry[groupBy];
}
