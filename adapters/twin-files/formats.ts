/**
 * Documents that are no plain text: HTML, and with optional packages PDF (`unpdf`) and Word (`mammoth`). Each becomes Markdown.
 *
 * @module
 */

import { codeOf } from "../system.ts";

/** Names of documents that are read. */
export const readable = /\.(?:md|markdown|mdx|txt|html?|pdf|docx)$/iu;

/** Why a document cannot be read, in a sentence that goes on from its name. */
export class FormatError extends Error {
  override readonly name = "FormatError";
}

/** What a document says. */
export interface ReadFormat {
  /** Markdown. */
  readonly text: string;
  /** What of it has no text, such as "3 of 10 pages". */
  readonly unread?: string | undefined;
}

/** The text of a document that is no plain text. Undefined: it is. */
export async function readFormat(
  path: string,
  bytes: Uint8Array,
  decode: () => string,
): Promise<ReadFormat | undefined> {
  if (/\.html?$/iu.test(path)) return { text: await fromHtml(decode()) };
  if (/\.docx$/iu.test(path)) return { text: await readWord(bytes) };
  if (/\.pdf$/iu.test(path)) return readPdf(bytes);
  return undefined;
}

async function fromHtml(html: string): Promise<string> {
  const { readHtml } = await import("../../knowledge/mod.ts");
  try {
    return readHtml(html);
  } catch (error) {
    if (error instanceof RangeError)
      throw new FormatError("has elements that are nested too deep (more than 200).");
    throw error;
  }
}

async function readWord(bytes: Uint8Array): Promise<string> {
  // The package sets prototypes in a way that Deno refuses.
  if ("Deno" in globalThis)
    throw new FormatError("cannot be read as Word on Deno; convert it to HTML or PDF.");
  const mammoth = await load("mammoth", () => import("mammoth"));
  const withoutPictures = { convertImage: mammoth.images.imgElement(async () => ({ src: "" })) };
  const { value } = await mammoth
    .convertToHtml({ buffer: Buffer.from(bytes) }, withoutPictures)
    .catch((error) => unreadable("Word", error));
  return fromHtml(value);
}

/** A piece of text on a page of a PDF. */
interface Piece {
  readonly text: string;
  readonly height: number;
  /** Distances from the left and the bottom of the page, in points. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

async function readPdf(bytes: Uint8Array): Promise<ReadFormat> {
  const { getDocumentProxy, getResolvedPDFJS } = await load("unpdf", () => import("unpdf"));
  const document = await getDocumentProxy(new Uint8Array(bytes)).catch((error) => unreadable("PDF", error));
  try {
    const { OPS } = await getResolvedPDFJS();
    const pictures = [OPS.paintImageXObject, OPS.paintInlineImageXObject, OPS.paintImageMaskXObject];
    const pages: Piece[][] = [];
    let scanned = 0;
    for (let number = 1; number <= document.numPages; number++) {
      const page = await document.getPage(number);
      const { items } = await page.getTextContent();
      const pieces = items.flatMap((item) => ("str" in item ? toPiece(item) : []));
      pages.push(pieces);
      if (pieces.length > 0) continue;
      const { fnArray } = await page.getOperatorList();
      if (fnArray.some((operation) => pictures.includes(operation))) scanned++;
    }
    if (pages.every((page) => page.length === 0))
      throw new FormatError("has no text: its pages are pictures. Recognize their text (OCR) first.");
    const unread = `${scanned} of ${document.numPages} pages`;
    return { text: toMarkdown(pages), unread: scanned > 0 ? unread : undefined };
  } finally {
    await document.loadingTask.destroy();
  }
}

function toPiece({
  str,
  height,
  width,
  transform,
}: {
  str: string;
  height: number;
  width: number;
  transform: number[];
}): Piece[] {
  if (str.trim() === "") return [];
  return [{ text: str, height, width, x: transform[4] ?? 0, y: transform[5] ?? 0 }];
}

/** Dots that lead to the number of a page: a line of a table of contents, which says nothing by itself. */
const leader = /(?:\s?\.){4,}\s*(?:\|\s*)?\w*$/u;
/** A heading has no more lines, and no more letters. Larger text that goes on is no heading. */
const mostHeadingLines = 3;
const longestHeading = 200;

/** Lines in larger letters are headings; lines that are far apart are paragraphs. */
function toMarkdown(pages: readonly (readonly Piece[])[]): string {
  const sizes = new Map<number, number>();
  for (const { text, height } of pages.flat())
    sizes.set(Math.round(height), (sizes.get(Math.round(height)) ?? 0) + text.length);
  const [body = 0] = [...sizes].sort(([, one], [, other]) => other - one).map(([size]) => size);
  const larger = [...sizes.keys()].filter((size) => size > body * 1.12).sort((one, other) => other - one);
  const parts: string[] = [];
  for (const lines of withoutRunningHeads(pages.map(linesOf))) {
    let last: Line | undefined;
    for (let at = 0; at < lines.length; ) {
      const alike = linesLike(lines, at);
      const [line] = alike;
      const level = Math.min(6, larger.indexOf(Math.round(line.height)) + 1);
      const title = alike.map(({ text }) => text).join(" ");
      const isHeading =
        level > 0 &&
        alike.length <= mostHeadingLines &&
        title.length < longestHeading &&
        /\p{L}/u.test(title);
      if (isHeading) parts.push(`\n\n${"#".repeat(level)} ${escapeMarks(title)}\n\n`);
      for (const each of isHeading ? [] : alike) {
        const gap = last === undefined ? 0 : last.y - each.y;
        const isFar = last === undefined || gap < 0 || gap > 1.7 * Math.max(each.height, 1);
        const isRow = each.text.includes(" | ");
        parts.push(`${isFar ? "\n\n" : "\n"}${escapeMarks(each.text)}${isRow ? "  " : ""}`);
        last = each;
      }
      if (isHeading) last = undefined;
      at += alike.length;
    }
    parts.push("\n\n");
  }
  // A word that is divided at the end of a line.
  return parts
    .join("")
    .replace(/(\p{Ll})[-\u00ad]\n(?=\p{Ll})/gu, "$1")
    .trim();
}

/** The lines from a position on that are of one size and near each other: a heading may have several. */
function linesLike(lines: readonly Line[], from: number): [Line, ...Line[]] {
  const alike: Line[] = [];
  for (const line of lines.slice(from)) {
    const last = alike.at(-1);
    const gap = last ? last.y - line.y : 0;
    if (last && (Math.round(last.height) !== Math.round(line.height) || gap < 0 || gap > 2 * line.height))
      break;
    alike.push(line);
  }
  return alike as [Line, ...Line[]];
}

/** How many pages begin or end with the same line, but for numbers, where it is a running head. */
const enoughPages = 3;

/** Leaves out what pages have above and below their text, which would be quoted in the middle of a sentence. */
function withoutRunningHeads(pages: readonly (readonly Line[])[]): Line[][] {
  const keyOf = (line: Line | undefined) => line?.text.replace(/\d+/gu, "").trim();
  const counts = new Map<string | undefined, number>();
  const ends = pages.map((lines) => [lines[0], lines.at(-1)]);
  for (const lines of ends)
    for (const key of new Set(lines.map(keyOf))) counts.set(key, (counts.get(key) ?? 0) + 1);
  const isRunning = (line: Line) => (counts.get(keyOf(line)) ?? 0) >= enoughPages;
  return pages.map((lines, page) =>
    lines.filter((line) => !leader.test(line.text) && !(ends[page]?.includes(line) && isRunning(line))),
  );
}

/** Text that looks like Markdown is none. */
function escapeMarks(text: string): string {
  return text.replace(/^(?=#)|(?=<[a-z/!])/giu, "\\");
}

interface Line {
  readonly text: string;
  readonly height: number;
  readonly y: number;
}

/** The lines of a page in reading order: as the file has them, so that columns stay apart. */
function linesOf(pieces: readonly Piece[]): Line[] {
  const lines: { text: string; height: number; y: number; end: number }[] = [];
  const drawn = new Set<string>();
  for (const { text, height, x, y, width } of pieces) {
    // Letters are made bold, or are hidden in a folded part of a page, by drawing them twice.
    const place = `${text} ${Math.round(x / 2)} ${Math.round(y / 2)}`;
    if (drawn.has(place)) continue;
    drawn.add(place);
    const last = lines.at(-1);
    const isSame = last && Math.abs(last.y - y) < Math.max(2, height / 2) && x >= last.end - height;
    if (last && isSame) {
      const gap = x - last.end;
      last.text += `${gap > 3 * height ? " | " : gap > height / 8 ? " " : ""}${text}`;
      last.end = x + width;
      last.height = Math.max(last.height, height);
    } else {
      lines.push({ text, height, y, end: x + width });
    }
  }
  return lines.map(({ text, height, y }) => ({ text: text.trim(), height, y }));
}

async function load<Module>(name: string, importModule: () => Promise<Module>): Promise<Module> {
  try {
    return await importModule();
  } catch (error) {
    if (!/NOT_FOUND|Cannot find|not found/iu.test(`${codeOf(error)} ${error}`)) throw error;
    throw new FormatError(`needs the package ${name}: npm install ${name}`);
  }
}

function unreadable(format: string, cause: unknown): never {
  throw new FormatError(`cannot be read as ${format}.`, { cause });
}
