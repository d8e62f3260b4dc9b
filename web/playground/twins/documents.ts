/**
 * The documents of the twin that is open: which there are, putting more by drag and drop, taking one away.
 *
 * @module
 */

import { h } from "../../shared/dom.ts";
import { ask } from "../dialog.ts";
import { announce, reasonOf, timeElement } from "../page.ts";
import { failure, loading } from "../paged-list.ts";
import type { Editing } from "./opened.ts";
import { hasCode, type ListedDocument } from "./requests.ts";

/** Names of what is read. */
const accepted = ".md,.markdown,.mdx,.txt,.html,.htm,.pdf,.docx";

/** The documents. `changed`: told once there is a new version. */
export class Documents {
  readonly element: HTMLElement;
  readonly #list = h("div");
  readonly #sending = h("ul", { class: "sending" });
  readonly #field: HTMLInputElement;
  readonly #changed: () => Promise<void>;
  #editing: Editing | undefined;
  #bytes = 0;
  #total = 0;

  constructor(changed: () => Promise<void>) {
    this.#changed = changed;
    this.#field = h("input", {
      id: "twin-document",
      type: "file",
      multiple: true,
      accept: accepted,
      onchange: () => {
        void this.#put([...(this.#field.files ?? [])]);
        this.#field.value = "";
      },
    });
    const drop = h(
      "div",
      { class: "drop" },
      h("label", { for: "twin-document" }, "Drop files here, or choose some"),
      this.#field,
      h("p", { class: "soft" }, "Markdown, text, HTML, PDF or Word, 20 MiB together."),
    );
    for (const [event, isOver] of [
      ["dragover", true],
      ["dragleave", false],
      ["drop", false],
    ] as const)
      drop.addEventListener(event, (dragged) => {
        dragged.preventDefault(); // else the browser opens the file
        drop.classList.toggle("over", isOver);
        if (event === "drop") void this.#put([...(dragged.dataTransfer?.files ?? [])]);
      });
    this.element = h("div", { class: "part" }, this.#list, this.#sending, drop);
  }

  /** How long they are together, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How many there are. */
  get total(): number {
    return this.#total;
  }

  /** Shows those of a twin. */
  async open(editing: Editing): Promise<void> {
    this.#editing = editing;
    this.#sending.replaceChildren();
    this.#list.replaceChildren(loading());
    await this.#show(editing);
  }

  async #show(editing: Editing): Promise<void> {
    const { own, twin } = editing;
    if (twin.id === undefined) return;
    try {
      const documents: ListedDocument[] = [];
      for (let page = 1; ; page++) {
        const { data, pagination } = await own.documents(twin.id, page);
        documents.push(...data);
        if (data.length === 0 || documents.length >= pagination.total) break;
      }
      if (this.#editing !== editing) return;
      this.#bytes = documents.reduce((sum, { bytes }) => sum + bytes, 0);
      this.#total = documents.length;
      const none = h("p", { class: "soft" }, "It knows no documents besides its text.");
      const items = documents.map((document) => this.#entry(editing, document));
      this.#list.replaceChildren(items.length > 0 ? h("ul", {}, ...items) : none);
    } catch (error) {
      if (this.#editing !== editing) return;
      this.#list.replaceChildren(failure(error, () => void this.open(editing)));
      if (hasCode(error, "twin_not_found")) editing.fail(error);
    }
  }

  #entry(editing: Editing, { path, bytes, updatedAt }: ListedDocument): HTMLElement {
    const remove = async () => {
      const text = "The twin forgets it. An earlier version has it still, and can be restored.";
      const { id } = editing.twin;
      if (id === undefined || (await ask({ title: `Remove ${path}?`, text, action: "Remove" })) === undefined)
        return;
      try {
        await editing.change((replaces) => editing.own.deleteDocument(id, path, replaces));
        announce(`${path} is removed.`);
        await this.#refresh(editing);
      } catch (error) {
        editing.fail(error);
      }
    };
    const button = h(
      "button",
      { type: "button", class: "small", "aria-label": `Remove ${path}`, onclick: () => void remove() },
      "Remove",
    );
    return h(
      "li",
      { class: "entry document" },
      h("p", {}, h("strong", {}, path)),
      button,
      h("p", { class: "meta" }, h("span", {}, sizeOf(bytes), ", put ", timeElement(updatedAt))),
    );
  }

  /** Puts one file after the other, as each makes a version of the one before. */
  async #put(files: readonly File[]): Promise<void> {
    const editing = this.#editing;
    const id = editing?.twin.id;
    if (!editing || id === undefined || files.length === 0) return;
    const lines = files.map((file) => {
      const progress = h("progress", { max: "1", "aria-label": `Sending ${file.name}` });
      progress.value = 0;
      const state = h("span", { class: "soft" }, "waits");
      const line = h("li", {}, h("span", {}, file.name), " ", state, progress);
      return { file, progress, state, line };
    });
    this.#sending.append(...lines.map(({ line }) => line));
    for (const { file, progress, state, line } of lines) {
      const sent = (part: number) => {
        progress.value = part;
        state.textContent = part < 1 ? `${Math.round(part * 100)} %` : "is read …";
      };
      try {
        sent(0);
        const made = await editing.change((replaces) =>
          editing.own.putDocument(id, file.name, file, { replaces, sent }),
        );
        editing.twin.stored = { ...editing.twin.stored, revision: made.revision };
        line.remove();
        announce(`${file.name} is there.`);
      } catch (error) {
        if (hasCode(error, "twin_not_found")) return editing.fail(error);
        progress.remove();
        state.className = "warn";
        state.textContent = reasonOf(error).replace(/^validation_error: /, "");
        announce(`${file.name} was refused.`);
      }
    }
    await this.#refresh(editing);
  }

  async #refresh(editing: Editing): Promise<void> {
    await this.#show(editing);
    if (this.#editing === editing) await this.#changed();
  }
}

/** A length in words. */
function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const [size, unit] = bytes < 1024 ** 2 ? [bytes / 1024, "KiB"] : [bytes / 1024 ** 2, "MiB"];
  return `${size.toFixed(size < 10 ? 1 : 0)} ${unit}`;
}
