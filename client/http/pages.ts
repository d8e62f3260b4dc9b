/**
 * Lists: a page at a time, or item by item.
 *
 * @module
 */

import type { Pagination } from "../../core/wire/schemas.ts";
import type { Query, RequestOptions, Requests } from "./requests.ts";

/** The part of a list that is asked for. */
export interface PageQuery {
  /** From 1. Default 1. */
  readonly page?: number | undefined;
  /** Items on a page, 1 to 100. Default 20. */
  readonly limit?: number | undefined;
}

/** A page as the service sends it. */
export interface PageBody<Item> {
  readonly data: Item[];
  readonly pagination: Pagination;
}

/** Reads the page at a position. */
type LoadPage<Item> = (position: {
  readonly page: number;
  readonly after?: string;
}) => Promise<PageBody<Item>>;

/**
 * A page of a list. Iterating over it goes on with the pages behind it. Pages are counted from the list's beginning:
 * what is deleted or created meanwhile moves the rest.
 */
export class Page<Item> implements AsyncIterable<Item> {
  readonly data: Item[];
  readonly pagination: Pagination;
  readonly #load: LoadPage<Item>;
  readonly #limit: number;

  /** `limit`: the items that were asked for. */
  constructor({ data, pagination }: PageBody<Item>, load: LoadPage<Item>, limit: number) {
    this.data = data;
    this.pagination = pagination;
    this.#load = load;
    this.#limit = limit;
  }

  get hasNextPage(): boolean {
    return this.pagination.hasMore;
  }

  /** The page behind this one, which is empty behind the last. */
  async getNextPage(): Promise<Page<Item>> {
    const { page, limit } = this.pagination;
    // A page of long messages ends earlier, and what comes behind it is no page of the same list.
    const last = limit < this.#limit ? (this.data.at(-1) as { readonly id?: string } | undefined) : undefined;
    const position = last?.id === undefined ? { page: page + 1 } : { page: 1, after: last.id };
    return new Page(await this.#load(position), this.#load, this.#limit);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for (let page: Page<Item> = this; ; page = await page.getNextPage()) {
      yield* page.data;
      if (!page.hasNextPage) return;
    }
  }
}

/** A list: `await` it for its first page, or iterate over all its items with `for await`. */
export type List<Item> = Promise<Page<Item>> & AsyncIterable<Item>;

/** The list at a path. */
export function listAt<Item>(
  requests: Requests,
  path: string,
  { page: first = 1, ...query }: Query & PageQuery,
  options: RequestOptions & { readonly token?: string | undefined } = {},
): List<Item> {
  const { token } = options;
  const load: LoadPage<Item> = (position) =>
    requests.json<PageBody<Item>>({ method: "GET", path, query: { ...query, ...position }, token }, options);
  const page = load({ page: first }).then((body) => new Page(body, load, query.limit ?? 20));
  return Object.assign(page, {
    async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
      yield* await page;
    },
  });
}
