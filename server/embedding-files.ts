/**
 * The vectors of texts, kept in files beside the database, so that a text is sent to a model once.
 *
 * @module
 */

import { mkdir, opendir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import type { EmbeddingCache } from "../adapters/openai-models/embeddings.ts";
import type { Log } from "../core/base/log.ts";
import type { DatabaseChoice } from "./settings.ts";

/** The folder of vectors: next to the SQLite file; in `./data` for any other database. */
export function embeddingsFolder(database: DatabaseChoice): string {
  return join(database.kind === "sqlite" ? dirname(database.path) : "./data", "embeddings");
}

/** How many vectors are kept: a gigabyte where each has 1,024 numbers, four with 4,096, the most. */
const mostFiles = 262_144;

/**
 * Keeps each vector in a file, named by its digest. Of more than there may be, those that were not used for the longest time are
 * deleted: after an eighth as many have come. A folder that cannot be written is told once.
 */
export function createEmbeddingFiles(folder: string, log: Log, most: number = mostFiles): EmbeddingCache {
  const between = Math.ceil(most / 8);
  let saved = 0;
  let warned = false;
  return {
    async load(digest) {
      const file = join(folder, digest);
      const bytes = await readFile(file).catch(() => undefined); // saving says what is wrong with the folder
      if (bytes) await utimes(file, new Date(), new Date()).catch(() => {}); // another process may have deleted it
      return bytes && new Float32Array(Uint8Array.from(bytes).buffer, 0, Math.floor(bytes.length / 4));
    },
    async save(digest, vector) {
      const file = join(folder, digest);
      const partial = `${file}.${process.pid}`;
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await writeFile(partial, new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength), {
          mode: 0o600,
        });
        await rename(partial, file); // whole or not at all
        if (saved++ % between === 0) await deleteOldest(folder, most);
      } catch (error) {
        if (!warned) log("warn", "embeddings cannot be kept; texts are sent again after a start", { error });
        warned = true;
      }
    },
  };
}

/** Leaves at most so many files in a folder. Names are not kept meanwhile: they would take more memory than times. */
async function deleteOldest(folder: string, most: number): Promise<void> {
  let count = 0;
  for await (const _ of filesOf(folder)) count++;
  if (count <= most) return;
  const times: number[] = [];
  for await (const file of filesOf(folder)) times.push(await lastUse(file));
  const last = Float64Array.from(times).sort()[times.length - most - 1];
  if (last === undefined) return;
  for await (const file of filesOf(folder))
    if ((await lastUse(file)) <= last) await rm(file, { force: true });
}

async function* filesOf(folder: string): AsyncGenerator<string> {
  for await (const { name } of await opendir(folder, { bufferSize: 256 })) yield join(folder, name);
}

/** When a file was written or read last. One that another process has deleted meanwhile is as old as can be. */
async function lastUse(file: string): Promise<number> {
  return stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}
