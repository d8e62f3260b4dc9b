/**
 * Builds what is measured: plain JavaScript without the names that tsx keeps for each closure, as users of the
 * package run it.
 *
 * @module
 */

import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const bench = fileURLToPath(new URL("..", import.meta.url));

/** The absolute path of a file of the benchmark. */
export function benchFile(path: string): string {
  return join(bench, path);
}

/** Where the built form of a file is: beside its source, so that it finds the packages of its folder. */
export function builtFile(source: string): string {
  return join(bench, dirname(source), "dist", basename(source).replace(/\.(ts|mjs)$/, ".mjs"));
}

/** The reference server as one file. */
export const serverFile: string = builtFile("harness/server.ts");

const common = {
  absWorkingDir: bench,
  bundle: true,
  platform: "node",
  target: "node20",
  format: "esm",
  packages: "external",
  logLevel: "warning",
} as const;

/** Bundles the reference server, the model, the load generator and the servers that the benchmark itself wrote. */
export async function buildAll(): Promise<void> {
  const contenders = readdirSync(benchFile("contenders"))
    .flatMap((folder) => ["server.ts", "server.mjs"].map((name) => `contenders/${folder}/${name}`))
    .filter((file) => existsSync(benchFile(file)));
  const sources = ["model/server.ts", "load/process.ts", ...contenders];
  await Promise.all([
    build({ ...common, entryPoints: ["../server.ts"], outfile: serverFile }),
    ...sources.map((file) => build({ ...common, entryPoints: [file], outfile: builtFile(file) })),
  ]);
}
