/**
 * Making the folders that files are kept in.
 *
 * @module
 */

import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Makes a folder, and those above it, unless it is there. Rejects with the file system's error.
 *
 * Not by `mkdir`'s own `recursive`: on Node 20 that tries for ever where nothing can be made, as in `/proc`.
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
