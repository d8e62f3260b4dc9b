/**
 * Pages of long messages, a few at a time.
 *
 * @module
 */

import { setImmediate, setTimeout } from "node:timers/promises";
import type { Listing, MessageRecord, Store } from "../core/store.ts";

/** How many pages are read at once. */
const atOnce = 8;

/** The length of a page's messages, in UTF-16 code units, from which on the next page waits longer. */
const longPage = 256 * 1024;

/** How long it waits, in milliseconds: in one turn of the event loop, only one new connection would be accepted. */
const pauseMs = 5;

/**
 * A store that reads a few pages of messages at once, with pauses after long ones: for stores that read without waiting.
 * With these, all pages that are asked for at once would be in memory before the first one is sent, which can be
 * gigabytes, and nothing else would happen until then.
 */
export function readFewPagesAtOnce(store: Store): Store {
  let reading = 0;
  const waiting: (() => void)[] = [];

  async function begin(): Promise<void> {
    if (reading < atOnce) reading++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  }

  function end(): void {
    const next = waiting.shift();
    if (next) next();
    else reading--;
  }

  return {
    ...store,
    async listMessages(...parameters) {
      await begin();
      let pause = Promise.resolve();
      try {
        const page = await store.listMessages(...parameters);
        pause = pauseIfLong(page);
        return page;
      } finally {
        void pause.then(end);
      }
    },
  };
}

async function pauseIfLong(page: Listing<MessageRecord> | undefined): Promise<void> {
  const length = page?.items.reduce((sum, { content }) => sum + content.length, 0) ?? 0;
  if (length < longPage) return;
  await setImmediate(); // timers count from the beginning of the turn, and the page may have taken longer than the pause
  await setTimeout(pauseMs);
}
