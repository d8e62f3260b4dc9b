/**
 * Builds what is measured: plain JavaScript without the names that tsx keeps for each closure, as users of the
 * package run it. All contenders, and the load generator, are built alike.
 *
 * @module
 */

import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = fileURLToPath(new URL(".", import.meta.url));

/** Where the built files are, in the same layout as the sources. */
export const built: string = `${folder}dist/`;

/** Bundles the servers, the load generator and the scenarios that need no server into `bench/dist`. */
export async function buildAll(): Promise<void> {
  const servers = readdirSync(`${folder}servers`).map((file) => `servers/${file}`);
  await build({
    absWorkingDir: folder,
    entryPoints: ["load.ts", "encode.ts", "listing.ts", ...servers],
    outbase: folder,
    outdir: built,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    packages: "external",
    platform: "node",
    target: "node20",
    format: "esm",
    logLevel: "warning",
  });
}
