/**
 * Pages of lists.
 *
 * @module
 */

import type { Result } from "../http/route.ts";
import type { Listing, Slice } from "../store/store.ts";
import { jsonPieces } from "../wire/json.ts";

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
  const { page, limit } = shownOf(query, list);
  const { items, total } = list;
  const pagination = {
    page,
    limit,
    total,
    totalPages: Math.ceil(total / limit),
    hasMore: page * limit < total,
  };
  return { page: { items: mapped(items.slice(0, limit), json), pagination } };
}

function* mapped<Item, Mapped>(items: readonly Item[], map: (item: Item) => Mapped): Iterable<Mapped> {
  for (const item of items) yield map(item);
}

/**
 * The page that an answer has: the one that was asked for; or, if that is cut because its items are long, the longest that
 * begins at the same item, so that the pages behind it go on where it ends.
 */
function shownOf(query: RequestedPage, { items, total }: Listing<unknown>): RequestedPage {
  const { offset, limit } = sliceOf(query);
  if (items.length === 0 || items.length >= Math.min(limit, total - offset)) return query;
  let fitting = items.length;
  while (offset % fitting !== 0) fitting--;
  return { page: offset / fitting + 1, limit: fitting };
}
