/**
 * A scratch database on the machine's PostgreSQL, for tests. `TEST_DATABASE_URL` names another server.
 */

import { randomBytes } from "node:crypto";
import { after, before } from "node:test";
import pg from "pg";

const server = process.env.TEST_DATABASE_URL ?? "postgres://postgres@127.0.0.1:5432/postgres";

/** How long PostgreSQL may take to answer on a busy machine, in milliseconds; where there is none, it is refused at once. */
const answerMs = 20_000;

/** Why PostgreSQL cannot be tested here, or false. For `describe(…, { skip })`. */
export async function skipWithoutPostgres(): Promise<string | false> {
  const client = new pg.Client({ connectionString: server, connectionTimeoutMillis: answerMs });
  try {
    await client.connect();
    return false;
  } catch (error) {
    return `no PostgreSQL at ${new URL(server).host}: ${(error as Error).message || (error as { code?: string }).code}`;
  } finally {
    await client.end();
  }
}

/** One connection to a database, for what only an administrator does. */
export async function connect(url: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {}); // tests end connections on purpose
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

/**
 * A pool of a test's own. Its `end` resolves before its connections are closed: if the database is dropped from under
 * them, they emit errors, and so does the pool.
 */
export function openPool(url: string, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, pipeline: true, ...options });
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/** A new, empty database, which its holder drops. */
export interface ScratchDatabase extends AsyncDisposable {
  readonly url: string;
  drop(): Promise<void>;
}

export async function createDatabase(on = server): Promise<ScratchDatabase> {
  const name = `twins_test_${randomBytes(6).toString("hex")}`;
  const client = await connect(on);
  await client.query(`CREATE DATABASE ${name}`);
  const url = new URL(on);
  url.pathname = `/${name}`;
  async function drop(): Promise<void> {
    await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await client.end();
  }
  return { url: url.href, drop, [Symbol.asyncDispose]: drop };
}

/** A database for all tests of the suite that calls this, which makes it and drops it. */
export function sharedDatabase(): { readonly url: string } {
  let url = "";
  let drop = async () => {};
  before(async () => {
    ({ url, drop } = await createDatabase());
  });
  after(() => drop());
  return {
    get url() {
      return url;
    },
  };
}
