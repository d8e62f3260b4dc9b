/**
 * The inbox: who waits for a person, and for how long; the whole conversation, live; answering under a name, handing back.
 *
 * What it asks is not shown on the wire, which is of the twins' own replies.
 *
 * @module
 */

import type { Conversation, Twin, TwinClient } from "../../client/mod.ts";
import { byId, followEnd, h, submitOnEnter } from "../shared/dom.ts";
import { keep, kept } from "../shared/kept.ts";
import { newKey } from "../shared/new-key.ts";
import { showIn } from "../shared/spoken.ts";
import { ConversationView, type Speaker, titleOf } from "./conversation.ts";
import { announce, reasonOf, timeElement } from "./page.ts";

/**
 * How often it is asked who waits, in milliseconds: while the inbox is shown and something happened in the last two minutes,
 * while it is shown, and while it is not. Each time costs a request of the page's key.
 */
const livelyPauseMs = 6_000;
const shownPauseMs = 15_000;
const hiddenPauseMs = 60_000;
const livelyMs = 120_000;

/** How many conversations are listed. */
const limit = 100;

/** Where the tab keeps the name to answer under, and whether to say when another user waits. */
const namePlace = "playground author";
const bellPlace = "playground bell";

/** The network of its conversations, which is never cut. */
const network = { isCut: false, cut() {}, join() {} };

/** The inbox of the page. */
export class Inbox {
  readonly #panel = byId("inbox", HTMLElement);
  readonly #count = byId("inbox-count", HTMLElement);
  readonly #list = byId("inbox-list", HTMLElement);
  readonly #bell = byId("inbox-bell", HTMLInputElement);
  readonly #title = byId("inbox-title", HTMLElement);
  readonly #about = byId("inbox-about", HTMLElement);
  readonly #tools = byId("inbox-tools", HTMLElement);
  readonly #back = byId("inbox-back", HTMLButtonElement);
  readonly #handBack = byId("inbox-hand-back", HTMLButtonElement);
  readonly #messages = byId("inbox-messages", HTMLElement);
  readonly #form = byId("inbox-form", HTMLFormElement);
  readonly #name = byId("inbox-name", HTMLInputElement);
  readonly #content = byId("inbox-content", HTMLTextAreaElement);
  readonly #problem = byId("inbox-problem", HTMLElement);
  readonly #showEnd = followEnd(this.#messages);
  readonly #pageTitle = document.title;
  #client: TwinClient | undefined;
  #twins: readonly Twin[] = [];
  #listed: readonly Conversation[] = [];
  /** Those that waited when it was last asked. Undefined: it was not asked yet. */
  #waiting: ReadonlySet<string> | undefined;
  #view: ConversationView | undefined;
  #chosen: Conversation | undefined;
  /** What was written in the others and is not said, by their ids: it is for nobody else. */
  readonly #drafts = new Map<string, string>();
  /** What could not be said last in each of them, with its key: it may have been stored. */
  readonly #unsaid = new Map<string, { readonly body: string; readonly idempotencyKey: string }>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When something happened last. */
  #livelySince = 0;

  constructor() {
    this.#name.value = kept(namePlace) ?? "";
    this.#bell.checked = kept(bellPlace) !== null;
    this.#bell.addEventListener("change", () => {
      keep(bellPlace, this.#bell.checked ? "on" : null);
      this.#showCount();
    });
    this.#name.addEventListener("input", () => keep(namePlace, this.#name.value.trim() || null));
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#attempt(() => this.#answer());
    });
    submitOnEnter(this.#content, this.#form);
    this.#handBack.addEventListener("click", () => void this.#attempt(() => this.#handOver()));
    this.#back.addEventListener("click", () => {
      this.#leave();
      this.#list.querySelector("button")?.focus();
    });
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && this.#client) void this.#look();
    });
    this.#leave();
  }

  /** Begins to ask who waits. `mayWrite`: whether the credential may answer. */
  start(client: TwinClient, mayWrite: boolean): void {
    this.#client = client;
    for (const field of this.#form.querySelectorAll<HTMLInputElement>("input, textarea, button"))
      field.disabled = !mayWrite;
    this.#handBack.disabled = !mayWrite;
    void this.#look();
  }

  /** Shows it as it is now. */
  open(twins: readonly Twin[]): void {
    this.#twins = twins;
    this.#livelySince = Date.now();
    if (this.#client) void this.#look();
  }

  /** Asks who waits, and again after a while. A page that is not seen asks only where it is to say so. */
  async #look(): Promise<void> {
    clearTimeout(this.#timer);
    const isShown = !this.#panel.hidden;
    if (!document.hidden || this.#bell.checked) {
      try {
        await this.#read(isShown);
      } catch (error) {
        if (isShown) showIn(this.#problem, reasonOf(error));
      }
    }
    clearTimeout(this.#timer); // another look may have begun meanwhile
    const isLively = Date.now() - this.#livelySince < livelyMs;
    const pauseMs = !isShown ? hiddenPauseMs : isLively ? livelyPauseMs : shownPauseMs;
    this.#timer = setTimeout(() => void this.#look(), pauseMs);
  }

  async #read(isShown: boolean): Promise<void> {
    if (!this.#client) return;
    // Who waits, waits for a person: those that a person has are all of them, unless they are too many for a page.
    const query = isShown ? ({ answeredBy: "person", limit } as const) : ({ waiting: true, limit } as const);
    const { data, pagination } = await this.#client.conversations.list(query);
    const waiting =
      isShown && pagination.hasMore
        ? (await this.#client.conversations.list({ waiting: true, limit })).data
        : data
            .filter(({ waitingSince }) => waitingSince !== null)
            .sort((one, other) => String(one.waitingSince).localeCompare(String(other.waitingSince)));
    const before = this.#waiting;
    this.#waiting = new Set(waiting.map(({ id }) => id));
    this.#showCount();
    const hasNew = waiting.some(({ id }) => before?.has(id) === false);
    if (hasNew) this.#tell();
    if (hasNew || before?.size !== waiting.length) this.#livelySince = Date.now();
    if (!isShown) return;
    this.#listed = [...waiting, ...data.filter(({ id }) => this.#waiting?.has(id) !== true)];
    this.#showList();
  }

  #showCount(): void {
    const total = this.#waiting?.size ?? 0;
    this.#count.textContent = total === 0 ? "" : String(total);
    document.title = this.#bell.checked && total > 0 ? `(${total}) ${this.#pageTitle}` : this.#pageTitle;
  }

  /** Says that another user waits, if that is switched on. */
  #tell(): void {
    if (!this.#bell.checked) return;
    announce("Somebody waits for a person.");
    const audio = new AudioContext();
    const tone = audio.createOscillator();
    const volume = audio.createGain();
    volume.gain.value = 0.1;
    tone.connect(volume).connect(audio.destination);
    tone.onended = () => void audio.close();
    tone.start();
    tone.stop(audio.currentTime + 0.2);
  }

  /** What is listed. Who has the focus keeps it. */
  #showList(): void {
    const focused = document.activeElement?.closest<HTMLElement>("[data-conversation]")?.dataset.conversation;
    const items = this.#listed.map((conversation) => this.#item(conversation));
    const nobody = h("li", { class: "soft" }, "Nobody waits for a person.");
    this.#list.replaceChildren(...(items.length > 0 ? items : [nobody]));
    if (focused !== undefined)
      this.#list.querySelector<HTMLElement>(`[data-conversation="${focused}"]`)?.focus();
  }

  #item(conversation: Conversation): HTMLElement {
    const { id, endUser, title, waitingSince } = conversation;
    const waits =
      waitingSince === null ? [] : [h("strong", {}, "waits"), ", asked ", timeElement(waitingSince), " · "];
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          "data-conversation": id,
          "aria-current": id === this.#chosen?.id ? "true" : undefined,
          onclick: () => void this.#attempt(() => this.#choose(conversation)),
        },
        h("span", { class: "name" }, whoIn(conversation)),
        endUser !== null && title !== null && h("span", { class: "about" }, title),
        h("span", { class: "about" }, ...waits, this.#twinOf(conversation).name),
      ),
    );
  }

  /** Its twin, as far as that is known. One that began in a client of OpenAI's may have none yet. */
  #twinOf({ twinId }: Conversation): Speaker {
    return this.#twins.find(({ id }) => id === twinId) ?? { name: twinId ?? "No twin yet", greeting: null };
  }

  async #choose(conversation: Conversation): Promise<void> {
    const client = this.#client;
    if (!client) return;
    this.#leave();
    const twin = this.#twinOf(conversation);
    this.#panel.dataset.part = "chat";
    const listener = {
      moved: this.#showEnd,
      renamed: (now: Conversation) => this.#show(now),
      deleted: () => {
        this.#leave();
        this.#problem.textContent = "This conversation was deleted.";
      },
      failed: (error: unknown) => {
        this.#problem.textContent = reasonOf(error);
      },
      changed() {},
      editing() {},
      ended() {},
      unsent() {},
    };
    const writer = "Visitor";
    const options = { client, twin, writer, list: this.#messages, listener, network, mayWrite: false };
    this.#view = new ConversationView(conversation, options);
    this.#content.value = this.#drafts.get(conversation.id) ?? "";
    this.#form.hidden = false;
    this.#show(conversation);
    this.#showList();
    await this.#view.open();
    this.#content.focus();
  }

  /** Shows who talks, and who answers. */
  #show(conversation: Conversation): void {
    const isOther = JSON.stringify(conversation) !== JSON.stringify(this.#chosen);
    this.#chosen = conversation;
    if (!isOther) return;
    const { waitingSince, answeredBy } = conversation;
    this.#title.textContent = whoIn(conversation);
    const since = waitingSince === null ? [] : [" · waits, asked ", timeElement(waitingSince)];
    const who = answeredBy === "person" ? "a person answers" : "the twin answers";
    this.#about.replaceChildren(`${this.#twinOf(conversation).name} · ${who}`, ...since);
    this.#tools.hidden = false;
    this.#handBack.textContent = answeredBy === "person" ? "Hand back" : "Take over";
    void this.#look();
  }

  #leave(): void {
    this.#view?.close();
    this.#view = undefined;
    if (this.#chosen) this.#drafts.set(this.#chosen.id, this.#content.value);
    this.#chosen = undefined;
    this.#panel.dataset.part = "people";
    this.#title.textContent = "No conversation is open";
    this.#about.textContent = "Choose one to read all of it, and to answer.";
    this.#tools.hidden = true;
    this.#form.hidden = true;
    this.#messages.replaceChildren();
    this.#showList();
  }

  /** Says what was written, and goes on answering. */
  async #answer(): Promise<void> {
    const content = this.#content.value;
    const author = this.#name.value.trim();
    if (!this.#client || !this.#chosen || content.trim() === "") return;
    const { id } = this.#chosen;
    const body = { content, answeredBy: "person", ...(author !== "" && { author }) } as const;
    this.#content.value = ""; // at once, so that nothing is said twice
    const written = JSON.stringify(body);
    const before = this.#unsaid.get(id);
    const isSame = before?.body === written;
    if (isSame) this.#unsaid.delete(id);
    const idempotencyKey = isSame ? before.idempotencyKey : newKey();
    try {
      await this.#client.messages.say(id, body, { idempotencyKey });
    } catch (error) {
      this.#unsaid.set(id, { body: written, idempotencyKey });
      if (this.#chosen?.id !== id) this.#drafts.set(id, content);
      else if (this.#content.value === "") this.#content.value = content;
      throw error;
    }
    this.#showEnd();
  }

  /** Gives the conversation to the twin or, if that has it, to a person. */
  async #handOver(): Promise<void> {
    if (!this.#client || !this.#chosen) return;
    const { id, answeredBy } = this.#chosen;
    const next = answeredBy === "person" ? "twin" : "person";
    await this.#client.conversations.update(id, { answeredBy: next });
    announce(next === "twin" ? "The twin answers again." : "A person answers now.");
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    this.#problem.textContent = "";
    try {
      await work();
    } catch (error) {
      this.#problem.textContent = reasonOf(error);
    }
  }
}

/** Who talks: the app's own id of that person, or what else there is to tell the conversation by. */
function whoIn(conversation: Conversation): string {
  return conversation.endUser ?? titleOf(conversation);
}
