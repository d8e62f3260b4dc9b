/**
 * The command that starts the reference server in tests.
 *
 * For Node, the server is bundled once for each process with tests: starting its sources costs a second of CPU time each
 * time, the bundle a third of that. `npm-start.test.ts` starts the sources as users do.
 */

import { mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import packageInfo from "../../package.json" with { type: "json" };
import { runtime } from "../support/runtime.ts";

const project = fileURLToPath(new URL("../..", import.meta.url));

/** The `require` of packages that are CommonJS, as in `tools/build.ts`. */
const requireForPackages = `import { createRequire as createRequireOfBundle } from "node:module";
const require = createRequireOfBundle(import.meta.url);`;

/** A program and its arguments, to which those of the server are added. */
export const serverCommand: readonly string[] = [process.execPath, ...(await sources())];

async function sources(): Promise<string[]> {
  if (runtime === "deno") return ["run", "-A", `${project}server.ts`];
  if (runtime === "bun") return [`${project}server.ts`];
  return [await bundle()];
}

/** Bundles the server with its packages, as it is published. Removed when this process ends. */
async function bundle(): Promise<string> {
  const { build } = await import("esbuild");
  const folder = `${project}node_modules/.cache/twin-service/${process.pid}`;
  mkdirSync(folder, { recursive: true });
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const outfile = `${folder}/server.mjs`;
  await build({
    entryPoints: [`${project}server.ts`],
    outfile,
    bundle: true,
    external: Object.keys(packageInfo.peerDependencies), // database drivers
    platform: "node",
    format: "esm",
    target: "node20.19",
    banner: { js: requireForPackages },
  });
  return outfile;
}
