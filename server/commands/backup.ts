/**
 * Makes a copy of the SQLite database: by the server that has it open, or in this process if none has.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import type { BackupProgress } from "../../adapters/sqlite/mod.ts";
import type { Log } from "../../core/base/log.ts";
import type { CommandConfig } from "../command-line.ts";
import { openQuietLog } from "../log.ts";
import { ConfigError, nameOf, type Settings } from "../settings.ts";
import { readRequest, requestPath, signMs, writeRequest } from "./backup-requests.ts";

/** Where the backup goes, and where its progress. */
interface BackupCommand {
  readonly target: string;
  readonly log: Log;
  readonly show: (progress: BackupProgress) => void;
}

/**
 * Resolves with a line that says what was made, once that is on the disk. Rejects with one that says why nothing was.
 */
async function backUp({ database }: Settings, { target, log, show }: BackupCommand): Promise<string> {
  if (database.kind !== "sqlite") {
    const instead = database.kind === "postgres" ? "pg_dump copies PostgreSQL" : "memory: has no file";
    throw new ConfigError(`${nameOf("database")}: backup copies a SQLite database; ${instead}.`);
  }
  const path = resolve(database.path);
  const file = resolve(target);
  if (!existsSync(path)) throw new ConfigError(`${nameOf("database")}: there is no database at ${path}.`);
  if (existsSync(file)) throw new Error(`${file} exists already, and a backup overwrites nothing.`);
  if (!existsSync(dirname(file)))
    throw new Error(`${file} cannot be created: there is no folder ${dirname(file)}.`);
  if (!(await copyHere(path, file, { log, show }))) await askServer(path, file, show);
  const { size } = await stat(file);
  return `Copied ${path} to ${file}: ${size.toLocaleString("en-US")} bytes.`;
}

/** Copies in this process. Resolves with false if another one has the file open. */
async function copyHere(
  path: string,
  file: string,
  { log, show }: Omit<BackupCommand, "target">,
): Promise<boolean> {
  const { openSqliteDatabase } = await import("../../adapters/sqlite/file.ts");
  const opening = openSqliteDatabase(path, log, { asItIs: true });
  const opened = await opening.catch((error: unknown) => {
    if (error instanceof Error && error.message.includes("is in use already")) return undefined;
    throw error;
  });
  if (!opened) return false;
  try {
    await opened.backup(file, { report: show });
  } finally {
    await opened.close();
  }
  return true;
}

/** How long the server may take to begin, and then be silent, in milliseconds. */
const silenceMs = 20 * signMs;

async function askServer(path: string, target: string, show: BackupCommand["show"]): Promise<void> {
  const earlier = await lookAt(path);
  if (earlier?.request.state === "copying" && Date.now() - earlier.changedAt < silenceMs)
    throw new Error("Another backup of this database is being made.");
  await writeRequest(path, { target, state: "asked" });
  let heardAt = performance.now();
  let last: number | undefined;
  let hasBegun = false;
  try {
    for (;;) {
      await pause(100);
      const seen = await lookAt(path);
      if (seen?.request.state === "done") return;
      if (seen?.request.state === "failed") throw new Error(seen.request.reason);
      if (seen?.request.state === "copying") {
        hasBegun = true;
        show(seen.request);
      }
      if (seen && seen.changedAt !== last) heardAt = performance.now();
      last = seen?.changedAt;
      const isSilent = performance.now() - heardAt > silenceMs;
      if (hasBegun && (isSilent || !seen))
        throw new Error(`The server that has ${path} open stopped before the backup was done.`);
      if (isSilent)
        throw new Error(`${path} is in use, but by no server that makes backups: stop what uses it.`);
    }
  } finally {
    await rm(requestPath(path), { force: true });
  }
}

/** The request, and when it was changed. */
async function lookAt(path: string) {
  const request = await readRequest(path);
  const found = await stat(requestPath(path)).catch(() => undefined);
  return request && found && { request, changedAt: found.mtimeMs };
}

/** Makes the backup, and shows on a terminal how far it is. */
export async function backup({ settings, target }: CommandConfig<"backup">): Promise<void> {
  // On a terminal, one line that is written over.
  const write = (text: string) => void (process.stderr.isTTY && process.stderr.write(`\r${text}\x1b[K`));
  const show = ({ copied, total }: BackupProgress) =>
    write(`${Math.floor((100 * copied) / (total || 1))} % of ${total.toLocaleString("en-US")} bytes`);
  const made = backUp(settings, { target, log: openQuietLog(settings), show });
  process.stdout.write(`${await made.finally(() => write(""))}\n`);
}
