/**
 * The tab of an owner's own twins: which there are, and an editor of the one that is open.
 *
 * @module
 */

import { AuthenticationError, type Twin, type TwinClient } from "../../../client/mod.ts";
import { byId, h } from "../../shared/dom.ts";
import { ask } from "../dialog.ts";
import { Listing } from "../listing.ts";
import { announce, reasonOf } from "../page.ts";
import type { Session } from "../session.ts";
import { mergeTexts, withLineEnds } from "./difference.ts";
import { showDifference } from "./difference-view.ts";
import { Documents } from "./documents.ts";
import type { Editing, OpenedTwin } from "./opened.ts";
import { type Fault, faultsIn, hasCode, OwnTwins, type Replaced } from "./requests.ts";
import { SourceField } from "./source-field.ts";
import { template } from "./template.ts";
import { GoldenQuestions, Trial } from "./trial.ts";
import { Versions } from "./versions.ts";

/** How long nothing is written before a text is checked, in milliseconds. */
const pauseMs = 500;

/** With longer documents, golden questions are asked only of what is saved: reading all of them takes long. In bytes. */
const quickBytes = 1024 * 1024;

/** What the tab asks of the page. */
export interface OwnTwinsOptions {
  /** Asks for another credential. */
  readonly signIn: (reason: string) => void;
  /** Told once there are others, or they are called differently. */
  readonly changed: () => void;
  /** Shows a twin where one talks to it. */
  readonly talk: (twinId: string) => void;
}

/** Who is signed in. */
interface Owner {
  readonly client: TwinClient;
  readonly own: OwnTwins;
  readonly whose: string;
}

/** The tab. */
export class OwnTwinsTab {
  readonly #options: OwnTwinsOptions;
  readonly #panel = byId("own-twins", HTMLElement);
  readonly #list: Listing<Twin>;
  readonly #title = h("h2");
  readonly #about = h("p");
  readonly #id = h("input", {
    id: "twin-id",
    maxlength: "64",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    placeholder: "front-desk",
    pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]*",
  });
  readonly #idField = h(
    "div",
    { class: "field" },
    h("label", { for: "twin-id" }, "Id, which stays"),
    this.#id,
  );
  readonly #source: SourceField;
  readonly #faults = h("div", { id: "twin-faults", class: "faults", role: "status" });
  readonly #note = h("input", {
    id: "twin-note",
    maxlength: "200",
    autocomplete: "off",
    placeholder: "What is new",
  });
  readonly #save = h("button", { type: "submit", class: "primary" }, "Save");
  readonly #state = h("p", { class: "soft", role: "status" });
  readonly #problem = h("p", { class: "warn", role: "alert" });
  readonly #talk = button("Talk to it", () => this.#opened?.id && this.#options.talk(this.#opened.id));
  readonly #delete = button("Delete", () => void this.#attempt(() => this.#remove()));
  readonly #golden = new GoldenQuestions();
  readonly #trial = new Trial();
  readonly #documents = new Documents(() => this.#versionMade());
  readonly #versions = new Versions((version) => this.#restored(version));
  readonly #nothing: HTMLElement;
  readonly #editor: HTMLElement;
  readonly #side: HTMLElement;
  readonly #stored: readonly HTMLElement[];
  #session: Owner | undefined;
  #opened: OpenedTwin | undefined;
  #editing: Editing | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #checking: AbortController | undefined;

  constructor(options: OwnTwinsOptions) {
    this.#options = options;
    this.#source = new SourceField(
      { id: "twin-text", "aria-label": "The twin's file", "aria-describedby": "twin-faults" },
      () => this.#written(),
    );
    this.#list = new Listing<Twin>({
      empty: "You have made none yet.",
      read: () => this.#required().client.twins.list({ own: true, limit: 100 }),
      show: (twin) => this.#item(twin),
    });
    const part = (title: string, { element }: { readonly element: HTMLElement }) => {
      const id = `twin-part-${title.toLowerCase().replaceAll(/\W/g, "-")}`;
      return h("section", { "aria-labelledby": id }, h("h3", { id }, title), element);
    };
    const [documents, versions] = [part("Documents", this.#documents), part("Versions", this.#versions)];
    this.#stored = [documents, versions, this.#talk, this.#delete];
    this.#side = h(
      "div",
      { class: "side", role: "group", "aria-label": "Beside the text", tabindex: "0" },
      part("Golden questions", this.#golden),
      part("Try", this.#trial),
      documents,
      versions,
    );
    const back = button("Back to the list", () => void this.#attempt(() => this.#back()));
    back.classList.add("back");
    this.#editor = h(
      "form",
      {
        class: "editor",
        "aria-label": "The open twin",
        onsubmit: (event) => {
          event.preventDefault();
          void this.#attempt(() => this.#store());
        },
      },
      h("div", { class: "editor-head" }, back, this.#title, this.#talk, this.#delete, this.#about),
      this.#idField,
      this.#source.element,
      this.#faults,
      h(
        "div",
        { class: "editor-foot" },
        h("label", { class: "unseen", for: "twin-note" }, "What is new in this version"),
        this.#note,
        this.#save,
        this.#state,
      ),
    );
    this.#nothing = h(
      "div",
      { class: "nothing" },
      h("p", {}, "A twin is one Markdown file: who it is, and what it knows, under headings."),
      button("New twin", () => void this.#attempt(() => this.#begin())),
    );
    this.#panel.append(
      h(
        "nav",
        { class: "people", "aria-label": "Your twins" },
        h("h2", {}, "Your twins"),
        this.#list.element,
        button("New twin", () => void this.#attempt(() => this.#begin())),
      ),
      this.#nothing,
      this.#editor,
      this.#side,
    );
    this.#panel.addEventListener("keydown", (event) => {
      if (event.key !== "s" || !(event.ctrlKey || event.metaKey) || !this.#opened) return;
      event.preventDefault();
      void this.#attempt(() => this.#store());
    });
    addEventListener("beforeunload", (event) => {
      if (this.#isUnsaved()) event.preventDefault();
    });
    this.#close();
  }

  /** Whether there is such a tab for who has signed in: owners make twins here, and this is one. What is open stays. */
  async start({ client, whose, token }: Session): Promise<boolean> {
    if (token === undefined) return false;
    const own = new OwnTwins(token);
    if (this.#session && this.#session.whose !== whose) this.#close();
    this.#session = { client, own, whose };
    return own.areThere();
  }

  /** Shows it as it is now. */
  open(): void {
    void this.#list.open();
  }

  /** Opens one of them at its text. */
  async edit(id: string): Promise<void> {
    if (this.#opened?.id !== id) await this.#choose(id);
  }

  #required(): Owner {
    if (!this.#session) throw new Error("This happens only once an owner is signed in.");
    return this.#session;
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
          "aria-current": id === this.#opened?.id ? "true" : undefined,
          onclick: () => void this.#attempt(() => this.#choose(id)),
        },
        h("span", { class: "name" }, name),
        h("span", { class: "about" }, id),
      ),
    );
  }

  async #choose(id: string): Promise<void> {
    if (!(await this.#mayLeave())) return;
    const stored = await this.#required().own.file(id);
    this.#show({ id, stored }, stored.text);
    this.#check(0);
  }

  async #begin(): Promise<void> {
    if (!(await this.#mayLeave())) return;
    this.#id.value = "";
    this.#show({ id: undefined, stored: { text: "", revision: null } }, template);
    this.#id.focus();
    this.#check(0);
  }

  /** Whether what is open may be put away: its words are stored, or not wanted. */
  async #mayLeave(): Promise<boolean> {
    if (!this.#isUnsaved()) return true;
    const text = "What you have written since is not saved.";
    return (await ask({ title: "Leave without saving?", text, action: "Leave" })) !== undefined;
  }

  #isUnsaved(): boolean {
    if (!this.#opened) return false;
    const begun = this.#opened.id === undefined ? template : shown(this.#opened.stored.text);
    return this.#source.text !== begun;
  }

  async #back(): Promise<void> {
    if (await this.#mayLeave()) this.#close();
  }

  #close(): void {
    clearTimeout(this.#timer);
    this.#checking?.abort();
    this.#opened = undefined;
    this.#panel.dataset.part = "people";
    this.#nothing.append(this.#problem); // which is where a person looks
    this.#nothing.hidden = false;
    this.#editor.hidden = true;
    this.#side.hidden = true;
    this.#markChosen();
  }

  #show(twin: OpenedTwin, text: string): void {
    this.#opened = twin;
    this.#editing = this.#editingOf(twin);
    this.#panel.dataset.part = "text";
    this.#nothing.hidden = true;
    this.#editor.hidden = false;
    this.#side.hidden = false;
    this.#note.value = "";
    this.#faults.after(this.#problem);
    this.#state.textContent = "";
    this.#source.text = text;
    this.#source.element.scrollTop = 0;
    this.#golden.say("…");
    this.#trial.open(this.#editing);
    this.#showStored();
    this.#showFaults([]);
    if (twin.id === undefined) return;
    void this.#documents.open(this.#editing);
    void this.#versions.open(this.#editing);
  }

  /** Shows what there is only of a twin that is stored. */
  #showStored(): void {
    const id = this.#opened?.id;
    this.#title.textContent = id ?? "New twin";
    this.#about.textContent = id === undefined ? "Nothing is stored before you save." : "";
    this.#idField.hidden = id !== undefined;
    this.#id.required = id === undefined;
    for (const element of this.#stored) element.hidden = id === undefined;
    this.#markChosen();
  }

  #markChosen(): void {
    for (const item of this.#list.element.querySelectorAll<HTMLElement>("[data-twin]"))
      item.ariaCurrent = item.dataset.twin === this.#opened?.id ? "true" : null;
  }

  #editingOf(twin: OpenedTwin): Editing {
    const required = () => this.#required();
    return {
      twin,
      get own() {
        return required().own;
      },
      change: (make) => this.#change(twin, make),
      text: () => this.#file(),
      fail: (error) => this.#fail(error),
    };
  }

  /** The text with the line ends of the file, which a field does not keep. */
  #file(): string {
    return withLineEnds(this.#opened?.stored.text ?? "", this.#source.text);
  }

  async #change<Result>(twin: OpenedTwin, make: (replaces: Replaced) => Promise<Result>): Promise<Result> {
    try {
      return await make(twin.stored.revision);
    } catch (error) {
      if (!hasCode(error, "revision_mismatch") || twin.id === undefined) throw error;
      const now = await this.#required().own.file(twin.id);
      if (now.text !== twin.stored.text) throw error;
      twin.stored = now; // only its documents have changed
      return make(now.revision);
    }
  }

  #written(): void {
    this.#state.textContent = "";
    this.#check(pauseMs);
  }

  /** Says after a pause what is wrong with the text, and how its golden questions are answered. */
  #check(afterMs: number): void {
    clearTimeout(this.#timer);
    this.#checking?.abort();
    const checking = new AbortController();
    const { signal } = checking;
    this.#checking = checking;
    this.#timer = setTimeout(() => {
      this.#judge(signal).catch((error: unknown) => {
        if (!signal.aborted) this.#fail(error);
      });
    }, afterMs);
  }

  async #judge(signal: AbortSignal): Promise<void> {
    const id = this.#opened?.id;
    const isQuick = id === undefined || this.#documents.bytes <= quickBytes;
    const { own } = this.#required();
    const text = this.#file();
    const { faults, tests } = await own.check(text, { id, tests: isQuick ? "run" : "skip", signal });
    if (signal.aborted) return;
    this.#problem.textContent = "";
    this.#showFaults(faults);
    if (tests) this.#golden.show(tests);
    else if (faults.length > 0) this.#golden.say("They are asked once the file has no faults.");
    else this.#golden.say("Its documents are long: they are asked when you save.");
  }

  #showFaults(faults: readonly Fault[]): void {
    const items = faults.map(({ line, message }) =>
      h(
        "li",
        {},
        button(`Line ${line}`, () => this.#source.goTo(line)),
        " ",
        message,
      ),
    );
    const list = h("ul", {}, ...items);
    if (list.textContent !== this.#faults.textContent)
      this.#faults.replaceChildren(...(items.length > 0 ? [list] : [])); // the same are not spoken again
    this.#source.mark(faults.map(({ line }) => line));
    this.#source.field.ariaInvalid = String(faults.length > 0);
  }

  async #store(): Promise<void> {
    const twin = this.#opened;
    if (!twin || this.#save.disabled) return;
    if (twin.id === undefined && !this.#id.reportValidity()) return;
    const id = twin.id ?? this.#id.value.trim();
    const written = this.#file();
    const { own } = this.#required();
    this.#save.disabled = true;
    this.#state.textContent = "Saving …";
    try {
      const made = await this.#change(twin, (replaces) => own.put(id, written, replaces, this.#note.value));
      if (this.#opened !== twin) return; // another has been opened meanwhile
      const stored = { text: written, revision: made.revision };
      twin.stored = stored;
      this.#note.value = "";
      this.#showFaults([]);
      if (made.tests) this.#golden.show(made.tests);
      this.#state.textContent = `Saved as version ${made.version}.`;
      if (twin.id === undefined) this.#goOnWith({ id, stored });
      else await this.#versionMade();
    } catch (error) {
      this.#state.textContent = "";
      const faults = faultsIn(error);
      if (faults) this.#showFaults(faults);
      else if (!hasCode(error, "revision_mismatch")) throw error;
      else if (twin.id === undefined) throw new Error(`You have a twin ${id} already: choose another id.`);
      else await this.#reconcile(twin);
    } finally {
      this.#save.disabled = false;
    }
  }

  /** A new twin is stored now; what is written stays where it is. */
  #goOnWith(twin: OpenedTwin): void {
    this.#opened = twin;
    this.#editing = this.#editingOf(twin);
    this.#trial.open(this.#editing);
    this.#showStored();
    void this.#documents.open(this.#editing);
    void this.#versionMade();
  }

  /** Another has saved meanwhile: shows both texts, and has the person say which to go on with. None is lost. */
  async #reconcile(twin: OpenedTwin): Promise<void> {
    if (twin.id === undefined) return;
    const theirs = await this.#required().own.file(twin.id);
    const [base, mine, other] = [shown(twin.stored.text), this.#source.text, shown(theirs.text)];
    const both = mergeTexts(base, mine, other);
    const [joined, kept, taken] = ["Put both together", "Keep mine", "Take theirs"];
    const chosen = await showDifference({
      title: "Another version was saved meanwhile",
      text: "Their lines have a −, yours a +. Nothing is saved yet, and theirs stays among the versions.",
      before: other,
      after: mine,
      actions: [...(both === undefined ? [] : [joined]), kept, taken],
      close: "Go on writing",
    });
    if (chosen === undefined) return;
    twin.stored = theirs;
    if (chosen === joined && both !== undefined) this.#source.text = both;
    if (chosen === taken) this.#source.text = other;
    const words = {
      [joined]: "Both are here: look at it, and save.",
      [kept]: "Yours is here. Saving puts it in place of theirs.",
      [taken]: "Theirs is here.",
    };
    this.#say(words[chosen] ?? "", "Put mine back", chosen === kept ? undefined : mine);
    this.#check(0);
  }

  /** There is another version: shows what else it has changed. */
  async #versionMade(): Promise<void> {
    const [twin, editing] = [this.#opened, this.#editing];
    if (!twin || !editing || twin.id === undefined) return;
    void this.#list.open();
    this.#options.changed();
    await this.#versions.open(editing);
    const now = await this.#required().own.file(twin.id);
    if (now.text === twin.stored.text) twin.stored = now; // only its documents have changed
    this.#check(0);
  }

  async #restored(version: number): Promise<void> {
    const id = this.#opened?.id;
    if (id === undefined) return;
    const mine = this.#isUnsaved() ? this.#source.text : undefined;
    const stored = await this.#required().own.file(id);
    this.#show({ id, stored }, stored.text);
    this.#say(`Version ${version} is restored.`, "Put back what I wrote", mine);
    await this.#versionMade();
  }

  /** Says what was done, and offers to put back a text that went: in one change, which is spoken once. */
  #say(words: string, label: string, mine: string | undefined): void {
    const putBack = (text: string) => () => {
      this.#source.text = text;
      this.#written();
    };
    this.#state.replaceChildren(words, ...(mine === undefined ? [] : [" ", button(label, putBack(mine))]));
  }

  async #remove(): Promise<void> {
    const id = this.#opened?.id;
    if (id === undefined) return;
    const [documents, versions] = [
      counted(this.#documents.total, "document"),
      counted(this.#versions.total, "version"),
    ];
    const text = `Its text, ${documents} and ${versions} go. Conversations with it stay readable, but cannot go on. This cannot be undone.`;
    if ((await ask({ title: `Delete ${id}?`, text, action: "Delete" })) === undefined) return;
    await this.#required().own.delete(id);
    this.#close();
    void this.#list.open();
    this.#options.changed();
    announce(`${id} is deleted.`);
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    this.#problem.textContent = "";
    try {
      await work();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    const isExpired = error instanceof AuthenticationError;
    const signIn = () => this.#options.signIn("What you have written is still there.");
    const offers = isExpired ? [button("Sign in with a new one", signIn)] : [];
    const words = "Your token has expired. What you have written stays here. ";
    this.#problem.replaceChildren(isExpired ? words : reasonOf(error), ...offers);
  }
}

function button(label: string, onclick: () => void): HTMLButtonElement {
  return h("button", { type: "button", class: "small", onclick }, label);
}

/** A file's text as a field has it. */
function shown(text: string): string {
  return text.replaceAll(/\r\n?/g, "\n");
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}
