/**
 * SQLite files for tests, and other processes that use them.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { migrationsFrom, schemaVersion, sqliteDialect } from "../../adapters/sql/schema.ts";
import type { SqliteConnection } from "../../adapters/sqlite/connection.ts";
import type { WriteAheadLog } from "../../adapters/sqlite/disk.ts";
import { openSqliteFile } from "../../adapters/sqlite/file.ts";
import type { ConversationRecord } from "../../core/store/records.ts";
import { conversation } from "../contracts/store-records.ts";
import { limitedTime } from "../support/child-process.ts";

/** One of Alice's conversations. */
export const firstConversation: ConversationRecord = conversation("alice", { id: "conv_1" });

/** The folder that other processes run in. */
export const project = fileURLToPath(new URL("../..", import.meta.url));

/** A folder for a test file's databases. */
export interface Folder {
  readonly path: string;
  /** The path of a file that does not exist yet. */
  newPath(): string;
  remove(): Promise<void>;
}

export async function makeFolder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), "twins-sqlite-"));
  let files = 0;
  return {
    path,
    newPath() {
      files++;
      return join(path, `${files}.db`);
    },
    remove: () => rm(path, { recursive: true }),
  };
}

/** Opens a store's file as `openSqlite` does, and returns its connection. */
export async function openConnection(path: string): Promise<SqliteConnection> {
  return openSqliteFile(path, {
    applicationId: 1,
    version: schemaVersion,
    migrationsFrom: (version) => migrationsFrom(version, sqliteDialect),
  });
}

/** A log whose syncs complete at once. */
export const quickDisk: WriteAheadLog = { sync: async () => {}, close() {} };

/**
 * The command line of another process that runs `code`, which may use `openSqlite`, `createMemoryLimiter`, `path`,
 * `conversation(number)` and `say(line)`.
 */
export function commandLine(path: string, code: string): [program: string, parameters: string[]] {
  const script = `
    import { writeSync } from "node:fs";
    import { openSqlite } from "./adapters/sqlite/mod.ts";
    import { createMemoryLimiter } from "./core/limits/memory-limiter.ts";
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
  return [process.execPath, ["--import", "tsx", "--input-type=module", "--eval", script]];
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
