/**
 * The log of changed buckets: a line of a file for each turn of the event loop, until it is folded into the table
 * (`sqlite-buckets.ts`). Such a line costs a sixth of a row in SQLite.
 *
 * @module
 */

import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { isString } from "../../core/base/json.ts";
import type { Bucket } from "../../core/limits/token-bucket.ts";
import { StoreUnavailable } from "../../core/store/store.ts";
import { codeOf } from "../system.ts";

/** Changed buckets, in the order of the changes. Throws a {@link StoreUnavailable} if the system refuses. */
export interface BucketLog {
  /** Adds changes, which then survive the end of the process. */
  append(changed: ReadonlyMap<string, Bucket>): void;
  /** Puts aside all that was appended: it still counts, before what is appended from now on, until it is dropped. */
  putAside(): void;
  /** Removes what was put aside. */
  dropAside(): void;
  close(): void;
}

/** A log, and what it had when it was opened. */
export interface OpenedBucketLog {
  readonly log: BucketLog;
  /** The last state of each bucket. */
  readonly logged: Map<string, Bucket>;
  /** How many lines could not be read. One that the end of a process has cut off was promised to nobody. */
  readonly unreadable: number;
}

/** Opens the log in a file, and a second one beside it for what is put aside. Both belong to this process alone. */
export function openBucketLog(path: string): OpenedBucketLog {
  const aside = `${path}-aside`;
  const logged = new Map<string, Bucket>();
  let unreadable = 0;
  for (const line of [...linesOf(aside), ...linesOf(path)]) {
    const changed = fromJson(line);
    if (!changed) unreadable++;
    for (const [id, debt, at] of changed ?? []) logged.set(id, { debt, at });
  }
  return { log: createBucketLog(path, aside), logged, unreadable };
}

const encoder = new TextEncoder();

function createBucketLog(path: string, aside: string): BucketLog {
  let file: number | undefined;

  function append(changed: ReadonlyMap<string, Bucket>): void {
    file ??= openSync(path, "a", 0o600);
    // The line end comes first, so that a line that is cut off does not spoil the next one.
    const line = encoder.encode(`\n${toJson(changed)}`);
    if (writeSync(file, line) < line.length) throw new Error("The file took only a part of a line.");
  }

  function close(): void {
    const closing = file;
    file = undefined; // even if closing fails: the number may soon be another file's
    if (closing !== undefined) closeSync(closing);
  }

  function putAside(): void {
    close();
    if (!existsSync(aside)) {
      renameSync(path, aside);
    } else {
      // An earlier process ended before it was done with this. If this one ends here, lines are read twice: no harm.
      extend(aside, readFileSync(path));
      rmSync(path);
    }
  }

  return {
    append: (changed) => orUnavailable(() => append(changed)),
    putAside: () => orUnavailable(putAside),
    dropAside: () => orUnavailable(() => rmSync(aside)),
    close: () => orUnavailable(close),
  };
}

/** `[[id, debt, at], …]`, of these ids. */
export function toJson(buckets: ReadonlyMap<string, Bucket>, ids: Iterable<string> = buckets.keys()): string {
  return JSON.stringify(Array.from(ids, (id) => [id, buckets.get(id)?.debt, buckets.get(id)?.at]));
}

/** Adds all or nothing, because a disk that is full may take a part, and then another one at each new attempt. */
function extend(path: string, more: Uint8Array): void {
  const { size } = statSync(path);
  try {
    appendFileSync(path, more);
  } catch (error) {
    truncateSync(path, size);
    throw error;
  }
}

type Row = readonly [id: string, debt: number, at: number];

/** The rows of a line. Undefined: it is not one of this log, or was cut off. */
function fromJson(line: string): readonly Row[] | undefined {
  try {
    const rows: unknown = JSON.parse(line);
    return Array.isArray(rows) && rows.every(isRow) ? rows : undefined;
  } catch {
    return undefined;
  }
}

function isRow(row: unknown): row is Row {
  return Array.isArray(row) && row.length === 3 && isString(row[0]) && row.slice(1).every(Number.isFinite);
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw new Error(`${path} cannot be read (${codeOf(error)}).`, { cause: error });
  }
}

function orUnavailable(action: () => void): void {
  try {
    action();
  } catch (error) {
    throw new StoreUnavailable("The log of the limits cannot be written right now.", { cause: error });
  }
}
