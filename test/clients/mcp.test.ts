/**
 * The official MCP clients, of both revisions: the package `client`, which speaks both, and the older `sdk`; and calls that
 * are cut and asked again.
 */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { before, describe, test } from "node:test";
import type * as Modern from "@modelcontextprotocol/client";
import type * as Legacy from "@modelcontextprotocol/sdk/client/index.js";
import type * as LegacyHttp from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type Fault, openBreakingProxy } from "../client/breaking-proxy.ts";
import { openMcp, type ToolResult } from "../mcp-clients/fixture.ts";
import { settle } from "../support/clock.ts";
import { overSocket } from "../support/harness.ts";
import { until } from "../support/until.ts";

const installed = existsSync(new URL("node_modules/@modelcontextprotocol/client", import.meta.url));
const skip = !installed && "needs npm ci --prefix test/clients";

const asked = { name: "ask_twin", arguments: { twin: "scripted", question: "Hello?" } };

/** What an official client can do here. */
interface Connected {
  readonly revision: string | undefined;
  tools(): Promise<string[]>;
  /** Calls a tool; `progressed` gets the progress and its text. */
  call(
    call: { name: string; arguments: object },
    progressed?: (progress: number, text: string) => void,
  ): Promise<ToolResult>;
  close(): Promise<void>;
}

type Connect = (url: string, key: string) => Promise<Connected>;

describe("official MCP clients", { skip, timeout: 300_000 }, () => {
  let modern: typeof Modern;
  let legacy: typeof Legacy & typeof LegacyHttp;
  before(async () => {
    modern = await import("@modelcontextprotocol/client");
    legacy = {
      ...(await import("@modelcontextprotocol/sdk/client/index.js")),
      ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
    };
  });

  /** The client that speaks both revisions, in one of its modes. */
  const newClient =
    (mode: "legacy" | "auto"): Connect =>
    async (url, key) => {
      const client = new modern.Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
      const requestInit = { headers: { Authorization: `Bearer ${key}` } };
      await client.connect(new modern.StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
      return {
        revision: client.getNegotiatedProtocolVersion(),
        tools: async () => (await client.listTools()).tools.map(({ name }) => name),
        call: async (params, progressed) =>
          (await client.callTool(params as never, {
            ...(progressed && { onprogress: ({ progress, message = "" }) => progressed(progress, message) }),
          })) as unknown as ToolResult,
        close: () => client.close(),
      };
    };

  const oldClient: Connect = async (url, key) => {
    const client = new legacy.Client({ name: "test", version: "1" });
    const requestInit = { headers: { Authorization: `Bearer ${key}` } };
    const transport = new legacy.StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit });
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    return {
      revision: transport.protocolVersion,
      tools: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: async (params, progressed) =>
        (await client.callTool(params as never, undefined, {
          ...(progressed && { onprogress: ({ progress, message = "" }) => progressed(progress, message) }),
        })) as unknown as ToolResult,
      close: () => client.close(),
    };
  };

  const clients = [
    { name: "client 2, which discovers", connect: newClient("auto"), revision: "2026-07-28" },
    { name: "client 2, with the handshake", connect: newClient("legacy"), revision: "2025-11-25" },
    { name: "sdk 1", connect: oldClient, revision: "2025-11-25" },
  ];

  for (const { name, connect, revision } of clients) {
    test(`${name}: lists the tools, follows a reply as it is written, and goes on with it`, async () => {
      await using mcp = await openMcp(overSocket);
      const client = await connect(mcp.chat.fixture.url, mcp.chat.key);
      assert.equal(client.revision, revision);
      assert.deepEqual(await client.tools(), ["list_twins", "ask_twin"]);
      const told: [number, string][] = [];
      const called = client.call(asked, (progress, text) => told.push([progress, text]));
      const run = await mcp.chat.engine.next();
      run.write("Hel");
      await settle();
      run.write("lo!");
      run.finish();
      const { structuredContent, isError } = await called;
      assert.deepEqual([structuredContent?.reply, isError], ["Hello!", false]);
      assert.equal(told.map(([, text]) => text).join(""), "Hello!");
      assert.equal(told.at(-1)?.[0], 6);
      const conversation = structuredContent?.conversation;
      const again = client.call({ ...asked, arguments: { ...asked.arguments, conversation } });
      const second = await mcp.chat.engine.next();
      assert.equal(second.turn.history.length, 2);
      second.finish();
      assert.equal((await again).structuredContent?.conversation, conversation);
      await client.close();
    });

    test(`${name}: a twin that there is not is an error of the tool, another tool one of the protocol`, async () => {
      await using mcp = await openMcp(overSocket);
      const client = await connect(mcp.chat.fixture.url, mcp.chat.key);
      const result = await client.call({ ...asked, arguments: { twin: "nobody", question: "?" } });
      assert.equal(result.isError, true);
      await assert.rejects(client.call({ name: "sing", arguments: {} }), /-32602|Unknown tool/);
      await client.close();
    });

    const faults: readonly (Fault & { readonly name: string })[] = [
      { name: "inside the head", after: ["HTTP/1.1 200", "event-stream"], how: "reset" },
      { name: "behind some text", after: ["notifications/progress", "\n\n"], how: "end" },
      { name: "inside the result", after: ["structuredContent"], how: "reset" },
    ];
    for (const fault of faults) {
      test(`${name}: a call that is cut ${fault.name} and asked again has asked the model once`, async () => {
        await using mcp = await openMcp(overSocket);
        await using proxy = await openBreakingProxy(mcp.chat.fixture.url, []);
        const client = await connect(proxy.url, mcp.chat.key);
        const keyed = { ...asked, arguments: { ...asked.arguments, requestKey: "k" } };
        proxy.faults.push(fault);
        const cut = client.call(keyed, () => {}).catch(() => "cut");
        const run = await mcp.chat.engine.next();
        run.write("Hello!");
        await settle();
        run.finish();
        await until("the connection breaks", 10_000, async () => proxy.faults.length === 0);
        void cut; // some clients wait for a stream that is not resumed, until they give up
        const again = await connect(proxy.url, mcp.chat.key);
        assert.equal((await again.call(keyed)).structuredContent?.reply, "Hello!");
        assert.equal(mcp.chat.engine.asked, 1);
        await Promise.all([client.close(), again.close()]);
      });
    }
  }
});
