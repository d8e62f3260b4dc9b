/**
 * Copies a SQLite file while its process writes to it.
 *
 * SQLite's own ways need a second connection, which the lock forbids, or stop everything until they are done. So the
 * pages are copied one part after the other, while commits go on into the write-ahead log. Only a checkpoint changes the
 * file itself, and until the copy is done, only this module makes checkpoints: between two parts, and after the pages in
 * the log were written to the part that is copied already. At the end, the rest of the log is. The copy then is what
 * the database was at that instant.
 *
 * @module
 */

import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { type FileHandle, link, open, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import { codeOf } from "../system.ts";
import type { SqliteConnection } from "./connection.ts";

/** How far a copy is, in bytes. */
export interface BackupProgress {
  readonly copied: number;
  readonly total: number;
}

/** Options of a copy. */
export interface BackupOptions {
  /** Called after each part. */
  readonly report?: ((progress: BackupProgress) => void) | undefined;
}

/** What is copied: an open file. */
export interface BackupSource {
  readonly path: string;
  readonly connection: SqliteConnection;
  /** The usual size of the log, in pages, at which SQLite makes a checkpoint. */
  readonly pagesBetweenCheckpoints: number;
  /** Runs an operation while commits wait. */
  hold(operation: () => Promise<void>): Promise<void>;
}

/** Bytes of the file that are copied at a time. All waits while they are read. */
const partBytes = 1 << 19;

/** Frames of the log that are read at a time. */
const framesAtOnce = 256;

/** Pages of the log that are copied at a time. */
const pagesAtOnce = 64;

/** The size of the log at which it is merged during a copy: a checkpoint, for which everything waits, then takes 10 ms. */
const logBytes = 4 << 20;

/** Pages of the log that are few enough to be written while commits wait: some milliseconds. */
const lastPages = 64;

/** How often the log is followed before commits wait, however many pages are left. */
const mostRounds = 4;

/**
 * Where a file says how it was last written (https://www.sqlite.org/fileformat2.html#file_format_version_numbers), and that it
 * was closed: it has no write-ahead log. So one that lies beside it is known to be another's.
 */
export const versionsAt = 18;
export const closedVersions: Uint8Array = new Uint8Array([1, 1]);

/** Makes copies of one open file, one at a time. */
export class Backups {
  readonly #source: BackupSource;
  /**
   * A descriptor that stays open until the connection is closed: to close it earlier would release SQLite's locks on the
   * file. It is used synchronously: for each other call, Deno duplicates a descriptor and closes the duplicate.
   */
  #file: number | undefined;
  #running: Promise<void> | undefined;
  #isClosing = false;

  constructor(source: BackupSource) {
    this.#source = source;
  }

  /**
   * Copies the database into a new file that only its owner can read. Rejects with a one-line error if there is such a
   * file, if it cannot be written, or if another copy is being made; it then leaves no file.
   */
  async copyTo(target: string, { report = () => {} }: BackupOptions = {}): Promise<void> {
    if (this.#running || this.#isClosing)
      throw new Error("Another backup is being made, or the server stops.");
    const running = this.#copy(target, report);
    this.#running = running.catch(() => {});
    try {
      await running;
    } finally {
      this.#running = undefined;
    }
  }

  /** Ends a copy that is being made. Called before the connection is closed. */
  async stop(): Promise<void> {
    this.#isClosing = true;
    await this.#running;
  }

  /** Called after the connection was closed. */
  async close(): Promise<void> {
    if (this.#file !== undefined) closeSync(this.#file);
  }

  async #copy(target: string, report: (progress: BackupProgress) => void): Promise<void> {
    const { connection, pagesBetweenCheckpoints, path } = this.#source;
    await requireAbsent(target);
    const partial = `${target}.partial`;
    await rm(partial, { force: true }); // of a crash; it may be another's, whose mode it would keep
    const copy = await open(partial, "wx+", 0o600).catch((error: unknown) => {
      throw new Error(`${target} cannot be created (${codeOf(error)}).`, { cause: error });
    });
    try {
      const real = await realpath(path);
      this.#file ??= openSync(real, "r");
      const log = await open(`${real}-wal`, "r");
      connection.exec("PRAGMA wal_autocheckpoint = 0");
      try {
        await this.#copyParts(copy, this.#file, log, report);
      } finally {
        connection.exec(`PRAGMA wal_autocheckpoint = ${pagesBetweenCheckpoints}`);
        await log.close();
      }
      await copy.sync();
      await putInPlace(partial, target);
    } catch (error) {
      throw codeOf(error) === undefined
        ? error
        : new Error(`${target} cannot be written (${codeOf(error)}).`, { cause: error });
    } finally {
      await copy.close();
      await rm(partial, { force: true });
    }
  }

  async #copyParts(
    copy: FileHandle,
    file: number,
    log: FileHandle,
    report: (progress: BackupProgress) => void,
  ): Promise<void> {
    const { connection, hold } = this.#source;
    const part = new Uint8Array(partBytes);
    const merge = new LogMerge(copy, log);
    let copied = 0;

    /** Writes what the log has to the part that is copied; the last of it while commits wait, and then `end`. */
    const catchUp = async (end: () => void): Promise<void> => {
      // More comes meanwhile. Writers that are faster than this have to wait for the rest.
      for (let round = 0; round < mostRounds && (await merge.apply(copied)) > lastPages; round++) {}
      await hold(async () => {
        await merge.apply(copied);
        end();
      });
    };
    const checkpoint = (): void => {
      connection.all("PRAGMA wal_checkpoint(TRUNCATE)", []);
      merge.restart();
    };

    connection.all("PRAGMA wal_checkpoint(PASSIVE)", []); // as SQLite does now and then: the rest is quick
    await merge.waiting(); // others in between
    checkpoint();
    for (;;) {
      if (this.#isClosing) throw new Error("The server stops.");
      const { size: total } = fstatSync(file);
      const bytesRead = readSync(file, part, 0, Math.min(partBytes, total - copied), copied);
      if (bytesRead === 0) break;
      await writeAll(copy, part.subarray(0, bytesRead), copied);
      copied += bytesRead;
      report({ copied, total });
      if ((await merge.waiting()) > logBytes) await catchUp(checkpoint);
    }
    copied = Number.POSITIVE_INFINITY; // what the log has beyond the file's end belongs to the copy, too
    await catchUp(() => {});
    await copy.truncate(merge.databaseBytes ?? fstatSync(file).size);
    await writeAll(copy, closedVersions, versionsAt);
  }
}

/** The write-ahead log of SQLite, read as it grows: https://www.sqlite.org/fileformat2.html#walformat */
class LogMerge {
  readonly #copy: FileHandle;
  readonly #log: FileHandle;
  /** The position behind the last commit that was applied. */
  #position = 0;
  #pageBytes = 0;
  #salt = 0n;
  /** The size of the database after the last commit that was applied. Undefined: the log had none. */
  databaseBytes: number | undefined;

  constructor(copy: FileHandle, log: FileHandle) {
    this.#copy = copy;
    this.#log = log;
  }

  /** The log was emptied. */
  restart(): void {
    this.#position = 0;
    this.#salt = 0n;
  }

  /** How many bytes of the log were not applied yet. */
  async waiting(): Promise<number> {
    const waiting = (await this.#log.stat()).size - this.#position;
    // Only a disk that fails to sync makes the store empty the log by itself.
    if (waiting < 0) throw new Error("The disk failed while the database was copied.");
    return waiting;
  }

  /**
   * Writes pages of further commits to the copy, if they are in its first bytes: others are copied later. Resolves with
   * how many the commits had.
   */
  async apply(copied: number): Promise<number> {
    if ((await this.waiting()) === 0) return 0;
    if (this.#position === 0) await this.#readHeader();
    const pages = await this.#committedPages();
    const due = [...pages].filter(([number]) => (number - 1) * this.#pageBytes < copied);
    // Together: one after the other, each would wait for a turn of a busy event loop, in which more pages are written.
    for (let first = 0; first < due.length; first += pagesAtOnce) {
      await Promise.all(due.slice(first, first + pagesAtOnce).map((page) => this.#copyPage(page)));
    }
    return pages.size;
  }

  async #copyPage([number, at]: readonly [number: number, at: number]): Promise<void> {
    const page = new Uint8Array(this.#pageBytes);
    await readAll(this.#log, page, at);
    await writeAll(this.#copy, page, (number - 1) * this.#pageBytes);
  }

  async #readHeader(): Promise<void> {
    const header = new DataView(new ArrayBuffer(32));
    await readAll(this.#log, new Uint8Array(header.buffer), 0);
    this.#pageBytes = header.getUint32(8);
    this.#salt = header.getBigUint64(16);
    this.#position = 32;
  }

  /** Where the newest version of each page is that was committed behind the position, which moves on. */
  async #committedPages(): Promise<Map<number, number>> {
    const frameBytes = 24 + this.#pageBytes;
    const buffer = new Uint8Array(framesAtOnce * frameBytes);
    const view = new DataView(buffer.buffer);
    const committed = new Map<number, number>();
    const uncommitted = new Map<number, number>(); // a transaction that was rolled back may have left pages at the end
    for (let position = this.#position; ; ) {
      const { bytesRead } = await this.#log.read(buffer, 0, buffer.length, position);
      const frames = Math.floor(bytesRead / frameBytes);
      for (let index = 0; index < frames; index++) {
        const at = index * frameBytes;
        if (view.getBigUint64(at + 8) !== this.#salt) return committed;
        uncommitted.set(view.getUint32(at), position + at + 24);
        const pagesAfterCommit = view.getUint32(at + 4);
        if (pagesAfterCommit === 0) continue;
        for (const [number, where] of uncommitted) committed.set(number, where);
        uncommitted.clear();
        this.#position = position + at + frameBytes;
        this.databaseBytes = pagesAfterCommit * this.#pageBytes;
      }
      if (frames < framesAtOnce) return committed;
      position += frames * frameBytes;
    }
  }
}

async function readAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  const { bytesRead } = await file.read(bytes, 0, bytes.length, position);
  if (bytesRead < bytes.length) throw new Error("The write-ahead log changed while the database was copied.");
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, position + written);
    written += bytesWritten;
  }
}

async function requireAbsent(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found) throw new Error(`${path} exists already, and a backup overwrites nothing.`);
  const folder = dirname(path);
  const place = await stat(folder).catch(() => undefined);
  if (!place?.isDirectory()) throw new Error(`${path} cannot be created: there is no folder ${folder}.`);
}

/** Gives a file its name, unless there is one of that name. */
async function putInPlace(partial: string, target: string): Promise<void> {
  try {
    await link(partial, target);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw error;
    await requireAbsent(target); // a file system without hard links
    await rename(partial, target);
  }
  if (process.platform === "win32") return;
  const folder = await open(dirname(target), "r");
  await folder.sync().finally(() => folder.close());
}
