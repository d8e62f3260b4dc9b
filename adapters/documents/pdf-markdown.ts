/**
 * The pages of a PDF as Markdown: headings, paragraphs, tables, without what is repeated on each page.
 *
 * @module
 */

import { type Line, type Piece, type Region, type Row, toRegions, toRows } from "./pdf-layout.ts";

/** A heading has no more lines, and no more letters. Larger text that goes on is no heading. */
const mostHeadingLines = 3;
const longestHeading = 200;
/** Letters that are larger than most by this factor are those of headings. */
const largerBy = 1.12;

/** What the lines of a document are compared with. */
interface Look {
  /** The size of most letters, in points. */
  readonly body: number;
  /** The sizes of larger letters, the largest first. */
  readonly larger: readonly number[];
  /** The distance of most lines, as a factor of the letters' size. */
  readonly spacing: number;
  /** Titles of the outline, compared by their letters and digits, with their depths. */
  readonly outline: ReadonlyMap<string, number>;
  /** Kinds of numbered titles, such as "article", that the document has several of. */
  readonly numbered: ReadonlySet<string>;
  readonly isBold: boolean;
}

/** The text of a page, and how high the page is, in points. */
export interface PdfPage {
  readonly pieces: readonly Piece[];
  readonly height: number;
}

/** Writes the text of pages. `outline`: titles with their depths from 1. */
export function toMarkdown(pages: readonly PdfPage[], outline: ReadonlyMap<string, number>): string {
  const rows = withoutContents(withoutRunningHeads(pages));
  const regions = rows.map(toRegions);
  const look = lookOf(regions.flat(), outline);
  const writer = new PageWriter(look);
  for (const page of regions) {
    for (const region of page) {
      if (region.kind === "lines") writer.lines(region.lines);
      else writer.table(region);
    }
    writer.endPage();
  }
  return writer.end();
}

function lookOf(regions: readonly Region[], titles: ReadonlyMap<string, number>): Look {
  const lines = regions.flatMap((region) => (region.kind === "lines" ? region.lines : region.rows.flat()));
  const [body = 0] = ranked(lines, ({ size, text }) => [size, text.length]);
  const larger = [...new Set(lines.map(({ size }) => size))].filter((size) => size > body * largerBy);
  const distances = regions.flatMap((region) =>
    region.kind === "lines"
      ? region.lines.slice(1).flatMap((line, at) => {
          const gap = (region.lines[at]?.y ?? 0) - line.y;
          const ratio = Math.round((10 * gap) / line.size) / 10;
          return line.size === body && region.lines[at]?.size === body && ratio > 0.8 && ratio <= 2.4
            ? [ratio]
            : [];
        })
      : [],
  );
  const [spacing = 1.2] = ranked(distances, (ratio) => [ratio, 1]);
  const kinds = new Map<string, Set<string>>();
  for (const { text } of lines) {
    const { kind, number } = numberedTitle(text) ?? {};
    if (kind !== undefined && number !== undefined)
      kinds.set(kind, (kinds.get(kind) ?? new Set()).add(number));
  }
  const bold = lines.reduce((sum, line) => sum + (line.isBold ? line.text.length : 0), 0);
  const all = lines.reduce((sum, line) => sum + line.text.length, 0);
  return {
    body,
    larger: larger.sort((one, other) => other - one),
    spacing,
    outline: new Map([...titles].map(([title, depth]) => [keyOf(title), depth])),
    numbered: new Set([...kinds].filter(([, numbers]) => numbers.size > 1).map(([kind]) => kind)),
    isBold: bold > all / 2,
  };
}

function ranked<Item>(
  items: readonly Item[],
  of: (item: Item) => readonly [value: number, weight: number],
): number[] {
  const weights = new Map<number, number>();
  for (const item of items) {
    const [value, weight] = of(item);
    weights.set(value, (weights.get(value) ?? 0) + weight);
  }
  return [...weights].sort(([, one], [, other]) => other - one).map(([value]) => value);
}

/** A text by its letters and digits. */
function keyOf(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "");
}

/** "Article 17", "§ 3", "第3条", "2.1 Care": titles by their numbers. */
function numberedTitle(text: string): { kind: string; number: string; depth: number } | undefined {
  if (text.length > 120 || /[.,;:!?。]$/u.test(text.replace(/^\S+\s*\d+[.:]$/u, ""))) return undefined;
  const [, word, counted] =
    /^(\p{Lu}\p{L}{2,}|§+|\p{Lo}{2,8})\.?\s?(\d{1,3}[a-z]?|[IVXLC]{1,6})(?=$|[\s.:–—-])/u.exec(text) ?? [];
  if (word !== undefined && counted !== undefined)
    return { kind: word.toLowerCase(), number: counted, depth: 1 };
  const [, han, sign] =
    /^第\s*([\d一二三四五六七八九十百]+)\s*(条|條|章|节|節|編|编|款|課|课)/u.exec(text) ??
    /^제\s*(\d+)\s*(조|장|절)/u.exec(text) ??
    [];
  if (han !== undefined && sign !== undefined)
    return { kind: sign, number: han, depth: sign === "章" || sign === "장" ? 0 : 1 };
  const [, places] = /^(\d{1,2}(?:\.\d{1,2}){1,4})\.?\s+\p{L}/u.exec(text) ?? [];
  if (places === undefined) return undefined;
  return { kind: "1.1", number: places, depth: places.split(".").length - 1 };
}

const itemMark = /^(?:[•·▪●◦‣○■□]|[–—*-](?=\s))\s*/u;
const sentenceEnd = /[.!?:;。！？؟।]["”»’)]?$/u;

/** Writes lines one after another, and knows the last one, to tell whether the next goes on with it. */
class PageWriter {
  readonly #look: Look;
  readonly #parts: string[] = [];
  #last: Line | undefined;
  /** The right end of the column. */
  #right = 0;
  #left = 0;

  constructor(look: Look) {
    this.#look = look;
  }

  lines(lines: readonly Line[]): void {
    this.#right = Math.max(...lines.map(({ end }) => end));
    this.#left = Math.min(...lines.map(({ x }) => x));
    for (let at = 0; at < lines.length; ) {
      const alike = linesLike(lines, at);
      const before = lines[at - 1] ?? this.#last;
      const heading = this.#headingOf(alike, before, lines[at + alike.length]);
      if (heading) this.#parts.push(`\n\n${"#".repeat(heading.level)} ${escapeMarks(heading.title)}\n\n`);
      for (const line of heading ? [] : alike) this.#line(line);
      if (heading) this.#last = undefined;
      at += heading ? heading.lines : alike.length;
    }
  }

  table({ rows, names }: Extract<Region, { kind: "table" }>): void {
    const texts = rows.map((row) => row.map(({ text }) => escapeMarks(text.replaceAll("|", "\\|"))));
    const width = Math.max(...texts.map((row) => row.length));
    this.#last = undefined;
    if (names) {
      const [head = [], ...others] = texts;
      const lines = [head, head.map(() => "---"), ...others].map((row) => `| ${row.join(" | ")} |`);
      this.#parts.push(`\n\n${lines.join("\n")}\n\n`);
    } else if (width === 2) {
      const items = texts.map(([name = "", value = ""]) =>
        value === "" || name === "" ? `- ${name}${value}` : `- ${name.replace(/[:：]$/u, "")}: ${value}`,
      );
      this.#parts.push(`\n\n${items.join("\n")}\n\n`);
    } else
      this.#parts.push(
        `\n\n${texts.map((row) => row.filter((text) => text !== "").join(" | ")).join("  \n")}\n\n`,
      );
  }

  endPage(): void {
    // A sentence may go on at the next page.
    if (this.#last && sentenceEnd.test(this.#last.text)) this.#last = undefined;
    else if (this.#last) this.#last = { ...this.#last, y: Number.NaN };
  }

  end(): string {
    return (
      this.#parts
        .join("")
        // Large letters at the end are no heading of anything.
        .replace(/\n#{1,6} (?=[^\n]*\s*$)/u, "\n")
        // A word that is divided at the end of a line.
        .replace(/(\p{Ll})[-\u00ad\u2010]\n(?=\p{Ll})/gu, "$1")
        .replace(/\n{3,}/gu, "\n\n")
        .trim()
    );
  }

  #line(line: Line): void {
    const entry = dotted(line.text);
    const item = itemMark.exec(line.text);
    if (entry) {
      const isNext = this.#last && dotted(this.#last.text);
      this.#parts.push(`${isNext ? "\n" : "\n\n"}- ${escapeMarks(entry.name)}: ${entry.value}`);
    } else if (item) {
      const text = line.text.slice(item[0].length);
      this.#parts.push(
        `${this.#last && itemMark.test(this.#last.text) ? "\n" : "\n\n"}- ${escapeMarks(text)}`,
      );
    } else {
      const isRow = line.text.includes(" | ");
      this.#parts.push(`${this.#goesOn(line) ? "\n" : "\n\n"}${escapeMarks(line.text)}${isRow ? "  " : ""}`);
    }
    this.#last = line;
  }

  /** Whether a line goes on with the paragraph of the last one. */
  #goesOn(line: Line): boolean {
    const last = this.#last;
    if (!last || dotted(last.text)) return false;
    const isBegun = /^[\p{Ll}\d(]/u.test(line.text) || !/\p{Lu}|\p{Ll}/u.test(line.text);
    const gap = last.y - line.y;
    // At the top of the next column or page.
    if (!(gap > 0)) return isBegun && !sentenceEnd.test(last.text) && last.size === line.size;
    if (gap > 1.25 * this.#look.spacing * Math.max(line.size, 1)) return false;
    if (/^\(?(?:\d{1,3}|[a-z])[.)]\s/u.test(line.text)) return false;
    const em = line.size;
    const isIndented = line.x > last.x + em && last.x < this.#left + 0.5 * em && !itemMark.test(last.text);
    const isShort = last.end < this.#right - 0.3 * (this.#right - this.#left);
    if (sentenceEnd.test(last.text) && (isIndented || isShort)) return rightToLeftText.test(line.text);
    return true;
  }

  #headingOf(alike: readonly [Line, ...Line[]], before: Line | undefined, after: Line | undefined) {
    const { body, larger, outline, numbered, isBold, spacing } = this.#look;
    const [first] = alike;
    // A title of the outline may be followed by text that looks the same.
    for (let lines = Math.min(alike.length, mostHeadingLines); lines > 0; lines--) {
      const title = titleOf(alike.slice(0, lines));
      const depth = outline.get(keyOf(title)) ?? outline.get(keyOf(title.replace(/^[\d.]+\s/u, "")));
      if (depth !== undefined && /\p{L}/u.test(title)) return { title, level: Math.min(6, depth), lines };
    }
    const base = outline.size > 0 ? 1 : 0;
    const title = titleOf(alike);
    const isTitle =
      alike.length <= mostHeadingLines &&
      title.length < longestHeading &&
      /\p{L}/u.test(title) &&
      !dotted(first.text);
    if (!isTitle && alike.length > mostHeadingLines && !numberedTitle(first.text)) return undefined;
    const size = larger.indexOf(first.size) + 1;
    if (size > 0)
      return isTitle ? { title, level: Math.min(6, size + base), lines: alike.length } : undefined;
    const deeper = larger.length + base + 1;
    const isShort =
      title.length <= 120 && !/[.,;]$/u.test(title) && !itemMark.test(title) && !title.includes(" | ");
    const isFollowed = after === undefined || !after.isBold || after.size !== first.size;
    if (isTitle && first.isBold && !isBold && isShort && isFollowed && first.size >= 0.9 * body)
      return { title, level: Math.min(6, deeper), lines: alike.length };
    const own = numberedTitle(first.text);
    if (!own || !numbered.has(own.kind)) return undefined;
    const gap = before ? before.y - first.y : Number.NaN;
    const isApart = !(gap > 0 && gap < 1.2 * spacing * first.size) || sentenceEnd.test(before?.text ?? "");
    const next = alike[1] ?? after;
    // A line that only refers to a number goes on in the next one.
    const isWhole = next === undefined || !/^\p{Ll}/u.test(next.text);
    return isApart && isWhole
      ? { title: first.text, level: Math.min(6, deeper + own.depth), lines: 1 }
      : undefined;
  }
}

const rightToLeftText = /[\u0590-\u08ff]/u;

function titleOf(lines: readonly Line[]): string {
  return lines.map(({ text }) => text).join(" ");
}

/** The lines from a position on that look alike and are near each other: a heading may have several. */
function linesLike(lines: readonly Line[], from: number): [Line, ...Line[]] {
  const [first, ...others] = lines.slice(from) as [Line, ...Line[]];
  const alike: [Line, ...Line[]] = [first];
  let last = first;
  for (const line of others) {
    const gap = last.y - line.y;
    if (line.size !== last.size || line.isBold !== last.isBold || !(gap > 0) || gap > 2 * line.size) break;
    alike.push(line);
    last = line;
  }
  return alike;
}

/** A line whose dots lead to a number or a price. */
const dottedEnd =
  /^(.*?\p{L}.*?)\s*(?:\|\s*)?(?:[.·…_]\s?){4,}\s*(?:\|\s*)?((?:\p{Sc}\s?)?[\p{L}\d.,:–-]{1,12}(?:\s?(?:\p{Sc}|\p{L}{1,4}))?)$/u;

/** What stands before the dots of a line, and behind them. Undefined: it has no such dots. */
function dotted(text: string): { name: string; value: string } | undefined {
  // Long lines are no items, and would take long to look at.
  if (text.length > 500 || !/(?:[.·…_]\s?){4}/u.test(text)) return undefined;
  const [, name, value] = dottedEnd.exec(text) ?? [];
  return name === undefined || value === undefined ? undefined : { name: name.trim(), value };
}

function textOf(row: Row): string {
  return row.map(({ text }) => text).join(" ");
}

/**
 * Leaves out tables of contents, which say nothing by themselves: lines with dots whose titles are those of other lines.
 * In a price list, they are not.
 */
function withoutContents(pages: readonly (readonly Row[])[]): Row[][] {
  const texts = new Map(pages.flatMap((rows) => rows.map((row) => [row, textOf(row)] as const)));
  const entries = [...texts].flatMap(([row, text]) => {
    const { name } = dotted(text) ?? {};
    return name === undefined ? [] : [{ row, key: keyOf(name) }];
  });
  const all = new Set(entries.map(({ row }) => row));
  const others = new Set([...texts].flatMap(([row, text]) => (all.has(row) ? [] : [keyOf(text)])));
  const long = [...others].filter((key) => key.length > 3);
  const recurs = (key: string) =>
    others.has(key) ||
    (key.length > 3 &&
      long.some(
        (other) => other.startsWith(key) || (key.startsWith(other) && 2 * other.length > key.length),
      ));
  const known = entries.slice(0, 400);
  if (known.filter(({ key }) => recurs(key)).length < known.length / 2) all.clear();
  // Titles of chapters often have no dots, but the number of a page, far to the right.
  if (all.size > 0)
    for (const row of texts.keys()) {
      const [title, page, more] = row;
      if (!title || !page || more || !/^(?:\d{1,4}|[ivxlc]+)$/u.test(page.text)) continue;
      const key = keyOf(title.text);
      if (others.has(key) || others.has(keyOf(title.text.replace(/^[\dA-Z]+\s/u, "")))) all.add(row);
    }
  return pages.map((rows) => rows.filter((row) => !all.has(row)));
}

/** How many pages have the same line at the same place, but for numbers, where it is a running head. */
const enoughPages = 3;
/** Running heads are within this part of a page, from above and from below. */
const margin = 0.2;

/** Leaves out what pages have above and below their text, which would be quoted in the middle of a sentence. */
function withoutRunningHeads(pages: readonly PdfPage[]): Row[][] {
  const all = pages.map(({ pieces }) => toRows(pieces));
  const [body = 0] = ranked(all.flat(2), ({ size, text }) => [size, text.length]);
  const outer = all.map((rows, page) => {
    const { height = 0, pieces = [] } = pages[page] ?? {};
    const isTurned = pieces[0]?.turn !== 0;
    const isHead = ([line]: Row) => isTurned || (line?.y ?? 0) > (1 - margin) * height;
    const isFoot = ([line]: Row) => isTurned || (line?.y ?? height) < margin * height;
    return new Set([...rows.slice(0, 1).filter(isHead), ...rows.slice(1).slice(-1).filter(isFoot)]);
  });
  const placeOf = (row: Row) => {
    const text = textOf(row).replace(/\d+|\b[ivxlc]+$/gu, "#");
    return `${text.trim()} ${Math.round((row[0]?.y ?? 0) / 4)}`;
  };
  const counts = new Map<string, { pages: number; texts: Set<string> }>();
  for (const rows of outer)
    for (const [place, row] of new Map([...rows].map((row) => [placeOf(row), row]))) {
      const count = counts.get(place) ?? { pages: 0, texts: new Set() };
      count.pages++;
      count.texts.add(textOf(row));
      counts.set(place, count);
    }
  const told = new Set<string>();
  const isRunning = (row: Row) => {
    const place = placeOf(row);
    const count = counts.get(place);
    if (!count || count.pages < enoughPages) return false;
    // Large words are a title, unless a number stands far from them.
    if (row.length > 1 || row.every(({ size }) => size <= body * largerBy)) return true;
    // A title with a number of its own, such as "Lesson 3"; one that is the same on each page is told once.
    if (count.texts.size > 1 && /\p{L}/u.test(textOf(row))) return false;
    const wasTold = told.has(place);
    told.add(place);
    return wasTold;
  };
  return all.map((rows, page) => rows.filter((row) => !(outer[page]?.has(row) && isRunning(row))));
}

/** Text that looks like Markdown is none. */
function escapeMarks(text: string): string {
  return text.replace(/^(?=#)|(?=<[a-z/!])/giu, "\\");
}
