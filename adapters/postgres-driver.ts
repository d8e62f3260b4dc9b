/**
 * The SQL store's driver for PostgreSQL, on a pool of connections of the package `pg`.
 *
 * @module
 */

import type { Pool, PoolClient, QueryConfig } from "pg";
import { StoreUnavailable } from "../core/store.ts";
import { Underway } from "../core/underway.ts";
import type { BatchOutcome, SqlDriver, SqlRow, SqlStatement, SqlValue } from "./sql-driver.ts";

/** How often a transaction that lost against another is run again. */
const maxRetries = 3;

/**
 * A driver over a pool whose connections are in pipeline mode. A batch travels in two trips: its statements
 * behind their BEGIN, then COMMIT or ROLLBACK. A single statement is a transaction of its own, in one.
 */
export function createPostgresDriver(pool: Pool): SqlDriver {
  const underway = new Underway(); // what `close` waits for

  async function track<Result>(work: Promise<Result>): Promise<Result> {
    underway.track(work);
    try {
      return await work;
    } catch (error) {
      throw toStoreError(error);
    }
  }

  async function runBatch(statements: readonly SqlStatement[], retries: number): Promise<BatchOutcome> {
    const [first] = statements;
    try {
      if (first && statements.length === 1 && first.expect === undefined) {
        return { committed: true, rows: [await queryOn(pool, first.sql, first.params)] };
      }
      return await withClient(pool, (client) => runTransaction(client, statements));
    } catch (error) {
      if (retries > 0 && lostAgainstAnother(error)) return runBatch(statements, retries - 1);
      throw error;
    }
  }

  return {
    all: (sql, params) => track(queryOn(pool, sql, params)),
    batch: (statements) => track(runBatch(statements, maxRetries)),
    async close() {
      await underway.idle();
      if (!pool.ending) await pool.end();
    },
  };
}

/** Runs one statement on a connection of the pool, prepared there, and returns its rows. */
export function queryOn(
  pool: Pool,
  sql: string,
  params: readonly PostgresValue[],
): Promise<readonly SqlRow[]> {
  return withClient(pool, async (client) => (await client.query<SqlRow>(prepared(sql, params))).rows);
}

/** Lends a connection. One that is of no more use, or in which a transaction is left open, does not come back. */
async function withClient<Result>(pool: Pool, use: (client: PoolClient) => Promise<Result>): Promise<Result> {
  const client = await takeClient(pool);
  const since = performance.now();
  try {
    const result = await use(client);
    answeredAt.set(client, performance.now());
    client.release();
    return result;
  } catch (error) {
    if (wasGivenUp(error)) silentSince.set(pool, since);
    client.release(!isServerError(error) || isOver(error));
    throw error;
  }
}

/** When a connection answered last. One that was just made is not here. */
const answeredAt = new WeakMap<PoolClient, number>();

/** When the last call began that nobody answered. */
const silentSince = new WeakMap<Pool, number>();

/**
 * A connection of the pool. Where one fell silent, as in a failover, those that have not answered since are not tried one
 * after the other, at 7 seconds each: they make room for new ones.
 */
async function takeClient(pool: Pool): Promise<PoolClient> {
  for (;;) {
    const client = await pool.connect();
    const answered = answeredAt.get(client) ?? Number.POSITIVE_INFINITY;
    if (answered >= (silentSince.get(pool) ?? 0)) return client;
    client.release(true);
  }
}

async function runTransaction(
  client: PoolClient,
  statements: readonly SqlStatement[],
): Promise<BatchOutcome> {
  const pending = statements.map(({ sql, params }) => prepared(sql, params));
  const settled = await Promise.allSettled(["BEGIN", ...pending].map((each) => client.query<SqlRow>(each)));
  const rows: (readonly SqlRow[])[] = [];
  // In order: what a statement missed comes before what broke because of it.
  for (const [index, outcome] of settled.entries()) {
    if (outcome.status === "rejected") {
      if (isServerError(outcome.reason) && !isOver(outcome.reason)) await client.query("ROLLBACK");
      throw outcome.reason;
    }
    if (index === 0) continue;
    const expected = statements[index - 1]?.expect;
    if (expected !== undefined && outcome.value.rowCount !== expected) {
      await client.query("ROLLBACK");
      return { committed: false, failed: index - 1 };
    }
    rows.push(outcome.value.rows);
  }
  await client.query("COMMIT");
  return { committed: true, rows };
}

/** A parameter of a statement: PostgreSQL takes lists, too. */
export type PostgresValue = SqlValue | readonly SqlValue[];

const names = new Map<string, string>();

/** A statement that each connection prepares once. */
export function prepared(text: string, params: readonly PostgresValue[]): QueryConfig {
  const name = names.get(text) ?? `twins_${names.size}`;
  names.set(text, name);
  return { name, text, values: [...params] };
}

interface ServerError extends Error {
  readonly code: string;
}

/** Whether PostgreSQL itself refused. Anything else means that it cannot be talked to. */
function isServerError(error: unknown): error is ServerError {
  return error instanceof Error && "severity" in error && "code" in error;
}

/**
 * Whether the connection ends with this error of the server's, or is to: behind one that takes no writes, the address may
 * lead to one that does by now, and as long as there is work the connection would stay with the first.
 */
function isOver({ code }: ServerError): boolean {
  return code.startsWith("57P") || code.startsWith("08") || ["25P03", "25006"].includes(code);
}

/** Whether `query_timeout` was over. */
export function wasGivenUp(error: unknown): boolean {
  return error instanceof Error && error.message === "Query read timeout";
}

/** Whether a connection was lost while it was used, or is to be. Another one may be had at once. */
export function brokeConnection(error: unknown): boolean {
  if (isServerError(error)) return isOver(error);
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? error.code : undefined;
  return code === "ECONNRESET" || code === "EPIPE" || error.message === "Connection terminated unexpectedly";
}

/** Serialization failure, deadlock. */
function lostAgainstAnother(error: unknown): boolean {
  return isServerError(error) && ["40001", "40P01"].includes(error.code);
}

/**
 * Connection gone, log-in refused, out of resources, server stopping or starting, a statement or a pause too
 * long, a server that became a standby.
 */
const passing = /^(?:08|28|53|57P|57014|55P03|25006|25P03|40001|40P01)/;

/** The error as the store's port has it: whether trying again later makes sense. */
export function toStoreError(error: unknown): unknown {
  if (error instanceof StoreUnavailable) return error;
  if (isServerError(error) && !passing.test(error.code)) return error;
  return new StoreUnavailable("The database cannot be reached right now.", { cause: error });
}
