/**
 * The MCP endpoint, message by message, in the revision without a handshake and in the one with it.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createMcpApi } from "../../adapters/mcp-clients/mod.ts";
import { settle } from "../support/clock.ts";
import { countConversations, inProcess, newTwin, removable, transports } from "../support/harness.ts";
import { errorOf, type McpFixture, messagesOf, openMcp, resultOf, type ToolResult } from "./fixture.ts";

const hello = { twin: "scripted", question: "Hello?" };
const streamed = { Accept: "application/json, text/event-stream" };

/** Asks, has the engine say something, and resolves with the result. */
async function askFor(mcp: McpFixture, given: object, text: string, headers = {}): Promise<ToolResult> {
  const asked = mcp.ask(given, headers);
  const run = await mcp.chat.engine.next();
  run.write(text);
  run.finish();
  return asked;
}

for (const transport of transports) {
  describe(`/mcp, ${transport.name}`, () => {
    test("server/discover says which revision and what is offered, to be kept for an hour", async () => {
      await using mcp = await openMcp(transport);
      const response = await mcp.modern("server/discover");
      assert.equal(response.status, 200);
      const { supportedVersions, capabilities, resultType, cacheScope, ttlMs, _meta } =
        await resultOf(response);
      assert.deepEqual(supportedVersions, ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]);
      assert.deepEqual(capabilities, { tools: {} });
      assert.deepEqual([resultType, cacheScope, ttlMs], ["complete", "public", 3_600_000]);
      assert.deepEqual(_meta, {
        "io.modelcontextprotocol/serverInfo": { name: "twin-service", version: "1" },
      });
    });

    test("initialize takes the client's revision if it can, and makes no session", async () => {
      await using mcp = await openMcp(transport);
      for (const [asked, given] of [
        ["2025-11-25", "2025-11-25"],
        ["2025-06-18", "2025-06-18"],
        ["2025-03-26", "2025-03-26"],
        ["2024-11-05", "2025-11-25"],
        ["2026-07-28", "2025-11-25"],
      ]) {
        const params = { protocolVersion: asked, capabilities: {}, clientInfo: { name: "t", version: "1" } };
        const response = await mcp.post({ jsonrpc: "2.0", id: "a", method: "initialize", params });
        assert.equal(response.headers.get("mcp-session-id"), null);
        const { protocolVersion, capabilities, serverInfo } = await resultOf(response);
        assert.equal(protocolVersion, given);
        assert.deepEqual([capabilities, serverInfo], [{ tools: {} }, { name: "twin-service", version: "1" }]);
      }
      assert.deepEqual(await resultOf(await mcp.legacy("ping")), {});
    });

    test("a notification, and a response, are taken note of with 202 and no body", async () => {
      await using mcp = await openMcp(transport);
      for (const message of [
        { jsonrpc: "2.0", method: "notifications/initialized" },
        { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } },
        { jsonrpc: "2.0", id: 1, result: {} },
      ]) {
        const response = await mcp.post(message);
        assert.deepEqual([response.status, await response.text()], [202, ""]);
      }
    });

    test("both revisions list the same two tools, whose schemas have no patterns", async () => {
      await using mcp = await openMcp(transport);
      const modern = await resultOf(await mcp.modern("tools/list"));
      const legacy = await resultOf(await mcp.legacy("tools/list"));
      assert.deepEqual(Object.keys(legacy), ["tools"]);
      assert.deepEqual(modern.tools, legacy.tools);
      assert.deepEqual([modern.resultType, modern.cacheScope], ["complete", "public"]);
      const [list, ask, ...more] = legacy.tools as { name: string; inputSchema: object }[];
      assert.deepEqual([list?.name, ask?.name, more], ["list_twins", "ask_twin", []]);
      assert.doesNotMatch(JSON.stringify(ask?.inputSchema), /pattern/);
    });

    test("list_twins names the twins that the credential may use", async () => {
      await using mcp = await openMcp(transport);
      const result = await resultOf(await mcp.legacy("tools/call", { name: "list_twins" }));
      const { structuredContent, content } = result as unknown as {
        structuredContent: { twins: { id: string }[] };
        content: { text: string }[];
      };
      assert.deepEqual(
        structuredContent.twins.map(({ id }) => id),
        ["scripted"],
      );
      assert.deepEqual(JSON.parse(content[0]?.text ?? ""), structuredContent.twins);
    });

    test("ask_twin gives the reply, and its conversation as a handle that goes on with it", async () => {
      await using mcp = await openMcp(transport);
      const first = await askFor(mcp, hello, "Hello, you!");
      const { conversation = "" } = first.structuredContent ?? {};
      assert.match(conversation, /^conv_/);
      assert.deepEqual(
        first.content.map(({ text }) => text),
        ["Hello, you!", `conversation: ${conversation}`],
      );
      assert.deepEqual([first.structuredContent?.reply, first.isError], ["Hello, you!", false]);
      const asked = mcp.ask({ ...hello, question: "And then?", conversation });
      const run = await mcp.chat.engine.next();
      assert.deepEqual(run.turn.history, [
        { role: "user", content: "Hello?" },
        { role: "assistant", content: "Hello, you!" },
      ]);
      run.finish();
      assert.equal((await asked).structuredContent?.conversation, conversation);
    });

    test("progress is the new text, and its number the length of all text", async () => {
      await using mcp = await openMcp(transport);
      const params = { name: "ask_twin", arguments: hello, _meta: { progressToken: "p" } };
      const asked = mcp.modern("tools/call", params, streamed);
      const run = await mcp.chat.engine.next();
      run.write("A 🐚");
      const response = await asked;
      assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/);
      await settle();
      run.write(" sings\u2028.");
      run.finish();
      const messages = (await messagesOf(response)) as { params?: { message: string; progress: number } }[];
      const told = messages.slice(0, -1).map(({ params }) => params);
      assert.equal(told.map((params) => params?.message).join(""), "A 🐚 sings\u2028.");
      assert.equal(told.at(-1)?.progress, "A 🐚 sings\u2028.".length);
      const numbers = told.map((params) => params?.progress ?? 0);
      assert.deepEqual(
        numbers,
        [...new Set(numbers)].sort((one, other) => one - other),
      );
      assert.equal(
        (messages.at(-1) as { result?: ToolResult }).result?.structuredContent?.reply,
        "A 🐚 sings\u2028.",
      );
    });

    test("without a progress token, a stream has the result alone", async () => {
      await using mcp = await openMcp(transport);
      const asked = mcp.modern("tools/call", { name: "ask_twin", arguments: hello }, streamed);
      const run = await mcp.chat.engine.next();
      run.write("Hi.");
      run.finish();
      assert.equal((await messagesOf(await asked)).length, 1);
    });

    test("what goes wrong in a call is a result that says so", async () => {
      await using mcp = await openMcp(transport);
      for (const [given, words] of [
        [{ ...hello, twin: "nobody" }, /no twin/],
        [{ ...hello, conversation: "conv_none" }, /no conversation/],
        [{ ...hello, conversation: "\0" }, /conversation must be/],
        [{ ...hello, question: " " }, /question must be/],
        [{ ...hello, question: "x".repeat(32_001) }, /question must be/],
        [{ ...hello, requestKey: "é" }, /requestKey must be/],
        [{ twin: "scripted" }, /question is required/],
        [[], /JSON object|required/],
      ] as const) {
        const { isError, content } = await mcp.ask(given);
        assert.equal(isError, true);
        assert.match(content[0]?.text ?? "", words);
      }
    });

    test("a failed reply is a result that says so, with the text that there is", async () => {
      await using mcp = await openMcp(transport);
      for (const headers of [{}, streamed]) {
        const asked = mcp.ask(hello, headers);
        const run = await mcp.chat.engine.next();
        run.write("Well");
        run.fail(new Error("the model is gone"));
        const { isError, content, structuredContent } = await asked;
        assert.deepEqual([isError, structuredContent?.reply], [true, "Well"]);
        assert.doesNotMatch(content[0]?.text ?? "", /gone/);
      }
    });

    test("the same call with the same requestKey joins the same reply; other arguments are an error", async () => {
      await using mcp = await openMcp(transport);
      const keyed = { ...hello, requestKey: "k" };
      const both = [mcp.ask(keyed, streamed), mcp.ask(keyed)];
      const run = await mcp.chat.engine.next();
      run.write("Once.");
      run.finish();
      const [one, other] = await Promise.all(both);
      assert.deepEqual(one, other);
      assert.deepEqual(await mcp.ask(keyed), one);
      const wrong = await mcp.ask({ ...keyed, question: "Another?" });
      assert.match(wrong.content[0]?.text ?? "", /requestKey was used/);
      assert.equal(mcp.chat.engine.asked, 1);
      const { data } = (await (
        await mcp.chat.fixture.call("GET", "/conversations", mcp.chat.key)
      ).json()) as {
        data: unknown[];
      };
      assert.equal(data.length, 2, "the fixture's, and one of the key");
    });
  });
}

describe("/mcp", () => {
  test("a call with the same requestKey has the reply of a twin that is gone since", async () => {
    const { twins, remove } = removable(newTwin({ id: "scripted", engine: "scripted" }));
    await using mcp = await openMcp(inProcess, { twins });
    const asked = mcp.ask({ ...hello, requestKey: "k" });
    (await mcp.chat.engine.next()).finish();
    const first = await asked;
    remove();
    assert.deepEqual(await mcp.ask({ ...hello, requestKey: "k" }), first);
    assert.match((await mcp.ask(hello)).content[0]?.text ?? "", /There is no twin/);
  });

  test("a client that leaves cancels its call, unless that has a requestKey", async () => {
    for (const requestKey of [undefined, "k"]) {
      await using mcp = await openMcp(inProcess);
      const params = { name: "ask_twin", arguments: { ...hello, requestKey } };
      const asked = mcp.modern("tools/call", params, streamed);
      const run = await mcp.chat.engine.next();
      run.write("Half");
      const response = await asked;
      const reader = response.body?.getReader();
      void reader?.read();
      await settle();
      await reader?.cancel();
      await settle();
      assert.equal(run.signal.aborted, requestKey === undefined);
      if (requestKey === undefined) continue;
      const again = mcp.ask({ ...hello, requestKey });
      run.write(" and half.");
      run.finish();
      assert.equal((await again).structuredContent?.reply, "Half and half.");
      assert.equal(mcp.chat.engine.asked, 1);
    }
  });

  test("a call that is refused leaves no conversation, with a requestKey neither", async () => {
    await using mcp = await openMcp(inProcess, { maxRunningReplies: 1 });
    const { fixture, key, engine } = mcp.chat;
    const before = await countConversations(fixture, key);
    const call = (more: object) =>
      mcp.modern("tools/call", { name: "ask_twin", arguments: { ...hello, ...more } });
    const answered = call({});
    const run = await engine.next();
    for (let refused = 0; refused < 2; refused++) assert.equal((await call({})).status, 429);
    assert.equal(await countConversations(fixture, key), before + 1);
    const keyed = { requestKey: "a key" };
    for (let refused = 0; refused < 2; refused++) assert.equal((await call(keyed)).status, 429);
    assert.equal(await countConversations(fixture, key), before + 1);
    run.finish();
    await answered;
    await askFor(mcp, { ...hello, ...keyed }, "Hi.");
    assert.equal(await countConversations(fixture, key), before + 2);
  });

  test("a call is joined in another process, too", async () => {
    await using mcp = await openMcp(inProcess);
    const keyed = { ...hello, requestKey: "k" };
    const first = await askFor(mcp, keyed, "Once.");
    await using other = await mcp.another();
    assert.deepEqual(await other.ask(keyed), first);
    assert.equal(mcp.chat.engine.asked, 1);
  });

  test("each POST costs one, whatever it says; 429 and 401 are HTTP's", async () => {
    await using mcp = await openMcp(inProcess, { requestsPerHour: { full_access: 5 } });
    const remaining = (response: Response) => Number(response.headers.get("x-ratelimit-remaining"));
    const before = remaining(await mcp.modern("tools/list"));
    assert.equal(
      remaining(await mcp.post({ jsonrpc: "2.0", method: "notifications/initialized" })),
      before - 1,
    );
    let last = await mcp.modern("server/discover");
    while (last.status === 200) last = await mcp.modern("server/discover");
    const refused = await errorOf(last);
    assert.deepEqual([refused.status, refused.code], [429, 429]);
    const none = await mcp.post("{}", { Authorization: "" });
    assert.deepEqual([none.status, none.headers.get("www-authenticate")], [401, 'Bearer realm="twins"']);
  });

  test("a read_only key lists twins, and may not ask: 403", async () => {
    await using mcp = await openMcp(inProcess);
    const Authorization = `Bearer ${await mcp.chat.fixture.key("read_only")}`;
    const listed = await mcp.modern("tools/call", { name: "list_twins" }, { Authorization });
    assert.equal(listed.status, 200);
    const asked = await mcp.modern("tools/call", { name: "ask_twin", arguments: hello }, { Authorization });
    assert.equal(asked.status, 403);
    assert.match(asked.headers.get("www-authenticate") ?? "", /scope="full_access"/);
  });

  test("header fields must say what the body says, and the revision must be known", async () => {
    await using mcp = await openMcp(inProcess);
    const call = { name: "list_twins" };
    const old = { _meta: { "io.modelcontextprotocol/protocolVersion": "1900-01-01" } };
    const supported = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"];
    for (const [response, status, code, data] of [
      [mcp.modern("tools/call", call, { "Mcp-Name": "ask_twin" }), 400, -32020],
      [mcp.modern("tools/call", call, { "Mcp-Name": "=?base64?bGlzdF90d2lucw==?=" }), 200],
      [mcp.modern("tools/list", {}, { "Mcp-Method": "tools/call" }), 400, -32020],
      [mcp.modern("tools/list", {}, { "MCP-Protocol-Version": "2025-11-25" }), 400, -32020],
      [mcp.modern("tools/list", old), 400, -32020],
      [
        mcp.modern("tools/list", old, { "MCP-Protocol-Version": "1900-01-01" }),
        400,
        -32022,
        { supported, requested: "1900-01-01" },
      ],
      [mcp.legacy("tools/list", {}, { "MCP-Protocol-Version": "1900-01-01" }), 400, -32022],
      [mcp.legacy("tools/list", {}, { "MCP-Protocol-Version": "2026-07-28" }), 400, -32602],
      [mcp.legacy("server/discover"), 400, -32602],
      [mcp.modern("resources/list"), 404, -32601],
      [mcp.modern("initialize"), 404, -32601],
      [mcp.legacy("resources/list"), 200, -32601],
      [mcp.modern("tools/call", { name: "sing" }), 200, -32602],
      [mcp.modern("tools/call", { name: ["list_twins"] }), 200, -32602],
      [mcp.legacy("tools/call", { name: { toString: 1 } }), 200, -32602],
      [mcp.legacy("tools/call", { name: ["list_twins"] }), 200, -32602],
      [mcp.legacy("tools/call", { name: null }), 200, -32602],
      [mcp.legacy("tools/call", {}), 200, -32602],
      [mcp.legacy("tools/list", {}, { "MCP-Protocol-Version": "2024-11-05" }), 400, -32022],
    ] as const) {
      const found = await errorOf(await response);
      assert.deepEqual([found.status, found.code, found.id], [status, code, 1]);
      if (data) assert.deepEqual(found.data, data);
    }
  });

  test("a handshake is judged by its body, whatever a proxy puts before it", async () => {
    await using mcp = await openMcp(inProcess);
    for (const header of ["2026-07-28", "2025-03-26", "1900-01-01", "x"]) {
      const params = {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "t", version: "1" },
      };
      const { protocolVersion } = await resultOf(
        await mcp.legacy("initialize", params, { "MCP-Protocol-Version": header }),
      );
      assert.equal(protocolVersion, "2025-11-25");
    }
  });

  test("params that are null are none, and so is what is optional in a call", async () => {
    await using mcp = await openMcp(inProcess);
    const message = { jsonrpc: "2.0", id: 1 };
    assert.equal((await mcp.post({ ...message, method: "tools/list", params: null })).status, 200);
    const list = { ...message, method: "tools/call", params: { name: "list_twins", arguments: null } };
    assert.equal((await resultOf(await mcp.post(list))).isError, undefined);
    for (const given of [
      { ...hello, conversation: null, requestKey: null },
      { ...hello, conversation: "", requestKey: "" },
      JSON.stringify(hello),
    ]) {
      const asked = mcp.ask(given as never);
      const run = await mcp.chat.engine.next();
      run.write("Hi.");
      run.finish();
      assert.equal((await asked).structuredContent?.reply, "Hi.");
    }
  });

  test("an unknown twin's error names those that the credential may use", async () => {
    await using mcp = await openMcp(inProcess);
    const { content, isError } = await mcp.ask({ ...hello, twin: "Scripted" });
    assert.equal(isError, true);
    assert.match(content[0]?.text ?? "", /^There is no twin with this id; there are: .*\bscripted\b/);
  });

  test("a client that waits for progress is told some while a model thinks, each greater than the last", async () => {
    await using mcp = await openMcp(inProcess);
    const params = { name: "ask_twin", arguments: hello, _meta: { progressToken: 7 } };
    const asked = mcp.legacy("tools/call", params, streamed);
    const run = await mcp.chat.engine.next();
    const response = await asked;
    const answered = messagesOf(response);
    const { clock } = mcp.chat.fixture;
    for (let pause = 0; pause < 3; pause++) await clock.advance(5_000);
    run.write("A");
    await settle();
    for (let pause = 0; pause < 2; pause++) await clock.advance(5_000);
    run.write("B");
    run.finish();
    const told = ((await answered) as { params?: { progress: number; message?: string } }[])
      .slice(0, -1)
      .map(({ params }) => params);
    assert.ok(told.length >= 5, JSON.stringify(told));
    assert.equal(told.map((progress) => progress?.message).join(""), "AB");
    const numbers = told.map((progress) => progress?.progress ?? 0);
    for (const [at, number] of numbers.entries())
      assert.ok(at === 0 || number > (numbers[at - 1] ?? 0), String(numbers));
  });

  test("what is no message is refused without an id", async () => {
    await using mcp = await openMcp(inProcess);
    for (const [body, code] of [
      ["{", -32700],
      ["[]", -32600],
      ["7", -32600],
      [[{ jsonrpc: "2.0", id: 1, method: "ping" }], -32600],
      [{ id: 1, method: "ping" }, -32600],
      [{ jsonrpc: "2.0", id: null, method: "ping" }, -32600],
      [{ jsonrpc: "2.0", id: 1.5, method: "ping" }, -32600],
    ] as const) {
      assert.deepEqual(
        await errorOf(await mcp.post(body)).then(({ status, code, id }) => [status, code, id]),
        [400, code, undefined],
      );
    }
    assert.equal(
      (await errorOf(await mcp.post({ jsonrpc: "2.0", id: 7, method: "ping", params: [] }))).id,
      7,
    );
  });

  test("GET and DELETE are 405, and there is nothing without the option", async () => {
    await using mcp = await openMcp(inProcess, { basePath: "/chat" });
    for (const method of ["GET", "DELETE"]) {
      const response = await mcp.post(undefined, {}, { method });
      assert.equal(response.status, 405);
      assert.equal(response.headers.get("allow"), "POST");
    }
    await using without = await openMcp(inProcess, { mcpApi: undefined });
    assert.equal((await without.legacy("ping")).status, 404);
  });

  test("pages may call only from listed origins, and from this machine where that is allowed", async () => {
    const here = "http://localhost:6274";
    for (const [loopbackOrigins, statuses] of [
      [false, [200, 403, 403, 403]],
      [true, [200, 200, 403, 403]],
    ] as const) {
      await using mcp = await openMcp(inProcess, {
        mcpApi: createMcpApi({ loopbackOrigins }),
        corsOrigins: ["https://app.example.com"],
      });
      const origins = ["https://app.example.com", here, "https://evil.example.com", "null"];
      const answers = origins.map(async (Origin) => (await mcp.legacy("ping", {}, { Origin })).status);
      assert.deepEqual(await Promise.all(answers), statuses);
    }
  });

  test("a client token asks as its end user", async () => {
    await using mcp = await openMcp(inProcess);
    const { fixture, key } = mcp.chat;
    const made = await fixture.call("POST", "/client-tokens", key, { endUser: "eve" });
    const { data } = (await made.json()) as { data: { token: string } };
    const first = await askFor(mcp, hello, "Hi.", { Authorization: `Bearer ${data.token}` });
    const id = first.structuredContent?.conversation;
    const found = await fixture.call("GET", `/conversations/${id}`, key);
    assert.equal(((await found.json()) as { data: { endUser: string } }).data.endUser, "eve");
  });
});
