/**
 * Twins from a folder of Markdown files, reloaded when they change.
 *
 * @module
 */

import { clearTimeout, setTimeout } from "node:timers";
import { type Clock, longestTimerMs } from "../../core/base/clock.ts";
import { isJsonObject, isString } from "../../core/base/json.ts";
import { type Log, noLog } from "../../core/base/log.ts";
import {
  clockRule,
  functionThat,
  logRule,
  optional,
  type RulesFor,
  requireOptions,
} from "../../core/base/rules.ts";
import type { Listing, Slice } from "../../core/store/store.ts";
import type { TwinEngine } from "../../core/twins/engine.ts";
import type { GoldenQuestion, TwinReader } from "../../core/twins/reader.ts";
import { listTwins, type Twin, type TwinList } from "../../core/twins/twins.ts";
import { extractText } from "../documents/mod.ts";
import { createTwinReader as createReader, usualEngines } from "../twin-text/mod.ts";
import { type FileState, type Folder, hasChanged, readFolder } from "./folder.ts";
import { followFolder } from "./watch.ts";

export type { GoldenQuestion } from "../../core/twins/reader.ts";
export { type Check, type CheckOptions, checkTwins } from "./check.ts";
export { TwinFileError } from "./file.ts";
export { readTwinFolder, type WrittenTwin } from "./written.ts";

/** Options of {@link openTwinFiles}. */
export interface TwinFilesOptions {
  /** The engine of files that name none, such as `knowledge`. */
  readonly defaultEngine: string;
  /**
   * The service's engines. Files may name these, and always `knowledge`, `openai` and `echo`; a twin whose engine is
   * not among them is logged with a warning. They may prepare for their twins. Default: those three names, without warnings.
   */
  readonly engines?: Readonly<Record<string, TwinEngine>> | undefined;
  /**
   * What is wrong with a name under `tools`, as the end of a sentence, such as `problemOf` of `connectTools`. Undefined:
   * nothing. Default: any name is accepted.
   */
  readonly toolProblem?: ((name: string) => string | undefined) | undefined;
  /** Receives changes, and files that cannot be used. Default: silence. */
  readonly log?: Log | undefined;
  /**
   * The clock of the checks, every 2 seconds, for changes that the system does not report. Default: the system's, with
   * timers that do not keep the process alive.
   */
  readonly clock?: Clock | undefined;
}

/** A twin, and what its file lists under `tests`. */
export interface FoundTwin {
  readonly twin: Twin;
  readonly tests: readonly GoldenQuestion[];
}

/** Twins that follow the files of a folder. `await using` closes them. */
export interface TwinFiles extends TwinList, AsyncDisposable {
  /** A twin, whoever may use it, and the golden questions of its file. */
  find(id: string): FoundTwin | undefined;
  /** Reads all files now. Never rejects: files that cannot be used are logged, and their last good version stays. */
  reload(): Promise<void>;
  /** Stops watching for changes. */
  close(): Promise<void>;
}

const rules: RulesFor<TwinFilesOptions> = {
  defaultEngine: { expected: "an engine's name", accepts: (value) => isString(value) && value !== "" },
  engines: optional({ expected: "an object of engines by name", accepts: isJsonObject }),
  toolProblem: optional(functionThat("takes a tool's name")),
  log: optional(logRule),
  clock: optional(clockRule),
};

const backgroundClock: Clock = {
  now: () => Date.now(),
  after(milliseconds, callback) {
    const timer = setTimeout(callback, Math.min(milliseconds, longestTimerMs));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Opens a folder of twin files. Every regular file with a name that ends in `.md` is a twin. So is every subfolder with a
 * `twin.md`: all other documents in it are further knowledge (`.md`, `.markdown`, `.mdx`, `.txt`, `.html`, `.htm`; `.pdf` with the package
 * `@embedpdf/pdfium`, `.docx`), up to 2,000 of up to 20 MiB together. A link may
 * lead to another file below the folder, and nowhere else. Names that begin with a dot are ignored.
 *
 * Later changes take effect immediately and all together: a new file adds a twin, a deleted one removes it. For a file
 * that can no longer be used, the last good version stays, with a warning in the log.
 *
 * @example
 * ```ts
 * import { createKnowledgeEngine } from "twin-service/knowledge";
 * import { openTwinFiles } from "twin-service/twin-files";
 *
 * const engines = { knowledge: createKnowledgeEngine() }; // the service's, too
 * const twins = await openTwinFiles("./twins", { defaultEngine: "knowledge", engines });
 * ```
 *
 * @throws {TwinFileError} if a file cannot be used, or two have the same id.
 * @throws {TypeError} for an option that is unknown or cannot be used.
 * @throws if the folder cannot be read.
 */
export async function openTwinFiles(folder: string, options: TwinFilesOptions): Promise<TwinFiles> {
  requireOptions("openTwinFiles", options, rules);
  const files = new FolderOfTwins(folder, options);
  await files.open();
  return {
    list: (owner, slice) => files.list(owner, slice),
    get: (owner, id) => files.get(owner, id),
    find: (id) => files.find(id),
    reload: () => files.reload(),
    close: () => files.close(),
    [Symbol.asyncDispose]: () => files.close(),
  };
}

/**
 * Creates the reader of twins that owners make, which also reads Word and, where its package is installed, PDF, as from a folder:
 * in a thread of its own.
 *
 * @example
 * ```ts
 * import { createService } from "twin-service";
 * import { createTwinReader } from "twin-service/twin-files";
 *
 * const service = createService({ ...options, ownTwins: { reader: createTwinReader() } });
 * ```
 */
export function createTwinReader(): TwinReader {
  return createReader({ extractText });
}

/** The twins of a folder, as they were read last. */
class FolderOfTwins {
  readonly #folder: string;
  readonly #options: TwinFilesOptions;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #engineNames: readonly string[];
  #files: Folder = new Map();
  #twins: TwinList = listTwins([]);
  #folderProblem: string | undefined;
  #reading = Promise.resolve();
  #stopFollowing = () => {};

  constructor(folder: string, options: TwinFilesOptions) {
    this.#folder = folder;
    this.#options = options;
    this.#log = options.log ?? noLog;
    this.#clock = options.clock ?? backgroundClock;
    this.#engineNames = [...new Set([...usualEngines, ...Object.keys(options.engines ?? {})])];
  }

  /** Reads the files for the first time, and follows them after that. */
  async open(): Promise<void> {
    const clock = this.#clock;
    const log = this.#log;
    const found = await this.#read();
    for (const { problems } of found.values()) for (const problem of problems) throw problem;
    if (found.size === 0) log("warn", "the folder has no twin files", { folder: this.#folder });
    for (const [file, state] of found) await this.#warnOf(file, state);
    this.#take(found);
    const changed = () => hasChanged(this.#folder, this.#files);
    const reload = () => this.reload();
    this.#stopFollowing = followFolder(this.#folder, { changed, reload, log, clock });
  }

  list(owner: string, slice: Slice): Promise<Listing<Twin>> {
    return this.#twins.list(owner, slice);
  }

  get(owner: string, id: string): Promise<Twin | undefined> {
    return this.#twins.get(owner, id);
  }

  find(id: string): FoundTwin | undefined {
    for (const { twin, tests } of this.#files.values()) if (twin?.id === id) return { twin, tests };
    return undefined;
  }

  reload(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#readAgain());
    return this.#reading;
  }

  async close(): Promise<void> {
    this.#stopFollowing();
    await this.#reading;
  }

  async #readAgain(): Promise<void> {
    try {
      const [before, found] = [this.#files, await this.#read()];
      this.#take(found);
      await logChanges(before, found, this.#log, (file, state) => this.#warnOf(file, state));
      this.#folderProblem = undefined;
    } catch (error) {
      const problem = String(error);
      const message = "the folder of twin files cannot be read; its twins stay as they were";
      if (problem !== this.#folderProblem) this.#log("warn", message, { folder: this.#folder, error });
      this.#folderProblem = problem;
    }
  }

  #read(): Promise<Folder> {
    const { defaultEngine, toolProblem } = this.#options;
    const [clock, log] = [this.#clock, this.#log];
    const options = { defaultEngine, engines: this.#engineNames, toolProblem, clock, log };
    return readFolder(this.#folder, this.#files, options);
  }

  #take(found: Folder): void {
    const twins = [...found.values()].flatMap(({ twin }) => twin ?? []);
    this.#twins = listTwins(twins);
    this.#files = found;
    for (const [name, engine] of Object.entries(this.#options.engines ?? {}))
      engine.prepare?.(twins.filter((twin) => twin.engine === name));
  }

  async #warnOf(file: string, { twin, instructionsLine, unread }: FileState): Promise<void> {
    const { engines } = this.#options;
    if (twin && unread)
      this.#log("warn", "a twin's folder has files that are not read", { twin: twin.id, unread });
    if (twin?.engine === "knowledge") await warnOfText(file, twin, instructionsLine, this.#log);
    if (!twin || !engines || Object.hasOwn(engines, twin.engine)) return;
    this.#log("warn", "a twin's engine is not set up, so its replies will fail", {
      file,
      twin: twin.id,
      engine: twin.engine,
    });
  }
}

async function logChanges(
  before: Folder,
  found: Folder,
  log: Log,
  warnOf: (file: string, state: FileState) => Promise<void>,
): Promise<void> {
  for (const [file, state] of found) {
    const { signature, twin } = state;
    const last = before.get(file);
    const problem = problemOf(state);
    if (problem && (signature !== last?.signature || problem !== problemOf(last))) {
      if (twin) log("warn", keptMessage, { file, problem, twin: twin.id });
      else log("error", "a twin file cannot be used; its twin is missing", { file, problem });
    } else if (!problem && twin !== last?.twin) {
      log("info", "a twin file was read", { file, twin: twin?.id });
      await warnOf(file, state);
    }
  }
  for (const [file, { twin }] of before) {
    if (!found.has(file)) log("info", "a twin file is gone", { file, twin: twin?.id });
  }
}

/** The first problem of a file, and how many more there are. Undefined: none. */
function problemOf({ problems }: FileState): string | undefined {
  const [first, ...others] = problems;
  const more = others.length === 0 ? "" : ` (and ${others.length} more: "check" lists them)`;
  return first && `${first.message}${more}`;
}

const keptMessage = "a twin file cannot be used; its last good version stays";

/** Warns of a twin that has nothing to quote, a phrase that it will never say, or text that is not read as it looks. */
async function warnOfText(file: string, twin: Twin, instructionsLine: number, log: Log): Promise<void> {
  // Loaded here, because a start without such twins does not need it.
  const { occasions, readInstructions } = await import("../../knowledge/text/sections.ts");
  const { id, name, instructions, documents } = twin;
  const { sections, voice, warnings } = readInstructions(name, instructions);
  const unknown = [...voice.keys()].filter((key) => !occasions.some((occasion) => occasion === key));
  if (sections.length === 0 && documents.length === 0) {
    log("warn", "a twin has no sections under headings, so the knowledge engine has no answers", {
      file,
      twin: id,
    });
  }
  if (unknown.length > 0) {
    log("warn", "a twin's Voice has phrases for unknown occasions, which it will never say", {
      file,
      twin: id,
      unknown,
      known: occasions,
    });
  }
  for (const { line, message } of warnings) {
    log("warn", "a twin's text has a fault", {
      file,
      twin: id,
      line: instructionsLine + line - 1,
      fault: message,
    });
  }
}
