import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { connectTools, type McpServer } from "../../adapters/mcp-servers/mod.ts";
import type { Log, ToolContext } from "../../core/mod.ts";
import { createManualClock } from "../support/clock.ts";
import { freePort } from "../support/ports.ts";
import { until } from "../support/until.ts";
import { type Answer, startToolServer } from "./tool-server.ts";

const person = { owner: "alice", endUser: "ann", conversationId: "conv_1", messageId: "msg_1" };

async function start(t: TestContext, answer?: Answer, server: Partial<McpServer> = {}) {
  const orders = await startToolServer(answer);
  t.after(() => orders.close());
  const logged: string[] = [];
  const log: Log = (level, message, fields) => void logged.push(JSON.stringify([level, message, fields]));
  const clock = createManualClock();
  const tools = await connectTools({ servers: { orders: { url: orders.url, ...server } }, log, clock });
  t.after(() => tools.close());
  const call = async (input: object = { number: 7 }, fields: Partial<ToolContext> = {}) => {
    const context = { ...person, callId: "call_1", signal: new AbortController().signal, ...fields };
    return tools.list()[0]?.run(input as never, context);
  };
  return { orders, tools, call, clock, logged };
}

describe("tools of MCP servers", { timeout: 300_000 }, () => {
  test("a server's tools are listed under its name, and called with their input", async (t) => {
    const { orders, tools, call } = await start(t);
    const [tool] = tools.list();
    assert.deepEqual(
      [tool?.name, tool?.description, tools.list().length],
      ["orders/find", "Finds an order.", 1],
    );
    assert.equal(await call(), "Order 7 is sent.");
    assert.deepEqual([orders.calls[0]?.name, orders.calls[0]?.arguments], ["find", { number: 7 }]);
  });

  test("a server learns of the person only if its entry says so", async (t) => {
    const without = await start(t);
    await without.call();
    assert.ok(!JSON.stringify(without.orders.calls).includes("alice"));
    const { orders, call } = await start(t, undefined, { person: true });
    await call();
    const meta = orders.calls[0]?._meta as Record<string, unknown>;
    assert.deepEqual(
      ["owner", "endUser", "conversationId", "messageId"].map((name) => meta[`twin-service/${name}`]),
      ["alice", "ann", "conv_1", "msg_1"],
    );
  });

  test("header fields are sent with each request, and are in no log line and no error", async (t) => {
    const { orders, call, logged } = await start(t, undefined, {
      headers: { Authorization: "Bearer secret" },
    });
    await call();
    assert.ok(orders.headers.length >= 3);
    for (const { authorization } of orders.headers) assert.equal(authorization, "Bearer secret");
    await orders.close();
    await assert.rejects(call(), (error: unknown) => !String(error).includes("secret"));
    assert.ok(!logged.join().includes("secret"));
  });

  test("an error of a tool is told with its text, and what is no text is only named", async (t) => {
    const failing = await start(t, () => ({
      isError: true,
      content: [{ type: "text", text: "There is no order 7." }],
    }));
    await assert.rejects(failing.call(), /^Error: There is no order 7\.$/);
    const content = [
      { type: "text", text: "Here:" },
      { type: "image", data: "aGk=", mimeType: "image/png" },
    ];
    assert.equal(await (await start(t, () => ({ content }))).call(), "Here:\n[image: not shown]");
    const structured = await start(t, () => ({ content: [], structuredContent: { state: "sent" } }));
    assert.equal(await structured.call(), '{"state":"sent"}');
  });

  test("a call that is stopped ends at once", async (t) => {
    const { call } = await start(t, () => new Promise(() => {}));
    const stop = new AbortController();
    const calling = assert.rejects(call({ number: 7 }, { signal: stop.signal }));
    stop.abort(new Error("Enough."));
    await calling;
  });

  test("a server that is away has no tools, the log says so once, and it is back within 15 s", async (t) => {
    const port = await freePort();
    const logged: string[] = [];
    const clock = createManualClock();
    const servers = { orders: { url: `http://127.0.0.1:${port}/mcp` } };
    let changes = 0;
    const changed = () => void changes++;
    const tools = await connectTools({
      servers,
      clock,
      changed,
      log: (_level, message) => void logged.push(message),
    });
    t.after(() => tools.close());
    assert.deepEqual(tools.list(), []);
    await clock.advance(10_000);
    assert.deepEqual(logged, ["an MCP server is away, so twins answer without its tools"]);
    const orders = await startToolServer(undefined, port);
    t.after(() => orders.close());
    await until("the server is judged", 10_000, async () => {
      await clock.advance(1_000);
      return tools.list().length === 1;
    });
    assert.deepEqual([logged.at(-1), changes], ["an MCP server is back", 1]);
  });

  test("a server that goes away during a call loses its tools until it is back", async (t) => {
    const { orders, tools, call, clock } = await start(t);
    await orders.close();
    await assert.rejects(call(), /the server cannot be reached/);
    assert.deepEqual(tools.list(), []);
    const again = await startToolServer(undefined, orders.port);
    t.after(() => again.close());
    await until("the server is judged", 10_000, async () => {
      await clock.advance(1_000);
      return tools.list().length === 1;
    });
    assert.equal(await call(), "Order 7 is sent.");
  });

  test("a server that hangs is away after 5 s", async (t) => {
    const { createServer } = await import("node:http");
    const hanging = createServer(() => {});
    await new Promise<void>((resolve) => hanging.listen(0, "127.0.0.1", resolve));
    t.after(() => {
      hanging.close();
      hanging.closeAllConnections();
    });
    const { port } = hanging.address() as { port: number };
    const clock = createManualClock();
    let tools: readonly unknown[] | undefined;
    const connecting = connectTools({
      servers: { slow: { url: `http://127.0.0.1:${port}` } },
      clock,
      log: () => {},
    });
    void connecting.then((connected) => {
      tools = connected.list();
    });
    await until("the server is judged", 10_000, async () => {
      await clock.advance(1_000);
      return tools !== undefined;
    });
    await (await connecting).close();
    assert.deepEqual(tools, []);
  });

  test("names are judged, but for the tools of a server that is away", async (t) => {
    const { tools, orders, call } = await start(t);
    assert.equal(tools.problemOf("orders"), undefined);
    assert.equal(tools.problemOf("orders/find"), undefined);
    assert.match(
      tools.problemOf("orders/lose") ?? "",
      /"orders" has no tool "orders\/lose"; it has orders\/find/,
    );
    assert.match(tools.problemOf("weather") ?? "", /no MCP server "weather"; there are orders/);
    await orders.close();
    await assert.rejects(call());
    assert.equal(tools.problemOf("orders/lose"), undefined);
  });

  test("options that cannot be used are refused", async () => {
    for (const servers of [
      { a: {} },
      { a: { url: "ftp://x" } },
      { a: { url: "http://u:p@x" } },
      { a: { url: "http://x", persons: true } },
    ]) {
      await assert.rejects(
        connectTools({ servers: servers as never }),
        /connectTools: servers must be servers by name/,
      );
    }
  });
});
