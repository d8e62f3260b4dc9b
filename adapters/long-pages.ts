/**
 * Limits how many long pages of messages are read at the same time.
 *
 * @module
 */

import { setImmediate, setTimeout } from "node:timers/promises";
import type { MessageRecord, Store } from "../core/store.ts";

/** How many pages of messages are read at once. */
const pagesAtOnce = 8;

/** How many histories are read at once: more, because many replies that begin together wait for the disk together. */
const historiesAtOnce = 64;

/** The length of a page's messages, in UTF-16 code units, from which on it is long. */
const longPage = 256 * 1024;

/**
 * How long an owner's next page waits after a long one, in milliseconds: in one turn of the event loop, only one new
 * connection would be accepted.
 */
const pauseMs = 5;

/**
 * A store that reads an owner's long pages of messages one after the other, with pauses: for stores that read without
 * waiting. With these, all pages that are asked for at once would be in memory before the first one is sent, which can
 * be gigabytes, and nothing else would happen until then. The same goes for histories, which are sent to models.
 */
export function readLongPagesInTurn(store: Store): Store {
  const readPage = createTurns(pagesAtOnce);
  const readHistory = createTurns(historiesAtOnce);
  return {
    ...store,
    listMessages(owner, ...parameters) {
      const read = () => store.listMessages(owner, ...parameters);
      return readPage(owner, read, (page) => page?.items ?? []);
    },
    readHistory(owner, ...parameters) {
      const read = () => store.readHistory(owner, ...parameters);
      return readHistory(owner, read, (history) => history);
    },
  };
}

/** An owner's pages. */
interface Line {
  /** How many are being read, or followed by a pause. */
  reading: number;
  /** How many may be at once: one at first and after a long page, and twice as many after each short one. */
  atOnce: number;
  readonly waiting: (() => void)[];
}

/** Reads pages of one kind. Owners take turns, so that nobody waits for the many pages of another owner. */
function createTurns(atOnce: number) {
  const lines = new Map<string, Line>();
  let reading = 0;

  function beginNext(): void {
    for (const [owner, line] of lines) {
      if (reading === atOnce) return;
      const begin = line.reading < line.atOnce ? line.waiting.shift() : undefined;
      if (!begin) continue;
      reading++;
      line.reading++;
      lines.delete(owner); // to be the last one, which this loop comes to again
      lines.set(owner, line);
      begin();
    }
  }

  function end(owner: string, line: Line): void {
    reading--;
    line.reading--;
    if (line.reading === 0 && line.waiting.length === 0) lines.delete(owner);
    beginNext();
  }

  return async <Page>(
    owner: string,
    read: () => Promise<Page>,
    messagesOf: (page: Page) => readonly Pick<MessageRecord, "content">[],
  ): Promise<Page> => {
    const line = lines.get(owner) ?? { reading: 0, atOnce: 1, waiting: [] };
    lines.set(owner, line);
    await new Promise<void>((resolve) => {
      line.waiting.push(resolve);
      beginNext();
    });
    let pause = Promise.resolve();
    try {
      const page = await read();
      const length = messagesOf(page).reduce((sum, { content }) => sum + content.length, 0);
      if (length >= longPage) pause = pauseAfterLongPage();
      line.atOnce = length < longPage ? Math.min(2 * line.atOnce, atOnce) : 1;
      return page;
    } finally {
      void pause.then(() => end(owner, line));
    }
  };
}

async function pauseAfterLongPage(): Promise<void> {
  await setImmediate(); // timers count from the beginning of the turn, and the page may have taken longer than the pause
  await setTimeout(pauseMs);
}
