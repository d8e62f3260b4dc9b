import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type pg from "pg";
import { createPostgresDriver } from "../../adapters/postgres/driver.ts";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import type { SqlDriver, SqlValue } from "../../adapters/sql/driver.ts";
import { createSqlStore } from "../../adapters/sql/store.ts";
import type { Reach, Store } from "../../core/store/store.ts";
import { callEverything } from "../contracts/store-calls.ts";
import { connect, openPool, sharedDatabase, skipWithoutPostgres } from "./database.ts";

const skip = await skipWithoutPostgres();

/** What PostgreSQL reports about one step of a plan. */
interface PlanStep {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly Plans?: readonly PlanStep[];
}

describe("the store's queries in PostgreSQL", { skip }, () => {
  let admin: pg.Client;
  after(() => admin.end());
  const shared = sharedDatabase();

  before(async () => {
    await (await openPostgres(shared.url)).close();
    admin = await connect(shared.url);
    for (const statement of manyMessages) await admin.query(statement);
  });

  test("no query scans all messages or conversations, nor all of an index on them", async () => {
    const params = await noteCalls(shared.url, callEverything);
    assert.ok(params.size >= 25, `only ${params.size} statements were seen`);
    for (const [sql, values] of params) {
      if (!/\b(messages|conversations)\b/.test(sql) || /^INSERT/.test(sql)) continue;
      for (const mode of ["force_custom_plan", "force_generic_plan"]) {
        const steps = await explain(admin, mode, sql, values);
        const found = steps
          .filter((step) => walks(step) && !findsAbandoned(sql, step))
          .map((step) => JSON.stringify(step));
        assert.deepEqual(found, [], `${mode}: ${sql}`);
      }
    }
  });

  test("an end user's conversations are listed without reading the owner's others", async () => {
    for (const endUser of ["ann", "bob", "nobody"]) {
      const params = await noteCalls(shared.url, (store) => listAll(store, { owner: "owner", endUser }));
      assert.ok(params.size >= (endUser === "nobody" ? 3 : 6));
      for (const [sql, values] of params) {
        for (const mode of ["force_custom_plan", "force_generic_plan"]) {
          const steps = (await explain(admin, mode, sql, values)).filter((step) => step["Index Name"]);
          assert.ok(steps.length > 0, sql);
          for (const step of steps) {
            assert.equal(step["Index Name"], "conversations_by_end_user", `${mode}: ${sql}`);
            assert.match(step["Index Cond"] ?? "", /owner = .* AND .*end_user = /);
          }
        }
      }
    }
  });
});

/** Reads an end user's conversations in every way. */
async function listAll(store: Store, reach: Reach): Promise<void> {
  const slice = { offset: 0, limit: 20 };
  for (const twinIds of [undefined, ["ada"], ["ada", "bob"]]) {
    await store.listConversations(reach, { ...slice, twinIds });
  }
  await store.listConversations(reach, { ...slice, order: "asc", after: { createdAt: 1, id: "conv_1" } });
}

/**
 * Thousands of an owner's conversations with ended messages, which PostgreSQL's statistics include. Half of them are of
 * no end user in particular, a sixth is Bob's, the rest of hundreds, and three are Ann's.
 */
const manyMessages = [
  `INSERT INTO conversations (owner, id, twin_id, end_user, log_length, created_at, updated_at)
    SELECT 'owner', 'conv_' || n, 'ada',
      CASE WHEN n % 1000 = 0 THEN 'ann' WHEN n % 2 = 0 THEN NULL WHEN n % 3 = 0 THEN 'bob' ELSE 'user ' || n % 800 END,
      10, n, n FROM generate_series(1, 3000) AS n`,
  `INSERT INTO messages (owner, id, conversation_id, seq, role, content, status, created_at, cancel_requested)
    SELECT 'owner', 'msg_' || n || '_' || seq, 'conv_' || n, seq, 'user', repeat('Why? ', 20),
      CASE WHEN n % 50 = 1 THEN 'failed' ELSE 'completed' END, n, 0
    FROM generate_series(1, 3000) AS n, generate_series(0, 9) AS seq`,
  "ANALYZE",
];

/** Calls a store, and returns its statements with their latest parameters. */
async function noteCalls(
  url: string,
  calls: (store: Store) => Promise<void>,
): Promise<ReadonlyMap<string, readonly SqlValue[]>> {
  const driver = createPostgresDriver(openPool(url));
  const noted = new Map<string, readonly SqlValue[]>();
  const spied: SqlDriver = {
    ...driver,
    all(sql, params) {
      noted.set(sql, params);
      return driver.all(sql, params);
    },
    batch(statements) {
      for (const { sql, params } of statements) noted.set(sql, params);
      return driver.batch(statements);
    },
  };
  const store = createSqlStore(spied, { exclusive: false });
  await calls(store);
  await store.close();
  return noted;
}

/** The steps of a prepared statement's plan, for its parameters or for any. */
async function explain(
  client: pg.Client,
  mode: string,
  sql: string,
  values: readonly SqlValue[],
): Promise<PlanStep[]> {
  await client.query(`SET plan_cache_mode = ${mode}`);
  await client.query(`PREPARE explained AS ${sql}`);
  const literals = values.map((value) => (value === null ? "NULL" : client.escapeLiteral(String(value))));
  const { rows } = await client.query(`EXPLAIN (FORMAT JSON) EXECUTE explained (${literals})`);
  await client.query("DEALLOCATE explained");
  return stepsOf(rows[0]["QUERY PLAN"][0].Plan);
}

function stepsOf(step: PlanStep): PlanStep[] {
  return [step, ...(step.Plans ?? []).flatMap(stepsOf)];
}

/** Whether a step looks for expired leases among the replies in progress, which are few. An update of one must not. */
function findsAbandoned(sql: string, step: PlanStep): boolean {
  return sql.startsWith("SELECT") && step["Index Name"] === "messages_in_progress";
}

/** Whether a step scans a whole table or index. */
function walks(step: PlanStep): boolean {
  if (/Index/.test(step["Node Type"])) return step["Index Cond"] === undefined;
  return step["Node Type"] === "Seq Scan" && /^(messages|conversations)$/.test(step["Relation Name"] ?? "");
}
