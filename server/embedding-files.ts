/**
 * The vectors of texts, kept in files beside the database, so that a text is sent to a model once.
 *
 * @module
 */

import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import type { EmbeddingCache } from "../adapters/openai-models/embeddings.ts";
import type { Log } from "../core/base/log.ts";
import type { DatabaseChoice } from "./settings.ts";

/** The folder of vectors: next to the SQLite file; in `./data` for any other database. */
export function embeddingsFolder(database: DatabaseChoice): string {
  return join(database.kind === "sqlite" ? dirname(database.path) : "./data", "embeddings");
}

/** Keeps each vector in a file, named by its digest. A folder that cannot be written is told once. */
export function createEmbeddingFiles(folder: string, log: Log): EmbeddingCache {
  let warned = false;
  return {
    async load(digest) {
      const bytes = await readFile(join(folder, digest)).catch(() => undefined); // saving says what is wrong with the folder
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
      } catch (error) {
        if (!warned) log("warn", "embeddings cannot be kept; texts are sent again after a start", { error });
        warned = true;
      }
    },
  };
}
