/**
 * Waits for the disk outside of SQLite. With `synchronous=FULL` each commit would block the whole process: for some
 * tenths of a millisecond, or far longer on a slow or busy disk.
 *
 * @module
 */

import { closeSync, fdatasync, openSync } from "node:fs";
import { realpath } from "node:fs/promises";

/** The write-ahead log of a SQLite file, into which commits go. */
export interface WriteAheadLog {
  /** Resolves once everything that was written to the log is on the disk. Rejects if that failed. */
  sync(): Promise<void>;
  close(): void;
}

/**
 * Opens the log of a file that SQLite has open. If the path is a link, the log is next to the file itself. SQLite's
 * locks are on the file and not affected.
 */
export async function openWriteAheadLog(path: string): Promise<WriteAheadLog> {
  const log = openSync(`${await realpath(path)}-wal`, "r+");
  return {
    sync: () =>
      new Promise((resolve, reject) => {
        fdatasync(log, (error) => (error ? reject(error) : resolve()));
      }),
    close: () => closeSync(log),
  };
}
