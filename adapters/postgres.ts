/**
 * The store, and hourly limits, in PostgreSQL (15 or newer): for any number of processes.
 *
 * @module
 */

import type { Sql, TransactionSql } from "postgres";
import type { RateDecision, RateLimiter, RatePolicy } from "../core/limit.ts";
import { refillInterval, windowSeconds } from "../core/limit.ts";
import { type Store, StoreUnavailable } from "../core/store.ts";
import { createSqlStore } from "./sql.ts";
import type { BatchOutcome, SqlDriver, SqlRow, SqlStatement, SqlValue } from "./sql-driver.ts";
import { migrationsFrom, schemaVersion } from "./sql-schema.ts";

/** What {@link openPostgres} opens. */
export interface Postgres {
  readonly store: Store;
  /** One budget for all processes on this database, on the database's clock. */
  readonly limiter: RateLimiter;
  /** Waits for what was begun, then closes the connections. */
  close(): Promise<void>;
}

/** Options of {@link openPostgres}. */
export interface PostgresOptions {
  /** The most connections that this process holds. Default 10. */
  readonly maxConnections?: number;
}

/**
 * Connects to a database and brings its tables up to date. Two processes may do so at once. Rejects with an
 * error of one line if the database cannot be reached or was made by a newer version.
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Postgres> {
  const sql = await connect(url, options);
  try {
    await migrate(sql);
  } catch (error) {
    await sql.end({ timeout: 0 });
    throw new Error(`The PostgreSQL database cannot be used: ${(error as Error).message}`, { cause: error });
  }
  const store = createSqlStore(createPostgresDriver(sql), { exclusive: false });
  return { store, limiter: createPostgresLimiter(sql), close: () => store.close() };
}

async function connect(url: string, { maxConnections = 10 }: PostgresOptions): Promise<Sql> {
  const postgres = await importPostgres();
  return postgres(url, {
    max: maxConnections,
    connect_timeout: 2,
    // The package's own pauses grow: a database that came back would stay out of reach for seconds.
    backoff: () => 0.05,
    connection: { application_name: "twin-service", statement_timeout: 5000 },
    onnotice: () => {}, // such as "table exists already": of no use to anybody
  });
}

async function importPostgres() {
  try {
    return (await import("postgres")).default;
  } catch (error) {
    throw new Error("PostgreSQL needs the package postgres: npm install postgres", { cause: error });
  }
}

/** "twin": the lock that processes starting at once take in turn. */
const migrationLock = 0x7477696e;

async function migrate(sql: Sql): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction.unsafe(`SELECT pg_advisory_xact_lock(${migrationLock})`);
    await transaction.unsafe("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)");
    const [row] = await transaction.unsafe("SELECT version FROM schema_version");
    const steps = migrationsFrom(Number(row?.version ?? 0), { text: 'TEXT COLLATE "C"' });
    for (const step of steps) await transaction.unsafe(step);
    await transaction.unsafe(createBuckets);
    if (steps.length === 0) return;
    await transaction.unsafe("DELETE FROM schema_version");
    await transaction.unsafe(`INSERT INTO schema_version (version) VALUES (${schemaVersion})`);
  });
}

/** How often a transaction that lost against another is run again. */
const maxRetries = 3;

/** A driver over a pool of connections. Each batch is one transaction, its statements sent at once. */
export function createPostgresDriver(sql: Sql): SqlDriver {
  async function runBatch(statements: readonly SqlStatement[], retries: number): Promise<BatchOutcome> {
    try {
      const rows = await sql.begin((transaction) => runStatements(transaction, statements));
      return { committed: true, rows };
    } catch (error) {
      if (error instanceof Unmet) return { committed: false, failed: error.index };
      if (retries > 0 && lostAgainstAnother(error)) return runBatch(statements, retries - 1);
      throw toStoreError(error);
    }
  }

  return {
    async all(text, params) {
      try {
        return await query(sql, text, params);
      } catch (error) {
        throw toStoreError(error);
      }
    },
    batch: (statements) => runBatch(statements, maxRetries),
    close: () => sql.end({ timeout: 5 }),
  };
}

/** A statement missed its expectation. Thrown to roll the transaction back. */
class Unmet extends Error {
  readonly index: number;

  constructor(index: number) {
    super(`Statement ${index} missed its expectation.`);
    this.index = index;
  }
}

async function runStatements(
  transaction: TransactionSql,
  statements: readonly SqlStatement[],
): Promise<(readonly SqlRow[])[]> {
  const pending = statements.map(({ sql, params }) => query(transaction, sql, params));
  const settled = await Promise.allSettled(pending);
  // In order: what a statement missed comes before what broke because of it.
  return settled.map((outcome, index) => {
    if (outcome.status === "rejected") throw outcome.reason;
    const expected = statements[index]?.expect;
    if (expected !== undefined && outcome.value.count !== expected) throw new Unmet(index);
    return outcome.value;
  });
}

function query(sql: Pick<Sql, "unsafe">, text: string, params: readonly SqlValue[]) {
  return sql.unsafe<SqlRow[]>(text, [...params], { prepare: true });
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code ?? "");
}

/** Serialization failure, deadlock. */
function lostAgainstAnother(error: unknown): boolean {
  return ["40001", "40P01"].includes(codeOf(error));
}

/** Connection gone, server stopping or starting, too many connections, statement too slow. */
const passing =
  /^(?:08|53|57P0)|^(?:57014|55P03|ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|CONNECT_TIMEOUT|CONNECTION_)/;

function toStoreError(error: unknown): unknown {
  if (!passing.test(codeOf(error)) && !lostAgainstAnother(error)) return error;
  return new StoreUnavailable("The database cannot be reached now.", { cause: error });
}

const createBuckets = `CREATE TABLE IF NOT EXISTS buckets (
  id TEXT COLLATE "C" PRIMARY KEY,
  debt BIGINT NOT NULL,
  at BIGINT NOT NULL,
  allowed BOOLEAN NOT NULL
)`;

/** The database's own clock, in microseconds, read when it is asked for and not when the statement began. */
const now = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/**
 * The token bucket of `core/limit.ts` as one statement. The time is read behind the row's lock, so that those
 * who wait for it do not turn the clock back. `$2`: microseconds between two tokens; `$3`: those in the window.
 */
const takeToken = `INSERT INTO buckets AS bucket (id, debt, at, allowed) VALUES ($1, $2::bigint, ${now}, true)
  ON CONFLICT (id) DO UPDATE SET (debt, at, allowed) = (
    SELECT CASE WHEN left_over + $2 <= $3::bigint THEN left_over + $2 ELSE left_over END, moment, left_over + $2 <= $3
    FROM (SELECT moment, greatest(0, bucket.debt - greatest(0, moment - bucket.at)) AS left_over
      FROM (SELECT ${now} AS moment) AS clock) AS decision)
  RETURNING allowed, debt`;

const peekBucket = `SELECT greatest(0, debt - greatest(0, ${now} - at)) AS debt FROM buckets WHERE id = $1`;

/** Keeps buckets in PostgreSQL. Rejects when the database is out of reach: see `createFallbackLimiter`. */
export function createPostgresLimiter(sql: Sql): RateLimiter {
  const window = windowSeconds * 1_000_000;
  return {
    async take(id, policy): Promise<RateDecision> {
      const [row] = await query(sql, takeToken, [id, refillInterval(policy), window]);
      return { allowed: row?.allowed === true, debt: Number(row?.debt) };
    },
    async peek(id, policy: RatePolicy): Promise<RateDecision> {
      const [row] = await query(sql, peekBucket, [id]);
      const debt = Number(row?.debt ?? 0);
      return { allowed: debt + refillInterval(policy) <= window, debt };
    },
  };
}
