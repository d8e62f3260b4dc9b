/**
 * A service as a module's default export, which runtimes serve by themselves.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { limitedTime, surroundings } from "../support/child-process.ts";
import { runtime } from "../support/runtime.ts";

const core = new URL("../../core/mod.ts", import.meta.url);
const config = new URL("../../deno.json", import.meta.url);

/** What serves such a module on Node, which does not by itself. */
const srvx = fileURLToPath(new URL("../clients/node_modules/srvx/bin/srvx.mjs", import.meta.url));

/** What follows the runtime's own name on the command line. */
const commands = {
  node: (file: string) => [
    "--import",
    "tsx",
    srvx,
    "serve",
    "--prod",
    "--host",
    "127.0.0.1",
    "--port",
    "0",
    "--entry",
    file,
  ],
  deno: (file: string) => [
    ...["serve", "--no-check", "--allow-all", "--config", config.pathname, "--port", "0"],
    file,
  ],
  bun: (file: string) => [file],
};

const program = `import { createService, createTwinList } from ${JSON.stringify(core.href)};
export default createService({
  twins: createTwinList([{ id: "ada", name: "Ada", engine: "echo" }]),
  authenticate: () => ({ owner: "alice" }),
});
`;

test("a service is what bun, deno serve and srvx take as a module's default export", {
  skip: runtime === "node" && !existsSync(srvx) && "needs npm ci --prefix test/clients",
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), "twins-default-"));
  const file = join(folder, "twins.ts");
  await writeFile(file, program);
  const child = spawn(process.execPath, commands[runtime](file), {
    env: { ...surroundings, PORT: "0", NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
    ...limitedTime,
  });
  try {
    const port = await new Promise<string>((resolve, reject) => {
      let said = "";
      for (const output of [child.stdout, child.stderr]) {
        output.setEncoding("utf8").on("data", (text: string) => {
          said += text;
          const [, found] = /http:\/\/[^\s/]+:(\d+)/.exec(said) ?? [];
          if (found) resolve(found);
        });
      }
      child.on("exit", () => reject(new Error(said)));
    });
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/twins`);
    const { data } = (await answer.json()) as { data: { id: string }[] };
    assert.deepEqual(
      data.map(({ id }) => id),
      ["ada"],
    );
  } finally {
    child.kill("SIGKILL");
    await rm(folder, { recursive: true });
  }
});
