/**
 * Limits how many long texts are read from a store at the same time.
 *
 * @module
 */

import { setImmediate, setTimeout } from "node:timers/promises";
import type { MessageRecord } from "../../core/store/records.ts";
import { type Store, StoreUnavailable } from "../../core/store/store.ts";

/** How many messages and pages of messages are read at once, unless the store says otherwise. */
const readsAtOnce = 8;

/** How many histories are read at once: more, because many replies that begin together wait for the disk together. */
const historiesAtOnce = 64;

/** The length of what is read, in UTF-16 code units, from which on it is long. */
const longText = 256 * 1024;

/**
 * How long an owner's next read waits after a long one, in milliseconds: in one turn of the event loop, only one new
 * connection would be accepted.
 */
const pauseMs = 5;

/**
 * A store that reads an owner's long messages, and pages of them, one after the other, with pauses. Otherwise all that
 * are asked for at once would be in memory before the first one is sent, which can be gigabytes, and other owners would
 * wait until then: for the process, or for a connection. The same goes for histories, which are sent to models.
 */
export function readLongTextsInTurn(store: Store, atOnce = readsAtOnce): Store {
  const texts = new ReadQueue(atOnce);
  const histories = new ReadQueue(historiesAtOnce);
  return {
    ...store,
    getMessage(reach, ...parameters) {
      const read = () => store.getMessage(reach, ...parameters);
      return texts.take(reach.owner, read, (message) => (message ? [message] : []));
    },
    listMessages(reach, ...parameters) {
      const read = () => store.listMessages(reach, ...parameters);
      return texts.take(reach.owner, read, (page) => page?.items ?? []);
    },
    readHistory(reach, ...parameters) {
      const read = () => store.readHistory(reach, ...parameters);
      return histories.take(reach.owner, read, (history) => history);
    },
  };
}

/** An owner's reads. */
interface Line {
  /** How many are running, or followed by a pause. */
  running: number;
  /** How many may be at once: one at first and after a long one, and twice as many after each short one. */
  atOnce: number;
  readonly waiting: Waiting[];
}

/** A read that waits for its turn. */
interface Waiting {
  /** How many came before it, of all owners. */
  readonly place: number;
  /** Called with how many came before it begins. */
  begin(came: number): void;
  fail(error: StoreUnavailable): void;
}

/** Reads of one kind. Owners take turns, so that none waits for the many long texts of another. */
class ReadQueue {
  readonly #atOnce: number;
  readonly #lines = new Map<string, Line>();
  #running = 0;
  #came = 0;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  async take<Result>(
    owner: string,
    read: () => Promise<Result>,
    messagesOf: (result: Result) => readonly Pick<MessageRecord, "content">[],
  ): Promise<Result> {
    const line = this.#lines.get(owner) ?? { running: 0, atOnce: 1, waiting: [] };
    this.#lines.set(owner, line);
    const cameBefore = await new Promise<number>((begin, fail) => {
      line.waiting.push({ place: this.#came++, begin, fail });
      this.#beginNext();
    });
    let pause = Promise.resolve();
    try {
      const result = await read();
      const length = messagesOf(result).reduce((sum, { content }) => sum + content.length, 0);
      if (length >= longText) pause = pauseAfterLongText();
      line.atOnce = length < longText ? Math.min(2 * line.atOnce, this.#atOnce) : 1;
      return result;
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#failWaiting(cameBefore, error);
      throw error;
    } finally {
      void pause.then(() => this.#end(owner, line));
    }
  }

  #beginNext(): void {
    for (const [owner, line] of this.#lines) {
      if (this.#running === this.#atOnce) return;
      const next = line.running < line.atOnce ? line.waiting.shift() : undefined;
      if (!next) continue;
      this.#running++;
      line.running++;
      this.#lines.delete(owner); // to be the last one, which this loop comes to again
      this.#lines.set(owner, line);
      next.begin(this.#came);
    }
  }

  #end(owner: string, line: Line): void {
    this.#running--;
    line.running--;
    if (isEmpty(line)) this.#lines.delete(owner);
    this.#beginNext();
  }

  /** Fails all reads that came before a place: if none is answered, each would wait for a time-out of its own. */
  #failWaiting(before: number, error: StoreUnavailable): void {
    for (const [owner, line] of this.#lines) {
      while (line.waiting[0] && line.waiting[0].place < before) line.waiting.shift()?.fail(error);
      if (isEmpty(line)) this.#lines.delete(owner);
    }
  }
}

function isEmpty({ running, waiting }: Line): boolean {
  return running === 0 && waiting.length === 0;
}

async function pauseAfterLongText(): Promise<void> {
  await setImmediate(); // timers count from the beginning of the turn, and reading may have taken longer than the pause
  await setTimeout(pauseMs);
}
