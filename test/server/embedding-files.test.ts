/**
 * The files of vectors: how many are kept.
 */

import assert from "node:assert/strict";
import { readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { sha256 } from "../../core/base/ids.ts";
import { createEmbeddingFiles } from "../../server/embedding-files.ts";
import { makeScratch } from "../support/folder.ts";

const vector = Float32Array.of(1, 2, 3);

test("a folder of vectors keeps those that were used last", async () => {
  const folder = await makeScratch("embeddings");
  const warnings: unknown[] = [];
  const files = createEmbeddingFiles(folder, (...line) => warnings.push(line), 16);
  await writeFile(join(folder, `${sha256("half written")}.1`), "");
  await utimes(join(folder, `${sha256("half written")}.1`), 0, 0);
  for (let n = 0; n < 100; n++) {
    await files.save(sha256(`text ${n}`), vector);
    await utimes(join(folder, sha256(`text ${n}`)), n + 1, n + 1); // each is older than what is used by now
    assert.deepEqual(await files.load(sha256("text 0")), vector);
  }
  const kept = await readdir(folder);
  assert.ok(kept.length <= 18, `${kept.length} files`); // looked at after each second one
  assert.deepEqual(await files.load(sha256("text 0")), vector);
  assert.deepEqual(await files.load(sha256("text 99")), vector);
  assert.equal(await files.load(sha256("text 1")), undefined);
  assert.ok(kept.every((name) => !name.includes(".")));
  assert.deepEqual(warnings, []);
});
