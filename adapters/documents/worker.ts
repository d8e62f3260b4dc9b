/**
 * The thread that reads documents. It says when it is ready, and answers each document with its text or its fault.
 *
 * @module
 */

import { parentPort } from "node:worker_threads";
import { readHtml } from "../../knowledge/mod.ts";
import { readPdf } from "./pdf.ts";
import { DocumentError, type DocumentText, decodePage, type ReadAnswer, type ReadRequest } from "./text.ts";
import { readWord } from "./word.ts";

// Libraries have nothing to say to the server's log.
for (const method of ["log", "info", "warn", "error", "debug", "trace"] as const) console[method] = () => {};

parentPort?.on("message", async (request: ReadRequest) => {
  const answered = await answer(request);
  parentPort?.postMessage(answered, "encoded" in answered ? [answered.encoded.buffer] : []);
});

parentPort?.postMessage("ready");

async function answer(request: ReadRequest): Promise<ReadAnswer> {
  try {
    const { text, unread } = await read(request);
    return { encoded: new TextEncoder().encode(text), unread };
  } catch (error) {
    if (!(error instanceof DocumentError)) return { error };
    // What was read of HTML and Word is gone. PDFium keeps memory where it stops within a document, and may not take more.
    return { fault: error.message, isLast: isPdf.test(request.path) };
  }
}

const isPdf = /\.pdf$/iu;

async function read({ path, bytes }: ReadRequest): Promise<DocumentText> {
  if (isPdf.test(path)) return readPdf(bytes);
  const html = /\.docx$/iu.test(path) ? readWord(bytes) : await decodePage(bytes);
  try {
    return { text: readHtml(html) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new DocumentError(error.message.replace(/^HTML /u, ""), { cause: error });
  }
}
