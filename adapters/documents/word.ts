/**
 * A Word document as HTML: headings by style and outline, numbers of lists and headings, tables, links, notes, equations.
 * What was deleted, is hidden, or repeats other text (a table of contents) is left out.
 *
 * @module
 */

import { type Repeats, repeat, roomForRepeats } from "../../knowledge/text/repeats.ts";
import { DocumentError } from "./text.ts";
import { outlineLevel, readNumbering, readStyles, type WordStyle } from "./word-styles.ts";
import { childOf, type Element, elementsIn, isOn, propertyOf, readXml } from "./xml.ts";
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
  const reader = new WordReader({
    repeats: roomForRepeats(text),
    styleOf: readStyles(part(beside("styles.xml"))),
    labelOf: readNumbering(part(beside("numbering.xml"))),
    links: linksOf(part(name.replace(/([^/]*)$/u, "_rels/$1.rels"))),
    notes: new Map([
      ...notesOf(part(beside("footnotes.xml")), "w:footnote"),
      ...notesOf(part(beside("endnotes.xml")), "w:endnote"),
    ]),
  });
  reader.read(text);
  return reader.end();
}

interface Link {
  readonly kind: string;
  readonly target: string;
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

/** What of a paragraph is written in one way. */
interface Span {
  readonly text: string;
  readonly bold: boolean;
  readonly struck: boolean;
  readonly raised: boolean;
  readonly href: string | undefined;
}

/** A short paragraph: it may be meant as a heading where no style says which ones are. */
interface Short {
  readonly html: string;
  readonly text: string;
  readonly isBold: boolean;
  /** In half points. */
  readonly size: number;
}

interface Table {
  readonly rows: string[];
  /** What the last row says, by the columns in which its cells begin. */
  above: ReadonlyMap<number, string>;
  own: Map<number, string>;
  cells: { readonly html: string; readonly span: number }[];
  /** Where the next cell begins. */
  column: number;
  /** Where the text of the cell begins in what is written. */
  from: number;
  cell: Element | undefined;
  isHead: boolean;
  isDeleted: boolean;
}

function addCell(table: Table, html: string, span: number): void {
  table.own.set(table.column, html);
  table.cells.push({ html, span });
  table.column += span;
}

class WordReader {
  readonly #styleOf: (id: string | undefined) => WordStyle;
  readonly #labelOf: ReturnType<typeof readNumbering>;
  readonly #links: ReadonlyMap<string, Link>;
  readonly #notes: ReadonlyMap<string, Element>;
  /** Of cells that are merged, and of addresses. */
  readonly #repeats: Repeats;
  readonly #out: (string | Short)[] = [];
  readonly #tables: Table[] = [];
  /** The tags of the lists that are open. */
  readonly #lists: string[] = [];
  readonly #told = new Set<string>();
  /** For each field that is open, whether it is a table of contents. */
  readonly #fields: boolean[] = [];
  readonly #sizes = new Map<number, number>();
  #letters = 0;
  #title = 0;
  #hasHeadings = false;

  constructor(parts: {
    styleOf: (id: string | undefined) => WordStyle;
    labelOf: ReturnType<typeof readNumbering>;
    links: ReadonlyMap<string, Link>;
    notes: ReadonlyMap<string, Element>;
    repeats: Repeats;
  }) {
    this.#styleOf = parts.styleOf;
    this.#labelOf = parts.labelOf;
    this.#links = parts.links;
    this.#notes = parts.notes;
    this.#repeats = parts.repeats;
  }

  read(bytes: Uint8Array): void {
    readXml(bytes, {
      whole: new Set(["w:p", "w:tcPr", "w:trPr"]),
      unseen: isUnseen,
      element: (element) => {
        const table = this.#tables.at(-1);
        if (element.name === "w:p") this.#paragraph(element);
        else if (table && element.name === "w:tcPr") table.cell = element;
        else if (table && element.name === "w:trPr") this.#rowProperties(table, element);
      },
      open: (name) => this.#open(name),
      close: (name) => this.#close(name),
    });
  }

  end(): string {
    this.#endLists();
    const notes = [...this.#told].map((key) => {
      const texts = elementsIn(this.#notes.get(key)).map((paragraph) =>
        this.#inline(this.#spansOf(paragraph), false),
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

  #open(name: string): void {
    if (name === "w:tbl") {
      this.#endLists();
      this.#tables.push({
        rows: [],
        above: new Map(),
        own: new Map(),
        cells: [],
        column: 0,
        from: 0,
        cell: undefined,
        isHead: false,
        isDeleted: false,
      });
    }
    const table = this.#tables.at(-1);
    if (!table) return;
    if (name === "w:tr")
      Object.assign(table, { own: new Map(), cells: [], column: 0, isHead: false, isDeleted: false });
    if (name === "w:tc") Object.assign(table, { from: this.#out.length, cell: undefined });
  }

  #rowProperties(table: Table, element: Element): void {
    table.isHead = isOn(element, "w:tblHeader") === true;
    table.isDeleted = childOf(element, "w:del") !== undefined;
    for (let left = Number(propertyOf(element, "w:gridBefore") ?? 0); left > 0 && left < 100; left--)
      addCell(table, "", 1);
  }

  #close(name: string): void {
    const table = this.#tables.at(-1);
    if (!table) return;
    if (name === "w:tc") {
      this.#endLists();
      const own = this.#out
        .splice(table.from)
        .filter((part) => typeof part === "string")
        .join("");
      const merge = childOf(table.cell, "w:vMerge");
      const goesOn = merge && merge.attributes["w:val"] !== "restart";
      // A cell that is merged with the one above stands in this row, too.
      const above = (goesOn && table.above.get(table.column)) || "";
      const html = above !== "" && repeat(this.#repeats, above) ? above : own;
      addCell(
        table,
        html,
        Math.min(100, Math.max(1, Number(propertyOf(table.cell, "w:gridSpan") ?? 1) || 1)),
      );
    }
    if (name === "w:tr" && !table.isDeleted) {
      const tag = table.isHead ? "th" : "td";
      const cells = table.cells.map(({ html, span }) => `<${tag} colspan="${span}">${html}</${tag}>`);
      table.rows.push(`<tr>${cells.join("")}</tr>`);
      table.above = table.own;
    }
    if (name === "w:tbl") {
      this.#tables.pop();
      this.#out.push(`<table>${table.rows.join("")}</table>`);
    }
  }

  #paragraph(element: Element): void {
    const properties = childOf(element, "w:pPr");
    const style = this.#styleOf(propertyOf(properties, "w:pStyle"));
    const spans = this.#spansOf(element, style);
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
    const html = this.#inline(spans, true);
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

  #inline(spans: readonly Span[], marksBold: boolean): string {
    const merged: Span[] = [];
    for (const span of spans) {
      const last = merged.at(-1);
      const isAlike =
        last?.bold === span.bold &&
        last.struck === span.struck &&
        last.raised === span.raised &&
        last.href === span.href;
      if (last && isAlike) merged[merged.length - 1] = { ...last, text: last.text + span.text };
      else merged.push(span);
    }
    const html = merged.map(({ text, bold, struck, raised, href }) => {
      let written = escapeHtml(text).replaceAll("\n", "<br>");
      if (raised) written = `<sup>${written}</sup>`;
      if (struck) written = `<s>${written}</s>`;
      if (bold && marksBold && text.trim() !== "") written = `<b>${written}</b>`;
      return href === undefined ? written : `<a href="${escapeHtml(href)}">${written}</a>`;
    });
    return html.join("").replace(/(?:<br>|\s)+$/u, "");
  }

  /** What a paragraph says. */
  #spansOf(paragraph: Element, style: WordStyle = {}, href?: string): Span[] {
    return elementsIn(paragraph).flatMap((element) => {
      if (element.name === "w:r") return this.#run(element, style, href);
      if (element.name === "w:hyperlink") {
        const { target = "" } = this.#links.get(element.attributes["r:id"] ?? "") ?? {};
        const leads = /^(?:https?|mailto):/iu.test(target) && repeat(this.#repeats, target);
        return this.#spansOf(element, style, leads ? target : href);
      }
      if (/^m:oMath(?:Para)?$/u.test(element.name)) return this.#span(mathOf(element), {}, href);
      return element.name === "w:pPr" ? [] : this.#spansOf(element, style, href);
    });
  }

  #run(run: Element, style: WordStyle, href: string | undefined): Span[] {
    const properties = childOf(run, "w:rPr");
    const named = this.#styleOf(propertyOf(properties, "w:rStyle") ?? "");
    if (isOn(properties, "w:vanish") ?? isOn(properties, "w:webHidden") ?? named.hidden ?? style.hidden)
      return [];
    let text = "";
    for (const element of elementsIn(run)) {
      if (element.name === "w:fldChar") this.#field(element.attributes["w:fldCharType"]);
      else if (element.name === "w:instrText") this.#instruct(textIn(element));
      else text += this.#textOf(element);
    }
    if (this.#fields.includes(true)) return [];
    const bold = isOn(properties, "w:b") ?? named.bold ?? style.bold ?? false;
    const struck = isOn(properties, "w:strike") ?? isOn(properties, "w:dstrike") ?? false;
    const raised = propertyOf(properties, "w:vertAlign") === "superscript" && !text.startsWith("[^");
    return this.#span(text, { bold, struck, raised }, href);
  }

  #span(text: string, marks: Partial<Span>, href: string | undefined): Span[] {
    return text === "" ? [] : [{ bold: false, struck: false, raised: false, ...marks, text, href }];
  }

  #field(type: string | undefined): void {
    if (type === "begin") this.#fields.push(false);
    if (type === "end") this.#fields.pop();
  }

  #instruct(instruction: string): void {
    if (/^\s*(?:TOC|INDEX|TOA)\b/u.test(instruction) && this.#fields.length > 0)
      this.#fields[this.#fields.length - 1] = true;
  }

  #textOf(element: Element): string {
    switch (element.name) {
      case "w:t":
        return textIn(element).replace(/\s+/gu, " ");
      case "w:tab":
        return " ";
      case "w:noBreakHyphen":
        return "-";
      case "w:cr":
      case "w:br":
        return element.attributes["w:type"] === undefined ? "\n" : " ";
      case "w:sym": {
        const code = Number.parseInt(element.attributes["w:char"] ?? "", 16);
        return code > 32 && (code < 0xe000 || code > 0xf8ff) && code < 0x10000
          ? String.fromCharCode(code)
          : "";
      }
      case "w:footnoteReference":
      case "w:endnoteReference": {
        const key = `${element.name} ${element.attributes["w:id"]}`;
        if (!this.#notes.has(key)) return "";
        this.#told.add(key);
        return `[^${noteName(key)}]`;
      }
      case "w:drawing":
        return pictureWords(element);
      case "w:ruby":
        return textIn(childOf(element, "w:rubyBase"));
      default:
        return "";
    }
  }
}

type ListLabel = NonNullable<ReturnType<ReturnType<typeof readNumbering>>>;

/** The texts of a twin's documents have no more together. */
const mostLetters = 20 * 1024 * 1024;
const longestHeading = 250;
const longestMarkedHeading = 120;

function noteName(key: string): string {
  return key.replace("w:footnoteReference ", "").replace("w:endnoteReference ", "e");
}

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

/** What a picture shows, where somebody said so. */
function pictureWords(drawing: Element): string {
  const [shape] = elementsIn(drawing);
  const { descr = "" } = childOf(shape, "wp:docPr")?.attributes ?? {};
  return /\.(?:png|jpe?g|gif|emf|wmf|svg)$|automatically generated/iu.test(descr) ? "" : descr;
}

/** An equation by its letters, on one line: a fraction is (a)/(b), a power x^2. */
function mathOf(element: Element): string {
  const of = (name: string) => mathOf(childOf(element, name) ?? { name: "", attributes: {}, children: [] });
  const grouped = (text: string) => (text.length > 1 ? `(${text})` : text);
  const property = (name: string, child: string, usual: string) =>
    childOf(childOf(element, name), child)?.attributes["m:val"] ?? usual;
  switch (element.name) {
    case "m:t":
    case "w:t":
      return textIn(element);
    case "m:f":
      return `${grouped(of("m:num"))}/${grouped(of("m:den"))}`;
    case "m:sSup":
      return `${of("m:e")}^${grouped(of("m:sup"))}`;
    case "m:sSub":
      return `${of("m:e")}_${grouped(of("m:sub"))}`;
    case "m:sSubSup":
      return `${of("m:e")}_${grouped(of("m:sub"))}^${grouped(of("m:sup"))}`;
    case "m:rad":
      return `${of("m:deg")}√${grouped(of("m:e"))}`;
    case "m:nary": {
      const [from, to] = [of("m:sub"), of("m:sup")];
      const limits = `${from && `_${grouped(from)}`}${to && `^${grouped(to)}`}`;
      return `${property("m:naryPr", "m:chr", "∫")}${limits} ${of("m:e")}`;
    }
    case "m:d":
      return `${property("m:dPr", "m:begChr", "(")}${elementsIn(element).map(mathOf).join("")}${property("m:dPr", "m:endChr", ")")}`;
    case "m:mr":
    case "m:eqArr":
      return elementsIn(element)
        .map(mathOf)
        .filter((text) => text !== "")
        .join(", ");
    case "m:m":
      return `[${elementsIn(element)
        .map(mathOf)
        .filter((text) => text !== "")
        .join("; ")}]`;
    default:
      return elementsIn(element).map(mathOf).join("");
  }
}

function textIn(element: Element | undefined): string {
  return (element?.children ?? [])
    .map((child) => (typeof child === "string" ? child : textIn(child)))
    .join("");
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
