/**
 * Pages of lists.
 *
 * @module
 */

import { LRUCache } from "lru-cache";
import { envelope } from "../http/envelope.ts";
import type { Result } from "../http/route.ts";
import type { Listing, Slice } from "../store/store.ts";
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
  return { data: list.items.map(resource), pagination: positionOf(query, list) };
}

/** A page as JSON, and what it was made from. */
interface WrittenPage {
  readonly texts: readonly string[];
  readonly total: number;
  readonly document: string;
}

// Lists that rarely change are read again and again, usually from the start.
const writtenPages = new LRUCache<string, WrittenPage>({ max: 20 });

/** Like {@link pageOf}, for items that are available as JSON. A recent page with the same items is reused. */
export function pageOfJson<Item>(
  query: RequestedPage,
  { items, total }: Listing<Item>,
  json: (item: Item) => string,
): Result {
  const texts = items.map(json);
  const place = `${query.page} ${query.limit}`;
  const last = writtenPages.get(place);
  if (last?.total === total && isEqual(last.texts, texts)) return { document: last.document };
  const document = envelope({ json: `[${texts.join()}]`, pagination: positionOf(query, { items, total }) });
  writtenPages.set(place, { texts, total, document });
  return { document };
}

function isEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index]);
}

/** A page that was cut, because its items are long, says how many are there. */
function positionOf({ page, limit }: RequestedPage, { items, total }: Listing<unknown>): Pagination {
  const expected = Math.max(0, Math.min(limit, total - (page - 1) * limit));
  const isCut = items.length < expected;
  const hasMore = isCut || page * limit < total;
  return { page, limit: isCut ? items.length : limit, total, totalPages: Math.ceil(total / limit), hasMore };
}
