/**
 * What parts of the library add to its users' bundles. Run as `npm run size`, which prints it.
 */

import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** What a module of the project adds to a bundle: its bytes, minified, and gzipped besides, and the files they are from. */
export async function measure(entry: string, external: string[] = []) {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL(`../../${entry}`, import.meta.url))],
    bundle: true,
    write: false,
    minify: true,
    metafile: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    external,
  });
  const [{ contents } = { contents: new Uint8Array() }] = outputFiles;
  return { minified: contents.length, size: gzipSync(contents).length, files: Object.keys(metafile.inputs) };
}

/** What the core loads by `import()`: an engine, at its first reply; the API's description; a reader of owners' twins. */
const loadedLater = ["./knowledge/mod.ts", "./adapters/twin-text/mod.ts", "./api/document/mod.ts"];

/** The size of the package's entry, with the packages that it imports, without `jose` and what it loads when it is first asked for. */
export async function measureCore(): Promise<number> {
  return (await measure("mod.ts", ["jose", ...loadedLater])).size;
}

/** The size of the engine that asks models, minified, without what it loads for texts to search, tools and schemas. */
export async function measureOpenAI(): Promise<number> {
  return (
    await measure("adapters/openai-models/mod.ts", ["*/knowledge/mod.ts", "./tools.ts", "./reply-format.ts"])
  ).minified;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(`core: ${(await measureCore()) / 1000} KB, minified and gzipped, without jose`);
  console.log(`openai: ${(await measureOpenAI()) / 1000} KB, minified`);
}
