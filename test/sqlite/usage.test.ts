/**
 * Sums of what very many people used.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { openSqliteFile } from "../../adapters/sqlite/file.ts";
import { makeFolder, storeOn } from "./fixture.ts";

const folder = await makeFolder();
const days = ["2031-05-06", "2031-05-07", "2031-05-08", "2031-05-09"];
const people = 7_000;
const nameOf = (person: number) => `p${String(person).padStart(5, "0")}`;

/** A store that knows what each person used on each day: one reply with as many tokens as the person's number. */
async function openUsed() {
  const connection = await openSqliteFile(folder.newPath());
  connection.run(
    `WITH RECURSIVE people (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM people WHERE n + 1 < ${people})
      INSERT INTO usage_sums (owner, kind, name, day, replies, input_tokens, output_tokens, cached_input_tokens)
      SELECT 'alice', 'endUser', printf('p%05d', n), day.value, 1, n, 1, 0
      FROM people, json_each('${JSON.stringify(days)}') AS day WHERE day.value < '2031-05-09' OR n % 1000 = 0`,
    [],
  );
  return storeOn(connection);
}

const all = { from: "2031-05-06", to: "2031-05-09", groupBy: "endUser" } as const;

test("pages of very many people's use are those of one list", async () => {
  const store = await openUsed();
  for (const offset of [0, 3_300, 3_333, 3_400, 6_950, 7_000]) {
    const { items, total } = await store.listUsage("alice", { ...all, offset, limit: 100 });
    assert.equal(total, people);
    const expected = Array.from({ length: Math.min(100, people - offset) }, (_, index) => {
      const person = offset + index;
      const replies = person % 1000 === 0 ? 4 : 3;
      return { group: nameOf(person), replies, inputTokens: replies * person, outputTokens: replies };
    });
    assert.deepEqual(
      items,
      expected.map((sum) => ({ ...sum, cachedInputTokens: 0 })),
    );
  }
  const few = await store.listUsage("alice", { ...all, from: "2031-05-09", offset: 2, limit: 3 });
  assert.equal(few.total, 7);
  assert.deepEqual(
    few.items.map(({ group }) => group),
    [2_000, 3_000, 4_000].map(nameOf),
  );
  await store.close();
});

test("while very many people's use is summed, other work has its turn", async () => {
  const store = await openUsed();
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await store.listUsage("alice", { ...all, offset: 0, limit: 100 });
  isOver = true;
  assert.ok(turns >= 2, `${turns} turns`);
  await store.close();
});
