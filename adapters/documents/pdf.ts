/**
 * The text of a PDF, by PDFium: each page as pieces of text with their places, which become lines, then Markdown.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { WrappedPdfiumModule } from "@embedpdf/pdfium";
import { counted } from "../../core/base/counted.ts";
import type { Piece } from "./pdf-layout.ts";
import { type PdfPage, toMarkdown } from "./pdf-markdown.ts";
import { DocumentError, type DocumentText } from "./text.ts";

const packageName = "@embedpdf/pdfium";
const mostPages = 2_000;
/** The most that PDFium may take, in pages of WebAssembly's memory, which are of 64 KiB. */
const mostMemory = 256 * 16;
/** No page that is read by people has more; to order them takes its time. */
const mostOfPage = 300_000;

/**
 * Reads a PDF.
 *
 * @throws {DocumentError} if it is none, has a password, has too many pages, or no text.
 */
export async function readPdf(bytes: Uint8Array): Promise<DocumentText> {
  const pdfium = await loadPdfium();
  const reader = new PdfReader(pdfium, bytes);
  try {
    return reader.read();
  } catch (error) {
    if (error instanceof DocumentError) throw error;
    // PDFium ends itself where it gets no more memory.
    if (error instanceof WebAssembly.RuntimeError)
      throw new DocumentError("takes too much memory to be read as PDF.", { cause: error });
    throw error;
  }
}

let loaded: Promise<WrappedPdfiumModule> | undefined;

function loadPdfium(): Promise<WrappedPdfiumModule> {
  loaded ??= startPdfium();
  return loaded;
}

async function startPdfium(): Promise<WrappedPdfiumModule> {
  const { resolve } = createRequire(import.meta.url);
  let file: string;
  try {
    file = resolve(`${packageName}/pdfium.wasm`);
  } catch (cause) {
    throw new DocumentError(`needs the package ${packageName}: npm install ${packageName}`, { cause });
  }
  const { init } = await import("@embedpdf/pdfium");
  limitMemory();
  const silent = () => {};
  const pdfium = await init({
    wasmBinary: new Uint8Array(readFileSync(file)).buffer,
    print: silent,
    printErr: silent,
  });
  pdfium.PDFiumExt_Init();
  return pdfium;
}

/** A page of a few kilobytes may unpack to gigabytes, and no limit of the thread counts what WebAssembly takes. */
function limitMemory(): void {
  const { grow } = WebAssembly.Memory.prototype;
  WebAssembly.Memory.prototype.grow = function (delta: number): number {
    if (this.buffer.byteLength / 65_536 + delta > mostMemory)
      throw new RangeError("PDFium takes too much memory.");
    return grow.call(this, delta);
  };
}

const passwordError = 4;
const imageObject = 3;
const formObject = 5;

/** A style of text: that of an object of a page. */
interface Style {
  readonly size: number;
  readonly isBold: boolean;
  /** The direction of its lines, in quarters of a turn; another one: a fraction. */
  readonly turn: number;
}

/** What the types of the package leave out: they come from another package. */
interface Heap {
  /** A new one where the memory has grown. */
  readonly HEAPU8: Uint8Array<ArrayBuffer>;
}

class PdfReader {
  readonly #pdfium: WrappedPdfiumModule;
  readonly #bytes: Uint8Array;
  /** Where PDFium writes numbers and short texts. */
  readonly #space: number;
  #letters = 0;
  #unknownLetters = 0;

  constructor(pdfium: WrappedPdfiumModule, bytes: Uint8Array) {
    this.#pdfium = pdfium;
    this.#bytes = bytes;
    this.#space = pdfium.pdfium.wasmExports.malloc(2048);
  }

  read(): DocumentText {
    const { pdfium, FPDF_LoadMemDocument, FPDF_GetLastError, FPDF_CloseDocument } = this.#pdfium;
    const at = pdfium.wasmExports.malloc(this.#bytes.length);
    this.#heap().set(this.#bytes, at);
    const document = FPDF_LoadMemDocument(at, this.#bytes.length, "");
    try {
      if (document === 0 && FPDF_GetLastError() === passwordError)
        throw new DocumentError("is protected by a password; save it without one.");
      if (document === 0) throw new DocumentError("cannot be read as PDF.");
      return this.#readDocument(document);
    } finally {
      if (document !== 0) FPDF_CloseDocument(document);
      pdfium.wasmExports.free(at);
      pdfium.wasmExports.free(this.#space);
    }
  }

  #readDocument(document: number): DocumentText {
    const count = this.#pdfium.FPDF_GetPageCount(document);
    if (count > mostPages) throw new DocumentError("has more than 2,000 pages.");
    const pages: PdfPage[] = [];
    let pictures = 0;
    for (let number = 0; number < count; number++) {
      const page = this.#pdfium.FPDF_LoadPage(document, number);
      if (page === 0) continue;
      const pieces = this.#readPage(page);
      pages.push({ pieces, height: this.#pdfium.FPDF_GetPageHeightF(page) });
      if (pieces.length === 0 && this.#hasPicture(page)) pictures++;
      this.#pdfium.FPDF_ClosePage(page);
    }
    if (pages.every(({ pieces }) => pieces.length === 0))
      throw new DocumentError(
        pictures > 0
          ? "has no text: its pages are pictures. Recognize their text (OCR) first."
          : "has no text: its pages are blank, or drawn without letters.",
      );
    if (this.#unknownLetters > this.#letters / 2)
      throw new DocumentError(
        "has no text: its fonts do not say which letters they show. Recognize its text (OCR) first.",
      );
    const unread = pictures > 0 ? `${pictures} of ${counted(count, "page")}` : undefined;
    return { text: toMarkdown(pages, this.#outline(document)), unread };
  }

  #hasPicture(page: number): boolean {
    const { FPDFPage_CountObjects, FPDFPage_GetObject, FPDFPageObj_GetType } = this.#pdfium;
    for (let at = Math.min(1000, FPDFPage_CountObjects(page)) - 1; at >= 0; at--) {
      const type = FPDFPageObj_GetType(FPDFPage_GetObject(page, at));
      if (type === imageObject || type === formObject) return true;
    }
    return false;
  }

  /** The titles of the document's outline, in lower case, with their depths from 1. */
  #outline(document: number): Map<string, number> {
    const { FPDFBookmark_GetFirstChild, FPDFBookmark_GetNextSibling, FPDFBookmark_GetTitle } = this.#pdfium;
    const titles = new Map<string, number>();
    let left = 5_000;
    const walk = (parent: number, depth: number) => {
      let bookmark = FPDFBookmark_GetFirstChild(document, parent);
      for (
        ;
        bookmark !== 0 && left > 0 && depth <= 6;
        bookmark = FPDFBookmark_GetNextSibling(document, bookmark), left--
      ) {
        const length = Math.min(2048, FPDFBookmark_GetTitle(bookmark, this.#space, 2048));
        const title = new TextDecoder("utf-16le").decode(this.#written(Math.max(0, length - 2)));
        if (!titles.has(title)) titles.set(title, depth);
        walk(bookmark, depth + 1);
      }
    };
    walk(0, 1);
    return titles;
  }

  /** The pieces of a page: letters in a row, of one style, without a wide gap. */
  #readPage(page: number): Piece[] {
    const { FPDFText_LoadPage, FPDFText_ClosePage, FPDFText_CountChars, FPDFText_GetUnicode } = this.#pdfium;
    const { FPDFText_GetTextObject, FPDFText_HasUnicodeMapError } = this.#pdfium;
    const text = FPDFText_LoadPage(page);
    if (text === 0) return [];
    const count = FPDFText_CountChars(text);
    if (count > mostOfPage)
      throw new DocumentError(`has a page with more than ${mostOfPage.toLocaleString("en")} letters.`);
    const pieces: Open[] = [];
    let last: Open | undefined;
    let object = 0;
    let style: Style = { size: 0, isBold: false, turn: 0 };
    let isSpace = false;
    for (let at = 0; at < count; at++) {
      const letter = letterOf(FPDFText_GetUnicode(text, at));
      if (letter === " ") isSpace = true;
      if (letter === "\n") last = undefined;
      if (letter.trim() === "") continue;
      const own = FPDFText_GetTextObject(text, at);
      if (own !== object || own === 0) [object, style] = [own, this.#styleOf(text, at)];
      this.#letters++;
      if (!usual.test(letter) && FPDFText_HasUnicodeMapError(text, at) === 1) this.#unknownLetters++;
      const place = this.#placeOf(text, at, style.turn);
      if (last && isBeside(last, place, style)) {
        last.text += (isSpace ? " " : "") + letter;
        last.x = Math.min(last.x, place.x);
        last.end = Math.max(last.end, place.end);
      } else {
        last = { text: letter, ...place, ...style };
        pieces.push(last);
      }
      isSpace = false;
    }
    FPDFText_ClosePage(text);
    return pieces;
  }

  #styleOf(text: number, at: number): Style {
    const { FPDFText_GetFontSize, FPDFText_GetMatrix, FPDFText_GetFontInfo, FPDFText_GetFontWeight } =
      this.#pdfium;
    const space = this.#space;
    FPDFText_GetMatrix(text, at, space);
    const [a = 1, b = 0, c = 0, d = 1] = this.#numbers();
    const size = FPDFText_GetFontSize(text, at) * Math.hypot(c, d);
    const length = FPDFText_GetFontInfo(text, at, space, 256, 0);
    const font = new TextDecoder().decode(this.#written(Math.min(256, Math.max(0, length - 1))));
    const isBold = /bold|black|heavy|demi/iu.test(font) || FPDFText_GetFontWeight(text, at) >= 650;
    const quarters = Math.atan2(b, a) / (Math.PI / 2);
    const turn = Math.abs(quarters - Math.round(quarters)) < 0.02 ? (Math.round(quarters) + 4) % 4 : quarters;
    return { size: Math.round(size * 10) / 10, isBold, turn };
  }

  #heap(): Uint8Array<ArrayBuffer> {
    return (this.#pdfium.pdfium as unknown as Heap).HEAPU8;
  }

  /** The bytes that PDFium has written. */
  #written(length: number): Uint8Array {
    return this.#heap().slice(this.#space, this.#space + length);
  }

  /** The four numbers that PDFium has written. */
  #numbers(): Float32Array {
    return new Float32Array(this.#heap().buffer, this.#space, 4);
  }

  /** Where a letter stands: as if its line went from left to right. */
  #placeOf(text: number, at: number, turn: number): Extent {
    const { FPDFText_GetLooseCharBox, FPDFText_GetCharOrigin } = this.#pdfium;
    const space = this.#space;
    FPDFText_GetLooseCharBox(text, at, space);
    const [left = 0, top = 0, right = 0, bottom = 0] = this.#numbers();
    FPDFText_GetCharOrigin(text, at, space, space + 8);
    const [x = 0, y = 0] = new Float64Array(this.#heap().buffer, space, 2);
    switch (turn) {
      case 1:
        return { x: bottom, end: top, y: -x };
      case 2:
        return { x: -right, end: -left, y: -y };
      case 3:
        return { x: -top, end: -bottom, y: x };
      default:
        return { x: left, end: right, y };
    }
  }
}

interface Extent {
  x: number;
  end: number;
  readonly y: number;
}

type Open = Extent & Style & { text: string };

function isBeside(last: Open, { x, end, y }: Extent, { size, isBold, turn }: Style): boolean {
  if (last.size !== size || last.isBold !== isBold || last.turn !== turn) return false;
  // Text from right to left stands before what it follows.
  const gap = Math.max(x - last.end, last.x - end);
  return Math.abs(y - last.y) < 0.2 * size && gap < size;
}

/** Letters that are what they seem, also where a font does not say so: PDFium knows them by their glyphs' names. */
const usual = /[A-Za-zÀ-ſА-я]/u;

/** Ligatures and other forms that letters take in a line, as they are written. */
const forms = /[\uf900-\ufdff\ufe30-\ufe4f\ufe70-\ufeff\ufb00-\ufb4f\u2e80-\u2fdf]/u;

function letterOf(code: number): string {
  if (code === 0x02) return "-"; // where a word is divided
  if (code === 0x0a || code === 0x0d) return "\n";
  if (code === 0x20 || code === 0xa0 || code === 0x09) return " ";
  if (code < 0x20 || code > 0x10ffff || code === 0xfffe || code === 0xffff || code === 0xfffd) return "";
  if (code >= 0xe000 && code <= 0xf8ff) return code >= 0xf000 && code <= 0xf0ff ? "•" : ""; // signs of fonts of signs
  const letter = code >= 0xd800 && code <= 0xdfff ? String.fromCharCode(code) : String.fromCodePoint(code);
  return forms.test(letter) ? letter.normalize("NFKC").trim() : letter;
}
