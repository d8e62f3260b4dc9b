/**
 * Turns HTML into Markdown, so that headings, lists and tables count in either form.
 *
 * @module
 */

import { Parser } from "htmlparser2";
import { type Repeats, repeat, roomForRepeats } from "./repeats.ts";
import { portion } from "./steps.ts";
import { type Cell, countHeads, isColumn, type Row, writeTable } from "./tables.ts";

/** What is written before and after the text of elements. */
const written: readonly (readonly [names: string, before: string, after: string])[] = [
  ["b strong", "**", "**"],
  ["em i", "*", "*"],
  ["del s strike", "~~", "~~"],
  ["code", "`", "`"],
  ["q", "“", "”"],
  ["pre", "\n\n```\n", "\n```\n\n"],
  ["dt summary", "\n\n**", "**\n\n"],
  ["details", "\n\n", "\n\n---\n\n"],
  [
    "address article aside blockquote body caption center dd div dl fieldset figcaption figure",
    "\n\n",
    "\n\n",
  ],
  ["footer form header hr html legend main nav ol p section ul", "\n\n", "\n\n"],
  ...[1, 2, 3, 4, 5, 6].map((level) => [`h${level}`, `\n\n${"#".repeat(level)} `, "\n\n"] as const),
];
const marks = new Map(
  written.flatMap(([names, before, after]) => names.split(" ").map((name) => [name, { before, after }])),
);
const inline = new Set("b strong em i del s strike code".split(" "));
/** Elements that no one reads: programs, notes for other programs, choices and menus, and what repeats other text. */
const unseen = new Set(
  "script style template head title noscript nav svg iframe object select datalist textarea rp rt annotation annotation-xml".split(
    " ",
  ),
);
/** Stands for "<" until what follows is there: what looks like a tag then is none. */
const lessThan = "\ufdd0";
const tagLike = /\ufdd0(?=[a-z/!])/giu;
/** Deeper nesting is refused: browsers write no deeper pages, and the parser needs quadratic time for it. */
const deepest = 200;
/** A page with more cells in tables is refused: people read no such tables, and each cell takes its memory. */
const mostCells = 200_000;
/** A page that is more Markdown is refused: a tag within lists may take a hundred times as much there. */
const mostWritten = 20 * 1024 * 1024;
/** What a piece of it takes besides, as it is kept until the end. */
const ofPiece = 8;
/** Of what is taken in pieces, so many cells or characters of a table are written at once, below its names. */
const cellsAtOnce = 4_096;
const charactersAtOnce = portion;
/** A row that is longer is none: its table arranges the page. */
const longestRow = 2 * portion;
/** Lists that are deeper are written like this one: Markdown takes long to read them, and no one means them. */
const deepestList = 20;

/**
 * The Markdown of a page of HTML, with its title as the first heading if it has no other one. What the page hides, by an
 * attribute or a style of the element, is left out.
 *
 * @example
 * ```ts
 * import { readHtml } from "twin-service/knowledge";
 *
 * console.log(readHtml("<h1>Hours</h1><p>From <b>nine</b>.")); // # Hours … From **nine**.
 * ```
 *
 * @throws {RangeError} if its elements are nested more than 200 deep, its tables have more than 200,000 cells, or it is
 * more than 20 Mi characters of Markdown.
 */
export function readHtml(html: string): string {
  const markdown = toMarkdown(html).trim();
  const [, title = ""] = /<title\b[^>]*>([^<]*)<\/title/iu.exec(html.slice(0, 20_000)) ?? [];
  return !title.trim() || /^# /mu.test(markdown) ? markdown : `# ${toMarkdown(title).trim()}\n\n${markdown}`;
}

function toMarkdown(html: string): string {
  const writer = new MarkdownWriter(roomOfHtml(roomForRepeats(html)));
  writer.writeHtml(html);
  if (writer.fault !== undefined) throw new RangeError(`HTML ${writer.fault}.`);
  return writtenSigns(writer.end());
}

/** What a writer wrote, with its signs of "less than" as Markdown has them. */
export function writtenSigns(markdown: string): string {
  return markdown.replace(tagLike, "\\<").replaceAll(lessThan, "<");
}

type Attributes = Readonly<Record<string, string>>;

/** What may still be written of a text's HTML. */
export interface RoomOfHtml {
  cells: number;
  characters: number;
  /** Of tables where cells span others, and of their names. */
  readonly repeats: Repeats;
}

/** Room for all HTML of a text. */
export function roomOfHtml(repeats: Repeats): RoomOfHtml {
  return { cells: mostCells, characters: mostWritten, repeats };
}

interface List {
  /** The number of the next item. Undefined: its items have none. */
  next: number | undefined;
  readonly step: number;
  /** How numbers are written: `1`, `a`, `A`, `i` or `I`. */
  readonly type: string;
  /** What stands before its items. */
  readonly indent: string;
}

interface Table {
  rows: (Row & { readonly cells: Cell[] })[];
  /** What is written in its cells: what was before it, to go on with behind it. */
  readonly out: string[];
  /** Whether its cells have headings or other tables: it arranges the page. */
  isLayout: boolean;
  inHead: boolean;
  /** The cell that is open, with its text still to come. */
  cell: Omit<Cell, "text"> | undefined;
  /** What room there was before its first row that is not written yet. */
  roomBefore: Pick<RoomOfHtml, "cells" | "characters">;
}

/** Writes Markdown for HTML, with Markdown between its tags. Of tags without a meaning there, the text stays. */
export class MarkdownWriter {
  /** Why what follows in HTML is left out: it is nested too deep, has too many cells, or is too much. */
  fault: string | undefined;
  readonly #room: RoomOfHtml;
  readonly #parser = new Parser({
    onopentag: (name, attributes) => this.#open(name, attributes),
    ontext: (text) => this.#writeText(text),
    onclosetag: (name) => this.#close(name),
  });
  #out: string[] = [];
  /** For each element that is open, whether it hides what is in it. */
  readonly #hides: boolean[] = [];
  #hidden = 0;
  #verbatim = 0;
  #heading = 0;
  #raised = 0;
  readonly #lists: List[] = [];
  readonly #tables: Table[] = [];
  /** Where links and marks begin, to be taken back if there is nothing in them, or too much. */
  readonly #begun: {
    readonly name: string;
    readonly at: number;
    readonly href: string | undefined;
    readonly takes: number;
  }[] = [];
  #takes = 0;

  constructor(room: RoomOfHtml) {
    this.#room = room;
  }

  writeHtml(html: string): void {
    this.#parser.write(html);
  }

  write(markdown: string): void {
    if (this.#hidden > 0 || markdown === "") return;
    this.#room.characters -= markdown.length + ofPiece;
    if (this.#room.characters < 0) this.#refuse("is more than 20 Mi characters of text");
    this.#put(markdown);
  }

  #put(markdown: string): void {
    this.#out.push(this.#heading > 0 && /\n/u.test(markdown) ? " " : markdown);
  }

  /** What is written and stays as it is, but for {@link writtenSigns}. A mark that was open at the last call, too, is none. */
  take(): string {
    while ((this.#begun[0]?.takes ?? this.#takes) < this.#takes) this.#begun.shift();
    this.#takes++;
    const [outermost] = this.#tables;
    if (outermost && outermost.roomBefore.characters - this.#room.characters > longestRow)
      this.#dissolveTables();
    if (this.#begun.length + this.#tables.length > 0) return "";
    const last = this.#out.pop() ?? ""; // what follows depends on it
    const taken = this.#out.join("");
    this.#out = [last];
    return taken;
  }

  /** The rest of what is written. */
  end(): string {
    this.#parser.end();
    while (this.#tables.length > 0) this.#closeTable(); // a table that is not closed
    return this.#out.join("");
  }

  #open(name: string, attributes: Attributes): void {
    const hides = unseen.has(name) || isHidden(name, attributes) || this.#repeatsNumber(name, attributes);
    this.#hides.push(hides);
    if (this.#hides.length > deepest)
      this.#refuse(`has elements that are nested too deep (more than ${deepest})`);
    if (hides) this.#hidden++;
    if (this.#hidden > 0) return;
    if (/^h[1-6]$/u.test(name)) for (const table of this.#tables) table.isLayout = true;
    if (name === "table") this.#openTable();
    if (name === "thead") this.#inTable(({ table }) => (table.inHead = true));
    if (name === "tr") this.#inTable(({ table }) => this.#openRow(table));
    if (name === "td" || name === "th") this.#openCell(name, attributes);
    if (name === "ul" || name === "ol" || name === "menu") this.#openList(name, attributes);
    if (name === "li") this.#openItem(attributes);
    if (name === "br") this.write(this.#heading > 0 ? " " : "  \n");
    if (name === "img") this.write(attributes.alt ?? "");
    if (name === "sup") this.#raised++;
    if (name === "a" || inline.has(name))
      this.#begun.push({ name, at: this.#out.length, href: attributes.href, takes: this.#takes });
    if (this.#verbatim === 0 && !inline.has(name)) this.#writeMark(name);
    if (name === "p" && /mso-list:(?!\s*ignore)/iu.test(attributes.style ?? "")) this.write("- ");
    if (/^h[1-6]$/u.test(name)) this.#heading++;
    if (name === "pre") this.#verbatim++;
  }

  #refuse(fault: string): void {
    this.fault = fault;
    this.#parser.pause();
  }

  #writeText(text: string): void {
    this.write(this.#verbatim > 0 ? text : this.#wordsOf(text));
  }

  #wordsOf(text: string): string {
    const isAtStart = /\n *$/u.test(this.#out.at(-1) ?? "\n");
    const words = text
      .replace(/[\u00ad\u200b]/gu, "")
      .replace(isAtStart ? /^\s+/u : "", "")
      .replace(/\s+/gu, " ")
      .replaceAll("<", lessThan);
    return this.#raised > 0 ? words.replace(/[\d+\-−n]/gu, (sign) => raised.get(sign) ?? sign) : words;
  }

  #close(name: string): void {
    const hides = this.#hides.pop();
    if (hides) this.#hidden--;
    if (hides || this.#hidden > 0) return;
    if (/^h[1-6]$/u.test(name)) this.#heading--;
    if (name === "a" || inline.has(name)) this.#closeInline(name);
    if (name === "td" || name === "th") this.#closeCell();
    if (name === "table") this.#closeTable();
    if (name === "ul" || name === "ol" || name === "menu") this.#lists.pop();
    if (name === "thead") this.#inTable(({ table }) => (table.inHead = false));
    if (name === "sup") this.#raised--;
    if (name === "pre") this.#verbatim--;
    if (this.#verbatim === 0 && !inline.has(name)) this.#writeMark(name, true);
  }

  /** What begins within an item goes on with it. */
  #writeMark(name: string, isEnd = false): void {
    const { before = "", after = "" } = marks.get(name) ?? {};
    const mark = isEnd ? after : before;
    const list = this.#lists.at(-1);
    if (/^[uo]l$/u.test(name) && this.#lists.length > (isEnd ? 0 : 1)) return;
    this.write(
      list === undefined
        ? mark
        : mark.replaceAll("\n\n", `\n\n${list.indent}${list.next === undefined ? "  " : "   "}`),
    );
  }

  /** Marks words as bold, and so on, or as a link, if they are words of one line. Spaces stay outside of marks. */
  #closeInline(name: string): void {
    const { name: opened, at, href } = this.#begun.pop() ?? {};
    if (opened !== name || at === undefined || at > this.#out.length) return;
    const inner = this.#out.splice(at).join("");
    const words = inner.trim();
    const before = inner.slice(0, inner.length - inner.trimStart().length);
    const after = inner.slice(before.length + words.length);
    const isLink = name === "a" && /^(?:https?|mailto|tel):/iu.test(href ?? "");
    const isMarkable =
      words !== "" && !/\n\s*\n/u.test(inner) && (isLink || (name !== "a" && this.#verbatim === 0));
    const { before: begin, after: end } = marks.get(name) ?? { before: "[", after: `](${href})` };
    const spaceBefore = /\s$/u.test(this.#out.at(-1) ?? "\n") ? "" : before;
    const isPermalink = name === "a" && /^[#¶§🔗]?$/u.test(words) && href?.startsWith("#");
    const text = isPermalink ? "" : isMarkable ? `${spaceBefore}${begin}${words}${end}${after}` : inner;
    if (text !== "") this.#out.push(text);
  }

  /** Numbers of notes, raised, that lead to the note: in the text they would be read as powers. */
  #repeatsNumber(name: string, { href = "" }: Attributes): boolean {
    return name === "a" && this.#raised > 0 && href.startsWith("#");
  }

  #openList(name: string, { start = "", type = "1", reversed }: Attributes): void {
    const outer = this.#lists.at(-1);
    const isDeep = this.#lists.length > deepestList;
    const indent =
      outer === undefined || isDeep
        ? (outer?.indent ?? "")
        : `${outer.indent}${outer.next === undefined ? "  " : "   "}`;
    const first = /^-?\d{1,9}$/u.test(start) ? Number(start) : 1;
    const step = reversed === undefined ? 1 : -1;
    this.#lists.push({ next: name === "ol" ? first : undefined, step, type, indent });
  }

  #openItem({ value = "" }: Attributes): void {
    const list = this.#lists.at(-1);
    if (list?.next !== undefined && /^-?\d{1,9}$/u.test(value)) list.next = Number(value);
    const number = list?.next;
    if (list && number !== undefined) list.next = number + list.step;
    const label =
      number === undefined
        ? "-"
        : list?.type === "1" && number >= 0
          ? `${number}.`
          : `- ${numberAs(number, list?.type ?? "1")}.`;
    this.write(`\n${list?.indent ?? ""}${label} `);
  }

  #inTable(use: (open: { readonly table: Table }) => void): void {
    const table = this.#tables.at(-1);
    if (table) use({ table });
  }

  #openTable(): void {
    for (const table of this.#tables) table.isLayout = true;
    const own = { rows: [], isLayout: false, inHead: false, cell: undefined, roomBefore: { ...this.#room } };
    this.#tables.push({ ...own, out: this.#out });
  }

  #openRow(table: Table): void {
    const { cells, characters } = table.roomBefore;
    const isMuch =
      cells - this.#room.cells > cellsAtOnce || characters - this.#room.characters > charactersAtOnce;
    if (this.#takes > 0 && isMuch) {
      this.#closeCell();
      table.out.push("\n\n", this.#written(table), "\n\n");
      const names = isColumn(table.rows) ? [] : table.rows.slice(0, countHeads(table.rows));
      const areRepeated = names.every(({ cells }) =>
        cells.every(({ text }) => repeat(this.#room.repeats, text)),
      );
      table.rows = areRepeated ? names : [];
      table.roomBefore = { ...this.#room };
    }
    table.rows.push({ cells: [], inHead: table.inHead });
  }

  #written({ rows, isLayout }: Table): string {
    return writeTable(rows, isLayout, this.#room.repeats);
  }

  /** What is in the tables that are open is written as text, and so is the rest of them. */
  #dissolveTables(): void {
    const [{ out } = { out: this.#out }] = this.#tables;
    for (const [at, table] of this.#tables.entries()) {
      out.push("\n\n", writeTable(table.rows, true, this.#room.repeats), "\n\n");
      const inside = this.#tables[at + 1]?.out ?? this.#out;
      if (table.cell) out.push(inside.join(""));
    }
    this.#tables.length = 0;
    this.#begun.length = 0;
    this.#out = out;
  }

  #openCell(name: string, { colspan = "1", rowspan = "1" }: Attributes): void {
    if (--this.#room.cells < 0) this.#refuse("has more than 200,000 cells in its tables");
    if (this.#tables.length === 0) this.write("\n\n");
    this.#inTable(({ table }) => {
      if (table.cell) this.#closeCell();
      if (table.rows.length === 0) table.rows.push({ cells: [], inHead: table.inHead });
      table.cell = {
        isHead: name === "th",
        columns: Number.parseInt(colspan, 10) || 1,
        rows: Number.parseInt(rowspan, 10) || 1,
      };
      this.#out = [];
    });
  }

  #closeCell(): void {
    this.#inTable(({ table }) => {
      if (!table.cell) return;
      table.rows.at(-1)?.cells.push({ ...table.cell, text: this.#out.join("").trim() });
      table.cell = undefined;
      this.#out = table.out;
    });
  }

  #closeTable(): void {
    this.#closeCell();
    const table = this.#tables.pop();
    if (!table) return;
    this.#out = table.out;
    this.#put(`\n\n${this.#written(table)}\n\n`);
  }
}

/** What pages hide until something is done is text; what stands in the page for its makers alone is not. */
function isHidden(name: string, { hidden, style = "", type = "", open }: Attributes): boolean {
  if (hidden !== undefined && hidden !== "until-found") return true;
  if (name === "input") return type === "hidden";
  if (name === "dialog" && open === undefined) return true;
  return /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|mso-hide\s*:\s*all|mso-list\s*:\s*ignore)/iu.test(
    style,
  );
}

const raised = new Map(
  [..."0123456789+-−n"].map((letter, at) => [letter, [..."⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻ⁿ"][at] ?? letter]),
);

/** A number of an item as a letter or a Roman number. */
function numberAs(number: number, type: string): string {
  if (!/^[aAiI]$/u.test(type) || number < 1 || number > 3_999) return String(number);
  const text = type.toLowerCase() === "a" ? letters(number) : roman(number);
  return type === type.toLowerCase() ? text : text.toUpperCase();
}

function letters(number: number): string {
  const last = String.fromCharCode(97 + ((number - 1) % 26));
  return number > 26 ? letters(Math.floor((number - 1) / 26)) + last : last;
}

function roman(number: number): string {
  const places = [..."ivxlcdm"];
  return [...String(number)]
    .map((digit, at, { length }) => {
      const [one, five, ten] = places.slice(2 * (length - at - 1));
      const written = ["", "1", "11", "111", "15", "5", "51", "511", "5111", "10"][Number(digit)] ?? "";
      return written.replace(/1|5|0/gu, (sign) => (sign === "1" ? one : sign === "5" ? five : ten) ?? "");
    })
    .join("");
}
