/**
 * The editor of the twin that is open: its text, and what is beside it.
 *
 * @module
 */

import { h } from "../../shared/dom.ts";
import { announce } from "../page.ts";
import { Checks } from "./checks.ts";
import { settleConflict } from "./conflict.ts";
import { withLineEnds } from "./difference.ts";
import { Documents } from "./documents.ts";
import type { Editing, OpenedTwin } from "./opened.ts";
import type { Problem } from "./problem.ts";
import { faultsIn, hasCode, type OwnTwinRequests, type Replaced } from "./requests.ts";
import { SourceField } from "./source-field.ts";
import { template } from "./template.ts";
import { Trial } from "./trial.ts";
import { Versions } from "./versions.ts";

/** How long nothing is written before a text is checked, in milliseconds. */
const pauseMs = 500;

/** What the editor needs of the tab. */
export interface EditorOptions {
  readonly own: () => OwnTwinRequests;
  readonly problem: Problem;
  /** Told once there is another version. */
  readonly changed: () => void;
  /** The way out, before the title. */
  readonly back: HTMLElement;
  /** What can be done with a twin that is stored, behind the title. */
  readonly actions: readonly HTMLElement[];
}

/** The editor. */
export class TwinEditor {
  readonly element: HTMLFormElement;
  readonly side: HTMLElement;
  readonly documents = new Documents(() => this.#versionMade());
  readonly versions = new Versions((version) => this.#restored(version));
  readonly #options: EditorOptions;
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
  readonly #source = new SourceField(
    { id: "twin-text", "aria-label": "The twin's file", "aria-describedby": "twin-faults" },
    () => this.#written(),
  );
  readonly #note = h("input", {
    id: "twin-note",
    maxlength: "200",
    autocomplete: "off",
    placeholder: "What is new",
  });
  readonly #save = h("button", { type: "submit", class: "primary" }, "Save");
  readonly #state = h("p", { class: "soft", role: "status" });
  readonly #checks: Checks;
  readonly #trial = new Trial();
  readonly #stored: readonly HTMLElement[];
  #editing: Editing | undefined;

  constructor(options: EditorOptions) {
    this.#options = options;
    const { problem, back, actions } = options;
    this.#checks = new Checks(this.#source, this.documents, problem);
    const [documents, versions] = [part("Documents", this.documents), part("Versions", this.versions)];
    this.#stored = [documents, versions, ...actions];
    this.element = h(
      "form",
      {
        class: "editor",
        "aria-label": "The open twin",
        onsubmit: (event) => {
          event.preventDefault();
          this.save();
        },
      },
      h("div", { class: "editor-head" }, back, this.#title, ...actions, this.#about),
      this.#idField,
      this.#source.element,
      this.#checks.element,
      h(
        "div",
        { class: "editor-foot" },
        h("label", { class: "unseen", for: "twin-note" }, "What is new in this version"),
        this.#note,
        this.#save,
        this.#state,
      ),
    );
    this.side = h(
      "div",
      { class: "side", role: "group", "aria-label": "Beside the text", tabindex: "0" },
      part("Golden questions", this.#checks.golden),
      part("Try", this.#trial),
      documents,
      versions,
    );
  }

  /** The twin that is open. */
  get opened(): OpenedTwin | undefined {
    return this.#editing?.twin;
  }

  /** Whether there are words that are not stored. */
  get isUnsaved(): boolean {
    if (!this.opened) return false;
    const begun = this.opened.id === undefined ? template : shown(this.opened.stored.text);
    return this.#source.text !== begun;
  }

  /** Opens a twin at its text. */
  open(twin: OpenedTwin, text: string): void {
    this.#show(twin, text);
    this.#checks.begin();
  }

  /** Opens a new twin. */
  openNew(): void {
    this.#id.value = "";
    this.#show({ id: undefined, stored: { text: "", revision: null } }, template);
    this.#id.focus();
    this.#checks.begin();
  }

  /** Shows what has become of the twin that is open since it was read. What was written stays, and is told of a newer version. */
  async follow(): Promise<void> {
    const editing = this.#editing;
    if (!editing || editing.twin.id === undefined) return;
    const { id, stored } = editing.twin;
    try {
      const now = await editing.own.file(id);
      if (this.#editing !== editing || editing.twin.stored !== stored || now.revision === stored.revision)
        return;
      if (now.text !== stored.text && this.isUnsaved) this.#tellOfNewer(editing.twin, id);
      else {
        editing.twin.stored = now;
        if (now.text !== stored.text) this.#source.text = now.text;
        this.#checks.begin();
        void this.documents.open(editing);
      }
      await this.versions.open(editing);
    } catch (error) {
      editing.fail(error);
    }
  }

  close(): void {
    this.#checks.stop();
    this.#editing = undefined;
    this.element.hidden = true;
    this.side.hidden = true;
  }

  save(): void {
    void this.#options.problem.attempt(() => this.#store());
  }

  #show(twin: OpenedTwin, text: string): void {
    this.element.hidden = false;
    this.side.hidden = false;
    this.#note.value = "";
    this.#checks.element.after(this.#options.problem.element);
    this.#state.textContent = "";
    this.#source.text = text;
    this.#source.element.scrollTop = 0;
    this.#checks.golden.say("…");
    this.#checks.show([]);
    this.#trial.clear();
    this.#goOnWith(twin);
    if (this.#editing && twin.id !== undefined) void this.versions.open(this.#editing);
  }

  /** Shows what is around the text of a twin; what is written stays where it is. */
  #goOnWith(twin: OpenedTwin): void {
    const { own, problem } = this.#options;
    const editing: Editing = {
      twin,
      get own() {
        return own();
      },
      change: (make) => this.#change(twin, make),
      text: () => this.#file(),
      fail: (error) => (hasCode(error, "twin_not_found") ? this.#goneElsewhere(twin) : problem.show(error)),
    };
    this.#editing = editing;
    const { id } = twin;
    this.#title.textContent = id ?? "New twin";
    this.#about.className = "";
    this.#about.textContent = id === undefined ? "Nothing is stored before you save." : "";
    this.#idField.hidden = id !== undefined;
    this.#id.required = id === undefined;
    for (const element of this.#stored) element.hidden = id === undefined;
    this.#checks.open(editing);
    this.#trial.open(editing);
    if (id !== undefined) void this.documents.open(editing);
  }

  /** The text with the line ends of the file, which a field does not keep. */
  #file(): string {
    return withLineEnds(this.opened?.stored.text ?? "", this.#source.text);
  }

  async #change<Result>(twin: OpenedTwin, make: (replaces: Replaced) => Promise<Result>): Promise<Result> {
    try {
      return await make(twin.stored.revision);
    } catch (error) {
      if (!hasCode(error, "revision_mismatch") || twin.id === undefined) throw error;
      const now = await this.#options.own().file(twin.id);
      if (now.text !== twin.stored.text) throw error;
      twin.stored = now; // only its documents have changed
      return make(now.revision);
    }
  }

  #written(): void {
    this.#state.textContent = "";
    this.#checks.begin(pauseMs);
  }

  async #store(): Promise<void> {
    const twin = this.opened;
    if (!twin || this.#save.disabled) return;
    if (twin.id === undefined && !this.#id.reportValidity()) return;
    const id = twin.id ?? this.#id.value.trim();
    const written = this.#file();
    const own = this.#options.own();
    this.#save.disabled = true;
    this.#state.textContent = "Saving …";
    try {
      const made = await this.#change(twin, (replaces) => own.put(id, written, replaces, this.#note.value));
      if (this.opened !== twin) return; // another has been opened meanwhile
      const stored = { text: written, revision: made.revision };
      twin.stored = stored;
      this.#note.value = "";
      this.#checks.show([]);
      if (made.tests) this.#checks.golden.show(made.tests);
      this.#state.textContent = `Saved as version ${made.version}.`;
      if (twin.id === undefined) this.#goOnWith({ id, stored });
      await this.#versionMade();
    } catch (error) {
      this.#state.textContent = "";
      const faults = faultsIn(error);
      if (faults) this.#checks.show(faults);
      else if (hasCode(error, "twin_not_found")) this.#goneElsewhere(twin);
      else if (!hasCode(error, "revision_mismatch")) throw error;
      else if (twin.id === undefined) throw new Error(`You have a twin ${id} already: choose another id.`);
      else await this.#reconcile(twin, id);
    } finally {
      this.#save.disabled = false;
    }
  }

  /** It was deleted elsewhere: what is written is a new twin's from now on. None of it is lost. */
  #goneElsewhere(twin: OpenedTwin): void {
    const { id, stored } = twin;
    if (this.opened !== twin || id === undefined) return;
    this.#goOnWith({ id: undefined, stored: { text: stored.text, revision: null } });
    this.#id.value = id;
    this.#about.textContent = `${id} was deleted elsewhere, with its documents and versions. What you have written is still here: saving makes a new twin of it.`;
    this.#about.className = "warn";
    announce(this.#about.textContent, true);
    this.#options.changed();
  }

  /** Another version was made meanwhile, and other words are written here. */
  #tellOfNewer(twin: OpenedTwin, id: string): void {
    const look = () => void this.#options.problem.attempt(() => this.#reconcile(twin, id));
    const button = h("button", { type: "button", class: "small", onclick: look }, "Look at both");
    const words = "A newer version is there. What you have written is still here.";
    this.#about.className = "warn";
    this.#about.replaceChildren(words, " ", button);
    announce(words);
  }

  /** Another has saved meanwhile. */
  async #reconcile(twin: OpenedTwin, id: string): Promise<void> {
    const theirs = await this.#options.own().file(id);
    const mine = this.#source.text;
    const settled = await settleConflict(shown(twin.stored.text), mine, shown(theirs.text));
    if (!settled) return;
    twin.stored = theirs;
    this.#about.className = "";
    this.#about.textContent = "";
    const isMine = settled.text === mine;
    if (!isMine) this.#source.text = settled.text;
    this.#say(settled.words, "Put mine back", isMine ? undefined : mine);
    this.#checks.begin();
  }

  /** There is another version: shows what else it has changed. */
  async #versionMade(): Promise<void> {
    const editing = this.#editing;
    if (!editing || editing.twin.id === undefined) return;
    const { twin } = editing;
    this.#options.changed();
    await this.versions.open(editing);
    const now = await this.#options.own().file(editing.twin.id);
    if (now.text === twin.stored.text) twin.stored = now; // only its documents have changed
    this.#checks.begin();
  }

  async #restored(version: number): Promise<void> {
    const id = this.opened?.id;
    if (id === undefined) return;
    const mine = this.isUnsaved ? this.#source.text : undefined;
    const stored = await this.#options.own().file(id);
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
    const button = (onclick: () => void) => h("button", { type: "button", class: "small", onclick }, label);
    this.#state.replaceChildren(words, ...(mine === undefined ? [] : [" ", button(putBack(mine))]));
  }
}

/** A part beside the text, under its title. */
function part(title: string, { element }: { readonly element: HTMLElement }): HTMLElement {
  const id = `twin-part-${title.toLowerCase().replaceAll(/\W/g, "-")}`;
  return h("section", { "aria-labelledby": id }, h("h3", { id }, title), element);
}

/** A file's text as a field has it. */
function shown(text: string): string {
  return text.replaceAll(/\r\n?/g, "\n");
}
