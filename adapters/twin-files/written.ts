/**
 * The twins of a folder as they are written, for what sends them elsewhere.
 *
 * @module
 */

import { join } from "node:path";
import { usualEngines } from "../twin-text/mod.ts";
import { listDocuments, listTwinFiles, look, readWithin } from "./documents.ts";
import { idOfName, parseTwinFile } from "./file.ts";

/** A twin's file and documents, byte for byte. */
export interface WrittenTwin {
  readonly id: string;
  /** The file's path in the folder: `ada.md`, or `ada/twin.md`. */
  readonly file: string;
  readonly bytes: Uint8Array;
  readonly documents: readonly { readonly path: string; readonly bytes: Uint8Array }[];
}

/**
 * Reads all twins of a folder, good or not.
 *
 * @example
 * ```ts
 * import { readTwinFolder } from "twin-service/twin-files";
 *
 * for (const { id, file, documents } of await readTwinFolder("twins")) console.log(id, file, documents.length);
 * ```
 *
 * @throws if the folder, or a file in it, cannot be read.
 */
export async function readTwinFolder(folder: string): Promise<WrittenTwin[]> {
  const twins: WrittenTwin[] = [];
  for (const file of await listTwinFiles(folder)) {
    if (!(await look(join(folder, file)))) continue; // a folder, or a broken link
    const bytes = await readWithin(folder, file);
    const documents: { path: string; bytes: Uint8Array }[] = [];
    for (const { path } of await listDocuments(folder, file)) {
      const name = `${file.slice(0, -"twin.md".length)}${path}`;
      documents.push({ path, bytes: await readWithin(folder, name) });
    }
    twins.push({ id: idOf(file, bytes), file, bytes, documents });
  }
  return twins;
}

/** The id that a file has; of one with a fault, its name. */
function idOf(file: string, bytes: Uint8Array): string {
  const parsed = parseTwinFile(file, bytes, { defaultEngine: "knowledge", engines: usualEngines });
  return "faults" in parsed ? idOfName(file) : parsed.twin.id;
}
