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

/** The text of a document that is no plain text. Undefined: it is. */
export async function readFormat(
  path: string,
  bytes: Uint8Array,
  decode: () => string,
): Promise<string | undefined> {
  if (/\.html?$/iu.test(path)) return fromHtml(decode());
  if (/\.docx$/iu.test(path)) return readWord(bytes);
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

async function readPdf(bytes: Uint8Array): Promise<string> {
  const { getDocumentProxy } = await load("unpdf", () => import("unpdf"));
  const document = await getDocumentProxy(new Uint8Array(bytes)).catch((error) => unreadable("PDF", error));
  try {
    const pages: Piece[][] = [];
    for (let number = 1; number <= document.numPages; number++) {
      const { items } = await (await document.getPage(number)).getTextContent();
      pages.push(items.flatMap((item) => ("str" in item ? toPiece(item) : [])));
    }
    const letters = pages.flat().reduce((sum, { text }) => sum + text.length, 0);
    if (letters === 0)
      throw new FormatError("has no text: its pages are pictures. Recognize their text (OCR) first.");
    return toMarkdown(pages);
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

/** Lines in larger letters are headings; lines that are far apart are paragraphs. */
function toMarkdown(pages: readonly (readonly Piece[])[]): string {
  const sizes = new Map<number, number>();
  for (const { text, height } of pages.flat())
    sizes.set(Math.round(height), (sizes.get(Math.round(height)) ?? 0) + text.length);
  const [body = 0] = [...sizes].sort(([, one], [, other]) => other - one).map(([size]) => size);
  const larger = [...sizes.keys()].filter((size) => size > body * 1.12).sort((one, other) => other - one);
  const parts: string[] = [];
  for (const page of pages) {
    let last: Line | undefined;
    for (const line of linesOf(page)) {
      const level = Math.min(6, larger.indexOf(Math.round(line.height)) + 1);
      const isHeading = level > 0 && line.text.length < 150 && /\p{L}/u.test(line.text);
      const isFar = last === undefined || last.y - line.y > 1.7 * Math.max(line.height, 1) || line.y > last.y;
      if (isHeading) parts.push(`\n\n${"#".repeat(level)} ${line.text}\n\n`);
      else parts.push(`${isFar ? "\n\n" : "\n"}${line.text}`);
      last = isHeading ? undefined : line;
    }
    parts.push("\n\n");
  }
  // A word that is divided at the end of a line.
  return parts
    .join("")
    .replace(/(\p{Ll})[-\u00ad]\n(?=\p{Ll})/gu, "$1")
    .trim();
}

interface Line {
  readonly text: string;
  readonly height: number;
  readonly y: number;
}

/** The lines of a page in reading order: as the file has them, so that columns stay apart. */
function linesOf(pieces: readonly Piece[]): Line[] {
  const lines: { text: string; height: number; y: number; end: number }[] = [];
  for (const { text, height, x, y, width } of pieces) {
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
