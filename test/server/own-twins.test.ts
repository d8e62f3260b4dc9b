/**
 * What the settings open to twins that owners make.
 */

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import v8 from "node:v8";
import { createEchoEngine } from "../../core/twins/engine.ts";
import { readConfig } from "../../server/command-line.ts";
import { ownTwinsOf } from "../../server/own-twins.ts";
import { judgeByOwners, readMcpServers } from "../../server/tools.ts";
import { assertErrorAnswer, inProcess, openFixture } from "../support/harness.ts";
import { skipOffNode } from "../support/script-process.ts";

async function open(environment: Readonly<Record<string, string>>, servers: object) {
  const folder = await mkdtemp(join(tmpdir(), "servers-"));
  const file = join(folder, "servers.json");
  await writeFile(file, JSON.stringify({ mcpServers: servers }));
  const config = readConfig([], { ...environment, MCP_SERVERS: file });
  assert.ok(config.command === "serve");
  const { settings } = config;
  const engines = { knowledge: createEchoEngine(), echo: createEchoEngine() };
  const opened = judgeByOwners(await readMcpServers(settings));
  const fixture = await openFixture(inProcess, { ownTwins: ownTwinsOf(settings, engines, opened) });
  return {
    async put(frontMatter: string, owner = "alice") {
      return fixture.send("/api/v1/twins/odd/file", {
        method: "PUT",
        headers: { authorization: `Bearer ${await fixture.token(owner)}`, "content-type": "text/markdown" },
        body: `---\nname: Odd\n${frontMatter}\n---\n`,
      });
    },
    async [Symbol.asyncDispose]() {
      await fixture[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

const model = { MODEL_BASE_URL: "http://127.0.0.1:9/v1", MODEL_NAME: "small", MODEL_CHOICES: "large, huge" };

/** The one fault of a file that was refused. */
async function faultOf(response: Response) {
  const { details } = await assertErrorAnswer(response, 400, "validation_error");
  const [fault] = (details as { fields: { path: string; line: number; message: string }[] }).fields;
  assert.ok(fault);
  return fault;
}

test("a file names MODEL_NAME or one of MODEL_CHOICES, or the fault says which there are", async () => {
  await using service = await open(model, {});
  for (const name of ["small", "large", "huge"])
    assert.ok([200, 201].includes((await service.put(`model: ${name}`)).status), name);
  assert.deepEqual(await faultOf(await service.put("model: secret")), {
    path: "model",
    line: 3,
    message: "model must be one of small, large, huge.",
  });
  await using none = await open({}, {});
  assert.match((await faultOf(await none.put("model: small"))).message, /no model can be chosen here/);
});

test("a file names tools of servers that are open to its owner", async () => {
  const url = "http://127.0.0.1:9/mcp";
  await using service = await open(model, {
    orders: { url, owners: "all" },
    payroll: { url, owners: ["bob"] },
    internal: { url },
  });
  assert.equal((await service.put("tools: [orders, orders/find]")).status, 201);
  for (const tool of ["payroll", "internal/read", "nowhere"]) {
    const { path, line, message } = await faultOf(await service.put(`tools: [orders, ${tool}]`));
    assert.deepEqual([path, line], ["tools", 3]);
    assert.match(message, /is not open to you; the servers that are: orders\.$/);
  }
  assert.equal((await service.put("tools: [payroll]", "bob")).status, 201);
});

test("twins that owners make take a third of the heap at most while replies use them", {
  skip: skipOffNode,
}, (t) => {
  const config = readConfig([], {});
  assert.ok(config.command === "serve");
  for (const [megabytes, most] of [
    [300, 100],
    [4_200, 1_400],
  ] as const) {
    const heap = t.mock.method(v8, "getHeapStatistics", () => ({ heap_size_limit: megabytes * 1_048_576 }));
    syncBuiltinESMExports();
    try {
      const { mostBytes } = ownTwinsOf(config.settings, {}, () => undefined);
      assert.equal(mostBytes, most * 1_048_576);
    } finally {
      heap.mock.restore();
      syncBuiltinESMExports();
    }
  }
});
