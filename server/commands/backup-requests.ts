/**
 * How a command has the running server make a backup: by a file beside the database, which only those can write who may
 * write the database. It needs no port, no credential and no second lock, in a container or out of it.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import type { BackupProgress, Sqlite } from "../../adapters/sqlite/mod.ts";
import { codeOf } from "../../adapters/system.ts";
import type { Log } from "../../core/base/log.ts";

/** What the file says: first what is asked for, then how far it is, at last how it ended. */
export type BackupRequest = {
  /** The file to write, as an absolute path. */
  readonly target: string;
} & (
  | { readonly state: "asked" | "done" }
  | ({ readonly state: "copying" } & BackupProgress)
  | { readonly state: "failed"; readonly reason: string }
);

/** Where the request for a database is. */
export function requestPath(database: string): string {
  return `${database}-backup`;
}

/** The request beside a database. Undefined: there is none. */
export async function readRequest(database: string): Promise<BackupRequest | undefined> {
  try {
    return JSON.parse(await readFile(requestPath(database), "utf8"));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Writes a request in one step, so that its reader never sees half of it. */
export async function writeRequest(database: string, request: BackupRequest): Promise<void> {
  const path = requestPath(database);
  const draft = `${path}.${randomBytes(8).toString("hex")}`;
  await writeFile(draft, JSON.stringify(request), { mode: 0o644 }); // the command may run as another user
  await rename(draft, path);
}

/** Pause between two looks at the request, in milliseconds. */
const lookMs = 500;

/** Pause between two signs of life while a backup is made, in milliseconds. */
export const signMs = 500;

/** Makes the backups that are asked for. */
export interface BackupRequests {
  /** Answers nothing more. Resolves once the last answer is written, which ends with the database. */
  stop(): Promise<void>;
}

/** Makes the backups that are asked for, until it is stopped. What was asked of an earlier process is forgotten. */
export function answerBackupRequests(database: string, backup: Sqlite["backup"], log: Log): BackupRequests {
  rmSync(requestPath(database), { force: true });
  let answering: Promise<void> | undefined;
  const timer = setInterval(() => {
    answering ??= look().finally(() => {
      answering = undefined;
    });
  }, lookMs);
  timer.unref();

  async function look(): Promise<void> {
    try {
      const request = await readRequest(database);
      if (request?.state === "asked") await writeRequest(database, await answer(request.target));
    } catch (error) {
      log("warn", "a request for a backup cannot be answered", { error });
    }
  }

  async function answer(target: string): Promise<BackupRequest> {
    let progress: BackupProgress = { copied: 0, total: 0 };
    const tell = () => writeRequest(database, { target, state: "copying", ...progress });
    await tell();
    let telling = Promise.resolve();
    const signs = setInterval(() => {
      telling = telling.then(tell).catch(() => {});
    }, signMs);
    const startedAt = performance.now();
    try {
      await backup(target, {
        report(now) {
          progress = now;
        },
      });
      const durationMs = Math.round(performance.now() - startedAt);
      log("info", "a backup was made", { target, bytes: progress.copied, durationMs });
      return { target, state: "done" };
    } catch (error) {
      log("warn", "a backup failed", { target, error });
      return { target, state: "failed", reason: error instanceof Error ? error.message : String(error) };
    } finally {
      clearInterval(signs);
      await telling; // its answer is the last
    }
  }

  return {
    async stop() {
      clearInterval(timer);
      await answering;
    },
  };
}
