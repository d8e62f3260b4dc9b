/**
 * Twins from a folder of Markdown files, read again when they change.
 *
 * @module
 */

import type { Stats } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { clearTimeout, setTimeout } from "node:timers";
import type { Clock } from "../core/clock.ts";
import { readKnowledge } from "../core/knowledge-text.ts";
import { type Log, noLog } from "../core/log.ts";
import { listTwins, type Twin, type TwinSource } from "../core/twins.ts";
import { followFolder } from "./folder-changes.ts";
import {
  largestTwinFile,
  parseTwinFile,
  type TwinFile,
  TwinFileError,
  type TwinFileOptions,
  tooLarge,
} from "./twin-file.ts";

export { TwinFileError } from "./twin-file.ts";

/** Options of {@link openTwinFiles}. */
export interface TwinFilesOptions {
  /** The engine of files that name none, such as `knowledge`. */
  readonly defaultEngine: string;
  /** The engines that files may name. Default: `knowledge`, `openai` and `echo`. */
  readonly engines?: readonly string[];
  /** Those of them that are not there. Twins that name one are logged with a warning. Default: none. */
  readonly absentEngines?: readonly string[];
  /** Is told of changes, and of files that cannot be used. Default: nobody is. */
  readonly log?: Log;
  /** How often to look for changes that the system does not announce, in milliseconds. Default 2,000. */
  readonly pollMs?: number;
  /** The clock that looking for changes runs on. Default: the system's, with timers that keep no process alive. */
  readonly clock?: Clock;
}

/** Twins that follow the files of a folder. */
export interface TwinFiles extends TwinSource {
  /** Reads all files now. Never rejects: what cannot be used is logged, its last good version stays. */
  reload(): Promise<void>;
  /** Stops looking for changes. */
  close(): Promise<void>;
}

/** A file as it was found last. */
interface FileState {
  /** Changes whenever the file does: size, times and identity. */
  readonly signature: string;
  /** The last version of the twin that could be used. */
  readonly twin: Twin | undefined;
  /** Why the present content cannot be used. */
  readonly problem: TwinFileError | undefined;
}

type Folder = ReadonlyMap<string, FileState>;

const backgroundClock: Clock = {
  now: () => Date.now(),
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Opens a folder of twin files. Every regular file whose name ends in `.md` is a twin, links to such files
 * too; names that begin with a dot and subfolders are left alone.
 *
 * Later changes take effect at once and all together: a new file adds a twin, a deleted one removes it. A file
 * that cannot be used any more keeps its last good version and is logged as an error.
 *
 * @example
 * ```ts
 * import { openTwinFiles } from "twin-service/twin-files";
 *
 * const twins = await openTwinFiles("./twins", { defaultEngine: "knowledge" });
 * ```
 *
 * @throws {TwinFileError} if a file cannot be used, or two have the same id.
 * @throws if the folder cannot be read.
 */
export async function openTwinFiles(folder: string, options: TwinFilesOptions): Promise<TwinFiles> {
  const { log = noLog, pollMs = 2000, clock = backgroundClock } = options;
  const { defaultEngine, engines = ["knowledge", "openai", "echo"], absentEngines = [] } = options;

  let files: Folder = new Map();
  let twins: TwinSource = listTwins([]);
  let folderProblem: string | undefined;
  let reading = Promise.resolve();

  function warnOf(file: string, twin: Twin | undefined): void {
    logSilentTwin(file, twin, log);
    if (!twin || !absentEngines.includes(twin.engine)) return;
    log("warn", "A twin's engine is not set up, so its replies will fail.", {
      file,
      twin: twin.id,
      engine: twin.engine,
    });
  }

  async function read(): Promise<Folder> {
    return refuseTakenIds(files, await readFolder(folder, files, { defaultEngine, engines }));
  }

  function take(found: Folder): void {
    twins = listTwins([...found.values()].flatMap(({ twin }) => twin ?? []));
    files = found;
  }

  async function readAgain(): Promise<void> {
    try {
      const found = await read();
      logChanges(files, found, log, warnOf);
      take(found);
      folderProblem = undefined;
    } catch (error) {
      const problem = String(error);
      if (problem !== folderProblem)
        log("error", "The folder of twin files cannot be read.", { folder, error });
      folderProblem = problem;
    }
  }

  function reload(): Promise<void> {
    reading = reading.then(readAgain);
    return reading;
  }

  const found = await read();
  for (const { problem } of found.values()) if (problem) throw problem;
  if (found.size === 0) log("warn", "The folder has no twin files.", { folder });
  for (const [file, { twin }] of found) warnOf(file, twin);
  take(found);

  const stop = followFolder(folder, {
    changed: () => hasChanged(folder, files),
    reload,
    log,
    pollMs,
    clock,
  });
  return {
    list: (owner, slice) => twins.list(owner, slice),
    get: (owner, id) => twins.get(owner, id),
    reload,
    async close() {
      stop();
      await reading;
    },
  };
}

/** Reads all files. Those that cannot be read, or used, are told by their `problem`. */
async function readFolder(folder: string, before: Folder, options: TwinFileOptions): Promise<Folder> {
  const found = new Map<string, FileState>();
  for (const file of await listFiles(folder)) {
    const state = await readState(folder, file, before.get(file), options);
    if (state) found.set(file, state);
  }
  return found;
}

async function listFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder);
  return names.filter((name) => name.endsWith(".md") && !name.startsWith(".")).sort();
}

/** Reads a file. Undefined: it is none, or not there any more. */
async function readState(
  folder: string,
  file: string,
  before: FileState | undefined,
  options: TwinFileOptions,
): Promise<FileState | undefined> {
  let signature = "";
  try {
    // Looked at before it is read: a change meanwhile gives it another signature afterwards.
    const info = await look(join(folder, file));
    if (!info) return undefined;
    signature = signatureOf(info);
    if (info.size > largestTwinFile) throw new TwinFileError(file, tooLarge);
    const parsed = parseTwinFile(file, await readFile(join(folder, file)), options);
    return { signature, twin: withTimes(parsed, info, before?.twin), problem: undefined };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined; // deleted before it could be read
    return { signature, twin: before?.twin, problem: toProblem(file, error) };
  }
}

function signatureOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return [ino, size, mtimeMs, ctimeMs].join(" ");
}

/**
 * A twin is as old as its file. Editors that replace the file make a new one: within a process the twin then
 * keeps its age, and is the same object as before if nothing changed.
 */
function withTimes(parsed: TwinFile, info: Stats, before: Twin | undefined): Twin {
  const updatedAt = Math.floor(info.mtimeMs);
  // Some file systems know no time of birth, or a wrong one.
  const born = info.birthtimeMs > 0 ? Math.min(Math.floor(info.birthtimeMs), updatedAt) : updatedAt;
  const known = before?.id === parsed.id ? before : undefined;
  const twin = { ...parsed, createdAt: Math.min(born, known?.createdAt ?? born), updatedAt };
  return known && JSON.stringify(known) === JSON.stringify(twin) ? known : twin;
}

function toProblem(file: string, error: unknown): TwinFileError {
  if (error instanceof TwinFileError) return error;
  return new TwinFileError(file, `cannot be read (${codeOf(error) ?? "unknown reason"}).`, { cause: error });
}

/** A regular file's facts. Undefined: it is none, or not there (any more), or a link that leads nowhere. */
async function look(path: string): Promise<Stats | undefined> {
  try {
    const info = await stat(path);
    return info.isFile() ? info : undefined;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}

/** An id belongs to the file that had it before, else to the first in order. Others with it cannot be used. */
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
      `its id ${JSON.stringify(id)} is that of ${JSON.stringify(owner)} already.`,
    );
    const last = before.get(file)?.twin;
    const kept = last && !owners.has(last.id) ? last : undefined;
    if (kept) owners.set(kept.id, file);
    checked.set(file, { ...state, twin: kept, problem });
  }
  return checked;
}

function logChanges(
  before: Folder,
  found: Folder,
  log: Log,
  warnOf: (file: string, twin: Twin | undefined) => void,
): void {
  for (const [file, { signature, twin, problem }] of found) {
    const last = before.get(file);
    if (problem && (signature !== last?.signature || problem.message !== last.problem?.message)) {
      log("error", problem.message, { file, kept: twin !== undefined });
    } else if (!problem && twin !== last?.twin) {
      log("info", "A twin file was read.", { file, twin: twin?.id });
      warnOf(file, twin);
    }
  }
  for (const [file, { twin }] of before) {
    if (!found.has(file)) log("info", "A twin file is gone.", { file, twin: twin?.id });
  }
}

/** Warns of a twin that is to answer from its text, which has nothing to quote. */
function logSilentTwin(file: string, twin: Twin | undefined, log: Log): void {
  if (twin?.engine !== "knowledge") return;
  if (readKnowledge(twin.name, twin.instructions).passages.length > 0) return;
  log("warn", "A twin has no sections under headings, so the knowledge engine knows no answers.", {
    file,
    twin: twin.id,
  });
}

/** Whether the folder is not as it was read last, judged without reading the files. */
async function hasChanged(folder: string, known: Folder): Promise<boolean> {
  try {
    const found: string[] = [];
    for (const file of await listFiles(folder)) {
      const info = await look(join(folder, file));
      if (info) found.push(`${file} ${signatureOf(info)}`);
    }
    return found.join("\n") !== [...known].map(([file, state]) => `${file} ${state.signature}`).join("\n");
  } catch {
    return true; // the folder, or a file, cannot be read: reading it all tells which, and logs it
  }
}
