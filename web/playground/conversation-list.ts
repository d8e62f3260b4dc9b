/**
 * The conversations with a twin: who talks, the first words, when; which of them are shown, and a search in them.
 *
 * The API has no words of a conversation in its lists. Those without a title are read as they come into view, each once.
 *
 * @module
 */

import type { Conversation, Page, TwinClient } from "../../client/mod.ts";
import { byId, h } from "../shared/dom.ts";
import { showIn } from "../shared/spoken.ts";
import { firstWords } from "../shared/words.ts";
import { titleOf } from "./conversation.ts";
import { reasonOf, timeElement } from "./page.ts";
import { searchable, withPage } from "./paged-list.ts";

/** How many conversations are read at once. */
const limit = 30;

/** How many requests a press of *Search further* may cost. */
const searchRequests = 30;

/** What is done with the conversations. */
export interface ConversationListOptions {
  /** Reads the lists. */
  readonly client: TwinClient;
  /** Reads first words: the wire does not show that. */
  readonly quiet: TwinClient;
  readonly begin: () => void;
  readonly open: (conversation: Conversation) => void;
}

/** Shows the conversations with one twin. */
export class ConversationList {
  readonly #list = byId("conversations", HTMLElement);
  readonly #search = byId("conversations-search", HTMLInputElement);
  readonly #filter = byId("conversations-filter", HTMLSelectElement);
  readonly #people = byId("conversations-people", HTMLOptGroupElement);
  readonly #state = byId("conversations-state", HTMLElement);
  readonly #more = byId("conversations-more", HTMLButtonElement);
  readonly #inView = new IntersectionObserver((entries) => void this.#readWordsOf(entries));
  /** First words by the conversation's id. Empty: there are none, or they are being read. */
  readonly #words = new Map<string, string>();
  #options: ConversationListOptions | undefined;
  #twinId = "";
  #page: Page<Conversation> | undefined;
  #all: readonly Conversation[] = [];
  /** All that were read, as they are known last, by their ids. */
  readonly #known = new Map<string, Conversation>();
  #openId: string | undefined;
  /** The reading that counts: an earlier one may end later. */
  #reading = {};
  /** Why something could not be read. */
  #problem = "";

  constructor() {
    this.#search.addEventListener("input", () => this.#draw());
    this.#filter.addEventListener("change", () => void this.#read());
    this.#more.addEventListener("click", () => void this.#goOn());
  }

  start(options: ConversationListOptions): void {
    this.#options = options;
  }

  /** Reads those with a twin. */
  async choose(twinId: string): Promise<void> {
    if (this.#twinId !== twinId) {
      this.#filter.value = "";
      this.#search.value = "";
      this.#people.replaceChildren();
    }
    this.#twinId = twinId;
    await this.#read();
  }

  /** Shows which one is open; undefined: a new one. */
  show(openId: string | undefined): void {
    this.#openId = openId;
    this.#draw();
  }

  /** As it was read last, or changed here. */
  find(id: string): Conversation | undefined {
    return this.#known.get(id);
  }

  add(conversation: Conversation): void {
    this.#known.set(conversation.id, conversation);
    this.#all = [conversation, ...this.#all];
  }

  replace(conversation: Conversation): void {
    this.#known.set(conversation.id, conversation);
    this.#all = this.#all.map((each) => (each.id === conversation.id ? conversation : each));
    this.#draw();
  }

  remove(id: string): void {
    this.#known.delete(id);
    this.#all = this.#all.filter((each) => each.id !== id);
  }

  async #read(): Promise<void> {
    const { client } = this.#options ?? {};
    if (!client) return;
    this.#problem = "";
    await this.#readPage(() => client.conversations.list(this.#query()), []);
  }

  #query(): Parameters<TwinClient["conversations"]["list"]>[0] {
    const query = { twinId: this.#twinId, limit };
    const { value, selectedOptions } = this.#filter;
    if (this.#people.contains(selectedOptions[0] ?? null)) return { ...query, endUser: value };
    if (value === "waiting") return { ...query, waiting: true };
    return value === "person" ? { ...query, answeredBy: "person" } : query;
  }

  /** Reads a page, and shows it behind others. */
  async #readPage(
    read: () => PromiseLike<Page<Conversation>>,
    before: readonly Conversation[],
  ): Promise<void> {
    const reading = {};
    this.#reading = reading;
    try {
      const page = await read();
      if (this.#reading !== reading) return;
      this.#page = page;
      for (const conversation of page.data) this.#known.set(conversation.id, conversation);
      this.#all = withPage(before, page);
      this.#draw();
    } catch (error) {
      if (this.#reading !== reading) return;
      this.#problem = reasonOf(error);
      this.#draw();
    }
  }

  /** Shows more of the list, or searches on in it, no further than to the next that fits. */
  async #goOn(): Promise<void> {
    const isSearching = this.#isSearching;
    const before = this.#fitting().length;
    this.#problem = "";
    this.#more.disabled = true;
    for (let request = 0; request < (isSearching ? searchRequests : 1); request++) {
      const unread = isSearching ? this.#all.find((each) => this.#wordsOf(each) === undefined) : undefined;
      const page = this.#page;
      if (unread) await this.#readWords(unread);
      else if (page?.hasNextPage) await this.#readPage(() => page.getNextPage(), this.#all);
      if (this.#problem !== "" || this.#fitting().length > before || this.#isWhole) break;
    }
    this.#more.disabled = false;
    this.#draw();
    const next = this.#list.querySelectorAll("button")[before + 1]; // behind the one for a new conversation
    (next ?? (this.#more.hidden ? this.#search : this.#more)).focus();
  }

  get #isSearching(): boolean {
    return this.#search.value.trim() !== "";
  }

  /** Whether all has been read that could be shown, or searched. */
  get #isWhole(): boolean {
    const isRead = !this.#isSearching || this.#all.every((each) => this.#wordsOf(each) !== undefined);
    return isRead && !this.#page?.hasNextPage;
  }

  /** A title, or first words. Undefined: they have not been read. */
  #wordsOf({ id, title, messageCount }: Conversation): string | undefined {
    return title ?? (messageCount === 0 ? "" : this.#words.get(id));
  }

  async #readWordsOf(entries: readonly IntersectionObserverEntry[]): Promise<void> {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      this.#inView.unobserve(target);
      const conversation = this.find((target as HTMLElement).dataset.conversation ?? "");
      if (!conversation || this.#wordsOf(conversation) !== undefined) continue;
      await this.#readWords(conversation);
      if (this.#problem !== "") return this.#drawState(this.#fitting().length);
      const name = target.querySelector(".name");
      if (name) name.textContent = this.#nameOf(conversation);
    }
  }

  async #readWords({ id }: Conversation): Promise<void> {
    this.#words.set(id, ""); // it is asked for once
    try {
      const page = await this.#options?.quiet.messages.list(id, { limit: 1 });
      this.#words.set(id, firstWords(page?.data[0]?.content ?? ""));
    } catch (error) {
      this.#words.delete(id);
      this.#problem = reasonOf(error);
    }
  }

  #nameOf(conversation: Conversation): string {
    return this.#wordsOf(conversation) || titleOf(conversation);
  }

  /** Those in which the words are that are searched. */
  #fitting(): readonly Conversation[] {
    const searched = searchable(this.#search.value.trim());
    if (searched === "") return this.#all;
    return this.#all.filter((each) =>
      searchable(`${this.#wordsOf(each) ?? ""}\n${each.endUser ?? ""}`).includes(searched),
    );
  }

  #draw(): void {
    const focused = document.activeElement?.closest<HTMLElement>("[data-conversation]")?.dataset.conversation;
    const fitting = this.#fitting();
    const begin = h(
      "button",
      {
        type: "button",
        "data-conversation": "",
        "aria-current": this.#openId === undefined ? "true" : undefined,
        onclick: () => this.#options?.begin(),
      },
      h("span", { class: "name" }, "New conversation"),
    );
    this.#inView.disconnect();
    this.#list.replaceChildren(h("li", {}, begin), ...fitting.map((each) => this.#item(each)));
    if (focused !== undefined)
      this.#list.querySelector<HTMLElement>(`[data-conversation="${focused}"]`)?.focus();
    this.#drawPeople();
    this.#drawState(fitting.length);
  }

  #item(conversation: Conversation): HTMLElement {
    const { id, endUser, lastMessageAt, createdAt } = conversation;
    const person = endUser === null ? [] : [endUser, " · "];
    const button = h(
      "button",
      {
        type: "button",
        "data-conversation": id,
        "aria-current": id === this.#openId ? "true" : undefined,
        onclick: () => this.#options?.open(conversation),
      },
      h("span", { class: "name" }, this.#nameOf(conversation)),
      h("span", { class: "about" }, ...person, timeElement(lastMessageAt ?? createdAt)),
    );
    if (this.#wordsOf(conversation) === undefined) this.#inView.observe(button);
    return h("li", {}, button);
  }

  /** People who have been seen in the list can be chosen. */
  #drawPeople(): void {
    const known = new Set([...this.#people.children].map((option) => (option as HTMLOptionElement).value));
    for (const { endUser } of this.#all) {
      if (endUser === null || known.has(endUser)) continue;
      known.add(endUser);
      this.#people.append(h("option", { value: endUser }, endUser));
    }
    this.#people.hidden = known.size === 0;
  }

  #drawState(fitting: number): void {
    const total = this.#page?.pagination.total ?? 0;
    const searched = this.#all.filter((each) => this.#wordsOf(each) !== undefined).length;
    const found = this.#isSearching ? `${fitting} found in ${searched} of ${total}.` : "";
    const told = total === 0 && this.#filter.value !== "" ? "There is none." : found;
    showIn(this.#state, this.#problem || told);
    this.#more.textContent = this.#isSearching ? "Search further" : "Show more";
    this.#more.hidden = this.#isWhole;
  }
}
