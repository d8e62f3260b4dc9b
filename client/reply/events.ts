/**
 * The events of streams. Apart from who follows one, because all parts know what an event is.
 *
 * @module
 */

import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { MessageResource, StreamEventData } from "../../core/wire/schemas.ts";
import { ConnectionError } from "../http/errors.ts";

/** An event of a reply. `id` is the length of the reply's text after it, in UTF-16 code units, like a string's `length`. */
export type StreamEvent = StreamEventData & { readonly id: number };

/** What became of a message: a reply or, while a person answers in its conversation, the question, which waits for that person. */
export type SentMessage = Reply | WaitingQuestion;
/** A twin's reply. */
export type Reply = MessageResource & { readonly role: "assistant" };
/** A question that waits for a person. */
export type WaitingQuestion = MessageResource & { readonly role: "user" };

/** The events in the pieces of a reply's stream. */
export async function* readEvents(
  pieces: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<StreamEvent, void, undefined> {
  for await (const event of readData<StreamEventData>(pieces)) yield { ...event, id: Number(event.id) };
}

/** What the events in the pieces of a stream's text say. An event that is cut off is none, nor is one without data. */
export async function* readData<Data>(
  pieces: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<Data & { readonly id: string | undefined }, void, undefined> {
  const messages: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => messages.push(message) });
  for await (const piece of pieces) {
    parser.feed(piece);
    for (const { id, data } of messages.splice(0)) if (data !== "") yield { ...parse(data), id };
  }
}

function parse(data: string) {
  try {
    return JSON.parse(data);
  } catch (cause) {
    throw new ConnectionError("The stream has an event that is no JSON.", { cause });
  }
}
