/**
 * What the core adds to its users' bundles. Run as `npm run size`, which prints it.
 */

import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** The core's size in bytes, with the packages that it imports: minified and gzipped, without `jose`. */
export async function measureCore(): Promise<number> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("../../core/mod.ts", import.meta.url))],
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    external: ["jose"],
  });
  return outputFiles.reduce((sum, { contents }) => sum + gzipSync(contents).length, 0);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(`core: ${(await measureCore()) / 1000} KB, minified and gzipped, without jose`);
}
