/**
 * Other runtimes to run the service on, fetched from npm when they are first needed.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** A runtime, and how it runs a file. */
export interface Runtime {
  readonly name: string;
  /** Absent: it could not be fetched, or cannot be used. */
  readonly command?: readonly string[];
  /** Why there is no command. */
  readonly reason?: string;
}

const packages = [
  { name: "Deno", program: "deno", binary: "deno@2.9.6", parameters: ["run", "--allow-all", "--no-check"] },
  { name: "Bun", program: "bun", binary: "bun@1.4.5", parameters: ["run"] },
];

/** Fetches the runtimes. Their programs are run by path: npx would keep the IPC channel to itself. */
export function fetchRuntimes(progress: (line: string) => void): Runtime[] {
  return packages.map(({ name, program, binary, parameters }) => {
    progress(`  ${name}: fetching ${binary}, unless npm has it`);
    const command = ["sh", "-c", `command -v ${program}`];
    const found = spawnSync("npx", ["--yes", "--fetch-retries=0", "-p", binary, "--", ...command]);
    const path = found.stdout?.toString().trim();
    if (found.status === 0 && path) {
      if (!isScript(path)) return { name, command: [path, ...parameters] };
      return {
        name,
        reason: "its install script did not run; does npm's setting ignore-scripts prevent it?",
      };
    }
    const code = /npm error code (\S+)/.exec(found.stderr?.toString() ?? "")?.[1];
    const reason = found.error?.message ?? code ?? `npx ended with ${found.status}`;
    return { name, reason };
  });
}

/** Without its install script, a package has a script in place of its program, which would keep the IPC channel, too. */
function isScript(path: string): boolean {
  return readFileSync(path).subarray(0, 2).toString() === "#!";
}
