/**
 * How far a reply has been read.
 *
 * @module
 */

import { ConnectionError } from "../http/errors.ts";
import type { StreamEvent } from "./events.ts";

/** The progress of a reply that another process took over: its text is written anew from an offset on. */
export interface ContinuedProgress {
  readonly stage: "continued";
  readonly from: number;
  readonly attempt: number;
}

/** Where a reader is in a reply, and what of the events that arrive is new to it. */
export class Position {
  /** The reply's id, as soon as it is known. */
  messageId: string | undefined;
  /** The length of the text so far, in UTF-16 code units. */
  length: number;
  #accepted = false;
  /** The engine's own progress so far, as JSON. Each connection may begin with all of it again. */
  readonly #progress: string[] = [];
  #progressOfConnection = 0;
  #attempt = 1;
  /** The longest text of this attempt. */
  #longest: number;
  #advanced = false;

  constructor(length: number, messageId: string | undefined) {
    this.length = length;
    this.messageId = messageId;
    this.#longest = length;
  }

  beginConnection(): void {
    this.#progressOfConnection = 0;
  }

  /** Takes an event, and returns what of it is new. */
  take(event: StreamEvent): StreamEvent | undefined {
    switch (event.type) {
      case "progress":
        return this.#takeProgress(event, event.progress.stage);
      case "delta":
        return this.#takeText(event, event.content);
      case "complete":
      case "error":
        this.#advanced = true;
        return event;
      default:
        return undefined; // of a newer service
    }
  }

  /** Whether something has come that was never there before, since this was last asked. */
  hasAdvanced(): boolean {
    const advanced = this.#advanced || this.length > this.#longest;
    this.#advanced = false;
    this.#longest = Math.max(this.#longest, this.length);
    return advanced;
  }

  #takeProgress(event: StreamEvent & { readonly type: "progress" }, stage: string): StreamEvent | undefined {
    if (stage === "accepted") return this.#accept(event);
    if (stage === "continued") return this.#goBack(event, event.progress as unknown as ContinuedProgress);
    const json = JSON.stringify(event.progress);
    if (this.#progress[this.#progressOfConnection] === json) {
      this.#progressOfConnection++;
      return undefined;
    }
    this.#progress.splice(this.#progressOfConnection++, Number.POSITIVE_INFINITY, json);
    this.#advanced = true;
    return event;
  }

  #accept(event: StreamEvent & { readonly type: "progress" }): StreamEvent | undefined {
    if (this.#accepted) return undefined;
    this.#accepted = true;
    this.#advanced = true;
    this.messageId = String(event.progress.messageId);
    return event;
  }

  #goBack(event: StreamEvent, { from, attempt }: ContinuedProgress): StreamEvent {
    if (attempt > this.#attempt) {
      this.#attempt = attempt;
      this.#longest = from;
      this.#advanced = true;
    }
    this.length = Math.min(this.length, from);
    return event;
  }

  /** An event's id says where its text ends. What is there already is left out. */
  #takeText(event: StreamEvent, content: string): StreamEvent | undefined {
    const known = this.length - (event.id - content.length);
    if (!(known >= 0)) throw new ConnectionError("A part of the reply is missing.");
    if (known >= content.length) return undefined;
    this.length = event.id;
    return known === 0 ? event : { id: event.id, type: "delta", content: content.slice(known) };
  }
}
