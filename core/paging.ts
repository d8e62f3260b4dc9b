/**
 * Pages of lists.
 *
 * @module
 */

import type { Result } from "./route.ts";
import type { Listing, Slice } from "./store.ts";

/** Which page, counted from 1, and how many items it has. */
export interface PageQuery {
  readonly page: number;
  readonly limit: number;
}

export function sliceOf({ page, limit }: PageQuery): Slice {
  return { offset: (page - 1) * limit, limit };
}

/** A page as it is answered: items as clients see them, and where the page stands in its list. */
export function pageOf<Item>(
  query: PageQuery,
  list: Listing<Item>,
  resource: (item: Item) => unknown,
): Result {
  const { page, limit } = query;
  const { items, total } = list;
  return {
    data: items.map(resource),
    pagination: { page, limit, total, totalPages: Math.ceil(total / limit), hasMore: page * limit < total },
  };
}
