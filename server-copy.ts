/**
 * Copies a database into another one, for a server that grows out of SQLite.
 *
 * @module
 */

import { access } from "node:fs/promises";
import process from "node:process";
import { codeOf } from "./adapters/error-code.ts";
import { type CopyProgress, copyRecords, hasRecords } from "./adapters/sql-copy.ts";
import type { SqlDriver } from "./adapters/sql-driver.ts";
import type { Log } from "./core/log.ts";
import { ConfigError, nameOf, type StoredDatabase, settings } from "./core/settings.ts";
import { blame, innermost, placeOf } from "./server-storage.ts";

/** Where records are copied from, and where to. */
export interface CopyRequest {
  readonly from: StoredDatabase;
  /** It must have no records. */
  readonly to: StoredDatabase;
}

/**
 * Copies all records, showing its progress on stderr. Resolves with a line that says what was copied, and rejects with
 * one that says what was wrong.
 */
export async function copyDatabase({ from, to }: CopyRequest, log: Log): Promise<string> {
  await requireFile(from);
  const source = await openDriver(from, log).catch(blame("--from"));
  try {
    const target = await openDriver(to, log).catch(blame(nameOf(settings.database)));
    try {
      await requireEmpty(to, target);
      const copied = await copyAll(source, target, to);
      return `Copied from ${placeOf(from)} to ${placeOf(to)}: ${copied}.`;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** A SQLite file that does not exist would be created. */
async function requireFile(from: StoredDatabase): Promise<void> {
  if (from.kind !== "sqlite") return;
  await access(from.path).catch((cause: unknown) => {
    throw new ConfigError(`--from: ${from.path} cannot be read (${codeOf(cause)}).`, { cause });
  });
}

async function openDriver(database: StoredDatabase, log: Log): Promise<SqlDriver> {
  if (database.kind === "sqlite") {
    const { openSqliteDatabase } = await import("./adapters/sqlite-database.ts");
    return openSqliteDatabase(database.path, log);
  }
  const { openConnections } = await import("./adapters/postgres-connections.ts");
  const { createPostgresDriver } = await import("./adapters/postgres-driver.ts");
  const connections = await openConnections(database.url, { log });
  const driver = createPostgresDriver(connections.createPool(1, 0));
  return {
    ...driver,
    async close() {
      await driver.close();
      await connections.close();
    },
  };
}

async function requireEmpty(to: StoredDatabase, target: SqlDriver): Promise<void> {
  if (!(await hasRecords(target))) return;
  const problem = `${placeOf(to)} has records already, possibly those of a copy that was broken off`;
  throw new ConfigError(`${nameOf(settings.database)}: ${problem}; copy into a new database.`);
}

/** Pause between two lines of progress, in milliseconds. */
const progressMs = 1000;

/** What is said of a copy, by table. The other tables only support these. */
const nouns = new Map([
  ["conversations", "conversations"],
  ["messages", "messages"],
  ["api_keys", "API keys"],
]);

/** Copies everything, and returns what that was. */
async function copyAll(source: SqlDriver, target: SqlDriver, to: StoredDatabase): Promise<string> {
  const counts = new Map<string, number>();
  let shownAt = performance.now();

  function report({ table, copied, total }: CopyProgress): void {
    const noun = nouns.get(table);
    if (noun === undefined) return;
    counts.set(noun, copied);
    if (performance.now() - shownAt < progressMs) return;
    shownAt = performance.now();
    process.stderr.write(`${noun} ${shown(copied)} of ${shown(total)}\n`);
  }

  await copyRecords(source, target, report).catch((cause: unknown) => {
    const problem = `${placeOf(to)} has only a part of the records; try again with a new database`;
    throw new Error(`The copy broke off (${innermost(cause)}): ${problem}.`, { cause });
  });
  return Array.from(counts, ([noun, count]) => `${noun} ${shown(count)}`).join(", ");
}

function shown(count: number): string {
  return count.toLocaleString("en-US");
}
