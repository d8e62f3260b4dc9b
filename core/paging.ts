/**
 * Pages of lists.
 *
 * @module
 */

import type { Result } from "./route.ts";
import type { Pagination } from "./schema.ts";
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
  return { data: list.items.map(resource), pagination: placeOf(query, list.total) };
}

/** As {@link pageOf}, of items that are at hand as JSON. */
export function pageOfJson<Item>(
  query: PageQuery,
  list: Listing<Item>,
  json: (item: Item) => string,
): Result {
  return { json: `[${list.items.map(json).join()}]`, pagination: placeOf(query, list.total) };
}

function placeOf({ page, limit }: PageQuery, total: number): Pagination {
  return { page, limit, total, totalPages: Math.ceil(total / limit), hasMore: page * limit < total };
}
