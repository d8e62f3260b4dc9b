/**
 * The reader of twins that owners make: what reads a folder's files, for texts that come in by HTTP.
 *
 * @module
 */

import { within } from "../../core/base/clock.ts";
import type { FailedTest, GoldenQuestion, TwinReader } from "../../core/twins/reader.ts";
import { DocumentError, type DocumentText, decodePage, decodeText } from "../documents/text.ts";
import { readTwinFile, TwinFaults, usualEngines } from "./file.ts";
import { type AskedQuestion, askQuestion, mostAsked } from "./questions.ts";
import { teach } from "./teaching.ts";
import { textFaults } from "./text-faults.ts";

/** Options of {@link createTwinReader}. */
export interface TwinReaderOptions {
  /**
   * Reads the text of an owner's document. Rejects with a `DocumentError` if it cannot be read. Default: Markdown, text and
   * HTML are read, in this thread.
   */
  readonly extractText?:
    | ((path: string, bytes: Uint8Array, of: { readonly owner: string }) => Promise<DocumentText>)
    | undefined;
}

/** How long golden questions may take, in milliseconds. */
const askingMs = 5_000;

/** Names of documents that are read, and those that any runtime reads. */
const readable = /\.(?:md|markdown|mdx|txt|html?|pdf|docx)$/iu;
const readableAnywhere = /\.(?:md|markdown|mdx|txt|html?)$/iu;

/** Creates a reader. */
export function createTwinReader({ extractText = readAnywhere }: TwinReaderOptions = {}): TwinReader {
  return {
    async read(bytes, { defaultEngine, engines, author }) {
      const all = [...new Set([...usualEngines, ...engines])];
      try {
        return readTwinFile(bytes, {
          defaultEngine,
          engines: all,
          author,
          toolProblem: author?.toolProblem,
        });
      } catch (error) {
        if (error instanceof TwinFaults) return { faults: error.faults };
        throw error;
      }
    },

    faultsOf: ({ twin, instructionsLine }) => textFaults(twin, instructionsLine),

    async readDocument(path, bytes, owner) {
      if (!readable.test(path))
        return {
          fault:
            "has an ending that is not read: .md, .markdown, .mdx, .txt, .html, .htm, .pdf and .docx are",
        };
      try {
        return { text: (await extractText(path, bytes, { owner })).text };
      } catch (error) {
        if (error instanceof DocumentError) return { fault: error.message };
        throw error;
      }
    },

    async ask(twin, tests, clock) {
      const { createKnowledgeEngine } = await import("../../knowledge/mod.ts");
      const engine = createKnowledgeEngine();
      const until = clock.now() + askingMs;
      const failed: FailedTest[] = [];
      let inTime = true;
      for (const [at, test] of tests.entries()) {
        inTime &&= at < mostAsked && clock.now() < until;
        const asked: AskedQuestion | undefined = inTime
          ? await within(clock, until - clock.now(), askQuestion(engine, twin, test))
          : undefined;
        inTime = asked !== undefined;
        if (asked && asked.failures.length === 0) continue;
        failed.push({ question: test.ask, expected: expectedBy(test), answer: asked?.text ?? null });
      }
      return { passed: tests.length - failed.length, failed };
    },

    async answer(twin, question, clock) {
      const { createKnowledgeEngine } = await import("../../knowledge/mod.ts");
      const asking = askQuestion(createKnowledgeEngine(), twin, { ask: question, line: 1 });
      return (await within(clock, askingMs, asking))?.text ?? null;
    },

    teach,
  };
}

/** Reads what needs no thread of its own, on every runtime. */
async function readAnywhere(path: string, bytes: Uint8Array): Promise<DocumentText> {
  if (!readableAnywhere.test(path))
    throw new DocumentError("cannot be read here: only Markdown, text and HTML are.");
  if (!/\.html?$/iu.test(path)) return { text: await decodeText(bytes) };
  const { readHtml } = await import("../../knowledge/mod.ts");
  try {
    return { text: readHtml(await decodePage(bytes)) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new DocumentError(error.message.replace(/^HTML /u, ""), { cause: error });
  }
}

/** What a golden question's answer must be, in words. */
function expectedBy({ source, says = [], never = [] }: GoldenQuestion): string {
  if (source === null) return "no answer";
  const parts = [
    ...(source === undefined ? [] : [`from ${JSON.stringify(source)}`]),
    ...says.map((part) => `with ${JSON.stringify(part)}`),
    ...never.map((part) => `without ${JSON.stringify(part)}`),
  ];
  return ["an answer", parts.join(", ")].join(" ").trim();
}
