/**
 * Which twins an owner has made, and a search in them.
 *
 * @module
 */

import type { List, Page, Twin } from "../../../client/mod.ts";
import { h } from "../../shared/dom.ts";
import { showIn } from "../../shared/spoken.ts";
import { failure, loading, searchable, withPage } from "../paged-list.ts";

/** How many requests a press of *Search further* may cost. */
const searchRequests = 30;

/** What is done with the twins. */
export interface OwnTwinListOptions {
  readonly read: () => List<Twin>;
  readonly choose: (id: string) => void;
}

/** Shows an owner's twins. */
export class OwnTwinList {
  readonly element: HTMLElement;
  readonly #options: OwnTwinListOptions;
  readonly #search = h("input", {
    id: "own-twins-search",
    type: "search",
    placeholder: "Search",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => this.#draw(),
  });
  readonly #sift = h(
    "div",
    { class: "sift", hidden: true },
    h("label", { class: "unseen", for: "own-twins-search" }, "Search your twins"),
    this.#search,
  );
  readonly #state = h("p", { class: "sifted", role: "status" });
  readonly #list = h("ul");
  readonly #more = h("button", { type: "button", class: "small", onclick: () => void this.#goOn() });
  #page: Page<Twin> | undefined;
  #all: readonly Twin[] = [];
  #chosen: string | undefined;
  /** The reading that counts: an earlier one may end later. */
  #reading = {};

  constructor(options: OwnTwinListOptions) {
    this.#options = options;
    this.element = h("div", { class: "listing" });
  }

  /** Reads them from the beginning. What is searched stays. */
  async open(): Promise<void> {
    if (!this.#page) this.element.replaceChildren(loading());
    await this.#read(this.#options.read, []);
  }

  /** Shows which one is open; undefined: none that is stored. */
  mark(id: string | undefined): void {
    this.#chosen = id;
    for (const item of this.#list.querySelectorAll<HTMLElement>("[data-twin]"))
      item.ariaCurrent = item.dataset.twin === id ? "true" : null;
  }

  /** Reads a page, and shows it behind others, unless another is read meanwhile. */
  async #read(read: () => Promise<Page<Twin>>, before: readonly Twin[]): Promise<void> {
    const reading = {};
    this.#reading = reading;
    try {
      const page = await read();
      if (this.#reading !== reading) return;
      this.#page = page;
      this.#all = withPage(before, page);
      if (!this.element.contains(this.#list))
        this.element.replaceChildren(this.#sift, this.#state, this.#list, this.#more);
      this.#draw();
    } catch (error) {
      if (this.#reading !== reading) return;
      this.#page = undefined;
      this.element.replaceChildren(failure(error, () => void this.open()));
    }
  }

  /** Shows more of the list, or searches on in it, no further than to the next that fits. */
  async #goOn(): Promise<void> {
    const before = this.#fitting().length;
    this.#more.disabled = true;
    for (let request = 0; request < (this.#searched === "" ? 1 : searchRequests); request++) {
      const page = this.#page;
      if (!page?.hasNextPage || this.#fitting().length > before) break;
      await this.#read(() => page.getNextPage(), this.#all);
    }
    this.#more.disabled = false;
    const next = this.#list.querySelectorAll("button")[before];
    (next ?? (this.#more.hidden ? this.#search : this.#more)).focus();
  }

  get #searched(): string {
    return searchable(this.#search.value.trim());
  }

  /** Those in whose name or id the words are that are searched. */
  #fitting(): readonly Twin[] {
    const searched = this.#searched;
    return this.#all.filter(({ id, name }) => searchable(`${name}\n${id}`).includes(searched));
  }

  #draw(): void {
    const fitting = this.#fitting();
    const total = this.#page?.pagination.total ?? 0;
    const isSearching = this.#searched !== "";
    this.#sift.hidden = total === 0;
    this.#list.replaceChildren(...fitting.map((twin) => this.#item(twin)));
    const found = isSearching ? `${fitting.length} found in ${this.#all.length} of ${total}.` : "";
    showIn(this.#state, total === 0 ? "You have made none yet." : found);
    this.#more.textContent = isSearching ? "Search further" : "Show more";
    this.#more.hidden = !this.#page?.hasNextPage;
  }

  #item({ id, name }: Twin): HTMLElement {
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          "data-twin": id,
          "aria-current": id === this.#chosen ? "true" : undefined,
          onclick: () => this.#options.choose(id),
        },
        h("span", { class: "name" }, name),
        h("span", { class: "about" }, id),
      ),
    );
  }
}
