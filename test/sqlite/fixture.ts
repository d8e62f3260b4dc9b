/**
 * SQLite files for tests, and other processes that use them.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createSqlStore } from "../../adapters/sql/store.ts";
import { connect, type SqliteConnection } from "../../adapters/sqlite/connection.ts";
import type { WriteAheadLog } from "../../adapters/sqlite/disk.ts";
import { createSqliteDriver } from "../../adapters/sqlite/driver.ts";
import type { ConversationRecord } from "../../core/store/records.ts";
import type { Store } from "../../core/store/store.ts";
import { conversation } from "../contracts/store-records.ts";
import { limitedTime } from "../support/child-process.ts";
import { makeScratch } from "../support/folder.ts";
import { runtime } from "../support/runtime.ts";

/** One of Alice's conversations. */
export const firstConversation: ConversationRecord = conversation("alice", { id: "conv_1" });

/** The folder that other processes run in. */
export const project = fileURLToPath(new URL("../..", import.meta.url));

/** Makes a folder for the databases of a test file, which goes with this process. */
export async function makeFolder() {
  const path = await makeScratch("twins-sqlite");
  let files = 0;
  return {
    path,
    /** The path of a file that does not exist yet. */
    newPath: () => join(path, `${++files}.db`),
  };
}

/** The same connection, which calls `note` with each statement first. What that throws is the statement's error. */
export function watched(connection: SqliteConnection, note: (sql: string) => void): SqliteConnection {
  return {
    ...connection,
    all(sql, params) {
      note(sql);
      return connection.all(sql, params);
    },
    run(sql, params) {
      note(sql);
      return connection.run(sql, params);
    },
  };
}

/** A log whose syncs complete at once. */
export const quickDisk: WriteAheadLog = { sync: async () => {}, close() {} };

/** A log whose sync completes when `finish` is called. */
export function slowDisk() {
  let asked = () => {};
  let finish = () => {};
  return {
    sync: () =>
      new Promise<void>((resolve) => {
        finish = resolve;
        asked();
      }),
    close() {},
    /** Resolves when the next sync begins. */
    asked: () =>
      new Promise<void>((resolve) => {
        asked = resolve;
      }),
    finish: () => finish(),
  };
}

/** A store on such a connection, or on one to a new file, and on such a log. */
export function storeOn(connection: SqliteConnection, log: WriteAheadLog = quickDisk): Store {
  return createSqlStore(createSqliteDriver(connection, log), { exclusive: true });
}

/** Damages the pages of a table, and of its indexes, in a closed file. */
export async function damage(path: string, table: string): Promise<void> {
  const file = await connect(path);
  const roots = file.all("SELECT rootpage FROM sqlite_schema WHERE tbl_name = $1", [table]);
  file.close();
  const bytes = await readFile(path);
  for (const { rootpage } of roots) bytes.fill(0xff, (Number(rootpage) - 1) * 4096, Number(rootpage) * 4096);
  await writeFile(path, bytes);
}

/**
 * The command line of another process that runs `code`, which may use `openSqlite`, `path`, `conversation(number)` and
 * `say(line)`.
 */
export function commandLine(path: string, code: string): [program: string, parameters: string[]] {
  const script = `
    import { writeSync } from "node:fs";
    import { openSqlite } from "./adapters/sqlite/mod.ts";
    const path = ${JSON.stringify(path)};
    const conversation = (n) => ({ ...${JSON.stringify(firstConversation)}, id: "conv_" + n });
    const say = (line) => {
      for (;;) {
        try {
          return void writeSync(1, line + "\\n");
        } catch (error) {
          if (error.code !== "EAGAIN") throw error; // the reader is behind
        }
      }
    };
    ${code}`;
  const flags = runtime === "deno" ? ["eval"] : ["--import", "tsx", "--input-type=module", "--eval"];
  return [process.execPath, [...flags, script]];
}

/** Starts such a process. */
export function startProcess(path: string, code: string): ChildProcess {
  const stdio = ["ignore", "pipe", "inherit"] as const;
  return spawn(...commandLine(path, code), { cwd: project, stdio: [...stdio], ...limitedTime });
}

/** Runs such a process to its end and returns what it printed. */
export function runProcess(path: string, code: string): string {
  return spawnSync(...commandLine(path, code), { cwd: project, encoding: "utf8" }).stdout;
}

/** Reads a process's lines until one equals `line`, then ends the process as `kill -9` does. */
export async function killAfter(child: ChildProcess, line: string): Promise<void> {
  assert.ok(child.stdout);
  const exited = once(child, "exit");
  for await (const read of createInterface({ input: child.stdout })) {
    if (read === line) break;
  }
  child.kill("SIGKILL");
  await exited;
}
