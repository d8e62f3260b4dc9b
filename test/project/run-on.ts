/**
 * Runs the suite on this Node, or on another runtime, which is fetched from npm if necessary:
 * `node --import tsx test/project/run-on.ts <node|node26|deno|bun>`, and optionally the test files to run.
 *
 * Another runtime runs what touches one: sockets, stores, files, the client, the package, knowledge. With `FULL=1` it also
 * runs what computes on injected time. Prints which files are left out and why, then the runtime's own report. The exit
 * code is the runtime's.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundle } from "./bundle.ts";

interface Runtime {
  readonly command: readonly string[];
  /** Test files, and folders of them, that do not run there, and why. */
  readonly leftOut: Readonly<Record<string, string>>;
  /** What the files become before they run there. */
  readonly prepare?: (files: readonly string[]) => readonly string[] | Promise<readonly string[]>;
}

/** A command of an npm package that is pinned. */
const fetched = (binary: string) => ["npx", "--yes", "-p", binary, "--"];

const ownFraming =
  "checks byte for byte what adapters/servers/node/mod.ts answers; docs/runtimes.md says what differs";
const onlyNode = "tests only adapters/servers/node/mod.ts";
const ownNode = "tells nothing about the runtime that the run on Node does not";
const otherNode = "takes long, and tells little that the run on the machine's own Node does not";

/** Tests that compute on injected time: requests in this process, replies on a test's clock. */
const computing = [
  "api",
  "base",
  "bench",
  "mcp-clients",
  "openai-clients",
  "openai-models/calls.test.ts",
  "openai-models/faults.test.ts",
  "otel",
  "replies",
  "simulation",
  "suites",
  "web",
  "wire",
];

/** What other runtimes than this machine's Node leave out, unless `FULL=1` asks for all. */
const leftToFull = Object.fromEntries(
  process.env.FULL === "1"
    ? []
    : computing.map((tests) => [tests, "computes on injected time; FULL=1 runs it here, too"]),
);

/** The tests of PostgreSQL, but not those of its plans. */
const leavePostgresOut = (reason: string) => ({
  "postgres/address.test.ts": reason,
  "postgres/clock.test.ts": reason,
  "postgres/connections.test.ts": reason,
  "postgres/contracts.test.ts": reason,
  "postgres/erasure.test.ts": reason,
  "postgres/limits.test.ts": reason,
  "postgres/pooler.test.ts": reason,
  "postgres/start.test.ts": reason,
  "postgres/token-budgets.test.ts": reason,
});

/** What Deno and Bun leave out. */
const leftToNode = {
  ...leftToFull,
  "http/bodies.test.ts": ownFraming,
  "http/framing.test.ts": ownFraming,
  "http/fuzz.test.ts": ownFraming,
  "servers/handler.test.ts": onlyNode,
  "servers/long-answers.test.ts": onlyNode,
  "servers/pipelining.test.ts": onlyNode,
  "servers/server.test.ts": onlyNode,
  browser: ownNode,
  clients: ownNode,
  "client/size.test.ts": ownNode,
  "project/doc-examples.test.ts": ownNode,
  "project/pages.test.ts": ownNode,
  "sql/copy.test.ts": ownNode,
  "sql/fair-reads.test.ts": ownNode,
  "upgrades/steps.test.ts": ownNode,
};

const runtimes: Readonly<Record<string, Runtime>> = {
  node: {
    command: [
      process.execPath,
      "--enable-source-maps",
      "--test",
      "--test-concurrency=3", // many tests wait for other processes
      "--test-timeout=1200000", // of a folder, on a slow machine
      "--test-reporter=spec",
    ],
    leftOut: {},
    prepare: (files) => bundle(joinOthers(files)),
  },
  node26: {
    command: [...fetched("node@26.10.0"), "node", "--test", "--test-concurrency=3"],
    prepare: joinFolders,
    leftOut: {
      ...leftToFull,
      browser: otherNode,
      clients: otherNode,
      "client/size.test.ts": otherNode,
      commands: otherNode,
      knowledge: otherNode,
      "project/pages.test.ts": otherNode,
      "sql/copy.test.ts": otherNode,
      "project/doc-examples.test.ts": otherNode,
      "project/examples.test.ts": otherNode,
      ...leavePostgresOut(otherNode),
      "redis/redis.test.ts": otherNode,
      "server/server.test.ts":
        "starts the server dozens of times, which takes long; start.test.ts starts it here",
      "server/tools.test.ts": otherNode,
    },
  },
  deno: {
    command: [...fetched("deno@2.9.6"), "deno", "test", "--parallel", "--allow-all", "--no-check", "--quiet"],
    prepare: joinFolders,
    leftOut: {
      ...leftToNode,
      "openai-models/connections.test.ts": "expects Node's message for a refused connection",
      ...leavePostgresOut("starts PostgreSQL and holds its connections; a run on Node covers the store"),
      "redis/redis.test.ts": "starts Redis and stops its process; a run on Node covers the limiter",
      "servers/slow-readers.test.ts":
        "Deno does not report a stalled reader; docs/runtimes.md says what it costs",
    },
  },
  bun: {
    command: [...fetched("bun@1.4.5"), "bun", "test", "--timeout", "300000"], // of a test, on a slow machine
    leftOut: {
      ...leftToNode,
      "http/http.test.ts": "Bun's fetch sends unknown methods as GET, and // in a path as /",
      "openai-models/connections.test.ts": "forces garbage collections with a flag of V8",
      ...leavePostgresOut("starts PostgreSQL and kills connections; a run on Node covers the store"),
      "redis/redis.test.ts": "starts Redis and stops its process; a run on Node covers the limiter",
      "servers/shutdown.test.ts": "opens a thousand streams at once; Bun's fetch opens 256",
    },
  },
};

/**
 * Writes a module for each folder that imports the folder's files, which then share a process: the service is loaded and
 * compiled once for them all. Returns the modules, which go with this process.
 */
function joinFolders(files: readonly string[]): string[] {
  const place = mkdtempSync(join(tmpdir(), "twin-service-tests-"));
  process.once("exit", () => rmSync(place, { recursive: true }));
  return [...new Set(files.map((file) => dirname(file)))].map((folder) => {
    const own = files.filter((file) => dirname(file) === folder);
    const module = join(place, `${basename(folder)}.mts`);
    writeFileSync(module, own.map((file) => `import ${JSON.stringify(pathToFileURL(file))};\n`).join(""));
    return module;
  });
}

/** Joins folders, but for the files in browsers, which mostly wait: each has a process of its own, and they begin first. */
function joinOthers(files: readonly string[]): string[] {
  const apart = files.filter((file) => dirname(file) === "test/browser");
  return [...apart, ...joinFolders(files.filter((file) => !apart.includes(file)))];
}

/** The files of `npm test`, one level deep: deeper lie packages with tests of their own. */
function testFiles(): string[] {
  const folders = readdirSync("test", { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.flatMap(({ name }) =>
    readdirSync(`test/${name}`)
      .filter((file) => file.endsWith(".test.ts"))
      .map((file) => `${name}/${file}`),
  );
}

const [name = "", ...chosen] = process.argv.slice(2);
const runtime = runtimes[name];
if (!runtime) throw new Error(`Name a runtime: ${Object.keys(runtimes).join(", ")}.`);

for (const [file, reason] of Object.entries(runtime.leftOut)) console.log(`left out: ${file}: ${reason}`);
const files =
  chosen.length > 0
    ? chosen
    : testFiles()
        .filter((file) => !(file in runtime.leftOut || dirname(file) in runtime.leftOut))
        .map((file) => `test/${file}`);
const [program = "", ...flags] = runtime.command;
const { status } = spawnSync(program, [...flags, ...((await runtime.prepare?.(files)) ?? files)], {
  stdio: "inherit",
  shell: process.platform === "win32", // where npx is a script
});
process.exit(status ?? 1);
