/**
 * A scratch database on the machine's PostgreSQL, for tests. `TEST_DATABASE_URL` names another server.
 */

import { randomBytes } from "node:crypto";
import postgres from "postgres";

const server = process.env.TEST_DATABASE_URL ?? "postgres://postgres@127.0.0.1:5432/postgres";

/** Why PostgreSQL cannot be tested here, or false. For `describe(…, { skip })`. */
export async function skipWithoutPostgres(): Promise<string | false> {
  const sql = postgres(server, { max: 1, connect_timeout: 2 });
  try {
    await sql`SELECT 1`;
    return false;
  } catch (error) {
    return `no PostgreSQL at ${new URL(server).host}: ${(error as Error).message || (error as { code?: string }).code}`;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

/** A new, empty database, and how to be rid of it. */
export async function createDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `twins_test_${randomBytes(6).toString("hex")}`;
  const sql = postgres(server, { max: 1 });
  await sql.unsafe(`CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    async drop() {
      await sql.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
      await sql.end();
    },
  };
}
