/**
 * What every server of `list` answers, to whom, and how often.
 *
 * @module
 */

import type { Pagination, TwinResource } from "../../core/wire/schemas.ts";

/** The twins of all servers, by name. */
export const twins: readonly TwinResource[] = ["echo", "model"].map((id) => ({
  id,
  name: `The ${id}`,
  description: `Shows what the ${id} of the benchmark costs.`,
  avatarUrl: null,
  greeting: "Good morning! What would you like to know?",
  tags: ["bench", id],
  handover: false,
  createdAt: "2026-11-28T10:00:00.000Z",
  updatedAt: "2026-11-28T10:00:00.000Z",
}));

/** A page of the list. */
export interface Page {
  readonly data: readonly TwinResource[];
  readonly pagination: Pagination;
}

/** Cuts a page out of the list. */
export function pageOf({ page, limit }: Pick<Pagination, "page" | "limit">): Page {
  const end = page * limit;
  const total = twins.length;
  return {
    data: twins.slice(end - limit, end),
    pagination: { page, limit, total, totalPages: Math.ceil(total / limit), hasMore: end < total },
  };
}

/** The one key that peers accept. This service makes its own. */
export const peersKey = `twin_${"k".repeat(49)}`;

/** The limit of a key: more than a run asks for. */
export const requestsPerHour = 1_000_000;
