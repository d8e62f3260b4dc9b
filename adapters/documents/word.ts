/**
 * A Word document as HTML: headings by style and outline, numbers of lists and headings, tables, links, notes, equations.
 * What was deleted, is hidden, or repeats other text (a table of contents) is left out.
 *
 * @module
 */

import { roomForRepeats } from "../../knowledge/text/repeats.ts";
import { DocumentError } from "./text.ts";
import { escapeHtml, inlineHtml, type Link, noteName, type References, SpanReader } from "./word-spans.ts";
import { type ListLabel, outlineLevel, readNumbering, readStyles, type WordStyle } from "./word-styles.ts";
import { WordTable } from "./word-tables.ts";
import { childOf, type Element, elementsIn, propertyOf, readXml } from "./xml.ts";
import { openZip } from "./zip.ts";

/**
 * Reads a `.docx`.
 *
 * @throws {DocumentError} if it is none, has a password, or unpacks to more than 50 MB.
 */
export function readWord(bytes: Uint8Array): string {
  // Word writes what has a password, and its old format, in a container of that time.
  if (bytes[0] === 0xd0 && bytes[1] === 0xcf)
    throw new DocumentError(
      "is protected by a password, or in Word's old format; save it as .docx without a password.",
    );
  try {
    return toHtml(openZip(bytes));
  } catch (error) {
    if (error instanceof DocumentError) throw error;
    throw new DocumentError("cannot be read as Word.", { cause: error });
  }
}

function toHtml(part: (name: string) => Uint8Array | undefined): string {
  const main = [...linksOf(part("_rels/.rels")).values()].find(({ kind }) => /\/officeDocument$/u.test(kind));
  const name = main?.target ?? "word/document.xml";
  const beside = (file: string) => name.replace(/[^/]*$/u, file);
  const text = part(name);
  if (!text) throw new DocumentError("cannot be read as Word.");
  const references: References = {
    repeats: roomForRepeats(text),
    styleOf: readStyles(part(beside("styles.xml"))),
    links: linksOf(part(name.replace(/([^/]*)$/u, "_rels/$1.rels"))),
    notes: new Map([
      ...notesOf(part(beside("footnotes.xml")), "w:footnote"),
      ...notesOf(part(beside("endnotes.xml")), "w:endnote"),
    ]),
  };
  const reader = new WordReader(references, readNumbering(part(beside("numbering.xml"))));
  reader.read(text);
  return reader.end();
}

function linksOf(bytes: Uint8Array | undefined): Map<string, Link> {
  const links = new Map<string, Link>();
  if (bytes)
    readXml(bytes, {
      whole: new Set(["Relationship"]),
      element: ({ attributes: { Id = "", Type = "", Target = "" } }) =>
        void links.set(Id, { kind: Type, target: Target.replace(/^\//u, "") }),
    });
  return links;
}

/** Notes by what refers to them. */
function notesOf(bytes: Uint8Array | undefined, name: string): Map<string, Element> {
  const notes = new Map<string, Element>();
  if (bytes)
    readXml(bytes, {
      whole: new Set([name]),
      unseen: isUnseen,
      element: (note) => void notes.set(`${name}Reference ${note.attributes["w:id"]}`, note),
    });
  return notes;
}

/** What was deleted or moved away, what a paragraph was like before, and what is there for old programs. */
const unseen = new Set([
  "w:del",
  "w:moveFrom",
  "w:rPrChange",
  "w:pPrChange",
  "mc:Fallback",
  "w:rt",
  "w:sectPr",
]);

function isUnseen(name: string, parent: string | undefined): boolean {
  return unseen.has(name) && parent !== "w:trPr";
}

/** A short paragraph: it may be meant as a heading where no style says which ones are. */
interface Short {
  readonly html: string;
  readonly text: string;
  readonly isBold: boolean;
  /** In half points. */
  readonly size: number;
}

class WordReader {
  readonly #references: References;
  readonly #spans: SpanReader;
  readonly #labelOf: ReturnType<typeof readNumbering>;
  /** What is written: of the document and, where a cell is open, of each cell around it. */
  readonly #written: (string | Short)[][] = [[]];
  readonly #tables: WordTable[] = [];
  /** The tags of the lists that are open. */
  readonly #lists: string[] = [];
  readonly #sizes = new Map<number, number>();
  #letters = 0;
  #title = 0;
  #hasHeadings = false;

  constructor(references: References, labelOf: ReturnType<typeof readNumbering>) {
    this.#references = references;
    this.#spans = new SpanReader(references);
    this.#labelOf = labelOf;
  }

  read(bytes: Uint8Array): void {
    readXml(bytes, {
      whole: new Set(["w:p", "w:tcPr", "w:trPr"]),
      unseen: isUnseen,
      element: (element) => {
        const table = this.#tables.at(-1);
        if (element.name === "w:p") this.#paragraph(element);
        else if (element.name === "w:tcPr") table?.readCell(element);
        else table?.readRow(element);
      },
      open: (name) => this.#open(name),
      close: (name) => this.#close(name),
    });
  }

  end(): string {
    this.#endLists();
    const notes = [...this.#spans.told].map((key) => {
      const texts = elementsIn(this.#references.notes.get(key)).map((paragraph) =>
        inlineHtml(this.#spans.spansOf(paragraph), false),
      );
      return `<p>[^${noteName(key)}]: ${texts.join(" ").trim()}</p>`;
    });
    const [body = 0] = [...this.#sizes].sort(([, one], [, other]) => other - one).map(([size]) => size);
    const parts = this.#out.map((part, at) => {
      if (typeof part === "string") return part;
      const level = this.#hasHeadings ? undefined : this.#levelOf(part, at, body);
      return level === undefined ? `<p>${part.html}</p>` : `<h${level}>${escapeHtml(part.text)}</h${level}>`;
    });
    return [...parts, ...notes].join("");
  }

  /** Bold or larger text is a heading where other text follows, after at most one more such line. */
  #levelOf(part: Short, at: number, body: number): number | undefined {
    const isMarked = (one: string | Short | undefined) =>
      typeof one === "object" && (one.isBold || one.size > 1.15 * body);
    const [next, after] = this.#out.slice(at + 1, at + 3);
    if (!isMarked(part) || next === undefined) return undefined;
    if (isMarked(next) && (after === undefined || isMarked(after))) return undefined;
    return part.size > 1.3 * body ? 1 : part.size > 1.15 * body ? 2 : 3;
  }

  get #out(): (string | Short)[] {
    return this.#written.at(-1) ?? [];
  }

  #open(name: string): void {
    if (name === "w:tbl") {
      this.#endLists();
      this.#tables.push(new WordTable(this.#references.repeats));
    }
    const table = this.#tables.at(-1);
    if (name === "w:tr") table?.beginRow();
    if (table && name === "w:tc") {
      table.beginCell();
      this.#written.push([]);
    }
  }

  #close(name: string): void {
    const table = this.#tables.at(-1);
    if (!table) return;
    if (name === "w:tc") {
      this.#endLists();
      table.endCell((this.#written.pop() ?? []).join(""));
    }
    if (name === "w:tr") table.endRow();
    if (name === "w:tbl") {
      this.#tables.pop();
      this.#out.push(table.toHtml());
    }
  }

  #paragraph(element: Element): void {
    const properties = childOf(element, "w:pPr");
    const style = this.#references.styleOf(propertyOf(properties, "w:pStyle"));
    const spans = this.#spans.spansOf(element, style);
    const text = spans
      .map((span) => span.text)
      .join("")
      .trim();
    this.#letters += text.length;
    if (this.#letters > mostLetters) throw new DocumentError("has more than 20 Mi characters of text.");
    // A paragraph counts in its list even if it says nothing, as Word does.
    const label = this.#labelOf(childOf(properties, "w:numPr") ?? style.numbering);
    for (const box of boxesIn(element)) this.#paragraph(box);
    if (text === "" || style.isContents) return;
    const own = outlineLevel(properties) ?? style.level;
    const level = own !== undefined && own <= 9 ? own : undefined;
    if (level !== undefined && text.length <= longestHeading) {
      this.#heading(level, text, label?.text ?? "");
      return;
    }
    const html = inlineHtml(spans, true);
    const isBold = spans.every((span) => span.bold || span.text.trim() === "");
    // A bold line with a number is a heading rather than an item.
    if (label && !(isBold && label.text !== "")) {
      this.#item(html, label);
      return;
    }
    this.#endLists();
    const size = sizeOf(element, style);
    this.#sizes.set(size, (this.#sizes.get(size) ?? 0) + text.length);
    const isShort = text.length <= longestMarkedHeading && !/[.,;!]$/u.test(text) && /\p{L}/u.test(text);
    const number = label ? `${label.text} ` : "";
    if (this.#tables.length === 0 && isShort)
      this.#out.push({ html: `${escapeHtml(number)}${html}`, text: `${number}${text}`, isBold, size });
    else this.#out.push(`<p>${escapeHtml(number)}${html}</p>`);
  }

  #heading(level: number, text: string, label: string): void {
    this.#endLists();
    this.#hasHeadings = true;
    if (level === 0) this.#title = 1;
    const depth = Math.min(6, Math.max(1, level === 0 ? 1 : level + this.#title));
    const title = [label, text].filter((part) => part !== "").join(" ");
    this.#out.push(`<h${depth}>${escapeHtml(title)}</h${depth}>`);
  }

  /** An item of a list. What Markdown cannot count is written. */
  #item(html: string, { text, level }: ListLabel): void {
    const [, number] = /^(\d{1,9})[.)]$/u.exec(text) ?? [];
    const tag = number === undefined ? "ul" : "ol";
    while (this.#lists.length > level + 1) this.#out.push(`</li></${this.#lists.pop()}>`);
    if (this.#lists.length === level + 1) {
      this.#out.push("</li>");
      if (this.#lists.at(-1) !== tag) this.#out.push(`</${this.#lists.pop()}>`);
    }
    while (this.#lists.length <= level) {
      const isLast = this.#lists.length === level;
      this.#lists.push(isLast ? tag : "ul");
      this.#out.push(isLast ? `<${tag}>` : "<ul><li>");
    }
    const written = number === undefined && text !== "" ? `${escapeHtml(text)} ${html}` : html;
    this.#out.push(number === undefined ? `<li>${written}` : `<li value="${number}">${written}`);
  }

  #endLists(): void {
    while (this.#lists.length > 0) this.#out.push(`</li></${this.#lists.pop()}>`);
  }
}

/** The texts of a twin's documents have no more together. */
const mostLetters = 20 * 1024 * 1024;
const longestHeading = 250;
const longestMarkedHeading = 120;

/** The paragraphs of the text boxes in a paragraph. */
function boxesIn(element: Element): Element[] {
  return elementsIn(element).flatMap((child) =>
    child.name === "w:txbxContent" ? elementsIn(child).filter(({ name }) => name === "w:p") : boxesIn(child),
  );
}

/** The size of most of a paragraph's letters, in half points. */
function sizeOf(paragraph: Element, style: WordStyle): number {
  const run = elementsIn(paragraph).find(({ name }) => name === "w:r");
  return Number(propertyOf(childOf(run, "w:rPr"), "w:sz") ?? style.size ?? 22) || 22;
}
