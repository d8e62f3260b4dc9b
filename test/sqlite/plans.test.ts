import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect, type SqliteConnection } from "../../adapters/sqlite/connection.ts";
import { openSqliteFile } from "../../adapters/sqlite/file.ts";
import { callEverything } from "../contracts/store-calls.ts";
import { makeFolder, storeOn, watched } from "./fixture.ts";

const folder = await makeFolder();

describe("the store's queries in SQLite", () => {
  const texts = new Set<string>();
  let explaining: SqliteConnection;
  const planOf = (sql: string) =>
    explaining.all(`EXPLAIN QUERY PLAN ${sql}`, []).map((row) => String(row.detail));

  before(async () => {
    const path = folder.newPath();
    const connection = watched(await openSqliteFile(path), (sql) => {
      if (/^\s*(SELECT|WITH|UPDATE|DELETE|INSERT)/.test(sql) && !/sqlite_schema/.test(sql)) texts.add(sql);
    });
    const store = storeOn(connection);
    await callEverything(store);
    await store.close();
    explaining = await connect(path);
    assert.ok(texts.size >= 25, `only ${texts.size} statements were seen`);
  });
  after(() => explaining.close());

  test("no query scans a table or sorts, and every index is used by a query", () => {
    let plans = "";
    for (const sql of texts) {
      const plan = planOf(sql);
      plans += `${plan.join("\n")}\n`;
      const whole = /SCAN|TEMP B-TREE|messages_in_order \(conversation_id=\?\)/;
      const walks = plan.filter((step) => whole.test(step) && !walksFew(sql, step));
      if (!readsWhatItDeletes.test(sql)) assert.deepEqual(walks, [], sql);
    }
    // The two that an owner reviews hold few of the messages.
    assert.doesNotMatch(
      plans,
      /messages_(?!rated|unanswered)\w+ \(owner=/,
      "messages are found by ids, which ascend",
    );
    const indexes = explaining.all(
      "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL",
      [],
    );
    for (const { name } of indexes)
      assert.match(plans, new RegExp(` ${name}\\s`), "an index that no query uses");
  });

  test("an end user's conversations are listed without reading the owner's others", () => {
    const lists = [...texts].filter((sql) =>
      /FROM conversations WHERE owner = \$1 AND end_user = /.test(sql),
    );
    assert.ok(lists.length >= 6, `only ${lists.length} lists were seen`);
    for (const sql of lists) {
      const steps = planOf(sql).filter((step) => / conversations /.test(step));
      for (const step of steps)
        assert.match(step, /conversations_by_end_user \(owner=\? AND end_user=\?/, sql);
      assert.ok(steps.length > 0);
    }
  });

  test("a page of an owner's twins, and how many there are, are found without reading the others", () => {
    const lists = [...texts].filter((sql) =>
      /FROM own_twins WHERE owner = \$1 AND version IS NOT NULL(?!\s+AND)/.test(sql),
    );
    assert.ok(lists.length >= 3, `only ${lists.length} lists were seen`);
    for (const sql of lists) assert.match(planOf(sql).join("\n"), / COVERING INDEX own_twins_in_order /, sql);
  });
});

/** The statements that delete a conversation's messages, and before that count the one in progress. */
const readsWhatItDeletes = /^(DELETE FROM messages|INSERT INTO usage_sums[\s\S]+FROM messages WHERE owner)/;

/** Whether a step of a plan only looks as if it scanned everything. */
function walksFew(sql: string, step: string): boolean {
  if (/SCAN messages USING INDEX messages_in_progress/.test(step)) return sql.startsWith("SELECT"); // for a lease that ran out; an update of one reply must find it by its id
  if (/FROM usage_sums/.test(sql)) return !/SCAN/.test(step); // sums of the days that are asked for
  if (/GROUP BY unanswered/.test(sql)) return /^USE TEMP B-TREE/.test(step); // of the marked questions
  if (/deliveries/.test(sql) && /SCAN (about|due|waiting|\(subquery-\d+\))$/.test(step)) return true; // one event, or the webhooks that have something to be told
  if (/SCAN (2 )?CONSTANT|SCAN 2-ROW VALUES/.test(step)) return true; // a ping, or new messages, as SQLite's versions put it
  if (/OVER \(ORDER BY seq/.test(sql)) return /SCAN (lengths|\(subquery-\d+\))$/.test(step); // lengths of one range
  return /ORDER BY seq DESC LIMIT/.test(sql) && /messages_in_order/.test(step); // the last ones, in the index's order
}
