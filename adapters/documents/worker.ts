/**
 * The thread that reads documents. It gets a document, says that it has begun, and answers with its text or its fault.
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
  parentPort?.postMessage("begun");
  parentPort?.postMessage(await answer(request));
});

async function answer(request: ReadRequest): Promise<ReadAnswer> {
  try {
    return await read(request);
  } catch (error) {
    return error instanceof DocumentError ? { fault: error.message } : { error };
  }
}

async function read({ path, bytes }: ReadRequest): Promise<DocumentText> {
  if (/\.pdf$/iu.test(path)) return readPdf(bytes);
  const html = /\.docx$/iu.test(path) ? readWord(bytes) : decodePage(bytes);
  try {
    return { text: readHtml(html) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new DocumentError("has elements that are nested too deep (more than 200).");
  }
}
