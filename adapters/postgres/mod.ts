/**
 * The store, and hourly limits, in PostgreSQL (15 or newer): for any number of processes.
 *
 * @module
 */

import { type Log, noLog } from "../../core/base/log.ts";
import {
  logRule,
  objectWith,
  optional,
  type RulesFor,
  requireAddress,
  requireOptions,
} from "../../core/base/rules.ts";
import type { RateLimiter } from "../../core/limits/token-bucket.ts";
import type { Store } from "../../core/store/store.ts";
import { readLongTextsInTurn } from "../sql/fair-reads.ts";
import { createSqlStore } from "../sql/store.ts";
import { openConnections } from "./connections.ts";
import { createPostgresDriver } from "./driver.ts";
import { createPostgresLimiter } from "./limiter.ts";
import { openSignals } from "./signals.ts";

/** What {@link openPostgres} opens. `await using` closes it. */
export interface Postgres extends AsyncDisposable {
  /** Its signals reach all processes that use this database, and its clock is that of the database. */
  readonly store: Store & AsyncDisposable;
  /** The same buckets for all processes on this database, on the database's clock. */
  readonly limiter: RateLimiter;
  /** Waits for running operations, then closes the connections. */
  close(): Promise<void>;
}

/** Options of {@link openPostgres}. */
export interface PostgresOptions {
  /**
   * The maximum number of connections for the store, at least 1. Default 10. In addition, there is one for listening to
   * signals, and two for limits.
   */
  readonly maxConnections?: number | undefined;
  /** Default: silence. */
  readonly log?: Log | undefined;
  /** Cancels the opening, even while it waits for another process: it then rejects and leaves nothing open. */
  readonly signal?: AbortSignal | undefined;
}

const rules: RulesFor<PostgresOptions> = {
  maxConnections: optional({
    expected: "a whole number from 1",
    accepts: (value) => Number.isInteger(value) && Number(value) >= 1,
  }),
  log: optional(logRule),
  signal: optional(objectWith("an AbortSignal", "addEventListener", "removeEventListener")),
};

/**
 * Connects to a database and brings its tables up to date. Several processes may do so at the same time. Rejects with a
 * one-line error if the database cannot be reached, or if this version cannot use or change its tables, and with a `TypeError` for an
 * empty address, or an option that is unknown or cannot be used.
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
  requireAddress("openPostgres", "postgres://twins@127.0.0.1/twins", url);
  requireOptions("openPostgres", options, rules);
  const { maxConnections = 10, log = noLog, signal } = options;
  const connections = await openConnections(url, { log, signal });
  const { clock } = connections;
  const pool = connections.createPool(maxConnections, 60_000);
  // Never closed when idle, because reconnecting may take long just when many requests arrive.
  const limits = connections.createPool(limitConnections, 0);
  const signals = openSignals({ connect: connections.createClient, pool, clock, log });
  const store = readLongTextsInTurn(
    createSqlStore(createPostgresDriver(pool), { exclusive: false }),
    maxConnections,
  );
  async function close(): Promise<void> {
    await signals.close();
    await store.close();
    if (!limits.ending) await limits.end();
    await connections.close();
  }
  const closing = { close, [Symbol.asyncDispose]: close };
  return {
    store: { ...store, signals, clock, ...closing },
    limiter: createPostgresLimiter(limits, log),
    ...closing,
  };
}

/** One for takes, which are batched; one for peeks and for sweeping. */
const limitConnections = 2;
