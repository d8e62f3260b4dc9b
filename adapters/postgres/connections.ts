/**
 * Connections to a PostgreSQL database whose tables are up to date.
 *
 * @module
 */

import type { Client, ClientBase, Pool, PoolClient, PoolConfig } from "pg";
import { longestTimerMs } from "../../core/base/clock.ts";
import type { Log } from "../../core/base/log.ts";
import {
  type FoundSchema,
  logUpgrade,
  planUpgrade,
  postgresDialect,
  RefusedSchema,
  type Step,
} from "../sql/schema.ts";
import { codeOf } from "../system.ts";
import { type Address, readAddress, withTlsMode } from "./address.ts";
import { DatabaseClock } from "./clock.ts";
import { isLostStatement, poolerProblem, replaceConnection, wasGivenUp } from "./driver.ts";
import { addressesOf, Primary } from "./hosts.ts";
import { createSockets, type Sockets } from "./sockets.ts";

/** Ways to connect to one database. */
export interface Connections {
  /** Opens connections when they are needed, at most `max`, and closes those that were idle for `idleMs` (0: none). */
  createPool(max: number, idleMs: number): Pool;
  /** One connection that is not connected yet. */
  createClient(): Client;
  /** The database's, measured as it was opened. */
  readonly clock: DatabaseClock;
  /** Resolves once the connections of all pools and clients, which are ending, are closed. */
  close(): Promise<void>;
}

/** Options of {@link openConnections}. */
export interface ConnectionsOptions {
  readonly log: Log;
  /** Cancels the opening, even while it waits for another process. */
  readonly signal?: AbortSignal | undefined;
  /** How long a statement may take, in milliseconds. Default 5000. */
  readonly statementMs?: number | undefined;
  /** The steps that lead to its tables. Default: this version's. */
  readonly steps?: readonly Step[];
}

/**
 * Brings a database's tables up to date. Several processes may do so at the same time. Rejects with a one-line error if
 * the database cannot be reached, or if this version cannot use or change its tables.
 */
export async function openConnections(url: string, options: ConnectionsOptions): Promise<Connections> {
  const { log, signal, statementMs = 5000, steps } = options;
  const { default: pg } = await import("pg").catch((cause: unknown) => {
    throw new Error("PostgreSQL needs the package pg: npm install pg", { cause });
  });
  const sockets = createSockets();
  const clock = new DatabaseClock();
  const usual: PoolConfig = {
    stream: sockets.open,
    application_name: "twin-service",
    statement_timeout: statementMs,
    idle_in_transaction_session_timeout: 2 * statementMs, // a process that hangs must not hold locks
    query_timeout: statementMs + 2000, // for a server that does not even report the statement's timeout
    keepAlive: true,
    pipeline: true,
  };
  async function open() {
    const address = readAddress(url);
    const config: PoolConfig = {
      ...usual,
      connectionTimeoutMillis: address.connectMs ?? 2000, // also for waiting for a free connection of the pool
      enableChannelBinding: address.bindsChannel,
    };
    const clientOf = (connectionString: string) =>
      new pg.Client({ ...config, connectionString, pipeline: false }); // so that its end does not wait for a query that hangs
    const primary = new Primary(await settleTls(address, clientOf), clientOf, log);
    await primary.find();
    const { isPooled } = await migrate(clientOf(primary.address), { log, signal, sockets, steps, clock });
    if (isPooled) await requirePreparedStatements(() => clientOf(primary.address));
    return { config, primary };
  }

  const { config, primary } = await open().catch(async (error: unknown) => {
    await sockets.close();
    throw new Error(`The PostgreSQL database cannot be used: ${reasonOf(error)}`, { cause: error });
  });
  const pools: Pool[] = [];
  const pooled = new Set<PoolClient>();
  const single = new Set<Client>();
  primary.watch(() => {
    for (const pool of pools) pool.options.connectionString = primary.address; // of new connections
    // The other host may still take writes, which would be lost.
    for (const client of pooled) replaceConnection(client);
    for (const client of single) void client.end().catch(() => {}); // its user makes another
  });
  return {
    clock,
    createPool(max, idleTimeoutMillis) {
      const pool = new pg.Pool({ ...config, connectionString: primary.address, max, idleTimeoutMillis });
      setUp(pool, log);
      pool.on("connect", (client) => pooled.add(client)).on("remove", (client) => pooled.delete(client));
      pools.push(pool);
      return pool;
    },
    createClient() {
      const client = new pg.Client({ ...config, connectionString: primary.address });
      client.once("connect", () => setKeepAlives(client, log));
      single.add(client);
      client.once("end", () => single.delete(client));
      return client;
    },
    close() {
      primary.stop();
      return sockets.close();
    },
  };
}

/**
 * Reads an address. Where TLS is left to the server (`sslmode=prefer`, `allow`), asks it first. `connect`: makes a client that
 * is not connected yet.
 */
async function settleTls(address: Address, connect: (url: string) => Client): Promise<readonly string[]> {
  const urls = addressesOf(address.url) ?? [address.url];
  if (!address.tlsModes) return urls;
  const [first, second] = address.tlsModes;
  const [host = ""] = urls;
  const isRefused = await refuses(connect(withTlsMode(host, first)));
  return urls.map((url) => withTlsMode(url, isRefused ? second : first));
}

/** Whether a server takes no connection that is encrypted, or not encrypted, as this one is. Any other problem comes up again. */
async function refuses(client: Client): Promise<boolean> {
  client.on("error", () => {});
  try {
    await client.connect();
    return false;
  } catch (error) {
    return (
      codeOf(error) === "28000" || (error instanceof Error && /does not support SSL/.test(error.message))
    );
  } finally {
    void client.end().catch(() => {});
  }
}

/**
 * Fails where a pooler gives each transaction another connection, without preparing statements there again. Otherwise
 * requests would be 500, one in a few.
 */
async function requirePreparedStatements(connect: () => Client): Promise<void> {
  const clients = [connect(), connect()];
  try {
    for (const client of clients) {
      client.on("error", () => {});
      await client.connect();
    }
    for (const number of [0, 1, 0, 1]) {
      const text = `SELECT ${number} AS number`;
      const answer = await clients[number]?.query({ name: "twins_probe", text });
      if (Number(answer?.rows[0]?.number) !== number) throw new Error(poolerProblem);
    }
  } catch (error) {
    throw isLostStatement(error) ? new Error(poolerProblem, { cause: error }) : error;
  } finally {
    for (const client of clients) void client.end().catch(() => {});
  }
}

/**
 * The isolation level that the statements are written for, which may not be the database's default: at a higher level,
 * concurrent ones fail, and a process that waited for another's migration would not see its tables.
 */
const readCommitted = "SET default_transaction_isolation = 'read committed'";

/**
 * Makes PostgreSQL notice within two minutes that a process is gone whose machine or network has failed. By default, its
 * connections would count among `max_connections` for two hours, and its successors might get none.
 */
const keepAlives = `SELECT set_config('tcp_keepalives_idle', '60', false),
  set_config('tcp_keepalives_interval', '10', false), set_config('tcp_keepalives_count', '3', false)`;

function setKeepAlives(client: ClientBase, log: Log): void {
  client
    .query(keepAlives)
    .catch((error: unknown) => log("debug", "PostgreSQL's keep-alives were not set", { error }));
}

/** A broken connection also emits an error event, which would end the process without a listener. */
function setUp(pool: Pool, log: Log): void {
  const note = (error: Error) => log("debug", "a connection to PostgreSQL broke", { error });
  pool.on("error", note);
  pool.on("connect", (client: PoolClient) => {
    client.on("error", note);
    client.query(readCommitted).catch(note); // goes first
    setKeepAlives(client, log);
  });
}

/** If a host has several addresses, only the aggregated errors have messages. */
function reasonOf(error: unknown): string {
  if (wasGivenUp(error)) return "it does not answer.";
  if (error instanceof RefusedSchema) return `it ${error.message}.`;
  const [first = error] = error instanceof AggregateError ? error.errors : [];
  const message = first instanceof Error ? first.message : String(first);
  if (/unsupported startup parameter/.test(message)) {
    const needed = "ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout";
    return `${message}. PgBouncer needs ${needed}; or give the address of PostgreSQL itself, without a pooler`;
  }
  if (codeOf(first) === "42501")
    return `${message}. The first process of a version needs the role that owns the tables`;
  return /client password must be/.test(message)
    ? "it requires a password, but the address has none."
    : message;
}

/** "twin": the lock that processes take in turn when several start. */
const migrationLock = 0x7477696e;

/**
 * Pause between two attempts to take the lock, in milliseconds. Waiting in the database would not notice a server that
 * fell silent.
 */
const lockPauseMs = 100;

/** How long to try before this is logged, in milliseconds. */
const tellWaitingMs = 2000;

/**
 * Brings the tables up to date, in a transaction that is rolled back if it fails or is cancelled. Resolves with whether there
 * is a pooler in between: it gives the number of another process than the one that works.
 */
async function migrate(
  client: Client,
  { log, signal, sockets, steps, clock }: Migration,
): Promise<{ isPooled: boolean }> {
  client.on("error", () => {}); // a broken connection, whose query rejects, too
  signal?.throwIfAborted();
  signal?.addEventListener("abort", sockets.destroy);
  try {
    await client.connect();
    await client.query(readCommitted);
    // In other encodings, PostgreSQL would count characters differently, and cut or refuse texts.
    const { rows: settings } = await client.query("SHOW server_encoding");
    const encoding = String(settings[0]?.server_encoding);
    if (encoding !== "UTF8") throw new Error(`its encoding is ${encoding}; create one with ENCODING 'UTF8'`);
    await client.query("BEGIN");
    await client.query(markAsStarting);
    await takeLock(client, log);
    await client.query("SET LOCAL statement_timeout = 0");
    const upgrade = planUpgrade(await findSchema(client), postgresDialect, steps);
    if (upgrade.isAlone) await requireAlone(client);
    for (const statement of upgrade.statements) await client.query(unhurried(statement));
    // Written even if nothing changed, so that a database that accepts no writes, such as a standby, is noticed here.
    await client.query("DELETE FROM schema_version");
    const { version, oldest } = upgrade;
    await client.query("INSERT INTO schema_version (version, oldest) VALUES ($1, $2)", [version, oldest]);
    await client.query(unhurried("COMMIT"));
    logUpgrade(upgrade, log);
    await clock.measure((sql) => client.query(sql));
    const { rows: workers } = await client.query("SELECT pg_backend_pid() AS number");
    return { isPooled: workers[0]?.number !== Reflect.get(client, "processID") };
  } finally {
    signal?.removeEventListener("abort", sockets.destroy);
    await Promise.all([client.end(), sockets.close()]); // also rolls back a transaction that failed
  }
}

/** Reads the version, for which it makes a place in an empty database. */
async function findSchema(client: Client): Promise<FoundSchema> {
  // `IF NOT EXISTS` would always need a role that may create tables.
  const { rowCount } = await client.query(
    "SELECT FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'schema_version'",
  );
  if (rowCount === 0) await client.query("CREATE TABLE schema_version (version INTEGER NOT NULL)");
  const { rows } = await client.query("SELECT * FROM schema_version");
  const { version = 0, oldest } = rows[0] ?? {};
  const { rows: definitions } = await client.query(`SELECT table_name || '.' || column_name AS name
      FROM information_schema.columns WHERE table_schema = current_schema()
    UNION ALL SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()`);
  return {
    version: Number(version),
    ...(typeof oldest === "number" && { oldest }),
    definitions: definitions.map(({ name }) => String(name)),
  };
}

/** Tells a process that brings the tables up to date, or waits for that, from those that use them. */
const markAsStarting = `SELECT set_config('application_name', current_setting('application_name') || ', starting', true)`;

/** Processes that use the tables: each listens to signals on a connection that stays. */
const countUsers = `SELECT count(*) AS users FROM pg_stat_activity WHERE datname = current_database()
  AND pid <> pg_backend_pid() AND left(application_name || ', starting', 63) = current_setting('application_name')`;

/** How long a process that starts may take to be marked as that, in milliseconds. */
const markingMs = 1000;

/** Refuses to change tables that others use who could not go on. */
async function requireAlone(client: Client): Promise<void> {
  for (const since = performance.now(); ; ) {
    await client.query("SELECT pg_stat_clear_snapshot()"); // of this transaction
    const { rows } = await client.query(countUsers);
    const users = Number(rows[0]?.users);
    if (users === 0) return;
    if (performance.now() - since >= markingMs) {
      throw new RefusedSchema(
        `is in use by processes of an earlier version (connections: ${users}), which cannot go on beside this one; ` +
          "stop them first",
      );
    }
    await new Promise((resolve) => setTimeout(resolve, lockPauseMs));
  }
}

interface Migration {
  readonly log: Log;
  readonly signal: AbortSignal | undefined;
  /** Only this connection's so far. */
  readonly sockets: Sockets;
  readonly steps: readonly Step[] | undefined;
  readonly clock: DatabaseClock;
}

/** A statement that may take as long as a timer can run, because large tables take long to migrate. */
function unhurried(text: string) {
  return { text, query_timeout: longestTimerMs };
}

/** Takes the lock for the rest of the transaction, once no other process has it. */
async function takeLock(client: Client, log: Log): Promise<void> {
  const since = performance.now();
  for (let told = false; ; ) {
    const { rows } = await client.query(`SELECT pg_try_advisory_xact_lock(${migrationLock}) AS taken`);
    if (rows[0]?.taken) return;
    if (!told && performance.now() - since >= tellWaitingMs) {
      log("warn", "waiting for another process that is bringing the database's tables up to date");
      told = true;
    }
    await new Promise((resolve) => setTimeout(resolve, lockPauseMs));
  }
}
