/**
 * A reply as the events of OpenAI's Responses API. Their sequence numbers are a function of the text's offset, so that any
 * process continues a stream after any event, at any time, without a record of what was sent.
 *
 * @module
 */

import type { MessageRecord } from "../../core/store/records.ts";
import { jsonPieces } from "../../core/wire/json.ts";
import type { ReplyEvents } from "../../core/wire/resources.ts";
import { encodeJson } from "../../core/wire/sse.ts";
import {
  outputItem,
  outputText,
  type ResponseHead,
  responseInProgress,
  responseObject,
  responseStatus,
} from "./response-object.ts";

/** The sequence number of the last event before any text: that of text is this and its length so far. */
export const headNumber = 3;

/** How many events follow the text. */
export const tailLength = 4;

const types = { completed: "completed", incomplete: "incomplete", cancelled: "incomplete", failed: "failed" };

function head(number: number, type: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${number},`;
}

/** The events of one stream, from the one after a sequence number. */
export class ResponseEvents implements ReplyEvents {
  readonly #head: ResponseHead;
  #after: number;
  /** What all events about the text have in common. */
  readonly #place: string;

  /** `after`: the sequence number of the last event that the client has; -1: none. */
  constructor(head: ResponseHead, after: number) {
    this.#head = head;
    this.#after = after;
    this.#place = `"item_id":"${head.messageId}","output_index":0,"content_index":0`;
  }

  accepted(): string {
    if (this.#after >= headNumber) return "";
    const response = encodeJson(responseInProgress(this.#head));
    const { messageId: id } = this.#head;
    const item = { id, type: "message", status: "in_progress", role: "assistant", content: [] };
    return [
      this.#event(0, "response.created", `"response":${response}`),
      this.#event(1, "response.in_progress", `"response":${response}`),
      this.#event(2, "response.output_item.added", `"output_index":0,"item":${JSON.stringify(item)}`),
      this.#event(
        3,
        "response.content_part.added",
        `${this.#place},"part":${JSON.stringify(outputText(""))}`,
      ),
    ].join("");
  }

  progress(): string {
    return "";
  }

  continued(): undefined {
    return undefined;
  }

  delta(json: string, offset: number): string {
    return this.#event(
      headNumber + offset,
      "response.output_text.delta",
      `${this.#place},"delta":${json},"logprobs":[]`,
    );
  }

  *ended(reply: MessageRecord): Iterable<string> {
    const { content } = reply;
    const status = responseStatus(reply);
    const type = status === "in_progress" ? "incomplete" : types[status];
    const first = headNumber + 1 + content.length;
    const last = first + tailLength - 1;
    if (this.#after > last) this.#after = last - 1; // the reader has more than was saved
    const item = () => outputItem(reply);
    const response = () => responseObject(this.#head, reply);
    yield* this.#pieces(
      first,
      "response.output_text.done",
      `${this.#place},"logprobs":[],"text":`,
      () => content,
    );
    yield* this.#pieces(first + 1, "response.content_part.done", `${this.#place},"part":`, () =>
      outputText(content),
    );
    yield* this.#pieces(first + 2, "response.output_item.done", '"output_index":0,"item":', item);
    yield* this.#pieces(last, `response.${type}`, '"response":', response);
  }

  released(): string {
    return "";
  }

  #event(number: number, type: string, members: string): string {
    return number <= this.#after ? "" : `${head(number, type)}${members}}\n\n`;
  }

  /** An event whose last member may have all of the text. */
  *#pieces(number: number, type: string, before: string, last: () => unknown): Iterable<string> {
    if (number <= this.#after) return;
    yield head(number, type) + before;
    yield* jsonPieces(last(), encodeJson);
    yield "}\n\n";
  }
}
