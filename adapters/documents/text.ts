/**
 * What is asked and said of documents; bytes as text: UTF-8, UTF-16, and what a page of HTML says of itself.
 *
 * @module
 */

import { decodeInParts } from "../../core/base/in-parts.ts";

/** Why a document cannot be read, in a sentence that goes on from its name. */
export class DocumentError extends Error {
  override readonly name = "DocumentError";
}

/** What a document says. */
export interface DocumentText {
  /** Markdown, or plain text of a `.txt`. */
  readonly text: string;
  /** Which pages have no text, such as "3 of 10 pages are pictures, without text". */
  readonly unread?: string | undefined;
}

/** What the thread is asked. */
export interface ReadRequest {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** What is wrong with a document. */
export interface DocumentFault {
  readonly fault: string;
  /** Whether the thread must not read another one. */
  readonly isLast: boolean;
}

/** A text in UTF-8, which another thread takes over: a string would be copied at once. */
export interface EncodedText extends Pick<DocumentText, "unread"> {
  readonly encoded: Uint8Array<ArrayBuffer>;
}

/** What the thread answers: the text, a fault of the document, or an error of the reader itself. */
export type ReadAnswer = EncodedText | DocumentFault | { readonly error: unknown };

/** Decodes UTF-8, or UTF-16 with a byte order mark. The mark is removed. */
export function decodeText(bytes: Uint8Array): Promise<string> {
  return decode(charsetOfMark(bytes) ?? "utf-8", bytes);
}

/** Decodes a page of HTML: by its byte order mark, what it says of itself, else as UTF-8. */
export function decodePage(bytes: Uint8Array): Promise<string> {
  return decode(charsetOfMark(bytes) ?? charsetOfPage(bytes) ?? "utf-8", bytes);
}

async function decode(charset: string, bytes: Uint8Array): Promise<string> {
  let decoder: TextDecoder;
  try {
    decoder = new TextDecoder(charset, { fatal: true });
  } catch {
    throw new DocumentError(`names a charset that is not known: ${JSON.stringify(charset.slice(0, 40))}.`);
  }
  try {
    const text = await decodeInParts(bytes, decoder); // also removes a byte order mark
    if (decoder.encoding !== "windows-1252") return text;
    // Some Nodes decode it as Latin 1, where these are control characters.
    return text.replace(/[\u0080-\u009f]/gu, (sign) => windows1252[sign.charCodeAt(0) - 0x80] ?? sign);
  } catch {
    throw new DocumentError(`is not valid ${decoder.encoding.toUpperCase()}.`);
  }
}

/** What Windows-1252 has from 0x80 on; five places are empty. */
const windows1252 = [..."€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"];

function charsetOfMark(bytes: Uint8Array): string | undefined {
  const [first, second, third] = bytes;
  // Without a mark, a page of UTF-16 shows itself by its first "<".
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) return "utf-16le";
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)) return "utf-16be";
  return first === 0xef && second === 0xbb && third === 0xbf ? "utf-8" : undefined;
}

/** As browsers look for it: in the first 1,024 bytes, which are ASCII up to there. */
function charsetOfPage(bytes: Uint8Array): string | undefined {
  const begin = new TextDecoder("latin1").decode(bytes.subarray(0, 1024)).replace(/<!--.*?-->/gsu, "");
  const [, named] =
    /<meta\b[^>]*?\bcharset\s*=\s*["']?\s*([^\s"'/>;]+)/iu.exec(begin) ??
    /^\s*<\?xml\b[^>]*?\bencoding\s*=\s*["']([^"']+)/iu.exec(begin) ??
    [];
  // A page that could be read so far is not UTF-16, whatever it says.
  return named !== undefined && /^utf-?16/iu.test(named) ? "utf-8" : named;
}
