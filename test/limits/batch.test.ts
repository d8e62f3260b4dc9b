import assert from "node:assert/strict";
import { test } from "node:test";
import { groupItems } from "../../core/limits/batch.ts";

/** A grouping whose groups a test completes, one by one. */
function createGroups() {
  const groups: string[][] = [];
  const goOn: ((error?: Error) => void)[] = [];
  const grouping = groupItems(async (items: readonly string[]) => {
    groups.push([...items]);
    await new Promise<void>((resolve, reject) => {
      goOn.push((error) => (error ? reject(error) : resolve()));
    });
    return items.map((item) => item.toUpperCase());
  });
  return { grouping, groups, goOn };
}

test("items that arrive while a group is in progress form the next one", async () => {
  const { grouping, groups, goOn } = createGroups();
  const results = ["a", "b", "c"].map((item) => grouping.add(item));
  assert.deepEqual(groups, [["a"]]);
  goOn[0]?.();
  await results[0];
  assert.deepEqual(groups, [["a"], ["b", "c"]]);
  goOn[1]?.();
  assert.deepEqual(await Promise.all(results), ["A", "B", "C"]);
});

test("a group that fails rejects only its own items", async () => {
  const { grouping, goOn } = createGroups();
  const [first, second] = [grouping.add("a"), grouping.add("b")];
  goOn[0]?.(new Error("broken"));
  await assert.rejects(first, /broken/);
  goOn[1]?.();
  assert.equal(await second, "B");
});

test("a grouping is idle as soon as the last item is answered", async () => {
  const { grouping, goOn } = createGroups();
  const item = grouping.add("a");
  assert.equal(grouping.idle, false);
  const idle = item.then(() => grouping.idle);
  goOn[0]?.();
  assert.equal(await idle, true);
});
