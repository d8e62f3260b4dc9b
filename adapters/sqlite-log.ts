/**
 * Waiting for the disk beside SQLite. With `synchronous=FULL` each commit would wait in it, and with it everything that
 * the process does: some tenths of a millisecond, or many of them on a disk that is slow or busy.
 *
 * @module
 */

import { closeSync, fdatasync, openSync } from "node:fs";
import { realpath } from "node:fs/promises";

/** The write-ahead log of a SQLite file, into which commits go. */
export interface WriteAheadLog {
  /** Resolves once all that was written to the log before is on the disk. Rejects if that failed. */
  sync(): Promise<void>;
  close(): void;
}

/**
 * Opens the log of a file that SQLite has open: beside the file itself, if the path is a link to it. SQLite's locks are
 * on the file, and stay.
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
