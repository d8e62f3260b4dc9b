/**
 * What replies took, counted as they end, and the store's methods about it.
 *
 * @module
 */

import type { Usage } from "./messages.ts";
import type { Listing, Slice } from "./slices.ts";
import type { ReachedBudget } from "./token-budgets.ts";
import type { TellingWrite } from "./webhooks.ts";

/** What is counted of a reply that is not stored itself. */
export interface CountedReply {
  readonly owner: string;
  readonly endUser: string | null;
  readonly twinId: string;
  readonly completedAt: number;
  readonly usage: Usage | null;
}

/** A part of an owner's replies, summed up. */
export interface UsageSlice extends Slice {
  /** The first day and the last one, `YYYY-MM-DD` in UTC. */
  readonly from: string;
  readonly to: string;
  readonly groupBy: UsageGroup;
}

/** What replies are summed by. */
export type UsageGroup = "day" | "twin" | "endUser";

/** The sums of a group. */
export interface UsageSum {
  /** A day, a twin's id, or an end user; null: no end user, or one that was erased. */
  readonly group: string | null;
  readonly replies: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** A model that does not say so counts as one without a cache. */
  readonly cachedInputTokens: number;
}

/** The store's methods about what replies took. */
export interface UsageStore {
  /**
   * Counts a reply that has ended, and that is not stored itself. If several processes use the store,
   * it counts under no end user if its own was erased after it began (`beganAt`), or less than a second before.
   * `reserved`: what to settle, as {@link endReply} does.
   */
  countReply(
    reply: CountedReply & {
      readonly beganAt: number;
      readonly reserved?: { readonly id: string; readonly text: string } | undefined;
    } & TellingWrite,
  ): Promise<readonly ReachedBudget[]>;
  /**
   * What an owner's replies took, by group in ascending order. Each is counted as it ends, by end user, twin and day,
   * and stays counted when its conversation is deleted.
   */
  listUsage(owner: string, slice: UsageSlice): Promise<Listing<UsageSum>>;
}
