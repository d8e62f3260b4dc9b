import assert from "node:assert/strict";
import { test } from "node:test";
import { createBatcher } from "../../core/limits/batch.ts";

/** A batcher whose batches a test completes, one by one. */
function createBatches() {
  const batches: string[][] = [];
  const goOn: ((error?: Error) => void)[] = [];
  const batcher = createBatcher(async (items: readonly string[]) => {
    batches.push([...items]);
    await new Promise<void>((resolve, reject) => {
      goOn.push((error) => (error ? reject(error) : resolve()));
    });
    return items.map((item) => item.toUpperCase());
  });
  return { batcher, batches, goOn };
}

test("items that arrive while a batch is in progress form the next one", async () => {
  const { batcher, batches, goOn } = createBatches();
  const results = ["a", "b", "c"].map((item) => batcher.add(item));
  assert.deepEqual(batches, [["a"]]);
  goOn[0]?.();
  await results[0];
  assert.deepEqual(batches, [["a"], ["b", "c"]]);
  goOn[1]?.();
  assert.deepEqual(await Promise.all(results), ["A", "B", "C"]);
});

test("a batch that fails rejects only its own items", async () => {
  const { batcher, goOn } = createBatches();
  const [first, second] = [batcher.add("a"), batcher.add("b")];
  goOn[0]?.(new Error("broken"));
  await assert.rejects(first, /broken/);
  goOn[1]?.();
  assert.equal(await second, "B");
});

test("a batcher is idle as soon as the last item is answered", async () => {
  const { batcher, goOn } = createBatches();
  const item = batcher.add("a");
  assert.equal(batcher.idle, false);
  const idle = item.then(() => batcher.idle);
  goOn[0]?.();
  assert.equal(await idle, true);
});
