/**
 * Twins whose model calls tools of MCP servers.
 */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { startToolServer } from "../mcp-servers/tool-server.ts";
import {
  begin,
  delta,
  endMarker,
  event,
  finish,
  reply,
  type Script,
  send,
  startModelServer,
} from "../openai-models/model-server.ts";
import { withoutSignals } from "../support/child-process.ts";
import { createGate } from "../support/gate.ts";
import { dataOf, parseEvents } from "../support/harness.ts";
import { freePort } from "../support/ports.ts";
import { until } from "../support/until.ts";
import { assertRefusal, call, converse, createKey, createScratch, mint } from "./fixture.ts";
import { runServer, startServer } from "./process.ts";

const scratch = await createScratch();

const called = event({
  choices: [
    {
      delta: {
        tool_calls: [
          { index: 0, id: "call_1", function: { name: "orders_find", arguments: '{"number":7}' } },
        ],
      },
    },
  ],
});
const asks: Script = send(delta("Let me look. ") + called + finish("tool_calls") + endMarker);

/** How a file of MCP servers names an environment variable. */
function variable(name: string): string {
  return `\${${name}}`;
}

function talker(tools = "[orders]"): string {
  return `---\nname: Talker\nengine: openai\ntools: ${tools}\n---\nYou talk.\n`;
}

/** A folder with a twin that has tools, and the file of its servers. */
async function openFolder(servers: object | string, tools?: string) {
  const { folder, flags } = await scratch({ "talker.md": talker(tools) });
  const file = join(folder, "mcp.json");
  await writeFile(file, typeof servers === "string" ? servers : JSON.stringify({ mcpServers: servers }));
  return { folder, flags, file, talker: join(folder, "twins", "talker.md") };
}

async function startModel(t: TestContext, ...scripts: readonly Script[]) {
  const model = await startModelServer();
  t.after(() => model.close());
  model.script(...scripts);
  return model;
}

interface Message {
  readonly content: string;
  readonly status: string;
  readonly error: { readonly code: string } | null;
}

describe("tools of MCP servers", { timeout: 120_000 }, () => {
  test("a twin's model calls them, followers see it, and metrics count it", async (t) => {
    const orders = await startToolServer();
    t.after(() => orders.close());
    const model = await startModel(t, asks, reply("It is sent."));
    const entry = {
      url: orders.url,
      headers: { Authorization: `Bearer ${variable("ORDERS_KEY")}` },
      person: true,
    };
    const { flags, file } = await openFolder({ orders: entry });
    const metricsPort = await freePort();
    const server = await startServer(flags, {
      MODEL_BASE_URL: model.baseUrl,
      MCP_SERVERS: file,
      ORDERS_KEY: "secret-of-orders",
      METRICS_PORT: String(metricsPort),
    });
    t.after(() => server.stop());
    const key = await createKey(server, await mint(flags));
    const messages = await converse(server, key, "talker");
    const text = await (
      await call(`${messages}/stream`, "POST", key, { content: "Where is order 7?" })
    ).text();
    const tool = parseEvents(text).flatMap(({ data }) =>
      data.type === "progress" && data.progress.stage === "tool" ? data.progress : [],
    );
    const seen = { stage: "tool", name: "orders/find", callId: "call_1" };
    assert.deepEqual(tool, [
      { ...seen, state: "called" },
      { ...seen, state: "done" },
    ]);
    const last = parseEvents(text).at(-1)?.data;
    assert.ok(last?.type === "complete" && last.message.content === "Let me look. \n\nIt is sent.");
    const [made] = orders.calls;
    assert.deepEqual(made?.arguments, { number: 7 });
    assert.equal((made?._meta as Record<string, unknown> | undefined)?.["twin-service/owner"], "alice");
    assert.equal(orders.headers.at(-1)?.authorization, "Bearer secret-of-orders");
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    assert.match(metrics, /twin_tool_calls_total\{tool="orders\/find",status="done"\} 1/);
    const { stderr } = await server.stop();
    assert.ok(!`${stderr}${text}`.includes("secret-of-orders"));
  });

  test("a server that is away is no reason not to start: the twin answers without its tools, and with them later", async (t) => {
    const port = await freePort();
    const model = await startModel(t, reply("Hi."));
    const { flags, file } = await openFolder(
      { orders: { url: `http://127.0.0.1:${port}/mcp` } },
      "[orders/find]",
    );
    const server = await startServer(flags, { MODEL_BASE_URL: model.baseUrl, MCP_SERVERS: file });
    t.after(() => server.stop());
    await server.logged("an MCP server is away, so twins answer without its tools");
    const key = await createKey(server, await mint(flags));
    const messages = await converse(server, key, "talker");
    const ask = async () => dataOf<Message>(await call(messages, "POST", key, { content: "Hello" }));
    assert.equal((await ask()).content, "Hi.");
    const orders = await startToolServer(undefined, port);
    t.after(() => orders.close());
    await server.logged("an MCP server is back");
    await ask();
    assert.deepEqual(
      model.requests.map(({ body }) => Object.hasOwn(body as object, "tools")),
      [false, true],
    );
  });

  for (const [kind, servers, tools, complaint] of [
    [
      "a variable that is not set",
      { orders: { url: "http://x/mcp", headers: { A: variable("NOT_SET") } } },
      "[orders]",
      /server "orders" needs the variable NOT_SET, which is not set/,
    ],
    ["no JSON", "{", "[orders]", /mcp.json is not JSON/],
    ["no servers", "{}", "[orders]", /must have \{"mcpServers"/],
    ["a program to run", { orders: { command: "npx" } }, "[orders]", /server "orders" must have a url/],
    [
      "a misspelt member",
      { orders: { url: "http://x/mcp", persons: true } },
      "[orders]",
      /"persons", which is not known/,
    ],
    ["no address", { orders: { url: "x" } }, "[orders]", /http: or https: address/],
  ] as const) {
    test(`the start ends with one line for ${kind}, and so does check`, async () => {
      const { flags, file } = await openFolder(servers, tools);
      const variables = { MODEL_BASE_URL: "http://127.0.0.1:9/v1", MCP_SERVERS: file };
      assertRefusal(await runServer(["--port", "0", ...flags], variables), complaint);
      const checked = await runServer(["check", ...flags.slice(0, 2)], variables);
      assert.match(`${checked.stdout}${checked.stderr}`, complaint);
      assert.equal(checked.code, 1);
    });
  }

  test("the start ends with one line for tools without MCP_SERVERS, a missing file, and a tool that a server lacks", async (t) => {
    const model = { MODEL_BASE_URL: "http://127.0.0.1:9/v1" };
    const { flags, file } = await openFolder({});
    assertRefusal(await runServer(["--port", "0", ...flags], model), /"talker.md".+MCP_SERVERS is not set/);
    const missing = { ...model, MCP_SERVERS: `${file}.none` };
    assertRefusal(
      await runServer(["--port", "0", ...flags], missing),
      /mcp\.json\.none cannot be read \(ENOENT\)/,
    );
    const orders = await startToolServer();
    t.after(() => orders.close());
    const lacking = await openFolder({ orders: { url: orders.url } }, "[orders/lose]");
    assertRefusal(
      await runServer(["--port", "0", ...lacking.flags], { ...model, MCP_SERVERS: lacking.file }),
      /"orders" has no tool "orders\/lose"; it has orders\/find/,
    );
    const unknown = await openFolder({ orders: { url: orders.url } }, "[weather]");
    const noServer = /has no server "weather"; it has orders/;
    assertRefusal(
      await runServer(["--port", "0", ...unknown.flags], { ...model, MCP_SERVERS: unknown.file }),
      noServer,
    );
    const judged = await runServer(["check", ...unknown.flags.slice(0, 2)], { MCP_SERVERS: unknown.file });
    assert.match(judged.stdout, /talker\.md:4: tools must be known: .+ has no server "weather"/);
    assert.equal(judged.code, 1);
    // check uses no network
    const checked = await runServer(["check", ...lacking.flags.slice(0, 2)], { MCP_SERVERS: lacking.file });
    assert.equal(checked.code, 0, checked.stdout);
  });

  test("a tool runs once, although its process is killed during the call", {
    skip: withoutSignals,
  }, async (t) => {
    const { opened, open } = createGate();
    const orders = await startToolServer(() => {
      open();
      return new Promise(() => {});
    });
    t.after(() => orders.close());
    const model = await startModel(t, asks);
    const { flags, file } = await openFolder({ orders: { url: orders.url } });
    const variables = { MODEL_BASE_URL: model.baseUrl, MCP_SERVERS: file, CONTINUE_REPLIES: "prompt" };
    const server = await startServer(flags, variables);
    const key = await createKey(server, await mint(flags));
    const messages = await converse(server, key, "talker");
    const sending = call(messages, "POST", key, { content: "Hello" }).catch(() => undefined);
    await opened;
    await server.stop("SIGKILL");
    await sending;
    const again = await startServer(flags, variables);
    t.after(() => again.stop());
    const path = messages.replace(server.url, again.url);
    let last: Message | undefined;
    await until("the reply has ended", 20_000, async () => {
      [last] = await dataOf<Message[]>(await call(`${path}?order=desc`, "GET", key));
      return last?.status !== "in_progress";
    });
    assert.deepEqual([last?.status, last?.error?.code], ["failed", "interrupted"]);
    assert.deepEqual([orders.calls.length, model.requests.length], [1, 1]);
  });

  test("a reply that has called nothing yet is begun again, as always", {
    skip: withoutSignals,
  }, async (t) => {
    const orders = await startToolServer();
    t.after(() => orders.close());
    const { opened, open } = createGate();
    const waits: Script = (response) => {
      begin(response);
      open();
    };
    const model = await startModel(t, waits, asks, reply("It is sent."));
    const { flags, file } = await openFolder({ orders: { url: orders.url } });
    const variables = { MODEL_BASE_URL: model.baseUrl, MCP_SERVERS: file };
    const server = await startServer(flags, variables);
    const key = await createKey(server, await mint(flags));
    const messages = await converse(server, key, "talker");
    const sending = call(messages, "POST", key, { content: "Hello" }).catch(() => undefined);
    await opened;
    await server.stop("SIGKILL");
    await sending;
    const again = await startServer(flags, variables);
    t.after(() => again.stop());
    const path = messages.replace(server.url, again.url);
    let last: Message | undefined;
    await until("the reply has ended", 20_000, async () => {
      [last] = await dataOf<Message[]>(await call(`${path}?order=desc`, "GET", key));
      return last?.status !== "in_progress";
    });
    assert.equal(last?.content, "Let me look. \n\nIt is sent.");
    assert.equal(orders.calls.length, 1);
  });
});
