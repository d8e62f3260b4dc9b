/**
 * The files of a folder of twins: a twin is a file, `ada.md`, or a folder, `ada/`, with `twin.md` and further documents.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { extname, isAbsolute, join, relative, sep } from "node:path";
import type { Clock } from "../../core/base/clock.ts";
import type { Log } from "../../core/base/log.ts";
import type { TwinDocument } from "../../core/twins/twins.ts";
import { DocumentError, type DocumentText, extractText, readable } from "../documents/mod.ts";
import { codeOf } from "../system.ts";
import { TwinFileError } from "./file.ts";

/** A file and its status. */
export interface FoundFile {
  /** Its path in the twin's folder, with slashes. */
  readonly path: string;
  readonly info: Stats;
}

/** The file that makes a folder a twin. */
const folderFile = "twin.md";
const mostDocuments = 2_000;
/** Of the documents, in bytes, and of their texts, in UTF-16 code units. */
const mostBytes = 20 * 1024 * 1024;
/** How long reading the documents of a twin may take. */
const longestMs = 60_000;
/** How often a long reading is told of. */
const tellEveryMs = 5_000;

/** The names of the files that are twins, or should be, in order: `ada.md`, `ada/twin.md`. */
export async function listTwinFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names: string[] = [];
  for (const { name } of entries.filter(
    (entry) => !entry.name.startsWith(".") && entry.name !== "lost+found",
  )) {
    const inFolder = `${name}/${folderFile}`;
    if (name.endsWith(".md")) names.push(name);
    // Where a folder cannot be looked into, whoever reads its twin is told why.
    else if (await look(join(folder, inFolder)).catch(() => "unknown")) names.push(inFolder);
  }
  return names.sort();
}

/** The further documents of a twin that is a folder, at any depth, in order. */
export async function listDocuments(folder: string, file: string): Promise<FoundFile[]> {
  if (!file.endsWith(`/${folderFile}`)) return [];
  const twinFolder = join(folder, file.slice(0, -folderFile.length));
  const found: FoundFile[] = [];
  for (const path of (await listPaths(twinFolder, "")).filter((name) => readable.test(name))) {
    const info = await look(join(twinFolder, path)).catch((error: unknown) =>
      unreadable(`${file.slice(0, -folderFile.length)}${path}`, error),
    );
    if (info) found.push({ path, info });
  }
  return found;
}

/** What a document says, or why it cannot be read, with the time of its last change. */
type KnownDocument = DocumentText | { readonly fault: string; readonly mtimeMs: number };

/** A twin's documents. */
export interface ReadDocuments {
  readonly documents: readonly TwinDocument[];
  /** Documents with pages that are pictures: "a.pdf: 3 of 10 pages". */
  readonly scanned: readonly string[];
  /** One for each document that cannot be read, and for too many, or too large ones. */
  readonly faults: readonly TwinFileError[];
  /** What they were read as, by kind and digest. */
  readonly known: ReadonlyMap<string, KnownDocument>;
}

/** What {@link readDocuments} needs. */
export interface ReadDocumentsOptions {
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
  /** Those of the last time: what has not changed is not read again. */
  readonly known: ReadDocuments["known"];
}

/** Reads a twin's documents, within a minute for all together. */
export async function readDocuments(
  folder: string,
  file: string,
  found: readonly FoundFile[],
  { clock, log, known: before }: ReadDocumentsOptions,
): Promise<ReadDocuments> {
  const refused = (problem: string): ReadDocuments => {
    return { documents: [], scanned: [], faults: [new TwinFileError(file, problem)], known: before };
  };
  if (found.length > mostDocuments) return refused(`its folder has more than ${mostDocuments} documents.`);
  if (found.reduce((sum, { info }) => sum + info.size, 0) > mostBytes)
    return refused("the documents in its folder are larger than 20 MiB together.");
  const documents: TwinDocument[] = [];
  const scanned: string[] = [];
  const faults: TwinFileError[] = [];
  const known = new Map<string, KnownDocument>();
  const until = clock.now() + longestMs;
  let [length, tellAt] = [0, clock.now() + tellEveryMs];
  for (const [at, { path, info }] of found.entries()) {
    const name = `${file.slice(0, -folderFile.length)}${path}`;
    const now = clock.now();
    if (now >= until) {
      faults.push(outOfTime(name, found.length - at - 1));
      break;
    }
    if (now >= tellAt) {
      log("info", "the documents of a twin take long to read", { file, read: at, of: found.length });
      tellAt = now + tellEveryMs;
    }
    try {
      const bytes = await readWithin(folder, name).catch((error: unknown) => unreadable(name, error));
      const key = keyOf(path, bytes);
      const last = known.get(key) ?? before.get(key);
      // A fault is looked for again once the file is touched: a package may be there now, or more time.
      const isKnown = last && (!("fault" in last) || last.mtimeMs === info.mtimeMs);
      const read = isKnown ? last : await readText(path, bytes, until - now, info);
      if (!("fault" in read) || clock.now() < until) known.set(key, read);
      if ("fault" in read) throw new TwinFileError(name, read.fault);
      documents.push({ path, text: read.text });
      length += read.text.length;
      if (read.unread !== undefined) scanned.push(`${path}: ${read.unread}`);
    } catch (error) {
      if (!(error instanceof TwinFileError)) throw error;
      faults.push(error);
    }
    if (length > mostBytes) {
      const problem = "the texts of the documents in its folder are larger than 20 MiB together.";
      faults.push(new TwinFileError(file, problem));
      break;
    }
  }
  return { documents, scanned, faults, known };
}

function outOfTime(name: string, after: number): TwinFileError {
  const unread = after === 0 ? "this one is" : `this one and ${after} after it are`;
  return new TwinFileError(
    name,
    `the documents of its folder take more than a minute to read: ${unread} left.`,
  );
}

function keyOf(path: string, bytes: Uint8Array): string {
  return `${extname(path).toLowerCase()} ${createHash("sha256").update(bytes).digest("base64")}`;
}

/** Names a document that cannot be read. One that was deleted in the meantime is none. */
function unreadable(name: string, error: unknown): never {
  const code = codeOf(error);
  if (error instanceof TwinFileError || code === "ENOENT") throw error;
  throw new TwinFileError(name, `cannot be read (${code ?? "unknown reason"}).`, { cause: error });
}

async function readText(
  path: string,
  bytes: Uint8Array,
  withinMs: number,
  { mtimeMs }: Stats,
): Promise<KnownDocument> {
  try {
    return await extractText(path, bytes, { withinMs });
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    return { fault: error.message, mtimeMs };
  }
}

/** What is not read in a twin's folder: "3 files are not read: 2 .csv, 1 .key". Undefined: nothing. */
export async function describeUnread(
  folder: string,
  file: string,
  scanned: readonly string[],
): Promise<string | undefined> {
  if (!file.endsWith(`/${folderFile}`)) return undefined;
  const counts = new Map<string, number>();
  for (const path of await listPaths(join(folder, file.slice(0, -folderFile.length)), "")) {
    if (readable.test(path)) continue;
    const name = path.replace(/^.*\//u, "");
    const kind = /.\.[^.]+$/u.test(name)
      ? name.replace(/^.*(?=\.)/u, "").toLowerCase()
      : "without an extension";
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const kinds = [...counts].sort(([one, many], [other, more]) => more - many || (one < other ? -1 : 1));
  const total = kinds.reduce((sum, [, count]) => sum + count, 0);
  const list = kinds.map(([kind, count]) => `${count} ${kind}`).join(", ");
  const files = total === 0 ? [] : [`${total} ${total === 1 ? "file is" : "files are"} not read: ${list}`];
  const pictures = scanned.length === 0 ? [] : [`pages are pictures, without text: ${scanned.join(", ")}`];
  return [...files, ...pictures].join("; ") || undefined;
}

/**
 * Reads a file of the folder of twins. Whoever may add files there must not have others read, such as the server's own
 * secrets: a link may lead to another file below the folder, and nowhere else.
 *
 * @throws {TwinFileError} if it is a link out of the folder.
 */
export async function readWithin(folder: string, file: string): Promise<Uint8Array> {
  const path = await realpath(join(folder, file));
  const way = relative(await realpath(folder), path);
  if (way.split(sep)[0] === ".." || isAbsolute(way)) {
    throw new TwinFileError(file, "is a link out of the folder of twins; put the file itself there.");
  }
  return readFile(path);
}

async function listPaths(twinFolder: string, inside: string): Promise<string[]> {
  const entries = await readdir(join(twinFolder, inside), { withFileTypes: true });
  const paths: string[] = [];
  for (const entry of entries.filter(({ name }) => !name.startsWith("."))) {
    const path = `${inside}${entry.name}`;
    if (entry.isDirectory()) paths.push(...(await listPaths(twinFolder, `${path}/`)));
    else if (path !== folderFile) paths.push(path);
  }
  return paths.sort();
}

/** The status of a regular file. Undefined: it is not a regular file, does not exist, or is a broken link. */
export async function look(path: string): Promise<Stats | undefined> {
  try {
    const info = await stat(path);
    return info.isFile() ? info : undefined;
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}
