/**
 * Packs the package, lints it, installs it into an empty folder, and uses it there as its users do: as a library
 * on Node, Deno and Bun, as a command, and as one file. Run as `npm run test:package`.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { brokenLinks } from "../project/links.ts";
import { measureCore, measureOpenAI } from "./core-size.ts";
import { endOf, listTwins, statusOf, versionOf } from "./server.ts";

/** Lists twins over a socket, through nothing but the package's own exports. */
const program = (name: string, adapter: string) => `
import { createEchoEngine, createMemoryLimiter, createService, createTwinList } from "${name}";
import { createMemoryStore } from "${name}/store";
import { serve } from "${name}/${adapter}";

const service = createService({
  store: createMemoryStore(),
  twins: createTwinList([]),
  engines: { echo: createEchoEngine() },
  limiter: createMemoryLimiter(),
  verifyToken: async () => "alice",
});
const server = await serve(service, { port: 0 });
const headers = { Authorization: "Bearer any", "Content-Type": "application/json" };
const made = await fetch(server.url + "/api/v1/auth/api-keys", { method: "POST", headers, body: '{"name":"a"}' });
const { key } = (await made.json()).data;
const listed = await fetch(server.url + "/api/v1/twins", { headers: { "X-API-Key": key } });
console.log(listed.status + " " + JSON.stringify((await listed.json()).data));
await server.close({ graceMs: 0 });
`;

const sources = resolve(".");
const newerNode = runtimeFromNpm("node@26.10.0", "node");
const deno = runtimeFromNpm("deno@2.9.6", "deno");
const bun = runtimeFromNpm("bun@1.4.5", "bun");
const samples = ["ada", "barista", "guide"];

/** What a start says where neither the runtime nor a package has SQLite. */
const needsLibsql = /^twin-service: .*SQLite needs the package libsql: npm install libsql, .*\n$/;

/**
 * The most that the core may add to a bundle, in bytes, without what it loads later: see `core-size.ts`. It is what is
 * reached, and 1 %. The memory store, which is the default, takes 9,500 of it, `lru-cache` 5,900, the validators 4,500.
 */
const largestCore = 94_400;

/**
 * The most that the engine that asks models may add, in bytes, minified. What it knows of servers' ways with tools, of
 * thoughts that go back as they came, and of limits against hostile servers is what it has more than 25,000.
 */
const largestOpenAI = 31_400;

const folder = mkdtempSync(join(tmpdir(), "twin-service-package-"));
const bare = mkdtempSync(join(tmpdir(), "twin-service-bundle-"));
try {
  const packed = pack();
  lookOver(`./${packed.filename}`);
  install(`./${packed.filename}`);
  checkLinks();
  checkTypes();
  useLibrary();
  await useExamples();
  useSourcesOnDeno();
  checkDocs();
  await useCommand(packed.version);
  await useBundle();
  await checkSizes(packed);
} finally {
  rmSync(folder, { recursive: true });
  rmSync(bare, { recursive: true });
}

interface Packed {
  readonly filename: string;
  readonly version: string;
  readonly entryCount: number;
  readonly size: number;
}

function pack(): Packed {
  const [packed] = JSON.parse(
    run(sources, "npm", "pack", "--json", "--silent", "--pack-destination", folder),
  );
  return packed;
}

function lookOver(tarball: string): void {
  run(folder, "npx", "--yes", "publint@0.3.25", "run", tarball, "--strict");
  ok("publint");
  run(folder, "npx", "--yes", "@arethetypeswrong/cli@0.18.5", tarball, "--profile", "esm-only", "--quiet");
  ok("@arethetypeswrong/cli");
}

function install(tarball: string): void {
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  run(folder, "npm", "install", "--prefer-offline", "--no-audit", "--no-fund", tarball);
}

/** Checks that the package contains everything that its documents link to. */
function checkLinks(): void {
  assert.deepEqual(brokenLinks(join(folder, "node_modules/twin-service")), []);
  ok("the links in the documents");
}

/** Declarations must hold without `skipLibCheck`, and without the drivers that a user does not use. */
function checkTypes(): void {
  const { name, exports } = JSON.parse(readFileSync("package.json", "utf8"));
  const entries = Object.keys(exports).filter((entry) => !entry.endsWith(".json"));
  const imports = entries.map(
    (entry, index) => `export * as entry${index} from "${name}${entry.slice(1)}";\n`,
  );
  writeFileSync(join(folder, "entries.ts"), imports.join(""));
  const types = ["--typeRoots", join(sources, "node_modules/@types"), "--types", "node"];
  for (const module of [["nodenext"], ["esnext", "--moduleResolution", "bundler"]]) {
    const options = ["--noEmit", "--strict", "--target", "es2023", "--module", ...module, ...types];
    run(folder, join(sources, "node_modules/.bin/tsc"), "--ignoreConfig", ...options, "entries.ts");
  }
  ok(`the declarations of ${entries.length} entries`);
}

function useLibrary(): void {
  const runtimes = {
    node: [process.execPath],
    deno: [deno, "run", "--allow-all", "--no-check"],
    bun: [bun],
  };
  for (const [adapter, [command = "", ...flags]] of Object.entries(runtimes)) {
    writeFileSync(join(folder, `${adapter}.js`), program("twin-service", adapter));
    assert.equal(run(folder, command, ...flags, `${adapter}.js`).trim(), "200 []", adapter);
    ok(`the library on ${adapter}`);
  }
}

/** As a reader does who has copied them into a project. */
async function useExamples(): Promise<void> {
  const project = join(folder, "examples");
  const files = readdirSync("examples").filter((file) => file.endsWith(".ts"));
  for (const file of files) cpSync(join("examples", file), join(project, file));
  symlinkSync(join(sources, "examples/node_modules"), join(project, "node_modules"));
  const types = ["--typeRoots", join(sources, "node_modules/@types"), "--types", "node"];
  const options = ["--noEmit", "--strict", "--allowImportingTsExtensions", "--skipLibCheck"];
  const target = ["--target", "es2023", "--module", "nodenext"];
  run(
    project,
    join(sources, "node_modules/.bin/tsc"),
    "--ignoreConfig",
    ...options,
    ...target,
    ...types,
    ...files,
  );
  const document = "/twins-api/api/v1/openapi.json";
  for (const name of ["node-http", "express", "fastify", "hono"]) {
    assert.equal(await statusOf([newerNode, `${name}.ts`], project, document), 200, name);
  }
  assert.equal(await statusOf([newerNode, "sessions.ts"], project, "/assistant/widget.js"), 200);
  assert.equal(await statusOf([deno, "run", "--allow-all", "--no-check", "deno.ts"], project, document), 200);
  assert.equal(await statusOf([bun, "bun.ts"], project, document), 200);
  ok(`the ${files.length} examples`);
}

/** As `jsr:@twin-service/twin-service`, which `links` finds here. */
function useSourcesOnDeno(): void {
  const project = join(folder, "deno");
  mkdirSync(project);
  const settings = { links: [sources], unstable: ["no-legacy-abort"] };
  writeFileSync(join(project, "deno.json"), JSON.stringify(settings));
  const { name, version } = JSON.parse(readFileSync("deno.json", "utf8"));
  writeFileSync(join(project, "main.ts"), program(`jsr:${name}@${version}`, "deno"));
  assert.equal(run(project, deno, "run", "--allow-all", "--no-check", "main.ts").trim(), "200 []");
  run(sources, deno, "publish", "--dry-run", "--allow-dirty", "--allow-slow-types", "--quiet");
  ok("the sources on Deno, and as they would be published to JSR");
}

/** Checks that every export of an entry point has a doc comment of its own. */
function checkDocs(): void {
  const { exports } = JSON.parse(readFileSync("deno.json", "utf8"));
  const { nodes } = JSON.parse(run(sources, deno, "doc", "--json", ...Object.values<string>(exports)));
  const symbols = Object.values<{ symbols: readonly DocumentedSymbol[] }>(nodes).flatMap(
    (node) => node.symbols,
  );
  const silent = symbols.filter(({ declarations }) =>
    declarations.some(({ kind, jsDoc }) => kind !== "reference" && !jsDoc?.doc),
  );
  assert.ok(symbols.length > 100);
  assert.deepEqual(silent, []);
  ok(`the doc comments of ${symbols.length} exports`);
}

interface DocumentedSymbol {
  readonly name: string;
  readonly declarations: readonly { readonly kind: string; readonly jsDoc?: { readonly doc?: string } }[];
}

async function useCommand(version: string): Promise<void> {
  const command = ["npx", "--no-install", "twin-service"];
  assert.equal(versionOf(command, folder), version);
  assert.match(run(folder, "npx", "--no-install", "twin-service", "--help"), /^ {2}twin-service \[flags\]$/m);
  assert.deepEqual(
    await listTwins(["node_modules/.bin/twin-service"], folder, ["--database", "memory:"]),
    samples,
  );
  ok("the command, with the sample twins");
  if (isBuiltin("node:sqlite")) return;
  const { code, stderr } = await endOf(command, folder);
  assert.equal(code, 1);
  assert.match(stderr, needsLibsql);
  assert.equal(existsSync(join(folder, "data")), false, "nothing was created");
  ok("what the command says without libsql");
}

/** Runs where no package can be found, and in a folder other than the file's. */
async function useBundle(): Promise<void> {
  const file = join(bare, "server.js");
  cpSync("dist/server.js", file);
  cpSync("dist/twins", join(bare, "twins"), { recursive: true });
  const elsewhere = join(bare, "elsewhere");
  mkdirSync(elsewhere);
  for (const runtime of [[process.execPath], [newerNode], [deno, "run", "-A"], [bun]]) {
    assert.deepEqual(await listTwins([...runtime, file], elsewhere, ["--database", "memory:"]), samples);
  }
  ok("the bundle, in memory, on Node, Deno and Bun");
  assert.deepEqual(
    await listTwins([newerNode, file], elsewhere, ["--database", "sqlite:data/twins.db"]),
    samples,
  );
  ok("the bundle, on node:sqlite");
  const absent: readonly (readonly [flag: string, value: string, message: RegExp])[] = [
    ["--database", "postgres://localhost/twins", /^twin-service: .*PostgreSQL needs the package pg: .+\n$/],
    ["--redis", "redis://localhost", /^twin-service: .*Redis needs the package redis: .+\n$/],
  ];
  for (const [flag, value, message] of absent) {
    const { code, stderr } = await endOf([newerNode, file, flag, value], elsewhere);
    assert.equal(code, 1);
    assert.match(stderr, message);
  }
  if (!isBuiltin("node:sqlite")) {
    const { code, stderr } = await endOf(
      [process.execPath, file, "--database", "sqlite:none/twins.db"],
      elsewhere,
    );
    assert.equal(code, 1);
    assert.match(stderr, needsLibsql);
    assert.equal(existsSync(join(elsewhere, "none")), false, "nothing was created");
  }
  ok("what the bundle says about missing drivers");
}

async function checkSizes({ entryCount, size }: Packed): Promise<void> {
  const core = await measureCore();
  assert.ok(core < largestCore, `the core has ${core} bytes, more than ${largestCore}`);
  const openai = await measureOpenAI();
  assert.ok(openai < largestOpenAI, `openai has ${openai} bytes, more than ${largestOpenAI}`);
  ok(`${entryCount} files, ${size} bytes packed; core: ${core} bytes; openai: ${openai} bytes`);
}

/** The path of a runtime that npm fetches. */
function runtimeFromNpm(spec: string, name: string): string {
  return run(sources, "npx", "--yes", "-p", spec, "-c", `command -v ${name}`).trim();
}

function run(cwd: string, command: string, ...args: readonly string[]): string {
  try {
    return execFileSync(command, args, { cwd, encoding: "utf8", stdio: "pipe", maxBuffer: 2 ** 26 });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(" ")}\n${stdout}\n${stderr}`, { cause: error });
  }
}

function ok(what: string): void {
  console.log(`ok: ${what}`);
}
