/**
 * Limits how many messages, and pages of them, are read from a store at the same time.
 *
 * @module
 */

import { setImmediate, setTimeout } from "node:timers";
import type { MessageRecord } from "../../core/store/records.ts";
import { type Reach, type Store, StoreUnavailable } from "../../core/store/store.ts";

/** The length of what is read, in UTF-16 code units, from which on other work has its turn before the next read. */
const longText = 256 * 1024;

/** How long that turn takes, in milliseconds: in one of the event loop, only one new connection would be accepted. */
const pauseMs = 5;

/**
 * A store that reads at most `atOnce` messages and pages at the same time. Otherwise all that are asked for at once would
 * be in memory before the first one is sent, which can be gigabytes. Owners take turns, and so do the end users of each,
 * so that none waits for the many long texts of another.
 */
export function readLongTextsInTurn(store: Store & AsyncDisposable, atOnce = 8): Store & AsyncDisposable {
  const semaphore = new Semaphore(atOnce);
  return {
    ...store,
    getMessage(reach, ...parameters) {
      const read = () => store.getMessage(reach, ...parameters);
      return semaphore.use(reach, read, (message) => (message ? [message] : []));
    },
    listMessages(reach, ...parameters) {
      const read = () => store.listMessages(reach, ...parameters);
      return semaphore.use(reach, read, (page) => page?.items ?? []);
    },
    readHistory(reach, ...parameters) {
      const read = () => store.readHistory(reach, ...parameters);
      return semaphore.use(reach, read, (history) => history);
    },
  };
}

/** A read that waits for its turn. */
interface WaitingRead {
  begin(): void;
  fail(error: StoreUnavailable): void;
}

class Semaphore {
  #free: number;
  /** By owner, then by end user: their turns come in this order. None is empty. */
  readonly #waiting = new Map<string, Map<string | undefined, WaitingRead[]>>();

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async use<Result>(
    reach: Reach,
    read: () => Promise<Result>,
    messagesOf: (result: Result) => readonly Pick<MessageRecord, "content">[],
  ): Promise<Result> {
    if (this.#free > 0) this.#free--;
    else await this.#turnOf(reach);
    let length = 0;
    try {
      const result = await read();
      for (const { content } of messagesOf(result)) length += content.length;
      return result;
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#failAll(error);
      throw error;
    } finally {
      if (length < longText) this.#pass();
      else {
        // Not in the timer itself: several that are due would follow each other, and their reads make more of them due.
        setTimeout(() => setImmediate(() => this.#pass()), pauseMs);
        // Who reads on may find another place free at once.
        await new Promise<void>((resume) => setImmediate(resume));
      }
    }
  }

  #turnOf({ owner, endUser }: Reach): Promise<void> {
    const ofOwner = this.#waiting.get(owner) ?? new Map<string | undefined, WaitingRead[]>();
    const ofEndUser = ofOwner.get(endUser) ?? [];
    this.#waiting.set(owner, ofOwner.set(endUser, ofEndUser));
    return new Promise((begin, fail) => {
      ofEndUser.push({ begin, fail });
    });
  }

  /** Lets the next read begin: the oldest one of the next end user of the next owner. Whose turn it was is then the last. */
  #pass(): void {
    for (const [owner, ofOwner] of this.#waiting) {
      for (const [endUser, ofEndUser] of ofOwner) {
        const next = ofEndUser.shift();
        ofOwner.delete(endUser);
        if (ofEndUser.length > 0) ofOwner.set(endUser, ofEndUser);
        this.#waiting.delete(owner);
        if (ofOwner.size > 0) this.#waiting.set(owner, ofOwner);
        next?.begin();
        return;
      }
    }
    this.#free++;
  }

  /** Fails all that wait: if the store does not answer, each of them would wait for a time-out of its own. */
  #failAll(error: StoreUnavailable): void {
    const waiting = [...this.#waiting.values()].flatMap((ofOwner) => [...ofOwner.values()].flat());
    this.#waiting.clear();
    for (const { fail } of waiting) fail(error);
  }
}
