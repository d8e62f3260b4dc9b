/**
 * Reads an event stream while it runs.
 */

import { parseEvents, type StreamEvent } from "./harness.ts";

export interface EventReader {
  /** The next event. Rejects if the body ends first. */
  next(): Promise<StreamEvent>;
  /** All events up to the body's end. */
  rest(): Promise<StreamEvent[]>;
  /** Leaves, like a client that closes its connection. */
  leave(): Promise<void>;
}

export function readEvents(response: Response): EventReader {
  if (!response.ok || !response.body) throw new Error(`Not a stream: ${response.status}`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const events: StreamEvent[] = [];
  let text = "";

  /** Reads once more. False: the body has ended. */
  async function readMore(): Promise<boolean> {
    const { value, done } = await reader.read();
    if (done) {
      if (text !== "") throw new Error(`The body ends inside an event: ${JSON.stringify(text)}`);
      return false;
    }
    text += value;
    const end = text.lastIndexOf("\n\n") + 2;
    if (end === 1) return true;
    events.push(...parseEvents(text.slice(0, end)));
    text = text.slice(end);
    return true;
  }

  return {
    async next() {
      for (;;) {
        const event = events.shift();
        if (event) return event;
        if (!(await readMore())) throw new Error("The stream has ended.");
      }
    },
    async rest() {
      while (await readMore());
      return events.splice(0);
    },
    leave: () => reader.cancel(),
  };
}
