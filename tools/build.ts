/**
 * Builds `dist/`: the library as JavaScript with its declarations, and the server as one file that needs nothing
 * else but database drivers.
 *
 * Neither is minified: a stack trace can be followed in these files, without source maps.
 *
 * Run as `npm run build`.
 */

import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/** Some of the packages are CommonJS and require Node's own modules, for which esbuild looks for a `require`. */
const requireForPackages = `import { createRequire as createRequireOfBundle } from "node:module";
const require = createRequireOfBundle(import.meta.url);`;

rmSync("dist", { recursive: true, force: true });
const compiler = "node_modules/typescript/bin/tsc"; // what lies in .bin is no program on Windows
execFileSync(process.execPath, [compiler, "-p", "tsconfig.build.json"], { stdio: "inherit" });
await bundleServer("dist/server.js");
cpSync("twins", "dist/twins", { recursive: true }); // what the server serves if it is given no others

async function bundleServer(outfile: string): Promise<void> {
  const { peerDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  // What the server does not use itself comes along with the packages that do.
  const drivers = Object.keys(peerDependencies).filter((name) => name !== "@opentelemetry/api");
  const { metafile } = await build({
    entryPoints: ["server.ts"],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20.19",
    external: drivers,
    banner: { js: ["#!/usr/bin/env node", requireForPackages].join("\n") },
    legalComments: "none", // the licenses are appended in full
    metafile: true,
  });
  appendFileSync(outfile, licenses(bundledPackages(Object.keys(metafile.inputs))));
  chmodSync(outfile, 0o755);
}

/** The folders of the packages that files belong to. */
function bundledPackages(files: readonly string[]): string[] {
  const folders = files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []);
  return [...new Set(folders)].sort();
}

function licenses(folders: readonly string[]): string {
  const texts = folders.map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no license file to copy.`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return `\n/*!\nThis file contains these packages:\n\n${texts.join("\n\n").replaceAll("*/", "* /")}*/\n`;
}
