/**
 * Time on PostgreSQL: all processes go by the database's clock, whatever their machines' clocks say.
 */

import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";
import { DatabaseClock } from "../../adapters/postgres/clock.ts";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { noLog } from "../../core/base/log.ts";
import { createTwinList } from "../../core/mod.ts";
import { createService } from "../../core/service.ts";
import { begin, newConversation } from "../contracts/store-records.ts";
import { dataOf, newTwin, unlimited } from "../support/harness.ts";
import { connect, sharedDatabase, skipWithoutPostgres } from "./database.ts";

describe("the database's clock", { skip: await skipWithoutPostgres() }, () => {
  const shared = sharedDatabase();

  for (const [what, hours] of [
    ["an hour ahead", 1],
    ["an hour back", -1],
    ["a year ahead", 24 * 365],
  ] as const) {
    test(`a process whose machine's clock is ${what} has the same time as the database`, async () => {
      const { now } = Date;
      mock.method(Date, "now", () => now() + hours * 3_600_000);
      try {
        const { store, close } = await openPostgres(shared.url);
        await using client = await connect(shared.url);
        const { rows } = await client.query("SELECT extract(epoch FROM clock_timestamp()) * 1000 AS moment");
        assert.ok(Math.abs(Number(store.clock?.now()) - Number(rows[0]?.moment)) < 1000);
        await close();
      } finally {
        mock.restoreAll();
      }
    });
  }

  test("a service whose machine's clock is put ahead writes the database's time, and finds no live reply abandoned", async () => {
    const live = await openPostgres(shared.url);
    const conversation = await newConversation(live.store, "alice");
    const now = Number(live.store.clock?.now());
    await begin(live.store, "alice", conversation.id, { leaseUntil: now + 30_000 });
    const other = await openPostgres(shared.url);
    const { now: real } = Date;
    mock.method(Date, "now", () => real() + 3_600_000);
    const service = createService({
      store: other.store,
      twins: createTwinList([newTwin({ id: "echo" })]),
      limiter: unlimited,
      authenticate: async () => ({ owner: "bob" }),
      log: noLog,
    });
    try {
      assert.deepEqual(await other.store.findAbandonedReplies(Number(other.store.clock?.now())), []);
      const made = await service.fetch(
        new Request("http://twins.test/api/v1/conversations", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: '{"twinId":"echo"}',
        }),
      );
      const { createdAt } = await dataOf<{ createdAt: string }>(made);
      assert.ok(Math.abs(Date.parse(createdAt) - real()) < 60_000, createdAt);
    } finally {
      mock.restoreAll();
      await service.close({ graceMs: 0 });
      await Promise.all([other.close(), live.close()]);
    }
  });
});

test("a database whose clock was set is followed, and what a slow answer leaves open is not", async () => {
  const clock = new DatabaseClock();
  const at = (moment: number) => clock.measure(async () => ({ rows: [{ moment }] }));
  await at(1_000_000);
  const first = clock.now();
  assert.ok(first >= 1_000_000 && first < 1_010_000);
  await at(5_000_000);
  assert.ok(clock.now() >= 5_000_000);
  await at(2_000_000);
  assert.ok(clock.now() < 2_010_000);
  await assert.rejects(
    clock.measure(() => Promise.reject(new Error("away"))),
    /away/,
  );
  assert.ok(clock.now() >= 2_000_000, "it goes on");
});
