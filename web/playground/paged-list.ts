/**
 * A list that is read page by page, and what stands in its place while it is read, is empty or has failed.
 *
 * @module
 */

import { type List, type Page, PermissionDeniedError } from "../../client/mod.ts";
import { h } from "../shared/dom.ts";
import { reasonOf } from "./page.ts";

/** What a list is made of. */
export interface PagedListOptions<Item> {
  /** What it says if there is nothing. */
  readonly empty: string;
  readonly read: () => List<Item>;
  readonly show: (item: Item) => HTMLElement;
  /** Told how many there are. */
  readonly counted?: (total: number) => void;
}

/** Shows a list in an element. */
export class PagedList<Item> {
  readonly element = h("div", { class: "listing" });
  readonly #options: PagedListOptions<Item>;
  #reading: object | undefined;

  constructor(options: PagedListOptions<Item>) {
    this.#options = options;
  }

  /** Reads the list from its beginning. */
  async open(): Promise<void> {
    const { read, show, empty, counted } = this.#options;
    this.element.replaceChildren(loading());
    await this.#read(read, (page) => {
      counted?.(page.pagination.total);
      const items = page.data.map(show);
      const list = h("ul", {}, ...items);
      this.element.replaceChildren(items.length > 0 ? list : h("p", { class: "soft" }, empty));
      this.#offerMore(page, list);
    });
  }

  #offerMore(page: Page<Item>, list: HTMLElement): void {
    if (!page.hasNextPage) return;
    const more = h("button", { type: "button", class: "small" }, "Show more");
    more.addEventListener("click", () => {
      more.disabled = true;
      void this.#read(
        () => page.getNextPage(),
        (next) => {
          more.remove();
          const items = next.data.map(this.#options.show);
          list.append(...items);
          this.#offerMore(next, list);
          items[0]?.querySelector<HTMLElement>("a, button")?.focus();
        },
      );
    });
    this.element.append(more);
  }

  /** Reads a page and shows it, unless another is read meanwhile, or why there is none. */
  async #read(read: () => Promise<Page<Item>>, show: (page: Page<Item>) => void): Promise<void> {
    const reading = {};
    this.#reading = reading;
    try {
      const page = await read();
      if (this.#reading === reading) show(page);
    } catch (error) {
      if (this.#reading !== reading) return;
      this.element.replaceChildren(failure(error, () => void this.open()));
    }
  }
}

/** Items with those of the next page behind them. A new item moves others to that page: they are there already. */
export function withPage<Item extends { readonly id: string }>(
  before: readonly Item[],
  page: Page<Item>,
): readonly Item[] {
  const shown = new Set(before.map(({ id }) => id));
  return [...before, ...page.data.filter(({ id }) => !shown.has(id))];
}

/** What stands in the place of what is read. */
export function loading(): HTMLElement {
  return h("p", { class: "soft", role: "status" }, "Loading …");
}

/** Why something cannot be shown, and a button to try again unless the credential does not allow it. */
export function failure(error: unknown, again: () => void): HTMLElement {
  if (error instanceof PermissionDeniedError) {
    const text = "Your credential may not see this. Sign in with an API key or a token of the owner.";
    return h("p", { class: "soft" }, text);
  }
  const button = h("button", { type: "button", class: "small", onclick: again }, "Try again");
  return h("div", { class: "failure", role: "alert" }, h("p", {}, reasonOf(error)), button);
}

/** A text without what a search does not distinguish. */
export function searchable(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}
