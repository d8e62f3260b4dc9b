/**
 * The SQL driver for one SQLite connection, with group commit: all that is changed in a turn of the event loop is one
 * transaction, and batches share a wait for the disk. While the disk is busy, everything else continues, and batches
 * gather for the next transaction. A batch's promise resolves once its result is on the disk.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import { StoreUnavailable } from "../../core/store/store.ts";
import type { BatchResult, SqlDriver, SqlRow, SqlStatement, SqlValue } from "../sql/driver.ts";
import { type SqliteConnection, unavailableIfPassing } from "./connection.ts";
import { Disk, type WriteAheadLog } from "./disk.ts";
import type { FileHealth } from "./health.ts";
import { type Batch, type RanBatch, runGroup } from "./transaction.ts";

/** The SQL driver, and a way past the disk for what need not survive a power failure. */
export interface SqliteDriver extends SqlDriver {
  readonly unsynced: Unsynced;
  /** Runs an operation while commits wait for it. */
  hold(operation: () => Promise<void>): Promise<void>;
}

/** Reads and writes that never wait for the disk. */
export interface Unsynced {
  /** Runs a statement that changes nothing, and sees what is committed, on the disk or not. */
  all(sql: string, params: readonly SqlValue[]): readonly SqlRow[];
  /**
   * Runs statements in the transaction of this turn of the event loop. Resolves once that is committed: the changes then
   * survive the end of this process, `kill -9` included, but perhaps no power failure. `statements` is called at the end
   * of the turn; none of them has an expectation.
   */
  write(statements: () => readonly SqlStatement[]): Promise<BatchResult>;
}

/** Creates a driver for a connection and its write-ahead log. Closing it closes both. */
export function createSqliteDriver(
  connection: SqliteConnection,
  wal: WriteAheadLog,
  health?: FileHealth,
): SqliteDriver {
  const disk = new Disk(connection, wal);
  const commits = new GroupCommit(connection, disk, health);
  let closing: Promise<void> | undefined;

  async function finish(): Promise<void> {
    await commits.idle();
    try {
      await disk.close();
    } finally {
      connection.close();
    }
  }

  function read(sql: string, params: readonly SqlValue[]): readonly SqlRow[] {
    if (closing) throw closed();
    try {
      return connection.all(sql, params);
    } catch (error) {
      throw unavailableIfPassing(error);
    }
  }

  return {
    async all(sql, params) {
      const rows = read(sql, params);
      await disk.settled(); // no client may see what a power failure could still undo
      return rows;
    },
    batch: (statements) => (closing ? Promise.reject(closed()) : commits.add(statements)),
    unsynced: {
      all: read,
      write: (statements) => (closing ? Promise.reject(closed()) : commits.addUnsynced(statements)),
    },
    hold: (operation) => commits.hold(operation),
    async close() {
      closing ??= finish();
      await closing;
    },
  };
}

function closed(): StoreUnavailable {
  return new StoreUnavailable("The database is closed.");
}

/** A batch that need not wait for the disk. Its statements are made at the end of the turn. */
interface UnsyncedBatch extends Omit<Batch, "statements"> {
  readonly statements: () => readonly SqlStatement[];
}

/** Commits what arrives in a turn of the event loop together, at the end of the turn. */
class GroupCommit {
  readonly #connection: SqliteConnection;
  readonly #disk: Disk;
  readonly #health: FileHealth | undefined;
  #batches: Batch[] = [];
  #unsynced: UnsyncedBatch[] = [];
  /** The end of this turn, if something is to be committed then. */
  #turn: Promise<void> | undefined;
  /** Resolves once the last group's batches are settled. Until then, the next ones gather. */
  #syncing: Promise<void> | undefined;
  /** Resolves once commits need not wait any more. */
  #held: Promise<void> | undefined;

  constructor(connection: SqliteConnection, disk: Disk, health: FileHealth | undefined) {
    this.#connection = connection;
    this.#disk = disk;
    this.#health = health;
  }

  add(statements: readonly SqlStatement[]): Promise<BatchResult> {
    return new Promise((resolve, reject) => {
      this.#batches.push({ statements, resolve, reject });
      this.#commitSoon();
    });
  }

  addUnsynced(statements: UnsyncedBatch["statements"]): Promise<BatchResult> {
    return new Promise((resolve, reject) => {
      this.#unsynced.push({ statements, resolve, reject });
      this.#commitSoon();
    });
  }

  /** Runs an operation while commits wait for it. */
  async hold(operation: () => Promise<void>): Promise<void> {
    const held = operation();
    this.#held = held.catch(() => {}); // the caller gets the error
    await held.finally(() => {
      this.#held = undefined;
    });
  }

  /** Resolves once all batches that were added are settled. */
  async idle(): Promise<void> {
    for (let pending = this.#pending; pending; pending = this.#pending) await pending;
  }

  get #pending(): Promise<void> | undefined {
    return this.#turn ?? this.#syncing;
  }

  #commitSoon(): void {
    const isDue = this.#unsynced.length > 0 || (this.#batches.length > 0 && !this.#syncing);
    if (isDue) this.#turn ??= this.#nextTurn();
  }

  async #nextTurn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#held) await this.#held;
    this.#commitTurn();
  }

  #commitTurn(): void {
    this.#turn = undefined;
    const unsynced = this.#unsynced.splice(0).map((batch) => ({ ...batch, statements: batch.statements() }));
    const batches = this.#syncing ? [] : this.#batches.splice(0);
    try {
      this.#health?.requireSameFile();
      const ran = runGroup(this.#connection, [...unsynced, ...batches]);
      this.#health?.wrote(true);
      for (const { tell } of ran.slice(0, unsynced.length)) tell();
      if (batches.length > 0) this.#syncing = this.#tellOnDisk(batches, ran.slice(unsynced.length));
    } catch (error) {
      this.#health?.wrote(false);
      for (const { reject } of [...unsynced, ...batches]) reject(error);
    }
  }

  async #tellOnDisk(batches: readonly Batch[], ran: readonly RanBatch[]): Promise<void> {
    const changed = ran.some(({ changes }) => changes > 0);
    try {
      await (changed ? this.#disk.sync() : this.#disk.settled());
      for (const { tell } of ran) tell();
    } catch (error) {
      this.#health?.wrote(false);
      for (const { reject } of batches) reject(error);
    }
    this.#syncing = undefined;
    this.#commitSoon();
  }
}
