/**
 * Reads a reply of the client while it runs.
 */

import type { StreamEvent } from "../../client/mod.ts";

/** Collects the events of a reply as they arrive. */
export function collect(reply: AsyncIterable<StreamEvent>) {
  const events: StreamEvent[] = [];
  let wake = () => {};
  async function read(): Promise<void> {
    for await (const event of reply) {
      events.push(event);
      wake();
    }
  }
  return {
    events,
    /** Settles as the reply's iteration does. */
    end: read(),
    /** Resolves once the text has this length. */
    async reach(length: number): Promise<void> {
      while ((events.at(-1)?.id ?? 0) < length) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

/** All that an iteration gives. Node 20 has no `Array.fromAsync`. */
export async function allOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** The text that a reply's events make up. */
export function textIn(events: readonly StreamEvent[]): string {
  let text = "";
  for (const event of events) {
    if (event.type === "delta") text += event.content;
    if (event.type === "progress" && event.progress.stage === "continued") {
      text = text.slice(0, Number(event.progress.from));
    }
  }
  return text;
}
