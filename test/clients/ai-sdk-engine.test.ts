/**
 * The engine of docs/extending.md, which asks a model of the AI SDK, with tools.
 */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { createTwinList, type Tool, type TwinEngine } from "../../core/mod.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import {
  delta,
  endMarker,
  event,
  finish,
  reply,
  send,
  startModelServer,
} from "../openai-models/model-server.ts";
import { openChat } from "../support/chat.ts";
import { dataOf, inProcess, newTwin } from "../support/harness.ts";
import { skip } from "./packages.ts";

/** Loads the document's program, with what it expects its reader to have. */
async function loadEngine(model: unknown, findOrder: Tool): Promise<TwinEngine> {
  const text = await readFile(new URL("../../docs/extending.md", import.meta.url), "utf8");
  const [, program = ""] = /^```ts\n(import \{ dynamicTool[\s\S]*?)^```$/m.exec(text) ?? [];
  const address = (path: string) => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)));
  const folder = await mkdtemp(join(tmpdir(), "twin-service-engine-"));
  try {
    const outfile = join(folder, "engine.mjs");
    const code = program
      .replace('"ai"', address("node_modules/ai/dist/index.js"))
      .replace('"twin-service"', address("../../core/mod.ts"))
      .replace("const engine", "export const create = (model: any, findOrder: Tool) => { const engine");
    // The test may run where Node reads no TypeScript.
    const stdin = { contents: `${code}; return engine; }`, loader: "ts", resolveDir: folder } as const;
    const banner = {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    };
    await build({ stdin, outfile, banner, bundle: true, platform: "node", format: "esm", logLevel: "error" });
    const { create } = await import(pathToFileURL(outfile).href);
    return create(model, findOrder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("an engine with the AI SDK runs the twin's tools, and followers see it", {
  skip,
  timeout: 300_000,
}, async (t) => {
  const server = await startModelServer();
  t.after(() => server.close());
  const call = {
    index: 0,
    id: "call_1",
    type: "function",
    function: { name: "orders_find", arguments: '{"number":7}' },
  };
  server.script(
    send(
      delta("Let me look. ") +
        event({ choices: [{ index: 0, delta: { tool_calls: [call] } }] }) +
        finish("tool_calls") +
        endMarker,
    ),
    reply("It is sent."),
  );
  const runs: unknown[] = [];
  const findOrder: Tool = {
    name: "orders/find",
    description: "Finds an order.",
    inputSchema: { type: "object", properties: { number: { type: "integer" } } },
    run: (input, { owner, callId }) => void runs.push([input, owner, callId]),
  };
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  const model = createOpenAICompatible({ name: "test", baseURL: server.baseUrl })("small");
  const scripted = await loadEngine(model, findOrder);
  const twins = createTwinList([newTwin({ id: "scripted", engine: "scripted", tools: ["orders"] })]);
  await using chat = await openChat(inProcess, { engines: { scripted }, twins });
  const events = await (await chat.stream("Where is order 7?")).rest();
  const states = events.flatMap(({ data }) =>
    data.type === "progress" && data.progress.stage === "tool" ? data.progress.state : [],
  );
  assert.deepEqual(states, ["called", "done"]);
  const [, { content }] = (await dataOf<MessageResource[]>(await chat.get("/messages"))) as [
    unknown,
    MessageResource,
  ];
  assert.equal(content, "Let me look. It is sent.");
  assert.deepEqual(runs, [[{ number: 7 }, "alice", "call_1"]]);
});
