/**
 * The disk below a SQLite file: what was committed is in the write-ahead log, and survives a power failure once that has
 * been synced.
 *
 * @module
 */

import { closeSync, fdatasync, openSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { StoreUnavailable } from "../../core/store/store.ts";
import type { SqliteConnection } from "./connection.ts";

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

/** Waits for the disk. Rejects with a `StoreUnavailable` if what was committed may not have reached it. */
export class Disk {
  readonly #connection: SqliteConnection;
  readonly #wal: WriteAheadLog;
  /** Resolves once everything that was committed is on the disk. Undefined: unknown, as at first and after a failure. */
  #reached: Promise<void> | undefined;
  /** Why the log on the disk may lack pages, until they are in the file. */
  #syncError: unknown;

  constructor(connection: SqliteConnection, wal: WriteAheadLog) {
    this.#connection = connection;
    this.#wal = wal;
  }

  /**
   * Resolves once everything that was committed is on the disk. Syncs run one after the other: of two concurrent ones,
   * either may get an error.
   */
  sync(): Promise<void> {
    const reach = () => this.#reach();
    const reached = this.#reached ? this.#reached.then(reach, reach) : reach();
    this.#reached = reached;
    reached.catch(() => {
      if (this.#reached === reached) this.#reached = undefined; // its callers get the error; the next sync tries again
    });
    return reached;
  }

  /** Like {@link sync}, if nothing that has to be on the disk was committed since its last call. */
  settled(): Promise<void> {
    return this.#reached ?? this.sync();
  }

  /** Waits for a running sync, then closes the log. */
  async close(): Promise<void> {
    await Promise.allSettled([this.#reached]); // its callers get the error
    this.#wal.close();
  }

  /**
   * The system reports a failed sync once, and a later one succeeds without the lost pages, so these are written to the
   * file instead.
   */
  async #reach(): Promise<void> {
    if (this.#syncError === undefined) {
      try {
        return await this.#wal.sync();
      } catch (error) {
        this.#syncError = error;
      }
    }
    try {
      // Writes the log's contents into the file, waits until they are on the disk, and empties the log.
      this.#connection.all("PRAGMA wal_checkpoint(TRUNCATE)", []);
      await this.#wal.sync(); // so that it is empty: a log that reappeared without some pages would damage the file
      this.#syncError = undefined;
    } catch (error) {
      const cause = new AggregateError([this.#syncError, error]);
      throw new StoreUnavailable("What was written may not have reached the disk.", { cause });
    }
  }
}
