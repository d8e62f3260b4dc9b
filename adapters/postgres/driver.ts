/**
 * The SQL store's driver for PostgreSQL, on a pool of connections of the package `pg`.
 *
 * @module
 */

import { performance } from "node:perf_hooks";
import { setTimeout } from "node:timers";
import type { ClientBase, Pool, PoolClient, QueryConfig } from "pg";
import { InFlight } from "../../core/base/clock.ts";
import { StoreUnavailable } from "../../core/store/store.ts";
import type { BatchResult, SqlDriver, SqlRow, SqlStatement, SqlValue } from "../sql/driver.ts";
import { codeOf } from "../system.ts";

/** How often a transaction is repeated that had no effect: it lost against another, or its connection only reads. */
const maxRetries = 3;

/**
 * A driver for a pool whose connections are in pipeline mode. A batch takes three round trips: BEGIN, its statements,
 * then COMMIT or ROLLBACK. A single statement is a transaction by itself, in one.
 */
export function createPostgresDriver(pool: Pool): SqlDriver {
  const inFlight = new InFlight(); // what `close` waits for

  async function track<Result>(work: Promise<Result>): Promise<Result> {
    inFlight.track(work);
    try {
      return await work;
    } catch (error) {
      throw toStoreError(error);
    }
  }

  async function runBatch(statements: readonly SqlStatement[], retries: number): Promise<BatchResult> {
    const [first] = statements;
    try {
      if (first && statements.length === 1 && first.expect === undefined) {
        return { committed: true, rows: [await queryOn(pool, first.sql, first.params)] };
      }
      return await withClient(pool, (client) => runTransaction(client, statements));
    } catch (error) {
      const isRepeated = isServerError(error) && ["40001", "40P01", readOnly].includes(error.code);
      if (retries > 0 && isRepeated) return runBatch(statements, retries - 1);
      throw error;
    }
  }

  return {
    all: (sql, params) => track(queryOn(pool, sql, params)),
    batch: (statements) => track(runBatch(statements, maxRetries)),
    async close() {
      await inFlight.idle();
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

/** Lends a connection of the pool. One that is broken, or has an open transaction, does not go back. */
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
    client.release(!isServerError(error) || isOver(error) || unended.has(client));
    throw error;
  }
}

/** Connections whose transaction may still be open, because its end failed: it may have been cancelled. */
const unended = new WeakSet<PoolClient>();

/** Connections that are not used again, such as those to a host that is the primary no longer. */
const outdated = new WeakSet<ClientBase>();

/** Has a connection replaced as soon as it is not in use. */
export function replaceConnection(client: ClientBase): void {
  outdated.add(client);
}

/** When a connection last answered. New connections are not in here. */
const answeredAt = new WeakMap<PoolClient, number>();

/** When the last unanswered call began. */
const silentSince = new WeakMap<Pool, number>();

/**
 * A connection of the pool. After one fell silent, as in a failover, those that have not answered since are replaced by
 * new ones, instead of being tried one after the other, for 7 seconds each.
 */
async function takeClient(pool: Pool): Promise<PoolClient> {
  for (;;) {
    const client = await connectPatiently(pool);
    const answered = answeredAt.get(client) ?? Number.POSITIVE_INFINITY;
    if (!outdated.has(client) && answered >= (silentSince.get(pool) ?? 0)) return client;
    client.release(true);
  }
}

/** How often a connection is tried that this process was too busy to make in time. */
const busyAttempts = 5;

/** The share of time for which a process has work that counts as busy. One that waits for a silent server is idle. */
const busyShare = 0.8;

/**
 * A connection of the pool, tried again if this process had too much else to do to notice the answers in time: that is
 * not the database's fault, and a process that then limited alone would admit twice as many. Deno and Bun do not tell.
 */
async function connectPatiently(pool: Pool, attempts = busyAttempts): Promise<PoolClient> {
  const before = performance.eventLoopUtilization();
  try {
    return await pool.connect();
  } catch (error) {
    if (isServerError(error) && error.code === tooManyConnections && shrink(pool))
      return connectPatiently(pool);
    const isBusy = performance.eventLoopUtilization(before).utilization > busyShare;
    // A connection was not made, or none became free, within `connectionTimeoutMillis`.
    const isLate =
      error instanceof Error && /due to connection timeout$|^timeout exceeded/.test(error.message);
    if (attempts > 1 && isBusy && isLate) return connectPatiently(pool, attempts - 1);
    throw error;
  }
}

/** PostgreSQL has as many connections as it, the database or the role may have. */
const tooManyConnections = "53300";

/** How long a pool stays smaller, in milliseconds. */
const shrunkMs = 60_000;

/**
 * Has requests wait for the connections that a pool has, as they would if it were no larger. False: it has none, so that
 * there is nothing to wait for.
 */
function shrink(pool: Pool): boolean {
  const { options, totalCount } = pool;
  if (totalCount < 1) return false;
  if (!shrunk.has(pool)) {
    const { max } = options;
    shrunk.add(pool);
    setTimeout(() => {
      options.max = max;
      shrunk.delete(pool);
    }, shrunkMs).unref();
  }
  options.max = Math.min(options.max, totalCount);
  return true;
}

const shrunk = new WeakSet<Pool>();

async function runTransaction(client: PoolClient, statements: readonly SqlStatement[]): Promise<BatchResult> {
  const pending = statements.map(({ sql, params }) => prepared(sql, params));
  // Not in one pipeline with the statements: if it failed, each of them would be committed by itself.
  await client.query("BEGIN");
  const settled = await Promise.allSettled(pending.map((each) => client.query<SqlRow>(each)));
  const rows: (readonly SqlRow[])[] = [];
  // In order: a missed expectation comes before the errors that follow from it.
  for (const [index, result] of settled.entries()) {
    if (result.status === "rejected") {
      if (isServerError(result.reason) && !isOver(result.reason)) await endTransaction(client, "ROLLBACK");
      throw result.reason;
    }
    const expected = statements[index]?.expect;
    if (expected !== undefined && result.value.rowCount !== expected) {
      await endTransaction(client, "ROLLBACK");
      return { committed: false, failed: index };
    }
    rows.push(result.value.rows);
  }
  await endTransaction(client, "COMMIT");
  return { committed: true, rows };
}

async function endTransaction(client: PoolClient, command: "COMMIT" | "ROLLBACK"): Promise<void> {
  try {
    const ended = await client.query(command);
    if (ended.command !== command) throw new Error(`PostgreSQL answered ${command} with ${ended.command}.`);
  } catch (error) {
    unended.add(client);
    throw error;
  }
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

/** Whether PostgreSQL itself reported the error. Anything else means that it cannot be reached. */
function isServerError(error: unknown): error is ServerError {
  return error instanceof Error && "severity" in error && "code" in error;
}

/**
 * Whether the connection ends with this error, or should. When a server has become read-only, its address may by now
 * lead to one that accepts writes, but a busy connection would stay with the first.
 */
function isOver({ code }: ServerError): boolean {
  return code.startsWith("57P") || code.startsWith("08") || ["25P03", "25P04", readOnly].includes(code);
}

/** A write on a connection that only reads, such as one from before a failover. Another one may lead to the primary. */
const readOnly = "25006";

/** Whether `query_timeout` was over. */
export function wasGivenUp(error: unknown): boolean {
  return error instanceof Error && error.message === "Query read timeout";
}

/** Whether a connection broke while it was used, or should be closed. Another one may work immediately. */
export function brokeConnection(error: unknown): boolean {
  if (isServerError(error)) return isOver(error);
  if (!(error instanceof Error)) return false;
  const isLost = ["ECONNRESET", "EPIPE", "ECONNABORTED"].includes(codeOf(error) ?? ""); // the last on Windows
  return isLost || error.message === "Connection terminated unexpectedly";
}

/**
 * Connection lost, login refused, a database that is away or accepts no connections (55000), out of resources, a disk
 * that fails, server stopping or starting, a statement, transaction or pause that took too long, a server that became
 * a standby.
 */
const passing = /^(?:08|28|3D|53|55000|55P03|57P|57014|58|25006|25P03|25P04|40001|40P01)/;

/** Whether a prepared statement exists already, or does not exist. */
export function isLostStatement(error: unknown): boolean {
  return isServerError(error) && ["42P05", "26000"].includes(error.code);
}

/** What that means. */
export const poolerProblem =
  "A pooler in front of PostgreSQL mixes up prepared statements: in transaction mode, PgBouncer needs version 1.21 " +
  "and max_prepared_statements = 200.";

/** The error for the store's port: a {@link StoreUnavailable} if trying again later makes sense. */
export function toStoreError(error: unknown): unknown {
  if (isLostStatement(error)) return new Error(poolerProblem, { cause: error });
  if (isServerError(error) && !passing.test(error.code)) return error;
  return new StoreUnavailable("The database cannot be reached right now.", { cause: error });
}
