/**
 * Hourly limits in PostgreSQL: the same buckets for all processes on a database, on the database's clock.
 *
 * @module
 */

import type { Pool } from "pg";
import { type Log, noLog } from "../../core/base/log.ts";
import { createBatcher } from "../../core/limits/batch.ts";
import {
  decisionAt,
  type Grant,
  type RateLimiter,
  type RatePolicy,
  refillInterval,
  takeToken,
  windowMicroseconds,
} from "../../core/limits/token-bucket.ts";
import type { SqlRow } from "../sql/driver.ts";
import { brokeConnection, type PostgresValue, queryOn, toStoreError } from "./driver.ts";

/** The database's own clock, in microseconds: the time of evaluation, not of the statement's begin. */
const databaseTime = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/**
 * The token bucket of `core/limits/token-bucket.ts` as one statement for any number of buckets. For each bucket, `asked`
 * requests want a token, which costs `price` microseconds, and `admitted` of them get one. The time is read after the
 * row is locked, so that statements that wait for the lock do not turn the clock back. Rows are locked in the order of their
 * ids, so that concurrent statements wait for each other instead of deadlocking.
 */
const takeTokens = `INSERT INTO rate_buckets AS bucket (id, debt, at, admitted)
  SELECT id, price * least(asked, ${windowMicroseconds} / price), ${databaseTime},
      least(asked, ${windowMicroseconds} / price)
    FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS wish (id, price, asked) ORDER BY id COLLATE "C"
  ON CONFLICT (id) DO UPDATE SET (debt, at, admitted) = (
    SELECT left_over + price * granted, moment, granted
    FROM (SELECT *, least(excluded.admitted, (${windowMicroseconds} - left_over) / price) AS granted
      FROM (SELECT *, greatest(0, bucket.debt - greatest(0, moment - bucket.at)) AS left_over
        FROM (SELECT ${databaseTime} AS moment, excluded.debt / excluded.admitted AS price) AS clock
      ) AS stand) AS decision)
  RETURNING id, debt, admitted`;

/** `ahead`: the clock was set back. */
const peekBucket = `SELECT greatest(0, debt - greatest(0, moment - at)) AS debt, at > moment AS ahead
  FROM rate_buckets, (SELECT ${databaseTime} AS moment) AS clock WHERE id = $1`;

/** Makes such a bucket count down from now. */
const restartBucket = `UPDATE rate_buckets SET at = least(at, ${databaseTime}) WHERE id = $1`;

/**
 * Deletes buckets that are full again, as a full one is the same as none. Those that another statement
 * has locked are skipped.
 */
const sweepFull = `DELETE FROM rate_buckets WHERE id IN (
  SELECT id FROM rate_buckets WHERE at + debt < ${databaseTime} LIMIT 20000 FOR UPDATE SKIP LOCKED)`;

/** The number of takes between two sweeps: fewer than one sweep can delete. */
const takesBetweenSweeps = 10_000;

/** One request for a token. */
interface Take {
  readonly id: string;
  readonly policy: RatePolicy;
}

/**
 * A limiter that stores its buckets in PostgreSQL. Requests of this process that arrive while a statement is running
 * share the next one, so that many requests wait for the disk once. Rejects if the database cannot be reached: see
 * `createFallbackLimiter`.
 */
export function createPostgresLimiter(pool: Pool, log: Log = noLog): RateLimiter {
  let takesToSweep = 0; // the first take sweeps buckets that filled up while no process ran

  /**
   * A statement whose connection broke is repeated once. If it had taken effect, a token is lost; if it failed, this
   * process would limit alone for a while, with full buckets.
   */
  async function query(
    sql: string,
    params: readonly PostgresValue[],
    retries = 1,
  ): Promise<readonly SqlRow[]> {
    try {
      return await queryOn(pool, sql, params);
    } catch (error) {
      if (retries > 0 && brokeConnection(error)) return query(sql, params, retries - 1);
      throw toStoreError(error);
    }
  }

  const { add } = createBatcher(async (takes: readonly Take[]) => {
    const { buckets, places } = countByBucket(takes);
    const rows = await query(takeTokens, [
      [...buckets.keys()],
      Array.from(buckets.values(), ({ policy }) => refillInterval(policy)),
      Array.from(buckets.values(), ({ asked }) => asked),
    ]);
    sweepNowAndThen(takes.length);
    const grants = new Map<unknown, Grant>();
    for (const { id, admitted, debt } of rows)
      grants.set(id, { admitted: Number(admitted), debt: Number(debt) });
    return takes.map(({ id, policy }, index) =>
      decisionAt(places[index] ?? 0, grants.get(id) ?? nothing, policy),
    );
  });

  function sweepNowAndThen(takes: number): void {
    takesToSweep -= takes;
    if (takesToSweep > 0) return;
    takesToSweep = takesBetweenSweeps;
    query(sweepFull, []).catch((error: unknown) => log("debug", "rate limits were not swept", { error }));
  }

  return {
    take: (id, policy) => add({ id, policy }),
    async peek(id, policy) {
      const [row] = await query(peekBucket, [id]);
      if (row?.ahead) await query(restartBucket, [id]);
      const debt = Number(row?.debt ?? 0);
      return { allowed: takeToken(debt, policy).allowed, debt };
    },
  };
}

/** What is granted if the database returns nothing for a bucket. */
const nothing: Grant = { admitted: 0, debt: windowMicroseconds };

/** How many takes each bucket has, and the place of each take among those of its bucket. */
function countByBucket(takes: readonly Take[]) {
  const buckets = new Map<string, { readonly policy: RatePolicy; asked: number }>();
  const places = takes.map(({ id, policy }) => {
    const bucket = buckets.get(id) ?? { policy, asked: 0 };
    buckets.set(id, bucket);
    return bucket.asked++;
  });
  return { buckets, places };
}
