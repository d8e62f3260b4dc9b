/**
 * A field for a text of many lines, with their numbers, of which some are marked.
 *
 * @module
 */

import { h } from "../../shared/dom.ts";

/**
 * The field is over a copy of its text that is not seen, and that breaks its lines where the field does: so the numbers are
 * beside their lines. Both are as high as the text, and what is around them scrolls.
 */
export class SourceField {
  readonly element: HTMLElement;
  readonly field: HTMLTextAreaElement;
  readonly #lines = h("div", { class: "source-lines", "aria-hidden": "true" });
  #shown: readonly string[] = [];
  #marked: ReadonlySet<number> = new Set();

  /** `attributes`: those of the field. */
  constructor(attributes: Readonly<Record<string, string>>, changed: () => void) {
    this.field = h("textarea", {
      ...attributes,
      spellcheck: "true",
      autocomplete: "off",
      autocapitalize: "off",
      oninput: () => {
        this.#show();
        changed();
      },
    });
    this.element = h("div", { class: "source-field" }, this.#lines, this.field);
    this.#show();
  }

  get text(): string {
    return this.field.value;
  }

  set text(text: string) {
    this.field.value = text;
    this.#show();
  }

  /** Marks lines, counted from 1. */
  mark(lines: Iterable<number>): void {
    const marked = new Set(lines);
    const isMarked = (line: number, isTo: boolean) =>
      this.#lines.children[line - 1]?.classList.toggle("marked", isTo);
    for (const line of this.#marked) isMarked(line, false);
    for (const line of marked) isMarked(line, true);
    this.#marked = marked;
  }

  /** Shows a line, selected. */
  goTo(line: number): void {
    const before = this.#shown.slice(0, line - 1);
    const start = before.reduce((sum, { length }) => sum + length + 1, 0);
    this.field.focus({ preventScroll: true });
    this.field.setSelectionRange(start, start + (this.#shown[line - 1]?.length ?? 0));
    this.#lines.children[line - 1]?.scrollIntoView({ block: "center" });
  }

  /** Brings the copy up to date: only lines that have changed. */
  #show(): void {
    const lines = this.field.value.split("\n");
    const shown = this.#shown;
    const shorter = Math.min(lines.length, shown.length);
    let start = 0;
    while (start < shorter && lines[start] === shown[start]) start++;
    let ending = 0;
    while (ending < shorter - start && lines.at(-1 - ending) === shown.at(-1 - ending)) ending++;
    for (let at = shown.length - ending; at > start; at--) this.#lines.children[start]?.remove();
    const made = lines.slice(start, lines.length - ending).map((line) => h("div", {}, line));
    const next = this.#lines.children[start];
    if (next) next.before(...made);
    else this.#lines.append(...made);
    this.#shown = lines;
  }
}
