import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { describe, type TestContext, test } from "node:test";
import { connectTools } from "../../adapters/mcp-servers/mod.ts";
import type { Log, ToolContext } from "../../core/mod.ts";
import { createManualClock } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import { until } from "../support/until.ts";
import { find, type Intercept, startToolServer } from "./tool-server.ts";

/** Connects to a server that answers as told. */
async function start(t: TestContext, intercept: Intercept, answer?: Parameters<typeof startToolServer>[0]) {
  const server = await startToolServer(answer, 0, intercept);
  t.after(() => server.close());
  const logged: string[] = [];
  const log: Log = (_level, message) => void logged.push(message);
  const tools = await connectTools({ servers: { s: { url: server.url } }, log, clock: createManualClock() });
  t.after(() => tools.close());
  const call = async (name = "s/find", fields: Partial<ToolContext> = {}) => {
    const tool = tools.list().find((one) => one.name === name);
    assert.ok(tool, `${name} is not there`);
    return tool.run({ number: 7 }, { callId: "c", signal: AbortSignal.timeout(20_000), ...fields });
  };
  return { server, tools, call, logged };
}

function send(response: ServerResponse, id: unknown, result: object, status = 200): true {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, ...("error" in result ? result : { result }) }));
  return true;
}

/** Answers a method in another way than usual. */
function on(method: string, answer: (response: ServerResponse, id: unknown) => boolean): Intercept {
  return (message, response) => message.method === method && answer(response, message.id);
}

const said = (text: string) => ({ content: [{ type: "text", text }] });

/** Sends what never ends, until the client leaves. Resolves with how many bytes it has taken. */
function endless(
  response: ServerResponse,
  begin: string,
  piece: string,
  type = "application/json",
  status = 200,
) {
  response.writeHead(status, { "content-type": type }).write(begin);
  let sent = 0;
  return new Promise<number>((resolve) => {
    response.on("close", () => resolve(sent)).on("error", () => {});
    const more = () => {
      while (!response.destroyed && sent < 200_000_000) {
        sent += piece.length;
        if (!response.write(piece)) return void response.once("drain", more);
      }
    };
    more();
  });
}

describe("MCP servers that are odd, or hostile", { timeout: 300_000 }, () => {
  const mebi = "x".repeat(1_048_576);
  for (const [kind, begin, piece, type] of [
    [
      "a result without end",
      '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"',
      mebi,
      "application/json",
    ],
    ["blanks without end", "", " ".repeat(1_048_576), "application/json"],
    ["a line of an event stream without end", "data: ", mebi, "text/event-stream"],
    ["an event without end", "", `data: ${"x".repeat(1_000)}\n`, "text/event-stream"],
    [
      "an event without end in returns",
      "data: 1",
      `\r${"\rdata: x".repeat(10_000)}`.replaceAll("\r\r", "\r"),
      "text/event-stream",
    ],
  ] as const) {
    test(`${kind} fails its call alone, and is not read on`, async (t) => {
      let taken: Promise<number> | undefined;
      const { call, tools } = await start(
        t,
        on("tools/call", (response) => {
          taken = endless(response, begin, piece, type);
          return true;
        }),
      );
      await assert.rejects(call(), /has more than 1048576 bytes/);
      assert.ok(((await taken) ?? 0) < 50_000_000);
      assert.equal(tools.list().length, 1);
    });
  }

  const note = `data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: 1 } })}\n\n`;
  const answerTo = (id: unknown) =>
    `data: ${JSON.stringify({ jsonrpc: "2.0", id, result: said("It is sent.") })}\n\n`;

  test("what follows the answer to a call is not read on", async (t) => {
    let taken: Promise<number> | undefined;
    const { call } = await start(
      t,
      on("tools/call", (response, id) => {
        taken = endless(response, answerTo(id), note.repeat(1_000), "text/event-stream");
        return true;
      }),
    );
    assert.equal(await call(), "It is sent.");
    assert.ok(((await taken) ?? 0) < 50_000_000);
  });

  for (const [kind, begin] of [
    ["notifications", note],
    ["events with ids", note.replace("data", "id: 1\ndata")],
    ["nothing", ""],
  ] as const) {
    test(`a call that is cancelled is not read on, where the server sends ${kind}`, async (t) => {
      const closed = createGate();
      const begun = createGate();
      let asked = 0;
      const { tools } = await start(
        t,
        on("tools/call", (response) => {
          asked++;
          response.on("close", closed.open);
          response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
          response.write(begin, begun.open);
          return true;
        }),
      );
      const cancelling = new AbortController();
      const called = tools.list()[0]?.run({ number: 7 }, { callId: "c", signal: cancelling.signal });
      await begun.opened;
      cancelling.abort();
      await assert.rejects(async () => called);
      await closed.opened;
      assert.equal(asked, 1);
    });
  }

  test("a flood of notifications lets others have the thread", async (t) => {
    const { call } = await start(
      t,
      on("tools/call", (response, id) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end(note.repeat(5_000) + answerTo(id));
        return true;
      }),
    );
    let [read, most] = [0, 0];
    const { parse } = JSON;
    t.mock.method(JSON, "parse", (text: string) => {
      most = Math.max(most, ++read);
      return parse(text);
    });
    const turns = setInterval(() => {
      read = 0;
    }, 0);
    t.after(() => clearInterval(turns));
    assert.equal(await call(), "It is sent.");
    assert.ok(most < 500, `${most} messages were read at once`);
  });

  test("a server that asks without end, and takes no answer, is answered a few times", async (t) => {
    let answers = 0;
    const ping = `data: ${JSON.stringify({ jsonrpc: "2.0", id: "p", method: "ping" })}\n\n`;
    const { call } = await start(t, (message, response) => {
      if (message.method === "tools/call") {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end(ping.repeat(2_000) + answerTo(message.id));
        return true;
      }
      if (message.method !== undefined) return false;
      answers++;
      return true;
    });
    assert.equal(await call(), "It is sent.");
    assert.ok(answers > 0 && answers < 100, `${answers} answers`);
  });

  test("a server's own request of more than 1,000 values is left out", async (t) => {
    const answered: unknown[] = [];
    const ping = (id: string, values: number) =>
      `data: ${JSON.stringify({ jsonrpc: "2.0", id, method: "ping", params: { _meta: { a: Array(values).fill(1) } } })}\n\n`;
    let call: ServerResponse | undefined;
    let answer = "";
    const { call: begin } = await start(t, (message, response) => {
      if (message.method === "tools/call") {
        answer = answerTo(message.id);
        call = response.writeHead(200, { "content-type": "text/event-stream" });
        call.write(ping("wide", 2_000) + ping("usual", 10));
        return true;
      }
      if (message.method !== undefined) return false;
      answered.push(message.id);
      response.writeHead(202).end();
      call?.end(answer);
      return true;
    });
    assert.equal(await begin(), "It is sent.");
    assert.deepEqual(answered, ["usual"]);
  });

  test("an answer on a stream that goes on after it was cut is read as any other", async (t) => {
    const odd = { type: "text", text: "It is sent.", annotations: { audience: [1] } };
    const answers = new Map<string, unknown>([
      ["tools/list", { tools: [{ ...find, annotations: 7 }] }],
      ["tools/call", { content: [odd] }],
    ]);
    let due = "";
    const { call } = await start(t, (message, response, request) => {
      if (request.method === "GET") {
        response.writeHead(200, { "content-type": "text/event-stream" }).end(`id: 2\ndata: ${due}\n\n`);
        return true;
      }
      const result = answers.get(message.method);
      if (!result) return false;
      due = JSON.stringify({ jsonrpc: "2.0", id: message.id, result });
      response.writeHead(200, { "content-type": "text/event-stream" }).end("retry: 1\nid: 1\ndata: \n\n");
      return true;
    });
    assert.equal(await call(), "It is sent.");
  });

  const cutAt = (response: ServerResponse, id: number | string, retry = 1) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`retry: ${retry}\nid: ${id}\ndata: \n\n`);
    return true;
  };

  test("a stream that was cut is asked for again after a pause that a timer can run", async (t) => {
    let [retry, resumed] = [7, 0];
    const pauses: unknown[] = [];
    let asked: unknown;
    const { call } = await start(t, (message, response, request) => {
      if (request.method === "GET" && resumed++ === 0) {
        retry = 99_999_999_999;
        return cutAt(response, 2, retry);
      }
      if (message.method !== "tools/call") return false;
      asked = message.id;
      return cutAt(response, 1, retry);
    });
    const leave = new AbortController();
    const { setTimeout } = globalThis;
    // Not by a mock, which Deno's property is none for.
    globalThis.setTimeout = ((...args: Parameters<typeof setTimeout>) => {
      pauses.push(args[1]);
      return setTimeout(...args);
    }) as typeof setTimeout;
    t.after(() => {
      globalThis.setTimeout = setTimeout;
    });
    const called = call("s/find", { signal: leave.signal });
    await until("the longer pause has begun", 5_000, () => resumed === 1 && pauses.includes(2_147_483_647));
    leave.abort();
    await assert.rejects(called);
    assert.ok(asked !== undefined && pauses.includes(100));
    assert.deepEqual(
      pauses.filter((pause) => pause === 7 || Number(pause) > 2_147_483_647),
      [],
    );
  });

  for (const when of ["where its stream was cut", "where the rest of its stream does not come"])
    test(`a call that is cancelled is not asked for again, ${when}`, async (t) => {
      const isHeld = when.includes("rest");
      let calls = 0;
      const resumed: string[] = [];
      const { call } = await start(t, (message, response, request) => {
        if (request.method === "GET") {
          const [name = "", number] = String(request.headers["last-event-id"]).split("-");
          resumed.push(name);
          if (name === "first" && isHeld) return true; // without an answer
          if (name === "first" || Number(number) < 5) return cutAt(response, `${name}-${Number(number) + 1}`);
          response.writeHead(200, { "content-type": "text/event-stream" });
          response.end(
            `id: 9\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: answering, result: said("It is sent.") })}\n\n`,
          );
          return true;
        }
        if (message.method !== "tools/call") return false;
        answering = message.id;
        return cutAt(response, `${["first", "second"][calls++]}-1`);
      });
      let answering: unknown;
      const leave = new AbortController();
      const cancelled = call("s/find", { signal: leave.signal });
      await until("the stream was asked for again", 5_000, () => resumed.length > (isHeld ? 0 : 1));
      leave.abort();
      await assert.rejects(cancelled);
      const before = resumed.length;
      assert.equal(await call(), "It is sent."); // after some more pauses
      const later = resumed.slice(before).filter((name) => name === "first");
      assert.ok(later.length <= 1, `${later.length} times`);
    });

  test("a call that is cancelled keeps no connection, where its stream was cut", async (t) => {
    let [isOpen, isClosed] = [false, false];
    const { call } = await start(t, (message, response, request) => {
      if (request.method !== "GET") return message.method === "tools/call" && cutAt(response, 1);
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      isOpen = true;
      response.on("close", () => {
        isClosed = true;
      });
      return true;
    });
    const leave = new AbortController();
    const cancelled = call("s/find", { signal: leave.signal });
    await until("the stream goes on", 5_000, () => isOpen);
    leave.abort();
    await assert.rejects(cancelled);
    await until("it is closed", 5_000, () => isClosed);
  });

  for (const type of ["application/json", "text/event-stream"]) {
    test(`a result of far more values than text fails its call alone (${type})`, async (t) => {
      const { call, tools } = await start(
        t,
        on("tools/call", (response, id) => {
          const result = `{"content":[],"structuredContent":{"a":[${"{},".repeat(60_000)}{}]}}`;
          const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
          response.writeHead(200, { "content-type": type });
          response.end(type === "application/json" ? text : `data: ${text}\n\n`);
          return true;
        }),
      );
      await assert.rejects(call(), /too many values/);
      assert.equal(tools.list().length, 1);
    });

    test(`a result that is nested too deep fails its call alone (${type})`, async (t) => {
      const { call, tools } = await start(
        t,
        on("tools/call", (response, id) => {
          const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}}}`;
          response.writeHead(200, { "content-type": type });
          response.end(type === "application/json" ? text : `data: ${text}\n\n`);
          return true;
        }),
      );
      await assert.rejects(call(), /too many values or levels/);
      assert.equal(tools.list().length, 1);
    });

    test(`a list of far more values than text leaves the server away (${type})`, async (t) => {
      const { tools } = await start(
        t,
        on("tools/list", (response, id) => {
          const tool = JSON.stringify(find);
          const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":[${tool}${",{}".repeat(600_000)}]}}`;
          response.writeHead(200, { "content-type": type });
          response.end(type === "application/json" ? text : `data: ${text}\n\n`);
          return true;
        }),
      );
      assert.deepEqual(tools.list(), []);
    });
  }

  test("a list without end, in one page or in many, leaves the server away", async (t) => {
    const one = await start(
      t,
      on("tools/list", (response) => {
        void endless(response, '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"', mebi);
        return true;
      }),
    );
    assert.deepEqual(one.tools.list(), []);
    let pages = 0;
    const many = await start(
      t,
      on("tools/list", (response, id) => {
        const tool = { ...find, name: `t${pages++}`, description: "d".repeat(1_000_000) };
        return send(response, id, { tools: [tool], nextCursor: String(pages) });
      }),
    );
    assert.deepEqual(many.tools.list(), []);
    assert.ok(pages <= 3, String(pages));
  });

  test("of a list, in one page or in many, 2,000 tools are kept, and the log says how many are left out", async (t) => {
    for (const onPage of [5_000, 1_500]) {
      let pages = 0;
      const { tools, logged } = await start(
        t,
        on("tools/list", (response, id) => {
          const page = Array.from({ length: onPage }, (_, n) => ({ ...find, name: `t${pages}_${n}` }));
          return send(response, id, {
            tools: page,
            nextCursor: ++pages * onPage < 4_500 ? "next" : undefined,
          });
        }),
      );
      assert.equal(tools.list().length, 2_000);
      assert.equal(tools.list()[0]?.name, "s/t0_0");
      assert.match(logged[0] ?? "", /left out: .* too many$/);
    }
  });

  test("tools that are not as the protocol has them are left out alone, and the log says how many", async (t) => {
    const bare = { name: "bare", inputSchema: { properties: {} } };
    const odd = [
      { ...find, name: "" },
      { ...find, name: 7 },
      { name: "none" },
      { name: "null", inputSchema: null },
      { name: "list", inputSchema: { type: "array" } },
      { name: "members", inputSchema: { properties: [1] } },
      { name: "needed", inputSchema: { required: [1] } },
      "text",
      null,
    ];
    const deepest = JSON.stringify({ name: "deep", inputSchema: "DEEP" }).replace(
      '"DEEP"',
      `${'{"not":'.repeat(100_000)}{}${"}".repeat(100_000)}`,
    );
    const { call, tools, logged } = await start(
      t,
      on("tools/list", (response, id) => {
        const list = JSON.stringify({
          tools: [...odd, { ...find, title: 7, outputSchema: "x", icons: 3 }, bare],
        });
        response.writeHead(200, { "content-type": "application/json" });
        response.end(`{"jsonrpc":"2.0","id":${id},"result":${list.replace("[", `[${deepest},`)}}`);
        return true;
      }),
    );
    assert.deepEqual(
      tools.list().map(({ name }) => name),
      ["s/find", "s/bare"],
    );
    assert.equal(await call(), "Order 7 is sent.");
    assert.equal(await call("s/bare"), "Order 7 is sent.");
    assert.deepEqual(logged, [
      "tools of an MCP server are left out: they are not as the protocol has them, or too many",
    ]);
  });

  test("results are told whatever an outputSchema says of them", async (t) => {
    const outputSchema = {
      type: "object",
      properties: { n: { type: "integer", pattern: "^(a+)+$" } },
      required: ["n"],
    };
    const { call } = await start(
      t,
      on("tools/list", (response, id) => send(response, id, { tools: [{ ...find, outputSchema }] })),
      () => ({ ...said("n is seven"), structuredContent: { n: `${"a".repeat(40)}!` } }),
    );
    assert.equal(await call(), "n is seven");
  });

  test("what is told of a result does not depend on what else its parts have", async (t) => {
    const odd = { annotations: { audience: Array(20_000).fill(1) }, icons: Array(20_000).fill(1), _meta: 7 };
    const { call } = await start(
      t,
      () => false,
      () => ({ content: [{ type: "text", text: "Order 7 is sent.", ...odd }], structuredContent: 7 }),
    );
    assert.equal(await call(), "Order 7 is sent.");
  });

  for (const content of [Array(49_000).fill(1), [{ type: "text", text: 7 }], [{ type: "song" }], 7])
    test(`a result is refused where its content is ${JSON.stringify(content).slice(0, 30)}`, async (t) => {
      const { call, tools } = await start(
        t,
        () => false,
        () => ({ content }),
      );
      await assert.rejects(call(), /is not as the protocol has it/);
      assert.equal(tools.list().length, 1);
    });

  const sendText = (response: ServerResponse, body: string) => {
    response.writeHead(200, { "content-type": "application/json" }).end(body);
    return true;
  };

  for (const method of ["tools/list", "tools/call"])
    test(`an answer to ${method} in a list of answers is read as one that is alone`, async (t) => {
      const odd = { annotations: { audience: [1] } };
      const result = {
        tools: [{ ...find, annotations: 7 }],
        content: [{ type: "text", text: "It is sent.", ...odd }],
      };
      const { call } = await start(
        t,
        on(method, (response, id) => sendText(response, JSON.stringify([{ jsonrpc: "2.0", id, result }]))),
        () => said("It is sent."),
      );
      assert.equal(await call(), "It is sent.");
    });

  for (const body of ["{", "[]", "7"])
    test(`an answer ${body} fails its call alone`, async (t) => {
      const { call, tools } = await start(
        t,
        on("tools/call", (response) => sendText(response, body)),
      );
      await assert.rejects(call(), /is not as the protocol has it/);
      assert.equal(tools.list().length, 1);
    });

  test("a server whose handshake has more than 1,000 values is away", async (t) => {
    const serverInfo = { name: "s", version: "1", icons: Array(2_000).fill({ src: "a:b" }) };
    const result = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
    const { tools, logged } = await start(
      t,
      on("initialize", (response, id) => send(response, id, result)),
    );
    assert.deepEqual(tools.list(), []);
    assert.match(logged.join(), /is away/);
  });

  test("texts of resources and addresses of links are told", async (t) => {
    const content = [
      { type: "resource", resource: { uri: "repo://a/b", mimeType: "text/plain", text: "Open at nine." } },
      { type: "resource", resource: { uri: "repo://a/c", blob: "aGk=" } },
      { type: "resource_link", uri: "https://shop.example/7", name: "Order 7", description: "It is sent." },
      { type: "audio", data: "aGk=", mimeType: "audio/wav" },
    ];
    const { call } = await start(
      t,
      () => false,
      () => ({ content }),
    );
    assert.equal(
      await call(),
      "repo://a/b\nOpen at nine.\n[repo://a/c: not shown]\nOrder 7\nhttps://shop.example/7\nIt is sent.\n[audio: not shown]",
    );
  });

  for (const [status, body] of [
    [404, { error: { code: -32001, message: "Session not found" } }],
    [404, {}],
    [400, { error: { code: -32000, message: "Bad Request: No valid session ID provided" } }],
  ] as const) {
    test(`a session that the server has forgotten (${status} ${JSON.stringify(body)}) begins anew, and the call is answered`, async (t) => {
      let session = 0;
      let valid = "";
      const { call, server, logged } = await start(t, (message, response, request) => {
        if (message.method === "server/discover") return false;
        if (message.method === "initialize") {
          valid = `s${++session}`;
          response.setHeader("mcp-session-id", valid);
          return false;
        }
        return request.headers["mcp-session-id"] !== valid && send(response, null, body, status);
      });
      assert.equal(await call(), "Order 7 is sent.");
      valid = "forgotten";
      assert.deepEqual(await Promise.all([call(), call()]), ["Order 7 is sent.", "Order 7 is sent."]);
      assert.deepEqual([session, server.calls.length, logged], [2, 3, []]);
    });
  }

  test("a connection that breaks before an answer is made anew, once", async (t) => {
    let left = 1;
    const { call, tools } = await start(
      t,
      on("tools/call", (response) => left-- > 0 && Boolean(response.destroy())),
    );
    assert.equal(await call(), "Order 7 is sent.");
    left = Number.POSITIVE_INFINITY; // some runtimes ask again by themselves
    await assert.rejects(call(), /the server cannot be reached/);
    assert.deepEqual(tools.list(), []);
  });

  test("a call that a person has allowed is not asked again, where the connection breaks before its answer", async (t) => {
    let asked = 0;
    const { tools, call } = await start(t, (message, response) => {
      if (message.method !== "tools/call" || ++asked > 1) return false;
      response.writeHead(200, { "content-type": "text/event-stream" }).end(": nothing\n\n");
      return true;
    });
    await assert.rejects(call("s/find", { isAllowed: true }), /it may have run/);
    assert.equal(asked, 1);
    assert.deepEqual(tools.list(), []);
  });

  for (const end of ["ends", "breaks"]) {
    test(`an event stream that ${end} without the answer counts as such a connection`, async (t) => {
      let left = 1;
      const { call } = await start(
        t,
        on("tools/call", (response) => {
          if (left-- <= 0) return false;
          response.writeHead(200, { "content-type": "text/event-stream" }).write(": nothing\n\n");
          setImmediate(() => (end === "ends" ? response.end() : response.destroy()));
          return true;
        }),
      );
      assert.equal(await call(), "Order 7 is sent.");
    });
  }

  test("an event stream is read beside other messages, in pieces", async (t) => {
    const { call } = await start(
      t,
      on("tools/call", (response, id) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        const answer = JSON.stringify({ jsonrpc: "2.0", id, result: said("Größe\u2028 7") }, null, 1);
        const text =
          'data: {"jsonrpc":"2.0","id":"p","method":"ping"}\r\n\r\nevent: message\rid: 4\r' +
          `${answer
            .split("\n")
            .map((line) => `data: ${line}`)
            .join("\r")}\r\r`;
        const bytes = Buffer.from(text);
        for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7));
        return Boolean(response.end());
      }),
    );
    assert.equal(await call(), "Größe\u2028 7");
  });

  for (const [status, result, told] of [
    [500, { error: { code: -32603, message: "Database is busy" } }, /^Error: Database is busy$/],
    [400, { error: { code: -32602, message: "There is no find" } }, /There is no find/],
    [200, { error: { code: -32603, message: "Database is busy" } }, /Database is busy/],
    [429, {}, /status 429/],
    [408, {}, /status 408/],
    [200, { content: "odd" }, /not as the protocol has it/],
  ] as const) {
    test(`an answer ${status} ${JSON.stringify(result)} fails that call alone`, async (t) => {
      let failing = true;
      const { call, logged } = await start(
        t,
        on("tools/call", (response, id) => failing && send(response, id, result, status)),
      );
      await assert.rejects(call(), told);
      failing = false;
      assert.equal(await call(), "Order 7 is sent.");
      assert.deepEqual(logged, []);
    });
  }

  for (const status of [400, 404, 405, 422, 500, 501, 502]) {
    test(`a server that answers what it does not know with ${status} is asked in an older revision`, async (t) => {
      const { call } = await start(
        t,
        on("server/discover", (response) => Boolean(response.writeHead(status).end())),
      );
      assert.equal(await call(), "Order 7 is sent.");
    });
  }

  test("a refusal without end is not read on", async (t) => {
    let failing = false;
    const { call, tools } = await start(t, (message, response) => {
      if (!failing || message.method === "notifications/cancelled") return false;
      void endless(response, "", mebi, "text/plain", 503);
      return true;
    });
    failing = true;
    await assert.rejects(call(), /the server cannot be reached/);
    assert.deepEqual(tools.list(), []);
  });

  test("a server without tools has none, and is not asked for them", async (t) => {
    const { tools, logged } = await start(t, (message, response) => {
      if (message.method === "tools/list")
        return send(response, message.id, { error: { code: -32601, message: "no" } });
      if (message.method !== "initialize") return false;
      const serverInfo = { name: "s", version: "1" };
      return send(response, message.id, { protocolVersion: "2025-06-18", capabilities: {}, serverInfo });
    });
    assert.deepEqual([tools.list(), logged], [[], []]);
  });
});
