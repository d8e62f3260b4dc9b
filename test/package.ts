/**
 * Packs the package, installs it into an empty folder, and uses it there as its users do: as a library on
 * Node, Deno and Bun, and as a command. Run as `npm run test:package`.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** Lists twins over a socket, through nothing but the package's own exports. */
const program = (adapter: string) => `
import { createEchoEngine, createMemoryLimiter, createMemoryStore, createService, createTwinList } from "twin-service";
import { serve } from "twin-service/${adapter}";

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
console.log(listed.status, JSON.stringify((await listed.json()).data));
await server.close({ graceMs: 0 });
`;

const runtimes = {
  node: [process.execPath],
  deno: ["npx", "--yes", "deno@2.9.6", "run", "--allow-all", "--no-check"],
  bun: ["npx", "--yes", "bun@1.4.5"],
};

const folder = mkdtempSync(join(tmpdir(), "twin-service-package-"));
try {
  const [packed] = JSON.parse(
    run(resolve("."), "npm", "pack", "--json", "--silent", "--pack-destination", folder),
  );
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  run(folder, "npm", "install", "--prefer-offline", "--no-audit", "--no-fund", `./${packed.filename}`);
  for (const [adapter, [command = "", ...flags]] of Object.entries(runtimes)) {
    writeFileSync(join(folder, `${adapter}.js`), program(adapter));
    assert.equal(run(folder, command, ...flags, `${adapter}.js`).trim(), "200 []", adapter);
    console.log(`ok: the library on ${adapter}`);
  }
  assert.equal(run(folder, "node_modules/.bin/twin-service", "--version").trim(), packed.version);
  console.log(`ok: the command; ${packed.entryCount} files, ${packed.size} bytes packed`);
} finally {
  rmSync(folder, { recursive: true });
}

function run(cwd: string, command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}
