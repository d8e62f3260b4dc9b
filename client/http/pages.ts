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

/**
 * A page of a list. Iterating over it goes on with the pages behind it. Pages are counted from the list's beginning:
 * what is deleted or created meanwhile moves the rest.
 */
export class Page<Item> implements AsyncIterable<Item> {
  readonly data: Item[];
  readonly pagination: Pagination;
  readonly #load: (page: number) => Promise<PageBody<Item>>;

  constructor({ data, pagination }: PageBody<Item>, load: (page: number) => Promise<PageBody<Item>>) {
    this.data = data;
    this.pagination = pagination;
    this.#load = load;
  }

  get hasNextPage(): boolean {
    return this.pagination.hasMore;
  }

  /** The page behind this one, which is empty behind the last. */
  async getNextPage(): Promise<Page<Item>> {
    return new Page(await this.#load(this.pagination.page + 1), this.#load);
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
  const load = (page: number) =>
    requests.json<PageBody<Item>>({ method: "GET", path, query: { ...query, page }, token }, options);
  const page = load(first).then((body) => new Page(body, load));
  return Object.assign(page, {
    async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
      yield* await page;
    },
  });
}
