/**
 * A twin's file in a folder.
 *
 * @module
 */

import type { TwinFault } from "../../core/twins/reader.ts";
import type { Twin } from "../../core/twins/twins.ts";
import { readTwinFile, TwinFaults, type TwinFile, type TwinFileOptions } from "../twin-text/mod.ts";

/** A twin file cannot be used. The message is one line that names the file, what is wrong and what is accepted. */
export class TwinFileError extends Error {
  override readonly name = "TwinFileError";
  /** What is wrong, without the file's name. */
  readonly problem: string;
  /** What is wrong with it: a twin's file, or a document in its folder, as a path in the folder of twins. */
  readonly file: string;
  /** The line that is wrong, from 1. */
  readonly line: number;

  constructor(file: string, problem: string, options: ErrorOptions & { readonly line?: number } = {}) {
    const { line = 1 } = options;
    const place = line > 1 ? `, line ${line}` : ""; // many faults of line 1 are the whole file's
    super(`Twin file ${JSON.stringify(file)}${place}: ${problem}`, options);
    this.problem = problem;
    this.file = file;
    this.line = line;
  }
}

/** A twin as a file of a folder defines it. The times come from the file system, further documents from its folder. */
export interface FolderTwin extends Pick<TwinFile, "tests" | "instructionsLine"> {
  readonly twin: Omit<Twin, "createdAt" | "updatedAt" | "documents">;
}

/** What is wrong with a file. */
export interface FileFaults {
  readonly faults: readonly [TwinFileError, ...TwinFileError[]];
}

/** Reads a twin from the bytes of the file called `file`, whose name is its id unless it has another. */
export function parseTwinFile(
  file: string,
  bytes: Uint8Array,
  options: Omit<TwinFileOptions, "idFromName">,
): FolderTwin | FileFaults {
  const idFromName = idOfName(file);
  try {
    const { twin, id = idFromName, ...read } = readTwinFile(bytes, { ...options, idFromName });
    return { ...read, twin: { id, ...twin } };
  } catch (error) {
    if (!(error instanceof TwinFaults)) throw error;
    const { cause } = error;
    const [first, ...others] = error.faults;
    const told = ({ message, line }: TwinFault) => new TwinFileError(file, message, { line, cause });
    return { faults: [told(first), ...others.map(told)] };
  }
}

/** What a file's name gives for an id, good or not. */
export function idOfName(file: string): string {
  return file.replace(/(?:\/twin)?\.md$/u, "");
}
