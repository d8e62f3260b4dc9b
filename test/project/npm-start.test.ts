/**
 * The commands that start the sources, as a supervisor sees them: each stops when told to; and what they need.
 */

import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import packageInfo from "../../package.json" with { type: "json" };
import { surroundings, withoutSignals } from "../support/child-process.ts";
import { runtime } from "../support/runtime.ts";

const skip = (runtime !== "node" && "npm starts Node") || withoutSignals;
const cwd = fileURLToPath(new URL("../..", import.meta.url));

test("npm ci omits nothing that npm start needs, even if NODE_ENV is production", { skip }, () => {
  const env = { ...surroundings, NODE_ENV: "production" };
  assert.equal(execFileSync("npm", ["config", "get", "omit"], { cwd, env, encoding: "utf8" }).trim(), "");
});

test("the commands in package.json's scripts are also found on Windows", () => {
  for (const command of Object.values(packageInfo.scripts).flatMap((script) => script.split(" && "))) {
    const [word = ""] = command.split(" ");
    const places = [`${word}.cmd`, `node_modules/.bin/${word}`].map((path) => join(cwd, path));
    assert.ok(["node", "npm", "npx"].includes(word) || places.some((path) => existsSync(path)), command);
  }
});

test("npm start before npm ci says what to do, without a stack", { skip }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "twin-service-start-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const path of ["package.json", "server.ts", "tools"])
    await cp(join(cwd, path), join(folder, path), { recursive: true });
  const { status, stderr } = spawnSync("npm", ["start", "--silent"], {
    cwd: folder,
    env: surroundings,
    encoding: "utf8",
  });
  assert.equal(stderr, "twin-service: the packages are not installed: run npm ci, then npm start again.\n");
  assert.equal(status, 1);
});

const starts = [
  // npm forwards a signal only to its own child: with a shell in between, the server would outlive it.
  { command: "npm start", skip },
  {
    command: "node server.ts",
    skip: skip || (!process.features.typescript && "this Node runs no TypeScript"),
  },
];

for (const { command, skip } of starts) {
  test(`a signal to ${command} shuts the server down cleanly`, { skip, timeout: 60_000 }, async (t) => {
    const [program = "", ...args] = command.split(" ");
    const child = spawn(program === "node" ? process.execPath : program, args, {
      cwd,
      env: { ...surroundings, PORT: "0", DATABASE_URL: "memory:" },
      stdio: ["ignore", "pipe", "ignore"],
      detached: true, // a process group of its own, so that anything left over can be killed at the end
    });
    t.after(() => {
      try {
        process.kill(-Number(child.pid), "SIGKILL");
      } catch {
        // Nothing is left over, as it should be.
      }
    });
    let output = "";
    for await (const text of child.stdout.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
      output += text;
      if (/^listening on /m.test(output)) break;
    }
    const [, url = ""] = /^listening on (\S+)$/m.exec(output) ?? [];
    assert.equal((await fetch(`${url}/healthz`)).status, 200);

    child.kill("SIGTERM");
    const [code] = await once(child, "exit");
    assert.equal(code, 0);
    await assert.rejects(fetch(`${url}/healthz`), "nothing is listening any more");
  });
}
