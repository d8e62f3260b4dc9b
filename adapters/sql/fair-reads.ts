/**
 * Limits how many messages, and pages of them, are read from a store at the same time.
 *
 * @module
 */

import { setTimeout } from "node:timers";
import type { MessageRecord } from "../../core/store/records.ts";
import { type Store, StoreUnavailable } from "../../core/store/store.ts";

/** The length of what is read, in UTF-16 code units, from which on other work has its turn before the next read. */
const longText = 256 * 1024;

/** How long that turn takes, in milliseconds: in one of the event loop, only one new connection would be accepted. */
const pauseMs = 5;

/**
 * A store that reads at most `atOnce` messages and pages at the same time. Otherwise all that are asked for at once would
 * be in memory before the first one is sent, which can be gigabytes. Owners take turns, so that none waits for the many
 * long texts of another.
 */
export function readLongTextsInTurn(store: Store & AsyncDisposable, atOnce = 8): Store & AsyncDisposable {
  const semaphore = new Semaphore(atOnce);
  return {
    ...store,
    getMessage(reach, ...parameters) {
      const read = () => store.getMessage(reach, ...parameters);
      return semaphore.use(reach.owner, read, (message) => (message ? [message] : []));
    },
    listMessages(reach, ...parameters) {
      const read = () => store.listMessages(reach, ...parameters);
      return semaphore.use(reach.owner, read, (page) => page?.items ?? []);
    },
    readHistory(reach, ...parameters) {
      const read = () => store.readHistory(reach, ...parameters);
      return semaphore.use(reach.owner, read, (history) => history);
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
  /** By owner, whose turn comes in this order. */
  readonly #waiting = new Map<string, WaitingRead[]>();

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async use<Result>(
    owner: string,
    read: () => Promise<Result>,
    messagesOf: (result: Result) => readonly Pick<MessageRecord, "content">[],
  ): Promise<Result> {
    if (this.#free > 0) this.#free--;
    else await this.#turnOf(owner);
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
      else setTimeout(() => this.#pass(), pauseMs);
    }
  }

  #turnOf(owner: string): Promise<void> {
    const waiting = this.#waiting.get(owner) ?? [];
    this.#waiting.set(owner, waiting);
    return new Promise((begin, fail) => {
      waiting.push({ begin, fail });
    });
  }

  /** Lets the next read begin: the oldest one of the next owner. */
  #pass(): void {
    for (const [owner, waiting] of this.#waiting) {
      const next = waiting.shift();
      this.#waiting.delete(owner);
      if (waiting.length > 0) this.#waiting.set(owner, waiting); // as the last one
      if (!next) continue;
      next.begin();
      return;
    }
    this.#free++;
  }

  /** Fails all that wait: if the store does not answer, each of them would wait for a time-out of its own. */
  #failAll(error: StoreUnavailable): void {
    const waiting = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    for (const { fail } of waiting) fail(error);
  }
}
