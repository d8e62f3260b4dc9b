/**
 * Batching: items that arrive while a batch is running form the next batch.
 *
 * @module
 */

/** Collects items into batches. */
export interface Batcher<Item, Result> {
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
export function createBatcher<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
): Batcher<Item, Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let running = false;

  async function runBatch(): Promise<void> {
    const batch = waiting;
    waiting = [];
    running = true;
    const settle = await settling(batch, run);
    running = false;
    if (waiting.length > 0) void runBatch();
    settle();
  }

  return {
    add(item) {
      return new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        if (!running) void runBatch();
      });
    },
    get idle() {
      return !running;
    },
  };
}

/** Runs a batch. Resolves with what tells its items their results, or its error. */
async function settling<Item, Result>(
  batch: readonly Waiting<Item, Result>[],
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
): Promise<() => void> {
  try {
    const results = await run(batch.map(({ item }) => item));
    return () => {
      for (const [index, result] of results.entries()) batch[index]?.resolve(result);
    };
  } catch (error) {
    return () => {
      for (const { reject } of batch) reject(error);
    };
  }
}
