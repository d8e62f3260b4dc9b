/**
 * The parts of a process. They are opened one after the other and closed in reverse order.
 *
 * @module
 */

import type { Log } from "../core/base/log.ts";

/** The parts that are open so far. */
export interface Parts {
  /** Aborted by {@link Parts.close}, so that a part that is being opened can stop. */
  readonly closing: AbortSignal;
  /**
   * Waits for a part to open, and remembers how to close it. Never settles once {@link Parts.close} was called, so that
   * the caller opens no further parts.
   */
  open<Part>(name: string, opening: Promise<Part>, close: (part: Part) => Promise<void>): Promise<Part>;
  /**
   * Waits for a part that is being opened, then closes all of them, the last one first, and logs those that cannot be
   * closed. Resolves with whether all were closed.
   */
  close(): Promise<boolean>;
}

/** Nothing is open yet. */
export function createParts(log: Log): Parts {
  const closers: (() => Promise<boolean>)[] = [];
  const never = new Promise<never>(() => {});
  /** Settles once the part that is being opened is open. */
  let opened: Promise<unknown> = Promise.resolve();
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
      opened = opening.then(
        (part) => closers.push(() => closeOne(name, () => close(part))),
        () => {}, // the caller of open gets the error
      );
      await opened;
      return closing.signal.aborted ? never : opening;
    },
    async close() {
      closing.abort();
      await opened;
      let closed = true;
      for (const close of closers.reverse()) closed = (await close()) && closed;
      return closed;
    },
  };
}
