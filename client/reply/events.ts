/**
 * The events of a reply's stream. Apart from who follows one, because all parts of a reply know what an event is.
 *
 * @module
 */

import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { StreamEventData } from "../../core/wire/schemas.ts";
import { ConnectionError } from "../http/errors.ts";

/** An event of a reply. `id` is the length of the reply's text after it, in UTF-16 code units, like a string's `length`. */
export type StreamEvent = StreamEventData & { readonly id: number };

/** The events in the pieces of a stream's text. An event that is cut off is none. */
export async function* readEvents(
  pieces: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<StreamEvent, void, undefined> {
  const messages: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => messages.push(message) });
  for await (const piece of pieces) {
    parser.feed(piece);
    for (const message of messages.splice(0)) yield toEvent(message);
  }
}

function toEvent({ id, data }: EventSourceMessage): StreamEvent {
  try {
    return { ...JSON.parse(data), id: Number(id) };
  } catch (cause) {
    throw new ConnectionError("The stream has an event that is no JSON.", { cause });
  }
}
