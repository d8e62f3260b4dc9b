/**
 * The store, and hourly limits, in PostgreSQL (15 or newer): for any number of processes.
 *
 * @module
 */

import type { Client, Pool, PoolClient, PoolConfig } from "pg";
import type { RateLimiter } from "../core/limit.ts";
import { type Log, noLog } from "../core/log.ts";
import type { Store } from "../core/store.ts";
import { createPostgresDriver } from "./postgres-driver.ts";
import { createBuckets, createPostgresLimiter } from "./postgres-limiter.ts";
import { openSignals } from "./postgres-signals.ts";
import { createSockets } from "./postgres-sockets.ts";
import { createSqlStore } from "./sql.ts";
import { migrationsFrom, postgresDialect, schemaVersion } from "./sql-schema.ts";

/** What {@link openPostgres} opens. */
export interface Postgres {
  /** Its signals reach all processes on this database. */
  readonly store: Store;
  /** One budget for all processes on this database, on the database's clock. */
  readonly limiter: RateLimiter;
  /** Waits for what was begun, then closes the connections. */
  close(): Promise<void>;
}

/** Options of {@link openPostgres}. */
export interface PostgresOptions {
  /**
   * The most connections that this process holds for the store. Default 10. Beside them it has one that it
   * listens on, and two for limits.
   */
  readonly maxConnections?: number | undefined;
  /** Default: silence. */
  readonly log?: Log | undefined;
}

/**
 * Connects to a database and brings its tables up to date. Two processes may do so at once. Rejects with an
 * error of one line if the database cannot be reached or was made by a newer version.
 *
 * @example
 * ```ts
 * import { createFallbackLimiter } from "twin-service";
 * import { openPostgres } from "twin-service/postgres";
 *
 * const postgres = await openPostgres("postgres://twins@127.0.0.1/twins");
 * const { store } = postgres;
 * const limiter = createFallbackLimiter({ shared: postgres.limiter });
 * ```
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Postgres> {
  const { maxConnections = 10, log = noLog } = options;
  const { default: pg } = await importPg();
  const sockets = createSockets();
  const config: PoolConfig = {
    connectionString: url,
    stream: sockets.open,
    application_name: "twin-service",
    connectionTimeoutMillis: 2000, // for a connection of the pool that is free, too
    statement_timeout: 5000,
    idle_in_transaction_session_timeout: 10_000, // a process that hangs must not hold locks
    query_timeout: 7000, // for a server that does not even say that a statement took too long
    keepAlive: true,
    pipeline: true,
  };
  try {
    await migrate(new pg.Client({ ...config, query_timeout: 0 }));
  } catch (error) {
    throw new Error(`The PostgreSQL database cannot be used: ${reasonOf(error)}`, { cause: error });
  }
  const pool = new pg.Pool({ ...config, max: maxConnections, idleTimeoutMillis: 60_000 });
  survive(pool, log);
  // Never closed for being idle: to connect again may take long just when a crowd arrives.
  const limits = new pg.Pool({ ...config, max: limitConnections, idleTimeoutMillis: 0 });
  survive(limits, log);
  const signals = openSignals({ connect: () => new pg.Client(config), pool, log });
  const store = createSqlStore(createPostgresDriver(pool), { exclusive: false });
  async function close(): Promise<void> {
    await signals.close();
    await store.close();
    if (!limits.ending) await limits.end();
    await sockets.close();
  }
  return { store: { ...store, signals, close }, limiter: createPostgresLimiter(limits, log), close };
}

/** One for requests, which go together; one for those that only look, and for sweeping. */
const limitConnections = 2;

async function importPg() {
  try {
    return await import("pg");
  } catch (error) {
    throw new Error("PostgreSQL needs the package pg: npm install pg", { cause: error });
  }
}

/** A connection that breaks tells so as an event, which ends the process if nobody hears it. */
function survive(pool: Pool, log: Log): void {
  const note = (error: Error) => log("debug", "a connection to PostgreSQL broke", { error });
  pool.on("error", note);
  pool.on("connect", (client: PoolClient) => client.on("error", note));
}

/** Where a host has several addresses, the error has no message but those it is made of. */
function reasonOf(error: unknown): string {
  const [first = error] = error instanceof AggregateError ? error.errors : [];
  return first instanceof Error ? first.message : String(first);
}

/** "twin": the lock that processes starting at once take in turn. */
const migrationLock = 0x7477696e;

/** In another encoding texts would be cut within characters, or refused: PostgreSQL counts what it knows as one. */
async function requireUtf8(client: Client): Promise<void> {
  const { rows } = await client.query("SHOW server_encoding");
  const encoding = String(rows[0]?.server_encoding);
  if (encoding !== "UTF8") throw new Error(`its encoding is ${encoding}; make one with ENCODING 'UTF8'`);
}

/** Without time-outs: a long table takes its time, and whoever waits for the lock waits for that. */
async function migrate(client: Client): Promise<void> {
  client.on("error", () => {}); // a connection that breaks; its query tells so, too
  try {
    await client.connect();
    await requireUtf8(client);
    await client.query("BEGIN");
    await client.query("SET LOCAL statement_timeout = 0");
    await client.query(`SELECT pg_advisory_xact_lock(${migrationLock})`);
    await client.query("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)");
    const { rows } = await client.query("SELECT version FROM schema_version");
    const steps = migrationsFrom(Number(rows[0]?.version ?? 0), postgresDialect);
    for (const step of steps) await client.query(step);
    await client.query(createBuckets);
    if (steps.length > 0) {
      await client.query("DELETE FROM schema_version");
      await client.query(`INSERT INTO schema_version (version) VALUES (${schemaVersion})`);
    }
    await client.query("COMMIT");
  } finally {
    await client.end(); // with whatever is left of a transaction that failed
  }
}
