/**
 * Public MCP servers, as npm has them: `server-everything` over HTTP, and `server-filesystem` behind a bridge, because it
 * knows only its standard input.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { connectTools } from "../../adapters/mcp-servers/mod.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { freePort } from "../support/ports.ts";
import { runtime } from "../support/runtime.ts";
import { until } from "../support/until.ts";

const packages = fileURLToPath(new URL("node_modules/@modelcontextprotocol", import.meta.url));
const skip =
  (!existsSync(packages) && "needs npm ci --prefix test/mcp-servers") ||
  (runtime !== "node" && "the servers run on Node");

/** Runs a program until the test ends. Resolves once it listens. */
async function run(t: TestContext, args: readonly string[], port: number): Promise<string> {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, PORT: String(port) },
    stdio: "ignore",
  });
  t.after(() => child.kill("SIGKILL"));
  const url = `http://127.0.0.1:${port}/mcp`;
  await until("the server listens", 20_000, () =>
    fetch(url, { method: "GET" }).then(
      () => true,
      () => false,
    ),
  );
  return url;
}

async function connect(t: TestContext, url: string) {
  const tools = await connectTools({ servers: { public: { url } } });
  t.after(() => tools.close());
  return {
    names: tools.list().map(({ name }) => name),
    call: async (name: string, input: JsonObject) =>
      tools
        .list()
        .find((tool) => tool.name === `public/${name}`)
        ?.run(input, { signal: AbortSignal.timeout(10_000), callId: "1" }),
  };
}

describe("public MCP servers", { skip, timeout: 300_000 }, () => {
  test("server-everything", async (t) => {
    const port = await freePort();
    const url = await run(t, [join(packages, "server-everything/dist/index.js"), "streamableHttp"], port);
    const { names, call } = await connect(t, url);
    assert.ok(names.length >= 5, names.join());
    assert.equal(await call("echo", { message: "Grüße 👋" }), "Echo: Grüße 👋");
    assert.match(String(await call("get-sum", { a: 2, b: 3 })), /5/);
    assert.match(String(await call("get-tiny-image", {})), /\[image: not shown\]/);
  });

  test("server-filesystem", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "twin-service-mcp-"));
    t.after(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, "hours.txt"), "Open in May.");
    const bridge = fileURLToPath(new URL("bridge.mjs", import.meta.url));
    const server = join(packages, "server-filesystem/dist/index.js");
    const url = await run(t, [bridge, server, folder], await freePort());
    const { names, call } = await connect(t, url);
    assert.ok(names.includes("public/read_text_file"), names.join());
    assert.match(String(await call("read_text_file", { path: join(folder, "hours.txt") })), /Open in May\./);
    await assert.rejects(call("read_text_file", { path: "/etc/passwd" }), /denied/i);
  });
});
