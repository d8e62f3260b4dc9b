/**
 * Copies a SQLite file into PostgreSQL, for a server that has outgrown the file.
 *
 * @module
 */

import { access } from "node:fs/promises";
import process from "node:process";
import { type CopyProgress, copyRecords, hasRecords, type RunSql } from "../../adapters/sql/copy.ts";
import type { SqlDriver, SqlRow } from "../../adapters/sql/driver.ts";
import { codeOf } from "../../adapters/system.ts";
import type { Log } from "../../core/base/log.ts";
import type { CommandConfig } from "../command-line.ts";
import { openLog } from "../log.ts";
import { ConfigError, nameOf } from "../settings.ts";
import { blame, innermost, withoutCredentials } from "../storage.ts";

/** What is copied, and where to. */
interface CopyRequest {
  /** The path of the SQLite file. */
  readonly from: string;
  /** The address of a PostgreSQL database without records. */
  readonly to: string;
}

/** Where the copy reports its progress. */
interface CopyOutput {
  readonly log: Log;
  /** Called with a line about the progress, once a second. */
  readonly show: (line: string) => void;
}

/**
 * Copies all records, or changes nothing. Resolves with a line that says what was copied, and rejects with one that says
 * what was wrong.
 */
async function copyDatabase({ from, to }: CopyRequest, { log, show }: CopyOutput): Promise<string> {
  const source = await openSource(from, log).catch(blame("--from"));
  try {
    // A wrong path would otherwise be noticed only when clients miss everything.
    if (!(await hasRecords(source.all))) throw new ConfigError(`--from: ${from} has no records.`);
    const target = await beginTarget(to, log).catch(blame(nameOf("database")));
    try {
      if (await hasRecords(target.run)) {
        const problem = "has records already; use a new database";
        throw new ConfigError(`${nameOf("database")}: ${withoutCredentials(to)} ${problem}.`);
      }
      return await copyAll(source, target, { from, to }, show);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** Opens a file that exists: it would be created otherwise. */
async function openSource(path: string, log: Log): Promise<SqlDriver> {
  await access(path).catch((cause: unknown) => {
    throw new Error(`${path} cannot be read (${codeOf(cause)}).`, { cause });
  });
  const { openSqliteDatabase } = await import("../../adapters/sqlite/file.ts");
  return openSqliteDatabase(path, log);
}

/** How long a statement of a copy may take, in milliseconds: texts may be long, and the network slow. */
const statementMs = 600_000;

/** One transaction, so that a copy that breaks off leaves nothing behind. */
interface CopyTransaction {
  readonly run: RunSql;
  commit(): Promise<void>;
  /** Closes the connection. What is not committed is rolled back. */
  close(): Promise<void>;
}

async function beginTarget(url: string, log: Log): Promise<CopyTransaction> {
  const { openConnections } = await import("../../adapters/postgres/connections.ts");
  const { prepared } = await import("../../adapters/postgres/driver.ts");
  const connections = await openConnections(url, { log, statementMs });
  const client = connections.createClient();
  client.on("error", () => {}); // of a broken connection; its queries reject, too
  await client.connect();
  await client.query("BEGIN");
  return {
    run: async (sql, params) => (await client.query<SqlRow>(prepared(sql, params))).rows,
    async commit() {
      await client.query("COMMIT");
    },
    async close() {
      await Promise.all([client.end(), connections.close()]);
    },
  };
}

/** Pause between two lines of progress, in milliseconds. */
const progressMs = 1000;

/** What is said of a copy, by table. The other tables only support these. */
const nouns = new Map([
  ["conversations", "conversations"],
  ["messages", "messages"],
  ["api_keys", "API keys"],
  ["twin_versions", "versions of own twins"],
  ["webhooks", "webhooks"],
]);

/** Copies everything, and returns what that was. */
async function copyAll(
  source: SqlDriver,
  target: CopyTransaction,
  { from, to }: CopyRequest,
  show: (line: string) => void,
): Promise<string> {
  const places = `from ${from} to ${withoutCredentials(to)}`;
  const counts = new Map<string, number>();
  let shownAt = performance.now();

  function report({ table, copied, total }: CopyProgress): void {
    const noun = nouns.get(table);
    if (noun === undefined) return;
    counts.set(noun, copied);
    if (performance.now() - shownAt < progressMs) return;
    shownAt = performance.now();
    show(`${noun} ${shown(copied)} of ${shown(total)}`);
  }

  try {
    await copyRecords(source.all, target.run, report);
    await target.commit();
  } catch (cause) {
    throw new Error(`The copy ${places} failed: ${innermost(cause)}.`, { cause });
  }
  const copied = Array.from(counts, ([noun, count]) => `${noun} ${shown(count)}`).join(", ");
  return `Copied ${places}: ${copied}.`;
}

function shown(count: number): string {
  return count.toLocaleString("en-US");
}

/** Copies, and says how far it is. */
export async function copy({ settings, ...request }: CommandConfig<"copy">): Promise<void> {
  const show = (line: string) => void process.stderr.write(`${line}\n`);
  process.stdout.write(`${await copyDatabase(request, { log: openLog(settings), show })}\n`);
}
