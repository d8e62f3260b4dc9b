/**
 * What a device that looks on was told of a conversation, on one stream after another.
 */

import type { ConversationResource, MessageResource } from "../../core/wire/schemas.ts";
import type { ConversationEvent } from "./event-reader.ts";

/** A reply that has ended, and its text as it was told. */
export interface ToldEnd {
  readonly message: MessageResource;
  readonly text: string;
}

/** Requires that each message is told once, in the order stored, and its text without gaps or repetitions. */
export class Told {
  /** How many events there were. */
  events = 0;
  /** The id of the last event. */
  id: string | undefined;
  /** The ids of the messages that were told, from the first one on. */
  readonly ids: string[] = [];
  /** The number of the first of them. */
  first: number | undefined;
  /** The conversation, as it was told last. */
  conversation: ConversationResource | undefined;
  /** The running reply, and its text as far as it was told. */
  running: { readonly id: string; readonly seq: number; text: string } | undefined;
  readonly #violate: (rule: string) => never;
  #isBeginning = true;
  #isOver = false;

  constructor(violate: (rule: string) => never) {
    this.#violate = violate;
  }

  /** A stream begins behind `id`. */
  begin(): void {
    this.#isBeginning = true;
  }

  /** Takes the next event. Returns the reply that has ended with it. */
  take({ id, data }: ConversationEvent): ToldEnd | undefined {
    if (this.#isOver) this.#violate("there is an event after the last one");
    if (this.#isBeginning && (data.type !== "conversation" || (this.id ?? id) !== id))
      this.#violate(`a conversation's stream begins with ${id} ${data.type}, not ${this.id}`);
    this.#isBeginning = false;
    this.id = id ?? this.id;
    this.events++;
    const [seq = 0, offset = 0] = (id ?? "").split(".").map(Number);
    if (data.type === "message") return this.#takeMessage(data.message, seq, offset);
    if (data.type === "deleted") this.#isOver = true;
    if (data.type === "conversation") this.conversation = data.conversation;
    if (data.type === "deleted" || data.type === "conversation") return undefined;
    const { running } = this;
    if (!running || running.seq !== seq || data.messageId !== running.id)
      return this.#violate(`${id} ${data.type} is of no running reply`);
    if (data.type === "complete" || data.type === "error") {
      this.running = undefined;
      return this.#endOf(data.message, running.text, offset);
    }
    if (data.type === "delta") running.text += data.content;
    else if (data.progress.stage === "continued") running.text = running.text.slice(0, offset);
    if (offset !== running.text.length) this.#violate(`${id} is behind ${running.text.length} characters`);
    return undefined;
  }

  #takeMessage(message: MessageResource, seq: number, offset: number): ToldEnd | undefined {
    const { id, role, status, content } = message;
    this.first ??= seq;
    const place = seq - this.first;
    // A reply that ended while nobody looked on is told again, in its final form.
    if (place === this.ids.length - 1 && this.running?.id === id && status !== "in_progress") {
      this.running = undefined;
    } else if (place !== this.ids.length || this.running) {
      this.#violate(`message ${seq} comes after ${this.ids.length} from ${this.first}`);
    } else {
      this.ids.push(id);
    }
    if (status === "in_progress") {
      if (content !== "" || offset !== 0) this.#violate("a running reply begins with text");
      this.running = { id, seq, text: "" };
    } else if (role === "assistant") {
      return this.#endOf(message, content, offset);
    } else if (offset !== content.length) {
      this.#violate("a question's id is not its length");
    }
    return undefined;
  }

  #endOf(message: MessageResource, text: string, offset: number): ToldEnd {
    if (offset !== message.content.length + 1) this.#violate("an end's id is not behind the text");
    return { message, text };
  }
}
