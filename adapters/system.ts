/**
 * The system's codes for errors, and its folders. Apart, because the adapters of files and of sockets share them.
 *
 * @module
 */

import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** The code of an error that has one, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}

/**
 * Creates a folder and its parents, unless it exists. Rejects with the file system's error.
 *
 * Not with `mkdir`'s own `recursive`: on Node 20 that tries forever where nothing can be created, as in `/proc`.
 */
export async function makeFolder(path: string): Promise<void> {
  if (await isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) await makeFolder(parent);
  try {
    await mkdir(path);
  } catch (error) {
    if (!(await isFolder(path))) throw error; // another process may have been first
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
