/**
 * Pages of lists.
 *
 * @module
 */

import { LRUCache } from "lru-cache";
import { envelope } from "./envelope.ts";
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

/** A page that was written, and of what. */
interface WrittenPage {
  readonly list: Listing<object>;
  readonly document: string;
}

// Lists of what changes seldom are read again and again, each time from their start.
const writtenPages = new LRUCache<string, WrittenPage>({ max: 20 });

/** As {@link pageOf}, of items that are at hand as JSON. A page of the same items as last time is not written again. */
export function pageOfJson<Item extends object>(
  query: PageQuery,
  list: Listing<Item>,
  json: (item: Item) => string,
): Result {
  const place = `${query.page} ${query.limit}`;
  const last = writtenPages.get(place);
  if (last && isSameList(last.list, list)) return { document: last.document };
  const pagination = placeOf(query, list.total);
  const document = envelope({ json: `[${list.items.map(json).join()}]`, pagination });
  writtenPages.set(place, { list: { ...list, items: [...list.items] }, document }); // the source may change its own
  return { document };
}

function isSameList(one: Listing<object>, other: Listing<object>): boolean {
  const { items } = other;
  if (one.total !== other.total || one.items.length !== items.length) return false;
  return one.items.every((item, index) => item === items[index]);
}

function placeOf({ page, limit }: PageQuery, total: number): Pagination {
  return { page, limit, total, totalPages: Math.ceil(total / limit), hasMore: page * limit < total };
}
