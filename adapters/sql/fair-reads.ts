/**
 * Limits how many messages, and pages of them or of conversations, are read from a store at the same time.
 *
 * @module
 */

import { setImmediate, setTimeout } from "node:timers";
import { FairQueue } from "../../core/base/fair-queue.ts";
import { type MessageRecord, pairsOf } from "../../core/store/records.ts";
import { type Reach, type Store, StoreUnavailable } from "../../core/store/store.ts";

/** The length of what is read in one turn or several, in UTF-16 code units, after which other work has its turn. */
const longText = 64 * 1024;

/** How much longer a message counts than its text: a page of a thousand that are empty takes as long to read as one of long texts. */
const lengthOfMessage = 100;

/** How long that turn takes, in milliseconds: in one of the event loop, only one new connection would be accepted. */
const pauseMs = 5;

/**
 * A store that reads at most `atOnce` messages and pages at the same time. Otherwise all that are asked for at once would
 * be in memory before the first one is sent, which can be gigabytes. Owners take turns, and so do the end users of each,
 * so that none waits for the many long texts of another.
 */
export function readLongTextsInTurn(store: Store & AsyncDisposable, atOnce = 8): Store & AsyncDisposable {
  const queue = { turns: new FairQueue(atOnce), length: 0 };
  return {
    ...store,
    getMessage(reach, ...parameters) {
      const read = () => store.getMessage(reach, ...parameters);
      return inTurn(queue, reach, read, (message) => (message ? [message] : []));
    },
    listMessages(reach, ...parameters) {
      const read = () => store.listMessages(reach, ...parameters);
      return inTurn(queue, reach, read, (page) => page?.items ?? []);
    },
    listConversations(reach, ...parameters) {
      const read = () => store.listConversations(reach, ...parameters);
      return inTurn(queue, reach, read, ({ items }) => items.map(pairsOf));
    },
    readHistory(reach, ...parameters) {
      const read = () => store.readHistory(reach, ...parameters);
      return inTurn(queue, reach, read, (history) => history);
    },
  };
}

/** Where reads wait, and how long what was read since other work had its turn is: a place that is free is taken at once. */
interface ReadQueue {
  readonly turns: FairQueue;
  length: number;
}

async function inTurn<Result>(
  queue: ReadQueue,
  { owner, endUser }: Reach,
  read: () => Promise<Result>,
  textsOf: (result: Result) => readonly Pick<MessageRecord, "content">[],
): Promise<Result> {
  const end = await queue.turns.take(owner, endUser);
  try {
    const result = await read();
    for (const { content } of textsOf(result)) queue.length += content.length + lengthOfMessage;
    return result;
  } catch (error) {
    // If the store does not answer, each that waits would wait for a time-out of its own.
    if (error instanceof StoreUnavailable) queue.turns.failAll(error);
    throw error;
  } finally {
    if (queue.length < longText) end();
    else {
      queue.length = 0;
      // Not in the timer itself: several that are due would follow each other, and their reads make more of them due.
      setTimeout(() => setImmediate(end), pauseMs);
      // Who reads on may find another place free at once.
      await new Promise<void>((resume) => setImmediate(resume));
    }
  }
}
