/**
 * Hourly limits in PostgreSQL: the same buckets for all processes on a database, on the database's clock.
 *
 * @module
 */

import type { Pool } from "pg";
import { type Log, noLog } from "../../core/base/log.ts";
import { createBatcher } from "../../core/limits/batch.ts";
import {
  debtAt,
  decisionsAt,
  type NamedBucket,
  type RateDecision,
  type RateLimiter,
  type RatePolicy,
  takeToken,
  windowMicroseconds,
} from "../../core/limits/token-bucket.ts";
import type { SqlRow } from "../sql/driver.ts";
import { brokeConnection, type PostgresValue, queryOn, toStoreError } from "./driver.ts";

/** The database's own clock, in microseconds: the time of evaluation, not of the statement's begin. */
const databaseTime = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/** See the function's definition, in `adapters/sql/schema.ts`. */
const takeTokens = "SELECT granted, first_debt, second_debt FROM take_rate_tokens($1, $2, $3, $4, $5)";

const readBucket = `SELECT debt, at, capacity, ${databaseTime} AS moment FROM rate_buckets WHERE id = $1`;

/** Makes a bucket from before the clock was set back count down from now. */
const restartBucket = `UPDATE rate_buckets SET at = least(at, ${databaseTime}) WHERE id = $1`;

/**
 * Deletes buckets that are full again, as a full one is the same as none. Those that another statement
 * has locked are skipped.
 */
const sweepFull = `DELETE FROM rate_buckets WHERE id IN (
  SELECT id FROM rate_buckets WHERE at + debt < ${databaseTime} LIMIT 20000 FOR UPDATE SKIP LOCKED)`;

/** The number of takes between two sweeps: fewer than one sweep can delete. */
const takesBetweenSweeps = 10_000;

/** One request for a token, from one bucket or from two. */
interface Take {
  readonly first: NamedBucket;
  readonly second: NamedBucket | undefined;
}

/** What a take got: a decision on each of its buckets. */
interface Taken {
  readonly first: RateDecision;
  /** That of `first`, if there is no second. */
  readonly second: RateDecision;
}

/**
 * A limiter that stores its buckets in PostgreSQL. Requests of this process that arrive while a statement is running
 * share the next one, so that many requests wait for the disk once. Rejects if the database cannot be reached: see
 * `createFallbackLimiter`.
 */
export function createPostgresLimiter(pool: Pool, log: Log = noLog): RateLimiter {
  const query = createQuery(pool);
  const sweepNowAndThen = createSweeps(query, log);

  const { add } = createBatcher(async (takes: readonly Take[]): Promise<readonly Taken[]> => {
    const { buckets, groups, places } = groupTakes(takes);
    const rows = await query(takeTokens, [
      [...buckets.keys()],
      Array.from(buckets.values(), ({ policy }) => policy.capacity),
      groups.map(({ first }) => first),
      groups.map(({ second }) => second),
      groups.map(({ asked }) => asked),
    ]);
    sweepNowAndThen(takes.length);
    return takes.map((take, index) => {
      const { group = 0, place = 0 } = places[index] ?? {};
      return decide(take, place, rows[group]);
    });
  });

  return {
    take: async (id, policy) => (await add({ first: { id, policy }, second: undefined })).first,
    async takeBoth(first, second) {
      const taken = await add({ first, second });
      return [taken.first, taken.second];
    },
    peek: (id, policy) => peek(query, id, policy),
    async forget(ids) {
      await query("DELETE FROM rate_buckets WHERE id = ANY ($1)", [ids]);
    },
  };
}

type RunQuery = (sql: string, params: readonly PostgresValue[]) => Promise<readonly SqlRow[]>;

/**
 * Runs statements. One whose connection broke is repeated once: if it had taken effect, a token is lost; if it failed,
 * this process would limit alone for a while, with full buckets.
 */
function createQuery(pool: Pool): RunQuery {
  async function query(
    sql: string,
    params: readonly PostgresValue[],
    retries: number,
  ): Promise<readonly SqlRow[]> {
    try {
      return await queryOn(pool, sql, params);
    } catch (error) {
      if (retries > 0 && brokeConnection(error)) return query(sql, params, retries - 1);
      throw toStoreError(error);
    }
  }
  return (sql, params) => query(sql, params, 1);
}

/** Deletes full buckets now and then. Told how many were taken. */
function createSweeps(query: RunQuery, log: Log): (takes: number) => void {
  let takesToSweep = 0; // the first take sweeps buckets that filled up while no process ran
  return (takes) => {
    takesToSweep -= takes;
    if (takesToSweep > 0) return;
    takesToSweep = takesBetweenSweeps;
    query(sweepFull, []).catch((error: unknown) => log("debug", "rate limits were not swept", { error }));
  };
}

async function peek(query: RunQuery, id: string, policy: RatePolicy): Promise<RateDecision> {
  const [row] = await query(readBucket, [id]);
  if (!row) return { allowed: true, debt: 0 };
  const capacity = row.capacity === null ? undefined : Number(row.capacity);
  const bucket = { debt: Number(row.debt), at: Number(row.at), capacity };
  const moment = Number(row.moment);
  if (bucket.at > moment) await query(restartBucket, [id]);
  const debt = debtAt(bucket, moment, policy);
  return { allowed: takeToken(debt, policy).allowed, debt };
}

function decide({ first, second }: Take, place: number, row: SqlRow = {}): Taken {
  const admitted = Number(row.granted);
  const named = second ? [first, second] : [first];
  const debts = second ? [row.first_debt, row.second_debt] : [row.first_debt];
  const decisions = decisionsAt(
    place,
    debts.map((debt) => ({ admitted, debt: Number(debt) })),
    named.map(({ policy }) => policy),
  );
  const [one = refused, two = one] = decisions;
  return { first: one, second: two };
}

/** What is decided if the database says nothing of a bucket. */
const refused: RateDecision = { allowed: false, debt: windowMicroseconds };

/** Takes from the same buckets. The buckets' places count from 1; 0: there is no second one. */
interface Group {
  readonly first: number;
  readonly second: number;
  asked: number;
}

/** The buckets of some takes, the takes in groups, and each take's place in its group. */
function groupTakes(takes: readonly Take[]) {
  const buckets = new Map<string, { readonly policy: RatePolicy; readonly number: number }>();
  const groups = new Map<string, Group & { readonly index: number }>();

  function numberOf(bucket: NamedBucket | undefined): number {
    if (!bucket) return 0;
    const known = buckets.get(bucket.id) ?? { policy: bucket.policy, number: buckets.size + 1 };
    buckets.set(bucket.id, known);
    return known.number;
  }

  const places = takes.map(({ first, second }) => {
    const numbers = { first: numberOf(first), second: numberOf(second) };
    const name = `${numbers.first} ${numbers.second}`;
    const group = groups.get(name) ?? { ...numbers, asked: 0, index: groups.size };
    groups.set(name, group);
    return { group: group.index, place: group.asked++ };
  });
  return { buckets, groups: [...groups.values()], places };
}
