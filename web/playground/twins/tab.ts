/**
 * The tab of an owner's own twins: which there are, and an editor of the one that is open.
 *
 * @module
 */

import type { TwinClient } from "../../../client/mod.ts";
import { byId, h } from "../../shared/dom.ts";
import { ask } from "../dialog.ts";
import { announce } from "../page.ts";
import type { Session } from "../session.ts";
import { TwinEditor } from "./editor.ts";
import { OwnTwinList } from "./list.ts";
import { Problem } from "./problem.ts";
import { OwnTwinRequests } from "./requests.ts";

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
  readonly own: OwnTwinRequests;
  readonly whose: string;
}

/** The tab. */
export class OwnTwinsTab {
  readonly #options: OwnTwinsOptions;
  readonly #panel = byId("own-twins", HTMLElement);
  readonly #list = new OwnTwinList({
    read: () => this.#required().client.twins.list({ own: true, limit: 100 }),
    choose: (id) => void this.#problem.attempt(() => this.#choose(id)),
  });
  readonly #problem: Problem;
  readonly #nothing: HTMLElement;
  readonly #editor: TwinEditor;
  #session: Owner | undefined;

  constructor(options: OwnTwinsOptions) {
    this.#options = options;
    this.#problem = new Problem(options.signIn);
    const back = this.#button("Back to the list", () => this.#back());
    back.classList.add("back");
    this.#editor = new TwinEditor({
      own: () => this.#required().own,
      problem: this.#problem,
      changed: () => this.#changed(),
      back,
      actions: [
        this.#button("Talk to it", async () => this.#talk()),
        this.#button("Delete", () => this.#remove()),
      ],
    });
    this.#nothing = h(
      "div",
      { class: "nothing" },
      h("p", {}, "A twin is one Markdown file: who it is, and what it knows, under headings."),
      this.#button("New twin", () => this.#begin()),
    );
    this.#panel.append(
      h(
        "nav",
        { class: "people", "aria-label": "Your twins" },
        h("h2", {}, "Your twins"),
        this.#list.element,
        this.#button("New twin", () => this.#begin()),
      ),
      this.#nothing,
      this.#editor.element,
      this.#editor.side,
    );
    this.#panel.addEventListener("keydown", (event) => {
      if (event.key !== "s" || !(event.ctrlKey || event.metaKey) || !this.#editor.opened) return;
      event.preventDefault();
      this.#editor.save();
    });
    addEventListener("beforeunload", (event) => {
      if (this.#editor.isUnsaved) event.preventDefault();
    });
    this.#close();
  }

  /** Whether there is such a tab for who has signed in: owners make twins here, and this is one. What is open stays. */
  async start({ client, whose, token }: Session): Promise<boolean> {
    if (token === undefined) return false;
    const own = new OwnTwinRequests(token);
    if (this.#session && this.#session.whose !== whose) this.#close();
    this.#session = { client, own, whose };
    return own.areThere();
  }

  /** Shows it as it is now. */
  open(): void {
    void this.#list.open();
    void this.#editor.follow();
  }

  /** Opens one of them at its text. */
  async edit(id: string): Promise<void> {
    if (this.#editor.opened?.id !== id) await this.#choose(id);
  }

  #required(): Owner {
    if (!this.#session) throw new Error("This happens only once an owner is signed in.");
    return this.#session;
  }

  async #choose(id: string): Promise<void> {
    if (!(await this.#mayLeave())) return;
    const stored = await this.#required().own.file(id);
    this.#show(() => this.#editor.open({ id, stored }, stored.text));
  }

  async #begin(): Promise<void> {
    if (await this.#mayLeave()) this.#show(() => this.#editor.openNew());
  }

  async #back(): Promise<void> {
    if (await this.#mayLeave()) this.#close();
  }

  /** Whether what is open may be put away: its words are stored, or not wanted. */
  async #mayLeave(): Promise<boolean> {
    if (!this.#editor.isUnsaved) return true;
    const text = "What you have written since is not saved.";
    return (await ask({ title: "Leave without saving?", text, action: "Leave" })) !== undefined;
  }

  #show(open: () => void): void {
    this.#panel.dataset.part = "text";
    this.#nothing.hidden = true;
    open();
    this.#list.mark(this.#editor.opened?.id);
  }

  #close(): void {
    this.#editor.close();
    this.#panel.dataset.part = "people";
    this.#nothing.append(this.#problem.element); // which is where a person looks
    this.#nothing.hidden = false;
    this.#list.mark(undefined);
  }

  #changed(): void {
    this.#list.mark(this.#editor.opened?.id);
    void this.#list.open();
    this.#options.changed();
  }

  async #remove(): Promise<void> {
    const { opened, documents, versions } = this.#editor;
    if (opened?.id === undefined) return;
    const { id } = opened;
    const parts = `${counted(documents.total, "document")} and ${counted(versions.total, "version")}`;
    const text = `Its text, ${parts} go. Conversations with it stay readable, but cannot go on. This cannot be undone.`;
    if ((await ask({ title: `Delete ${id}?`, text, action: "Delete" })) === undefined) return;
    await this.#required().own.delete(id);
    this.#close();
    this.#changed();
    announce(`${id} is deleted.`);
  }

  #talk(): void {
    const id = this.#editor.opened?.id;
    if (id) this.#options.talk(id);
  }

  #button(label: string, work: () => Promise<void>): HTMLButtonElement {
    const onclick = () => void this.#problem.attempt(work);
    return h("button", { type: "button", class: "small", onclick }, label);
  }
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}
