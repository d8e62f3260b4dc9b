/**
 * Doing together what is asked for while the like of it is being done.
 *
 * @module
 */

/** Where items wait for each other. */
export interface Grouping<Item, Result> {
  /** Resolves with what came of the item; rejects with what its group failed of. */
  add(item: Item): Promise<Result>;
  /** Whether nothing is being done, and nothing waits. */
  readonly idle: boolean;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Calls `run` with the items that are there, and again, once that is done, with all that came in between. An
 * item that comes alone does not wait. `run` resolves with a result for each item, in their order.
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
