/**
 * Other runtimes to run the service on, fetched from npm when they are first needed.
 *
 * @module
 */

import { spawnSync } from "node:child_process";

/** A runtime, and how it runs a file. */
export interface Runtime {
  readonly name: string;
  /** Absent: it could not be fetched. */
  readonly command?: readonly string[];
  /** Why it could not be fetched. */
  readonly reason?: string;
}

const packages = [
  { name: "Deno", program: "deno", binary: "deno@2.9.6", parameters: ["run", "--allow-all", "--no-check"] },
  { name: "Bun", program: "bun", binary: "bun@1.4.5", parameters: ["run"] },
];

/** Fetches the runtimes. Their programs are run by path: npx would keep the IPC channel to itself. */
export function fetchRuntimes(): Runtime[] {
  return packages.map(({ name, program, binary, parameters }) => {
    const found = spawnSync("npx", ["--yes", "-p", binary, "--", "sh", "-c", `command -v ${program}`]);
    const path = found.stdout?.toString().trim();
    if (found.status === 0 && path) return { name, command: [path, ...parameters] };
    const code = /npm error code (\S+)/.exec(found.stderr?.toString() ?? "")?.[1];
    const reason = found.error?.message ?? code ?? `npx ended with ${found.status}`;
    return { name, reason };
  });
}
