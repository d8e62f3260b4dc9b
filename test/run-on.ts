/**
 * Runs the suite on another runtime, fetched from npm when it is not there yet:
 * `node --import tsx test/run-on.ts <deno|bun|node>`, and optionally the test files to run.
 *
 * Prints what is left out and why, then the runtime's own report. The exit code is the runtime's.
 */

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";

interface Runtime {
  /** The npm package that holds the runtime, pinned. */
  readonly binary: string;
  readonly command: readonly string[];
  /** Test files that do not run there, and why. */
  readonly leftOut: Readonly<Record<string, string>>;
}

const ownFraming = "checks byte for byte what adapters/node.ts answers; docs/runtimes.md has what differs";

const runtimes: Readonly<Record<string, Runtime>> = {
  node: { binary: "node@26.10.0", command: ["node", "--test", "--test-concurrency=2"], leftOut: {} },
  deno: {
    binary: "deno@2.9.6",
    command: ["deno", "test", "--allow-all", "--no-check", "--quiet"],
    leftOut: {
      "framing.test.ts": ownFraming,
      "fuzz.test.ts": ownFraming,
      "jwks.test.ts": "expects that Web Crypto refuses a key which Deno's takes",
      "node.test.ts": "tests adapters/node.ts alone",
      "openai-connections.test.ts": "expects the words in which Node names a refused connection",
      "postgres.test.ts": "starts PostgreSQL and holds its connections; a run on Node covers the store",
      "redis.test.ts": "starts Redis and stops its process; a run on Node covers the limiter",
      "slow-readers.test.ts": "Deno tells a stalled answer nothing; docs/runtimes.md says what it costs",
      "sqlite.test.ts": "expects Node's words, and starts processes with its flags; store.test.ts runs here",
      "sqlite-buckets.test.ts": "starts other processes with Node's flags; limit.test.ts runs here",
      "sqlite-store.test.ts": "starts other processes with Node's flags; store.test.ts runs here",
    },
  },
  bun: {
    binary: "bun@1.4.5",
    command: ["bun", "test", "--timeout", "60000"],
    leftOut: {
      "framing.test.ts": ownFraming,
      "fuzz.test.ts": ownFraming,
      "http.test.ts": "Bun's fetch sends methods that it does not know as GET, and // in a path as /",
      "node.test.ts": "tests adapters/node.ts alone",
      "openai-connections.test.ts": "provokes garbage collections through a switch of V8",
      "postgres.test.ts": "starts PostgreSQL and kills connections; a run on Node covers the store",
      "redis.test.ts": "starts Redis and stops its process; a run on Node covers the limiter",
      "shutdown.test.ts": "opens a thousand streams at once; Bun's fetch opens 256",
    },
  },
};

const [name = "", ...chosen] = process.argv.slice(2);
const runtime = runtimes[name];
if (!runtime) throw new Error(`Name a runtime: ${Object.keys(runtimes).join(", ")}.`);

for (const [file, reason] of Object.entries(runtime.leftOut)) console.log(`left out: ${file}: ${reason}`);
const all = readdirSync("test").filter((file) => file.endsWith(".test.ts") && !(file in runtime.leftOut));
const files = chosen.length > 0 ? chosen : all.map((file) => `test/${file}`);
const { status } = spawnSync("npx", ["--yes", "-p", runtime.binary, "--", ...runtime.command, ...files], {
  stdio: "inherit",
  shell: process.platform === "win32", // where npx is a script
});
process.exit(status ?? 1);
