/**
 * JSON documents in the body of a response: one on each line, or one that is written over several lines. Servers that
 * do not stream, or not as events, send these.
 *
 * @module
 */

import { ModelError } from "../../core/twins/engine.ts";
import { parseJson } from "./failure.ts";

/** Receives a document's value. */
type DocumentListener = (value: unknown) => void;

/** Cuts a text, which arrives in pieces, into JSON documents. */
export class JsonDocuments {
  readonly #onDocument: DocumentListener;
  readonly #maxLength: number;
  #line = "";
  #document = "";

  /** `maxLength` is that of a document, in UTF-16 code units. */
  constructor(maxLength: number, onDocument: DocumentListener) {
    this.#maxLength = maxLength;
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
    if (this.#document.length + this.#line.length > this.#maxLength) {
      throw new ModelError(
        "model_error",
        `The model sent an event of more than ${this.#maxLength} characters.`,
      );
    }
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
    const value = parseJson(this.#document);
    if (value === undefined && isFirst) return;
    if (value === undefined) throw notJson();
    this.#document = "";
    this.#onDocument(value);
  }
}

function notJson(): ModelError {
  return new ModelError("model_error", "The model's answer is neither an event stream nor JSON.");
}
