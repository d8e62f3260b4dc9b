import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { createPostgresLimiter } from "../../adapters/postgres/limiter.ts";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { StoreUnavailable } from "../../core/store/store.ts";
import { until } from "../support/until.ts";
import { connect, createDatabase, sharedDatabase, skipWithoutPostgres } from "./database.ts";
import { failingPool } from "./faults.ts";

const skip = await skipWithoutPostgres();

describe("limits in PostgreSQL", { skip }, () => {
  const shared = sharedDatabase();

  test("many takes from the same buckets in opposite orders get exactly what there is, and do not deadlock", async () => {
    const databases = await Promise.all([openPostgres(shared.url), openPostgres(shared.url)]);
    const ids = Array.from({ length: 40 }, () => randomUUID());
    const takes = databases.flatMap(({ limiter }, process) =>
      Array.from({ length: 2000 }, (_, n) => {
        const place = n % ids.length;
        return limiter.take(ids.at(process === 0 ? place : -1 - place) ?? "", { capacity: 60 });
      }),
    );
    const decisions = await Promise.all(takes);
    assert.equal(decisions.filter(({ allowed }) => allowed).length, 60 * ids.length);
    await Promise.all(databases.map((database) => database.close()));
  });

  test("a bucket from before the database's clock was set back counts down again once it is looked at", async () => {
    await using database = await openPostgres(shared.url);
    await using admin = await connect(shared.url);
    const [id, policy] = [randomUUID(), { capacity: 200 }];
    const inTwoHours = (Date.now() + 7_200_000) * 1000;
    const insert = "INSERT INTO rate_buckets (id, debt, at) VALUES ($1, 3600000000, $2)";
    await admin.query(insert, [id, inTwoHours]);
    assert.deepEqual(await database.limiter.peek(id, policy), { allowed: false, debt: 3_600_000_000 });
    assert.ok((await database.limiter.peek(id, policy)).debt < 3_600_000_000);
  });

  test("a take whose connection breaks is retried once", async (t) => {
    await using database = await openPostgres(shared.url);
    // Two, because a transaction keeps seeing the connections that it saw first.
    const [admin, killer] = await Promise.all([connect(shared.url), connect(shared.url)]);
    t.after(() => Promise.all([admin.end(), killer.end()]));
    const [id, policy] = [randomUUID(), { capacity: 200 }];
    await database.limiter.take(id, policy);
    await admin.query("BEGIN");
    await admin.query("SELECT FROM rate_buckets WHERE id = $1 FOR UPDATE", [id]);
    const taking = database.limiter.take(id, policy);
    await until("the connection that waits for the bucket is killed", 5000, async () => {
      const { rows } = await killer.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`);
      return rows.length > 0;
    });
    await admin.query("COMMIT");
    assert.equal((await taking).allowed, true);
  });

  test("a process that was too busy to connect in time does not blame the database for it", async () => {
    await using database = await openPostgres(shared.url);
    const taking = database.limiter.take(randomUUID(), { capacity: 200 });
    const busyUntil = performance.now() + 2_500;
    while (performance.now() < busyUntil);
    assert.equal((await taking).allowed, true);
  });

  test("only buckets that are full again are swept, at the first request and then every 10,000", async () => {
    await using fresh = await createDatabase();
    await (await openPostgres(fresh.url)).close();
    await using admin = await connect(fresh.url);
    await using database = await openPostgres(fresh.url);
    for (const takes of [1, 10_000]) {
      await admin.query(`INSERT INTO rate_buckets (id, debt, at)
        SELECT 'rests ' || n, 18000000, 0 FROM generate_series(1, 100) AS n`);
      const taken = Array.from({ length: takes }, () => database.limiter.take("is used", { capacity: 200 }));
      await Promise.all(taken);
      await until("the full ones are gone", 5000, async () => {
        const { rows } = await admin.query("SELECT id FROM rate_buckets");
        return rows.length === 1 && rows[0]?.id === "is used";
      });
    }
  });
});

test("a take is retried once if its connection broke, but not if it timed out", async () => {
  for (const [message, code, times] of [
    ["Connection terminated unexpectedly", undefined, 2],
    ["write EPIPE", "EPIPE", 2],
    ["write ECONNABORTED", "ECONNABORTED", 2], // on Windows
    ["Query read timeout", undefined, 1],
  ] as const) {
    const { pool, asked } = failingPool(Object.assign(new Error(message), code && { code }));
    await assert.rejects(createPostgresLimiter(pool).take("key", { capacity: 200 }), StoreUnavailable);
    assert.equal(asked(), times, message);
  }
});
