/**
 * Pages of lists.
 *
 * @module
 */

import type { Result } from "../http/route.ts";
import type { Listing, Slice } from "../store/store.ts";
import { jsonPieces } from "../wire/json.ts";
import type { Pagination } from "../wire/schemas.ts";

/** Which page, counted from 1, and how many items it has. */
export interface RequestedPage {
  readonly page: number;
  readonly limit: number;
}

export function sliceOf({ page, limit }: RequestedPage): Slice {
  return { offset: (page - 1) * limit, limit };
}

/** A page as an answer: items as clients see them, and the page's position in its list. */
export function pageOf<Item>(
  query: RequestedPage,
  list: Listing<Item>,
  resource: (item: Item) => unknown,
): Result {
  return pageOfJson(query, list, (item) => jsonPieces(resource(item)));
}

/** Like {@link pageOf}, for items that are available as JSON. */
export function pageOfJson<Item>(
  query: RequestedPage,
  list: Listing<Item>,
  json: (item: Item) => string | Generator<string>,
): Result {
  return { page: { items: mapped(list.items, json), pagination: positionOf(query, list) } };
}

function* mapped<Item, Mapped>(items: readonly Item[], map: (item: Item) => Mapped): Iterable<Mapped> {
  for (const item of items) yield map(item);
}

/** A page that was cut, because its items are long, says how many are there. */
function positionOf({ page, limit }: RequestedPage, { items, total }: Listing<unknown>): Pagination {
  const expected = Math.max(0, Math.min(limit, total - (page - 1) * limit));
  const isCut = items.length < expected;
  const hasMore = isCut || page * limit < total;
  return { page, limit: isCut ? items.length : limit, total, totalPages: Math.ceil(total / limit), hasMore };
}
