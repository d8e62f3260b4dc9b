/**
 * Folders for the files of tests.
 *
 * @module
 */

import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders: string[] = [];

process.once("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/**
 * Makes a folder, which goes with this process. Not after a file's tests: where several files share a process, Node 26 may
 * call what is registered for the end of all before the last of them are loaded.
 */
export async function makeScratch(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `${name}-`));
  folders.push(folder);
  return folder;
}
