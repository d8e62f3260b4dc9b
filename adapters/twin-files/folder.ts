/**
 * The current state of a folder of twin files: every file's twin, or the reason why it cannot be used.
 *
 * @module
 */

import type { Stats } from "node:fs";
import { join } from "node:path";
import type { GoldenQuestion } from "../../core/twins/reader.ts";
import type { Twin } from "../../core/twins/twins.ts";
import { codeOf } from "../system.ts";
import { largestTwinFile, type TwinFileOptions, tooLarge } from "../twin-text/mod.ts";
import {
  describeUnread,
  type FoundFile,
  listDocuments,
  listTwinFiles,
  look,
  type ReadDocuments,
  type ReadDocumentsOptions,
  readDocuments,
  readWithin,
} from "./documents.ts";
import { parseTwinFile, TwinFileError } from "./file.ts";

/** The last known state of a file. */
export interface FileState {
  /** Changes whenever the file does: size, times and identity. */
  readonly signature: string;
  /** Whether the last change was so close to the reading that the next one may have the same time. */
  readonly fresh: boolean;
  /** The last version of the twin that could be used. */
  readonly twin: Twin | undefined;
  /** That version's golden questions. */
  readonly tests: readonly GoldenQuestion[];
  /** The line of the file that its instructions begin on, from 1. */
  readonly instructionsLine: number;
  /** Which files of its folder are not read. */
  readonly unread?: string | undefined;
  /** Why the present content cannot be used, of the file itself and of its documents. Empty: it can. */
  readonly problems: readonly TwinFileError[];
  /** What its documents were read as. */
  readonly known: ReadDocuments["known"];
}

/** Options of {@link readFolder}. */
export type ReadFolderOptions = TwinFileOptions & Omit<ReadDocumentsOptions, "known">;

/** How coarse the times of files may be, in milliseconds by the system's clock. On FAT, they are even seconds. */
const coarsestMs = 2000;

/** The twin files of a folder, by name: `ada.md`, or `ada/twin.md`. */
export type Folder = ReadonlyMap<string, FileState>;

/**
 * Reads all files again. Those that cannot be read or used have `problems`, and their last good version from `before`.
 * Rejects if the folder cannot be read.
 */
export async function readFolder(
  folder: string,
  before: Folder,
  options: ReadFolderOptions,
): Promise<Folder> {
  const found = new Map<string, FileState>();
  for (const file of await listTwinFiles(folder)) {
    const state = await readState(folder, file, before.get(file), options);
    if (state) found.set(file, state);
  }
  return refuseTakenIds(before, found);
}

/** How many files are looked at together, which takes a third of the time that it takes one by one. */
const atOnce = 64;

/** Whether the folder may have changed since it was last read. The files are not read for that. */
export async function hasChanged(folder: string, known: Folder): Promise<boolean> {
  if ([...known.values()].some(({ fresh }) => fresh)) return true;
  try {
    const files = await listTwinFiles(folder);
    const found: string[] = [];
    for (let at = 0; at < files.length; at += atOnce) {
      const signatures = files.slice(at, at + atOnce).map(async (file) => {
        const info = await look(join(folder, file));
        return info ? [`${file} ${signatureOf(info, await listDocuments(folder, file))}`] : [];
      });
      found.push(...(await Promise.all(signatures)).flat());
    }
    return found.join("\n") !== [...known].map(([file, state]) => `${file} ${state.signature}`).join("\n");
  } catch {
    return true; // the folder or a file cannot be read: reloading finds out which, and logs it
  }
}

/** Reads a file. Undefined: it is not a file, or no longer exists. */
async function readState(
  folder: string,
  file: string,
  before: FileState | undefined,
  options: ReadFolderOptions,
  tries = 3,
): Promise<FileState | undefined> {
  let signature = "";
  let fresh = false;
  let known: FileState["known"] = before?.known ?? new Map();
  const { twin: lastTwin, tests = [], instructionsLine = 1 } = before ?? {};
  const refused = (problems: readonly TwinFileError[]): FileState => {
    return { signature, fresh, twin: lastTwin, tests, instructionsLine, problems, known };
  };
  try {
    // Before they are read, so that a change in the meantime gives them another signature.
    const info = await look(join(folder, file));
    if (!info) return undefined;
    const found = await listDocuments(folder, file);
    signature = signatureOf(info, found);
    const infos: readonly [Stats, ...Stats[]] = [info, ...found.map((document) => document.info)];
    fresh = infos.some(({ ctimeMs }) => Math.abs(Date.now() - ctimeMs) < coarsestMs);
    if (info.size > largestTwinFile) throw new TwinFileError(file, tooLarge);
    const parsed = parseTwinFile(file, await readWithin(folder, file), options);
    const read = await readDocuments(folder, file, found, { ...options, known });
    const { documents, scanned, faults } = read;
    known = read.known;
    if ("faults" in parsed) return refused([...parsed.faults, ...faults]);
    if (faults.length > 0) return refused(faults);
    const twin = withTimes({ ...parsed.twin, documents }, infos, lastTwin);
    const unread = await describeUnread(folder, file, scanned);
    return { ...parsed, signature, fresh, twin, unread, problems: [], known };
  } catch (error) {
    if (codeOf(error) === "ENOENT") {
      if (!(await look(join(folder, file)))) return undefined; // deleted before it could be read
      // A document was deleted before it could be read. The next look reads all of them again.
      if (before) return { ...before, fresh: true };
      if (tries > 1) return readState(folder, file, before, options, tries - 1);
    }
    const reason = `cannot be read (${codeOf(error) ?? "unknown reason"}).`;
    const problem =
      error instanceof TwinFileError ? error : new TwinFileError(file, reason, { cause: error });
    return refused([problem]);
  }
}

function signatureOf(info: Stats, documents: readonly FoundFile[]): string {
  const own = [info.ino, info.size, info.mtimeMs, info.ctimeMs].join(" ");
  return [own, ...documents.map((document) => `${document.path} ${signatureOf(document.info, [])}`)].join(
    " ",
  );
}

/**
 * A twin is as old as its file, the first of `infos`, and changed when the last of its files did. Some editors replace the
 * file with a new one: while the process runs, the twin keeps its age, and is the same object as before if nothing changed.
 */
function withTimes(
  parsed: Omit<Twin, "createdAt" | "updatedAt">,
  infos: readonly [Stats, ...Stats[]],
  before: Twin | undefined,
): Twin {
  const [{ birthtimeMs }] = infos;
  const updatedAt = Math.floor(Math.max(...infos.map(({ mtimeMs }) => mtimeMs)));
  // Some file systems have no creation time, or a wrong one.
  const born = birthtimeMs > 0 ? Math.min(Math.floor(birthtimeMs), updatedAt) : updatedAt;
  const known = before?.id === parsed.id ? before : undefined;
  const twin = { ...parsed, createdAt: Math.min(born, known?.createdAt ?? born), updatedAt };
  return known && JSON.stringify(known) === JSON.stringify(twin) ? known : twin;
}

/** An id belongs to the file that had it before, or else to the first one. Other files with it cannot be used. */
function refuseTakenIds(before: Folder, found: Folder): Folder {
  const owners = new Map<string, string>();
  const isSettled = ([file, { twin }]: [string, FileState]) => twin?.id === before.get(file)?.twin?.id;
  const entries = [...found];
  const checked = new Map(found);
  for (const [file, state] of [
    ...entries.filter(isSettled),
    ...entries.filter((entry) => !isSettled(entry)),
  ]) {
    const id = state.twin?.id;
    if (id === undefined) continue;
    const owner = owners.get(id);
    if (owner === undefined) {
      owners.set(id, file);
      continue;
    }
    const problem = new TwinFileError(
      file,
      `its id ${JSON.stringify(id)} is already used by ${JSON.stringify(owner)}.`,
    );
    const last = before.get(file)?.twin;
    const kept = last && !owners.has(last.id) ? last : undefined;
    if (kept) owners.set(kept.id, file);
    checked.set(file, { ...state, twin: kept, problems: [problem] });
  }
  return checked;
}
