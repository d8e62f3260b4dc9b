/**
 * The parts of a process that are opened one after the other, and closed in the opposite order.
 *
 * @module
 */

/** What is open so far. */
export interface Parts {
  /**
   * Waits for a part to open, and notes how it is closed. Never settles once {@link Parts.close} was called:
   * whoever opens one part after the other goes no further then.
   */
  open<Part>(opening: Promise<Part>, close: (part: Part) => Promise<void>): Promise<Part>;
  /** Waits for what is about to open, then closes all, the last one first. */
  close(): Promise<void>;
}

/** Nothing is open yet. */
export function createParts(): Parts {
  const closers: (() => Promise<void>)[] = [];
  const never = new Promise<never>(() => {});
  let underway: Promise<unknown> = Promise.resolve();
  let closing = false;

  return {
    async open(opening, close) {
      underway = opening.then(
        (part) => closers.push(() => close(part)),
        () => {}, // whoever opens it is told
      );
      await underway;
      return closing ? never : opening;
    },
    async close() {
      closing = true;
      await underway;
      for (const close of closers.reverse()) await close();
    },
  };
}
