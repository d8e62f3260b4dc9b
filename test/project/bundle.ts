/**
 * Bundles tests for Node without TypeScript: a process that loads a hundred sources through tsx costs a second of CPU
 * time before its first test, with a bundle a third of that.
 */

import { readFileSync, rmSync } from "node:fs";
import { dirname, join, parse } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Bundles files, each beside the code that it shares with others. Returns their names, which go with this process. */
export async function bundle(files: readonly string[]): Promise<string[]> {
  const outdir = join(root, "node_modules/.cache/twin-service", `tests-${process.pid}`);
  process.once("exit", () => rmSync(outdir, { recursive: true, force: true }));
  // Node runs files in the order of their names.
  const entryPoints = files.map((file, index) => ({
    in: file,
    out: `${String(index).padStart(3, "0")}-${parse(file).name}`,
  }));
  await build({
    absWorkingDir: root,
    entryPoints,
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20.19",
    conditions: [], // those of Node, without "module"
    ignoreAnnotations: true, // package.json says that the sources do nothing by themselves, which is not true of tests
    sourcemap: "inline",
    logLevel: "warning",
    plugins: [locations, packages],
  });
  return entryPoints.map(({ out }) => join(outdir, `${out}.mjs`));
}

/** Lets `import.meta.url` be that of the source, which finds its files beside it. */
const locations: Plugin = {
  name: "locations",
  setup({ initialOptions, onLoad }) {
    initialOptions.define = { "import.meta.url": "urlOfSource" };
    onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      contents: `const urlOfSource = ${JSON.stringify(pathToFileURL(path).href)};${readFileSync(path, "utf8")}`,
      loader: "ts",
    }));
  },
};

/** Imports packages from where the source finds them: some test folders have packages of their own. */
const packages: Plugin = {
  name: "packages",
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^[^./]/ }, async ({ path, importer, kind, pluginData }) => {
      if (pluginData === packages || kind === "entry-point") return undefined;
      if (path.startsWith("file:")) return { path: fileURLToPath(path) };
      const found = await resolve(path, { kind, resolveDir: dirname(importer), pluginData: packages });
      const isMissing = found.errors.length > 0 || found.namespace !== "file"; // tests that need it are skipped
      return { path: isMissing || found.external ? path : pathToFileURL(found.path).href, external: true };
    });
  },
};
