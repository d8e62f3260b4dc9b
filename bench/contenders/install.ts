/**
 * Installs the packages of contenders when they are first needed. None of them is a dependency of the project.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { benchFile } from "../harness/build.ts";
import type { Contender } from "./contender.ts";

/** What a contender's folder says of its packages. */
interface Manifest {
  readonly engines?: { readonly node?: string };
  readonly dependencies?: Readonly<Record<string, string>>;
}

function manifestOf({ folder }: Contender): Manifest {
  const file = benchFile(`contenders/${folder}/package.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
}

/** The packages of a contender with their versions. */
export function packagesOf(contender: Contender): readonly string[] {
  return Object.entries(manifestOf(contender).dependencies ?? {}).map((entry) => entry.join(" "));
}

/** A contender that cannot take part, and why. */
export interface LeftOut {
  readonly contender: Contender;
  readonly reason: string;
}

/** Installs what is missing. Returns who can take part, and who cannot. */
export function install(
  contenders: readonly Contender[],
  progress: (line: string) => void,
): { ready: readonly Contender[]; leftOut: readonly LeftOut[] } {
  const leftOut: LeftOut[] = [];
  const ready = contenders.filter((contender) => {
    const reason = obstacleOf(contender, progress);
    if (reason !== undefined) leftOut.push({ contender, reason });
    return reason === undefined;
  });
  return { ready, leftOut };
}

function obstacleOf(contender: Contender, progress: (line: string) => void): string | undefined {
  const { engines, dependencies } = manifestOf(contender);
  if (dependencies === undefined) return undefined;
  if (!isNewEnough(engines?.node)) return `it needs Node ${engines?.node}, and this is ${process.version}`;
  const cwd = benchFile(`contenders/${contender.folder}`);
  if (existsSync(join(cwd, "node_modules"))) return undefined;
  progress(`Installing ${packagesOf(contender).join(", ")} …`);
  const npm = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], {
    cwd,
    encoding: "utf8",
    shell: process.platform === "win32", // where npm is a script
  });
  if (npm.status === 0) return undefined;
  const code = /npm error code (\S+)/.exec(npm.stderr)?.[1] ?? `exit code ${npm.status}`;
  return `npm could not install it: ${code}`;
}

/** Whether this Node satisfies a range of the form `>=22.13`. */
function isNewEnough(range = ">=0"): boolean {
  const least = range.replace(">=", "").split(".").map(Number);
  const own = process.versions.node.split(".").map(Number);
  for (const [index, part] of least.entries()) {
    if ((own[index] ?? 0) !== part) return (own[index] ?? 0) > part;
  }
  return true;
}
