/**
 * The files of a folder of twins: a twin is a file, `ada.md`, or a folder, `ada/`, with `twin.md` and further documents.
 *
 * @module
 */

import type { Stats } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
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
const mostBytes = 20 * 1024 * 1024;

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

/** A twin's documents. */
export interface ReadDocuments {
  readonly documents: readonly TwinDocument[];
  /** Documents with pages that are pictures: "a.pdf: 3 of 10 pages". */
  readonly scanned: readonly string[];
}

/**
 * Reads a twin's documents.
 *
 * @throws {TwinFileError} if there are too many, they are too large, or one cannot be read or is not UTF-8.
=======
 * @throws {TwinFileError} if there are too many, they are too large, or one cannot be read.
 */
export async function readDocuments(
  folder: string,
  file: string,
  found: readonly FoundFile[],
): Promise<ReadDocuments> {
  if (found.length > mostDocuments)
    throw new TwinFileError(file, `its folder has more than ${mostDocuments} documents.`);
  const bytes = found.reduce((sum, { info }) => sum + info.size, 0);
  if (bytes > mostBytes)
    throw new TwinFileError(file, "the documents in its folder are larger than 20 MiB together.");
  const documents: TwinDocument[] = [];
  const scanned: string[] = [];
  const twinFolder = file.slice(0, -folderFile.length);
  for (const { path } of found) {
    const name = `${twinFolder}${path}`;
    const bytes = await readWithin(folder, name).catch((error: unknown) => unreadable(name, error));
    const { text, unread } = await readText(name, bytes);
    documents.push({ path, text });
    if (unread !== undefined) scanned.push(`${path}: ${unread}`);
  }
  return { documents, scanned };
}

/** Names a document that cannot be read. One that was deleted in the meantime is none. */
function unreadable(name: string, error: unknown): never {
  const code = codeOf(error);
  if (error instanceof TwinFileError || code === "ENOENT") throw error;
  throw new TwinFileError(name, `cannot be read (${code ?? "unknown reason"}).`, { cause: error });
}

async function readText(name: string, bytes: Uint8Array): Promise<DocumentText> {
  try {
    return await extractText(name, bytes);
  } catch (error) {
    throw error instanceof DocumentError ? new TwinFileError(name, error.message, { cause: error }) : error;
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
