/**
 * The versions of the twin that is open: what each has changed, and making an earlier one current again.
 *
 * @module
 */

import { h } from "../../shared/dom.ts";
import { timeElement } from "../page.ts";
import { failure, loading } from "../paged-list.ts";
import { showDifference } from "./difference-view.ts";
import type { Editing } from "./opened.ts";
import { hasCode, type ListedVersion } from "./requests.ts";

/** How many are shown before more are asked for. */
const few = 5;

/** The versions. `restored`: told once an earlier one is current again. */
export class Versions {
  readonly element = h("div", { class: "part" });
  readonly #restored: (version: number) => Promise<void>;
  #editing: Editing | undefined;
  #total = 0;

  constructor(restored: (version: number) => Promise<void>) {
    this.#restored = restored;
  }

  /** How many there are. */
  get total(): number {
    return this.#total;
  }

  /** Shows those of a twin. */
  async open(editing: Editing): Promise<void> {
    const { own, twin } = editing;
    if (this.#editing !== editing) this.element.replaceChildren(loading());
    this.#editing = editing;
    if (twin.id === undefined) return;
    try {
      const { data, pagination } = await own.versions(twin.id);
      if (this.#editing !== editing) return;
      this.#total = pagination.total;
      const items = data.map((version, at) => this.#entry(editing, version, data[at + 1]));
      const list = h("ul", {}, ...items.slice(0, few));
      this.element.replaceChildren(list);
      if (items.length <= few) return;
      const more = h("button", { type: "button", class: "small" }, `Show all ${items.length}`);
      more.addEventListener("click", () => {
        more.remove();
        list.append(...items.slice(few));
        items[few]?.querySelector("button")?.focus();
      });
      this.element.append(more);
    } catch (error) {
      if (this.#editing !== editing) return;
      this.element.replaceChildren(failure(error, () => void this.open(editing)));
      if (hasCode(error, "twin_not_found")) editing.fail(error);
    }
  }

  #entry(editing: Editing, version: ListedVersion, before: ListedVersion | undefined): HTMLElement {
    const { version: number, createdAt, note, current } = version;
    const button = (label: string, work: () => Promise<void>) =>
      h(
        "button",
        {
          type: "button",
          class: "small",
          "aria-label": `${label}: version ${number}`,
          onclick: () => void work().catch(editing.fail),
        },
        label,
      );
    return h(
      "li",
      { class: "entry" },
      h("p", {}, h("strong", {}, `Version ${number}`), current ? " · is current" : ""),
      note !== null && h("p", {}, note),
      h(
        "p",
        { class: "meta" },
        timeElement(createdAt),
        h(
          "span",
          { class: "key-buttons" },
          before && button("What changed", () => this.#compare(editing, before, version)),
          !current && button("Restore", () => this.#restore(editing, number)),
        ),
      ),
    );
  }

  async #compare(
    { own, twin: { id } }: Editing,
    before: ListedVersion,
    { version }: ListedVersion,
  ): Promise<void> {
    if (id === undefined) return;
    const [old, now] = await Promise.all([own.file(id, before.version), own.file(id, version)]);
    await showDifference({
      title: `What version ${version} changed`,
      text: `From version ${before.version} to version ${version}.`,
      before: old.text,
      after: now.text,
      close: "Close",
    });
  }

  async #restore({ own, twin: { id } }: Editing, version: number): Promise<void> {
    if (id === undefined) return;
    const [now, then] = await Promise.all([own.file(id), own.file(id, version)]);
    const restore = "Restore";
    const chosen = await showDifference({
      title: `Restore version ${version}?`,
      text: "A new version has its text and its documents. This is what changes; all versions stay.",
      before: now.text,
      after: then.text,
      actions: [restore],
      close: "Cancel",
    });
    if (chosen !== restore) return;
    await own.restore(id, version);
    await this.#restored(version);
  }
}
