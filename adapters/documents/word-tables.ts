/**
 * The tables of a Word document.
 *
 * @module
 */

import { type Repeats, repeat } from "../../knowledge/text/repeats.ts";
import { childOf, type Element, isOn, propertyOf } from "./xml.ts";

/** A table, from its first row to its last. A cell that is merged with the one above stands in its own row, too. */
export class WordTable {
  readonly #repeats: Repeats;
  readonly #rows: string[] = [];
  /** What the last row says, by the columns in which its cells begin. */
  #above: ReadonlyMap<number, string> = new Map();
  #row = emptyRow();
  /** The properties of the cell that is being read. */
  #cell: Element | undefined;

  constructor(repeats: Repeats) {
    this.#repeats = repeats;
  }

  beginRow(): void {
    this.#row = emptyRow();
  }

  readRow(properties: Element): void {
    this.#row.isHead = isOn(properties, "w:tblHeader") === true;
    this.#row.isDeleted = childOf(properties, "w:del") !== undefined;
    const before = Number(propertyOf(properties, "w:gridBefore") ?? 0);
    for (let left = before; left > 0 && left < 100; left--) this.#add("", 1);
  }

  beginCell(): void {
    this.#cell = undefined;
  }

  readCell(properties: Element): void {
    this.#cell = properties;
  }

  endCell(html: string): void {
    const merge = childOf(this.#cell, "w:vMerge");
    const goesOn = merge && merge.attributes["w:val"] !== "restart";
    const above = (goesOn && this.#above.get(this.#row.column)) || "";
    const span = Number(propertyOf(this.#cell, "w:gridSpan") ?? 1) || 1;
    this.#add(above !== "" && repeat(this.#repeats, above) ? above : html, Math.min(100, Math.max(1, span)));
  }

  endRow(): void {
    const { isDeleted, isHead, cells, texts } = this.#row;
    if (isDeleted) return;
    const tag = isHead ? "th" : "td";
    const written = cells.map(({ html, span }) => `<${tag} colspan="${span}">${html}</${tag}>`);
    this.#rows.push(`<tr>${written.join("")}</tr>`);
    this.#above = texts;
  }

  toHtml(): string {
    return `<table>${this.#rows.join("")}</table>`;
  }

  #add(html: string, span: number): void {
    this.#row.texts.set(this.#row.column, html);
    this.#row.cells.push({ html, span });
    this.#row.column += span;
  }
}

interface Row {
  /** What its cells say, by the columns in which they begin. */
  readonly texts: Map<number, string>;
  readonly cells: { readonly html: string; readonly span: number }[];
  /** Where the next cell begins. */
  column: number;
  isHead: boolean;
  isDeleted: boolean;
}

function emptyRow(): Row {
  return { texts: new Map(), cells: [], column: 0, isHead: false, isDeleted: false };
}
