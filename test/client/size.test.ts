/**
 * What the client adds to a page.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

test("the client has at most 8 KB, minified and gzipped, and one dependency", async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL("../../client/mod.ts", import.meta.url))],
    bundle: true,
    write: false,
    minify: true,
    metafile: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
  });
  const size = gzipSync(outputFiles[0]?.contents ?? "").length;
  assert.ok(size <= 8_000, `it has ${size} bytes`);
  const inputs = Object.keys(metafile.inputs).filter((path) => !/(^|\/)client\//.test(path));
  assert.ok(
    inputs.length > 0 && inputs.every((path) => path.includes("node_modules/eventsource-parser/")),
    inputs.join(),
  );
});
