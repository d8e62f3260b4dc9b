/**
 * Memories of end users: what twins know of people, and the store's methods about it. A memory page goes by its own deletion,
 * with the erasure of its person (in `store.ts`), and by retention, but not with its twin.
 *
 * @module
 */

import type { Deletion } from "./conversations.ts";
import type { IdleListing, IdleSlice } from "./slices.ts";

/** How many characters a twin knows of a person at most. */
export const mostCharactersRemembered = 4000;

/** What a twin knows of a person, as an app wrote it. Times are milliseconds since the epoch. */
export interface PersonMemory {
  readonly owner: string;
  readonly endUser: string;
  readonly twinId: string;
  readonly content: string;
  readonly updatedAt: number;
}

/** Which of a person's memories to list. */
export interface MemorySlice {
  /** That of this twin. Absent: of any. */
  readonly twinId?: string | undefined;
  /** Start after this twin's. */
  readonly after?: string | undefined;
  readonly limit: number;
  /** How many characters (Unicode code points) to read of each, at most. */
  readonly charactersOfEach: number;
}

/** What a twin knows of a person who has no conversation. */
export type IdleMemory = Pick<PersonMemory, "owner" | "endUser" | "twinId">;

/** The store's methods about what twins know of people. */
export interface PeopleStore {
  /** What twins know of a person, or what one does, by the twins' ids in ascending order. */
  listMemories(owner: string, endUser: string, slice: MemorySlice): Promise<readonly PersonMemory[]>;
  /**
   * Stores what a twin knows of a person, in place of what it knew. Null: nothing any more; with `idleSince`, only if it was
   * not changed since then, and the person has no conversation. False if nothing was to be changed.
   */
  setMemory(
    of: Pick<PersonMemory, "owner" | "endUser" | "twinId">,
    memory: Pick<PersonMemory, "content" | "updatedAt"> | null,
    how?: Deletion,
  ): Promise<boolean>;
  /** What twins know of people of all owners who have no conversation, if it was last changed before a moment. */
  findIdleMemories(slice: IdleSlice<IdleMemory>): Promise<IdleListing<IdleMemory, IdleMemory>>;
}
