/**
 * The parts of a process that are opened one after the other, and closed in the opposite order.
 *
 * @module
 */

import type { Log } from "./core/log.ts";

/** What is open so far. */
export interface Parts {
  /** Aborted by {@link Parts.close}: what is about to open need not go on. */
  readonly closing: AbortSignal;
  /**
   * Waits for a part to open, and notes how it is closed. Never settles once {@link Parts.close} was called:
   * whoever opens one part after the other goes no further then.
   */
  open<Part>(name: string, opening: Promise<Part>, close: (part: Part) => Promise<void>): Promise<Part>;
  /**
   * Waits for what is about to open, then closes all, the last one first, also where one cannot be closed, which is
   * logged. Resolves with whether all were.
   */
  close(): Promise<boolean>;
}

/** Nothing is open yet. */
export function createParts(log: Log): Parts {
  const closers: (() => Promise<boolean>)[] = [];
  const never = new Promise<never>(() => {});
  let underway: Promise<unknown> = Promise.resolve();
  const closing = new AbortController();

  async function closeOne(part: string, close: () => Promise<void>): Promise<boolean> {
    try {
      await close();
      return true;
    } catch (error) {
      log("error", "a part of the server could not be closed", { part, error });
      return false;
    }
  }

  return {
    closing: closing.signal,
    async open(name, opening, close) {
      underway = opening.then(
        (part) => closers.push(() => closeOne(name, () => close(part))),
        () => {}, // whoever opens it is told
      );
      await underway;
      return closing.signal.aborted ? never : opening;
    },
    async close() {
      closing.abort();
      await underway;
      let closed = true;
      for (const close of closers.reverse()) closed = (await close()) && closed;
      return closed;
    },
  };
}
