/**
 * How a stream tells what a reply does, as the text of its events.
 *
 * @module
 */

import type { MessageRecord } from "../store/records.ts";
import { messageResource } from "./resources.ts";
import { encodeEvent, encodeJson } from "./sse.ts";

/** A text, and its JSON. */
export interface WrittenText {
  readonly content: string;
  readonly json: string;
}

/**
 * Writes the events of one stream. `offset`: how much of the reply the reader has after the event, in UTF-16 code units.
 */
export interface ReplyEvents {
  /** The first event, before any text. `id` is the reply's, `questionId` the user's message's. */
  accepted(reply: { readonly id: string; readonly questionId: string }, offset: number): string;
  /** An engine's progress, as JSON. */
  progress(progress: string, offset: number): string;
  /**
   * Another attempt goes on from this length, so that the reader has to cut its text back. Undefined: it cannot be told,
   * and keeps what it has; the last event has the whole text.
   */
  continued(from: number, attempt: number): string | undefined;
  /** More text, as JSON. */
  delta(json: string, offset: number): string;
  /** The last event. `told`: the whole text, if it was sent at once. */
  ended(message: MessageRecord, offset: number, told: WrittenText | undefined): string;
}

/** The events of this service's own API. */
export class OwnEvents implements ReplyEvents {
  readonly #requestId: string;

  /** `requestId`: for the error event of a reply that failed. */
  constructor(requestId: string) {
    this.#requestId = requestId;
  }

  accepted({ id, questionId }: { readonly id: string; readonly questionId: string }, offset: number): string {
    // Ids need no escaping.
    const accepted = `{"stage":"accepted","messageId":"${id}","userMessageId":"${questionId}"}`;
    return this.progress(accepted, offset);
  }

  progress(progress: string, offset: number): string {
    return encodeEvent(offset, `{"type":"progress","progress":${progress}}`);
  }

  continued(from: number, attempt: number): string {
    return this.progress(encodeJson({ stage: "continued", from, attempt }), from);
  }

  delta(json: string, offset: number): string {
    return encodeEvent(offset, `{"type":"delta","content":${json}}`);
  }

  ended(message: MessageRecord, offset: number, told: WrittenText | undefined): string {
    if (message.error === null) return encodeEvent(offset, completion(message, told));
    const error = { ...message.error, details: { messageId: message.id }, requestId: this.#requestId };
    return encodeEvent(offset, encodeJson({ type: "error", error }));
  }
}

/** The last event's data. If the text was just encoded as JSON, which is most of the work, that is used again. */
function completion(message: MessageRecord, told: WrittenText | undefined): string {
  if (told?.content !== message.content)
    return encodeJson({ type: "complete", message: messageResource(message) });
  const json = encodeJson({ type: "complete", message: messageResource({ ...message, content: "" }) });
  return json.replace('"content":""', () => `"content":${told.json}`); // the first match: only ids precede it
}
