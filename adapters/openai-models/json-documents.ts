/**
 * JSON documents in the body of a response: one on each line, or one that is written over several lines. Servers that
 * do not stream, or not as events, send these.
 *
 * @module
 */

import { ModelError } from "../../core/twins/engine.ts";
import { parseBounded } from "../bounded-text.ts";
import { maxEventLength, tooLongEvent } from "./chunk.ts";

/** Cuts a text, which arrives in pieces, into JSON documents. */
export class JsonDocuments {
  readonly #onDocument: (value: unknown) => void;
  #line = "";
  #document = "";

  /** `onDocument` receives the value of each. */
  constructor(onDocument: (value: unknown) => void) {
    this.#onDocument = onDocument;
  }

  /**
   * Reads a piece of the text, whose line ends are LF.
   *
   * @throws {ModelError} if it is not JSON, or too long.
   */
  feed(part: string): void {
    const end = part.lastIndexOf("\n");
    const lines = end === -1 ? [] : (this.#line + part.slice(0, end)).split("\n");
    this.#line = end === -1 ? this.#line + part : part.slice(end + 1);
    for (const line of lines) this.#readLine(line);
    if (this.#document.length + this.#line.length > maxEventLength) throw tooLongEvent();
  }

  /**
   * The text has ended.
   *
   * @throws {ModelError} if a document has not.
   */
  end(): void {
    this.feed("\n");
    if (this.#document !== "") throw notJson();
  }

  /** A document ends on its first line, or with the bracket at the beginning of its last one. */
  #readLine(line: string): void {
    const isFirst = this.#document === "";
    if (isFirst && line.trim() === "") return;
    this.#document += `${line}\n`;
    if (!isFirst && !/^[}\]]/.test(line)) return;
    const value = parseBounded(this.#document);
    if (value === undefined && isFirst) return;
    if (value === undefined) throw notJson();
    this.#document = "";
    this.#onDocument(value);
  }
}

function notJson(): ModelError {
  return new ModelError("model_error", "The model's answer is neither an event stream nor JSON.");
}
