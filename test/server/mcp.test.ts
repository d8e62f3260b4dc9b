/**
 * The MCP endpoint of the reference server: on by default, and over a kill.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { resultOf, type ToolResult } from "../mcp-clients/fixture.ts";
import { delta, hangAfter, startModelServer } from "../openai-models/model-server.ts";
import { withoutSignals } from "../support/child-process.ts";
import { until } from "../support/until.ts";
import { call, createKey, createScratch, mint } from "./fixture.ts";
import { startServer } from "./process.ts";

const scratch = await createScratch();

const ask = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "ask_twin", arguments: { twin: "talker", question: "Hello?", requestKey: "k" } },
};

test("MCP=off removes it, and pages of this machine may call while it listens there alone", async () => {
  const { flags } = await scratch();
  for (const [MCP, statuses] of [
    ["on", [401, 403]],
    ["off", [404, 404]],
  ] as const) {
    const server = await startServer(flags, { MCP });
    const post = async (Origin: string) =>
      (await fetch(`${server.url}/mcp`, { method: "POST", headers: { Origin } })).status;
    assert.deepEqual([await post("http://localhost:6274"), await post("https://evil.example.com")], statuses);
    await server.stop();
  }
});

test("a call whose server was killed, asked again, has asked the model once", {
  skip: withoutSignals,
}, async () => {
  const model = await startModelServer();
  model.script(hangAfter(delta("Well")));
  const { flags } = await scratch({ "talker.md": "---\nname: Talker\n---\nYou talk.\n" });
  const variables = { MODEL_BASE_URL: model.baseUrl };
  const server = await startServer(flags, variables);
  const key = await createKey(server, await mint(flags));
  const cut = call(`${server.url}/mcp`, "POST", key, ask).catch(() => undefined);
  await model.received(0);
  const list = `${server.url}/api/v1/conversations`;
  const [conversation] = (await (await call(list, "GET", key)).json()).data;
  const saved = async () => {
    const messages = await call(`${list}/${conversation.id}/messages?order=desc`, "GET", key);
    return (await messages.json()).data[0].content === "Well";
  };
  await until("the text is saved", 10_000, saved);
  await server.stop("SIGKILL");
  await cut;

  const next = await startServer(flags, variables);
  const answer = await call(`${next.url}/mcp`, "POST", key, ask);
  const { isError, structuredContent } = (await resultOf(answer)) as unknown as ToolResult;
  assert.deepEqual([isError, structuredContent], [true, { reply: "Well", conversation: conversation.id }]);
  assert.equal(model.requests.length, 1);
  await next.stop();
  await model.close();
});
