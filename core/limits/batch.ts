/**
 * Batching: items that arrive while a batch is running form the next batch.
 *
 * @module
 */

/** Collects items into batches. */
export interface Grouping<Item, Result> {
  /** Resolves with the item's result; rejects with the error of its batch. */
  add(item: Item): Promise<Result>;
  /** Whether nothing is running or waiting. */
  readonly idle: boolean;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Calls `run` with the first item, and, once that is done, with all items that arrived in the meantime, and so on.
 * `run` resolves with a result for each item, in order.
 */
export function groupItems<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
): Grouping<Item, Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let running = false;

  async function runGroup(): Promise<void> {
    const group = waiting;
    waiting = [];
    running = true;
    const settle = await outcomeOf(group);
    running = false;
    if (waiting.length > 0) void runGroup();
    settle();
  }

  async function outcomeOf(group: readonly Waiting<Item, Result>[]): Promise<() => void> {
    try {
      const results = await run(group.map(({ item }) => item));
      return () => {
        for (const [index, result] of results.entries()) group[index]?.resolve(result);
      };
    } catch (error) {
      return () => {
        for (const { reject } of group) reject(error);
      };
    }
  }

  return {
    add(item) {
      return new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        if (!running) void runGroup();
      });
    },
    get idle() {
      return !running;
    },
  };
}
