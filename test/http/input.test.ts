import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createOpenAIApi } from "../../adapters/openai-clients/mod.ts";
import type { IncomingRequest } from "../../core/mod.ts";
import type { ConversationResource, MessageResource } from "../../core/wire/schemas.ts";
import { settle } from "../support/clock.ts";
import {
  assertErrorAnswer,
  assertRefusedField,
  countConversations,
  dataOf,
  errorOf,
  type Fixture,
  inProcess,
  openFixture,
  transports,
} from "../support/harness.ts";

const maxBodyBytes = 256 * 1024;

/** What `fetch` requires for a body that is a stream, and TypeScript's DOM types lack. */
const halfDuplex = { duplex: "half" };

for (const transport of transports) {
  describe(`input, ${transport.name}`, () => {
    test("a body must be application/json, with any parameters", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      for (const type of [
        "application/json",
        "APPLICATION/JSON",
        "application/json ; charset=utf-8; x=y",
        "application/json; UTF-8",
        'application/json;a="b, \\"c;";',
      ]) {
        assert.equal((await post(fixture, key, '{"twinId":"echo"}', { "Content-Type": type })).status, 201);
      }
      for (const type of [
        "text/plain",
        "application/jsonp",
        "application/x-www-form-urlencoded",
        "json",
        "",
        "application/json, application/json", // how two fields are joined
        "application/json; a=b, text/plain",
        'application/json; a="b',
        "\u00a0application/json",
      ]) {
        const response = await post(fixture, key, '{"twinId":"echo"}', { "Content-Type": type });
        await assertErrorAnswer(response, 415, "unsupported_media_type", type);
      }
      assert.equal(await countConversations(fixture, key), 5);
    });

    test("a body with any Content-Encoding is refused", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      for (const coding of ["gzip", "identity", "br"]) {
        const response = await post(fixture, key, '{"twinId":"echo"}', { "Content-Encoding": coding });
        await assertErrorAnswer(response, 415, "unsupported_media_type", coding);
      }
    });

    test("a body that is not JSON in UTF-8 is invalid_json", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const tooDeep = `${"[".repeat(64)}${"]".repeat(64)}`;
      const broken: [string, string | Uint8Array<ArrayBuffer> | null][] = [
        ["no body", null],
        ["nothing", ""],
        ["half a body", '{"twinId":"echo"'],
        ["two bodies", '{"twinId":"echo"}{}'],
        ["a trailing comma", '{"twinId":"echo",}'],
        ["a comment", '{"twinId":"echo"} // hello'],
        ["NaN", '{"twinId":"echo","a":NaN}'],
        ["a raw control character", '{"twinId":"echo","title":"a\nb"}'],
        ["a byte order mark", '\ufeff{"twinId":"echo"}'],
        ["invalid UTF-8", Buffer.from('{"twinId":"echo","title":"\xff"}', "latin1")],
        ["an encoded surrogate", Buffer.from('{"twinId":"echo","title":"\xed\xa0\x80"}', "latin1")],
        ["an overlong encoding", Buffer.from('{"twinId":"echo","title":"\xc0\x80"}', "latin1")],
        ["UTF-16", Buffer.from('{"twinId":"echo"}', "utf16le")],
        ["arrays nested too deeply", `{"twinId":"echo","a":${tooDeep}}`],
        ["arrays nested too deeply after an empty string", `{"twinId":"echo","a":"","b":${tooDeep}}`],
        ["arrays nested too deeply after a backslash", `{"twinId":"echo","a":"\\\\","b":${tooDeep}}`],
        ["objects nested too deeply", `${'{"a":'.repeat(65)}0${"}".repeat(65)}`],
        ["a nesting bomb", "[".repeat(maxBodyBytes)],
      ];
      for (const [name, body] of broken) {
        await assertErrorAnswer(await post(fixture, key, body), 400, "invalid_json", name);
      }
      assert.equal(await countConversations(fixture, key), 0);
    });

    test("nesting of up to 64 levels is accepted, and brackets that are closed or in strings do not count", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const deep = `${"[".repeat(63)}${"]".repeat(63)}`;
      const texts = JSON.stringify(`"\\${"[{".repeat(1000)}`);
      for (const member of [deep, texts, `[${"[],{},".repeat(65)}0]`]) {
        assert.equal((await post(fixture, key, `{"twinId":"echo","a":${member}}`)).status, 201);
      }
    });

    test("JSON that is not an object is a validation_error of the body", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      for (const body of ["null", "[]", '[{"twinId":"echo"}]', "7", "true", '"twinId"']) {
        const response = await post(fixture, key, body);
        assert.equal(await assertRefusedField(response, "body", body), "must be a JSON object");
      }
    });

    test("all invalid fields are listed, with what is accepted", async () => {
      await using fixture = await openFixture(transport);
      const response = await post(fixture, await fixture.key(), '{"title":7}');
      const { details, message } = await errorOf(response);
      const accepted = "characters, not only white space, without NUL or lone surrogates";
      assert.deepEqual(details?.fields, [
        { path: "twinId", message: `is required: a string of 1 to 255 ${accepted}` },
        { path: "title", message: `must be null or a string of 1 to 200 ${accepted}` },
      ]);
      assert.match(message, /^twinId is required: .*; title must be .*\.$/);
    });

    for (const { field, path, max, rest } of [
      { field: "title", path: "/conversations", max: 200, rest: { twinId: "echo" } },
      { field: "content", path: "/messages", max: 32_000, rest: {} },
    ]) {
      test(`${field} must have 1 to ${max} Unicode characters, not only white space`, async () => {
        await using fixture = await openFixture(transport);
        const key = await fixture.key();
        const target =
          path === "/messages" ? `/conversations/${await fixture.conversation(key)}${path}` : path;
        const send = (text: unknown) =>
          fixture.call("POST", target, key, JSON.stringify({ ...rest, [field]: text }));
        const accepted = ["x", "x".repeat(max), "😀".repeat(max), " x ", "\u200b", "\ud83d\ude00", "\u0001"];
        for (const text of accepted) {
          const response = await send(text);
          assert.ok(response.ok, `${response.status}: ${text.slice(0, 20)}`);
          const data = await dataOf<Record<string, string>>(response);
          assert.equal(data[field], text);
        }
        const refused = [
          "",
          " ",
          "\t\r\n\u00a0\u0085\u2003\u3000\ufeff",
          "x".repeat(max + 1),
          "😀".repeat(max + 1),
          "a\u0000b",
          "a\ud800",
          "\udc00a",
          7,
          true,
          ["x"],
          { x: "x" },
        ];
        for (const text of refused) {
          await assertRefusedField(await send(text), field, JSON.stringify(text).slice(0, 40));
        }
      });
    }

    test("content must not be null or absent", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const target = `/conversations/${await fixture.conversation(key)}/messages`;
      for (const body of [{ content: null }, {}]) {
        assert.equal((await fixture.call("POST", target, key, body)).status, 400);
      }
      assert.deepEqual(await dataOf<MessageResource[]>(await fixture.call("GET", target, key)), []);
    });

    test("a body of 256 KiB is read, one byte more is not", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const body = (bytes: number) => `{"twinId":"echo","pad":"${"x".repeat(bytes - 26)}"}`;
      assert.equal(body(maxBodyBytes).length, maxBodyBytes);
      assert.equal((await post(fixture, key, body(maxBodyBytes))).status, 201);
      await assertErrorAnswer(await post(fixture, key, body(maxBodyBytes + 1)), 413, "payload_too_large");
      assert.equal(await countConversations(fixture, key), 1);
    });

    test("a body of more than 50,000 members or 150,000 values is not parsed", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const members = (count: number) => `{${'"":1,'.repeat(count - 1)}"twinId":"echo"}`;
      assert.equal((await post(fixture, key, members(50_000))).status, 201);
      await assertErrorAnswer(await post(fixture, key, members(50_001)), 413, "payload_too_large");
      const values = `{"twinId":"echo","other":[${"[],".repeat(75_000)}0]}`;
      await assertErrorAnswer(await post(fixture, key, values), 413, "payload_too_large");
    });

    test("of unknown members that are refused, the first are told, by how their names begin", async () => {
      await using fixture = await openFixture(transport);
      const names = Array.from({ length: 1_000 }, (_, n) => `${n}${"x".repeat(200)}`);
      const body = { name: "a", scope: "full_access", ...Object.fromEntries(names.map((name) => [name, 1])) };
      const response = await fixture.call("POST", "/auth/api-keys", await fixture.token(), body);
      const { details } = await errorOf(response);
      const fields = (details?.fields ?? []) as readonly { readonly path: string }[];
      const paths = fields.map(({ path }) => path);
      assert.deepEqual(
        paths,
        names.slice(0, 20).map((name) => name.slice(0, 100)),
      );
    });

    test("unknown members are ignored and never stored", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const body =
        '{"__proto__":{"twinId":"private","title":"p"},"constructor":{"prototype":{"title":"c"}},' +
        '"twinId":"echo","id":"conv_mine","owner":"bob","status":"busy","messageCount":9,"toString":null}';
      const created = await dataOf<ConversationResource>(await post(fixture, key, body));
      assert.equal(created.title, null);
      assert.equal(created.twinId, "echo");
      assert.equal(created.status, "idle");
      assert.equal(created.messageCount, 0);
      assert.notEqual(created.id, "conv_mine");
      const stored = await fixture.store.getConversation({ owner: "alice" }, created.id);
      assert.deepEqual(Object.keys(stored ?? {}).sort(), [
        "answeredBy",
        "createdAt",
        "endUser",
        "id",
        "lastMessageAt",
        "lastMessageId",
        "logLength",
        "messageCount",
        "metadata",
        "name",
        "owner",
        "replyId",
        "title",
        "twinId",
        "updatedAt",
        "waitingSince",
      ]);
      assert.equal(({} as { title?: string }).title, undefined);
    });

    test("__proto__ and constructor members do not stand in for the body's own", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      for (const body of ['{"__proto__":{"twinId":"echo"}}', '{"constructor":{"twinId":"echo"}}']) {
        assert.equal((await post(fixture, key, body)).status, 400, body);
      }
    });

    test("a body that is silent for 5 seconds is refused", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const pending = fixture.clock.pending;
      const answered = fixture.send("/api/v1/conversations", {
        method: "POST",
        headers: { "X-API-Key": key, "Content-Type": "application/json" },
        body: new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from("{")) }),
        ...halfDuplex,
      });
      while (fixture.clock.pending === pending) await settle();
      await fixture.clock.advance(5_000);
      await assertErrorAnswer(await answered, 408, "request_timeout");
      assert.equal(fixture.clock.pending, pending, "no timer is left behind");
    });

    test("a body is ignored where none is expected", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const id = await fixture.conversation(key);
      const response = await fixture.call("DELETE", `/conversations/${id}`, key, "{not json");
      assert.equal(response.status, 204);
    });

    test("a method cannot be overridden", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const id = await fixture.conversation(key);
      const headers = { "X-HTTP-Method-Override": "DELETE", "X-HTTP-Method": "DELETE", "X-Method": "DELETE" };
      const response = await fixture.call(
        "GET",
        `/conversations/${id}?_method=DELETE`,
        key,
        undefined,
        headers,
      );
      assert.equal(response.status, 200);
      assert.equal(await countConversations(fixture, key), 1);
    });
  });

  describe(`the order of checks, ${transport.name}`, () => {
    const wrongType = { "Content-Type": "text/plain" };
    const tooLong = "x".repeat(maxBodyBytes + 1);
    const badlyRepeated = { "Idempotency-Key": "a, a" };
    const wrongBoth = { ...wrongType, ...badlyRepeated };

    test("of two faults, the one that is checked first is reported", async () => {
      await using fixture = await openFixture(transport);
      const writer = await fixture.key();
      const reader = await fixture.key("read_only");
      const spent = await fixture.key("read_only");
      for (let count = 0; count < 200; count++) await fixture.call("GET", "/twins", spent);
      const busy = { "X-API-Key": spent };
      const twoKeys = { "X-API-Key": reader };
      const long = "x".repeat(8200);
      const nowhere = "/conversations/nowhere/messages";

      const faults: [string, string, string, string, string?, Record<string, string>?][] = [
        ["uri_too_long", "DELETE", `/nowhere/${long}`, "wrong"],
        ["not_found", "PURGE", "/nowhere", "wrong", "{"],
        ["method_not_allowed", "PATCH", "/twins", "wrong", "{"],
        ["method_not_allowed", "GET", `${nowhere}/stream`, "wrong"],
        ["invalid_request", "POST", "/conversations", "wrong", "{", twoKeys],
        ["invalid_request", "POST", "/conversations", writer, "{", busy],
        ["invalid_api_key", "POST", "/conversations", "wrong", "{", wrongType],
        ["rate_limited", "POST", "/conversations", spent, "{", wrongType],
        ["insufficient_scope", "POST", "/conversations", reader, "{", wrongType],
        ["insufficient_scope", "POST", nowhere, reader, tooLong],
        ["unsupported_media_type", "POST", "/conversations", writer, tooLong, wrongType],
        ["unsupported_media_type", "POST", "/conversations", writer, "{}", wrongBoth],
        ["payload_too_large", "POST", "/conversations", writer, `{${tooLong}`],
        ["invalid_json", "POST", nowhere, writer, "{"],
        ["validation_error", "POST", nowhere, writer, "{}"],
        ["validation_error", "GET", `${nowhere}?order=up`, writer],
        ["validation_error", "POST", nowhere, writer, '{"content":"Hi"}', badlyRepeated],
        ["conversation_not_found", "GET", `${nowhere}?after=nowhere`, writer],
        ["conversation_not_found", "POST", nowhere, writer, '{"content":"Hi"}'],
      ];
      for (const [code, method, path, credential, body, headers] of faults) {
        const response = await fixture.call(method, path, credential, body, headers);
        const context = `${code}: ${method} ${path.slice(0, 60)}`;
        assert.equal((await errorOf(response)).code, code, context);
      }
    });
  });
}

function post(
  fixture: Fixture,
  key: string,
  body: BodyInit | null,
  headers?: Record<string, string>,
): Promise<Response> {
  return fixture.send("/api/v1/conversations", {
    method: "POST",
    headers: { "X-API-Key": key, "Content-Type": "application/json", ...headers },
    body,
  });
}

test("a body that turns out longer than its Content-Length is not read to its end", async () => {
  await using fixture = await openFixture(inProcess);
  let pulled = 0;
  let cancelled = false;
  const body = new ReadableStream({
    pull(controller) {
      pulled++;
      if (pulled > 50) controller.error(new Error("That was enough."));
      else controller.enqueue(new Uint8Array(65_536).fill(32));
    },
    cancel() {
      cancelled = true;
    },
  });
  const headers = {
    "X-API-Key": await fixture.key(),
    "Content-Type": "application/json",
    "Content-Length": "10",
  };
  const init = { method: "POST", headers, body, ...halfDuplex };
  const response = await fixture.service.fetch(new Request("http://twins.test/api/v1/conversations", init));
  assert.equal(response.status, 413);
  assert.ok(pulled < 10, `${pulled} pieces were read`);
  assert.ok(cancelled, "the sender is told to stop");
});

/** Sends a body in pieces, of which all but the first are a space. `isWhole`: whether there is an end behind them. */
function sendPieces(fixture: Fixture, credential: string, path: string, pieces: number, isWhole = true) {
  const [space, begin] = [" ", '{"twinId":"echo","model":"echo","input":"Hello"}'].map((text) =>
    Buffer.from(text),
  );
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(begin);
      for (let piece = 1; piece < pieces; piece++) controller.enqueue(space);
      if (isWhole) controller.close();
    },
  });
  const headers = { "X-API-Key": credential, "Content-Type": "application/json" };
  const init = { method: "POST", headers, body, ...halfDuplex };
  return fixture.service.fetch(new Request(`http://twins.test${path}`, init));
}

for (const [path, status] of [
  ["/api/v1/conversations", 201],
  ["/v1/responses", 200],
] as const) {
  test(`a body may come in 16,384 short pieces, but not in more, at ${path}`, async () => {
    await using fixture = await openFixture(inProcess, { openaiApi: createOpenAIApi() });
    const key = await fixture.key();
    const send = async (pieces: number) => (await sendPieces(fixture, key, path, pieces)).status;
    assert.deepEqual([await send(16_384), await send(16_385)], [status, 413]);
  });
}

test("a body of more than 256 KiB with more than 2,000 different names is not parsed, however they are spread", async () => {
  await using fixture = await openFixture(inProcess, { openaiApi: createOpenAIApi() });
  const key = await fixture.key();
  const send = async (names: number, pad: number) => {
    const objects = Array.from({ length: names - 4 }, (_, n) => `{"n${n}" :${n}}`);
    const body = `{"model":"echo","input":"Hello.","other":[${objects},${objects}],"pad":"${"x".repeat(pad)}"}`;
    const headers = { "X-API-Key": key, "Content-Type": "application/json" };
    const request = new Request("http://twins.test/v1/responses", { method: "POST", headers, body });
    return (await fixture.service.fetch(request)).status;
  };
  const long = 256 * 1024;
  assert.deepEqual([await send(2_000, long), await send(2_001, long), await send(2_001, 0)], [200, 413, 200]);
});

test("what arrives in pieces counts by what these take in memory, too", async () => {
  await using fixture = await openFixture(inProcess);
  const created = await fixture.call("POST", "/client-tokens", await fixture.key(), { endUser: "ann" });
  const { token } = await dataOf<{ token: string }>(created);
  const path = "/api/v1/conversations";
  const waiting = Array.from({ length: 3 }, () => sendPieces(fixture, token, path, 16_384, false));
  await settle();
  await assertErrorAnswer(await sendPieces(fixture, token, path, 16_384), 503, "unavailable");
  await fixture.clock.advance(10_000);
  assert.deepEqual(await Promise.all(waiting.map(async (answer) => (await answer).status)), [408, 408, 408]);
  assert.equal((await sendPieces(fixture, token, path, 16_384)).status, 201);
});

test("a host is not asked for a body that nobody reads", async () => {
  await using fixture = await openFixture(inProcess);
  const request = new Request("http://twins.test/healthz");
  const get = () => assert.fail("@hono/node-server would build a web request now, which some Hosts break");
  for (const name of ["body", "bodyUsed"]) Object.defineProperty(request, name, { get });
  assert.equal((await fixture.service.fetch(request)).status, 200);
});

describe("a body that the runtime has at hand", () => {
  async function create(
    fixture: Fixture,
    given: Pick<IncomingRequest, "body" | "arrayBuffer">,
    length?: string,
  ) {
    const headers = new Headers({ "X-API-Key": await fixture.key(), "Content-Type": "application/json" });
    if (length) headers.set("Content-Length", length);
    const request = { method: "POST", url: "/api/v1/conversations", headers, ...given };
    const { status, body } = await fixture.service.answer(request);
    return status === 201 ? "created" : JSON.parse(String(body)).error.code;
  }

  test("is read piece by piece if its length is not announced", async () => {
    await using fixture = await openFixture(inProcess);
    const arrayBuffer = () => assert.fail("it may be endless");
    const body = new Blob(['{"twinId":"echo"}']).stream();
    assert.equal(await create(fixture, { body, arrayBuffer }), "created");
  });

  test("is not read if its length was announced twice", async () => {
    await using fixture = await openFixture(inProcess);
    const arrayBuffer = () => assert.fail("it may be endless");
    assert.equal(await create(fixture, { body: null, arrayBuffer }, "17, 17"), "payload_too_large");
  });

  test("has the same limits", async () => {
    await using fixture = await openFixture(inProcess);
    const body = new Blob().stream();
    const long = async () => new ArrayBuffer(maxBodyBytes + 1);
    assert.equal(await create(fixture, { body, arrayBuffer: long }, "17"), "payload_too_large");
    const arrived = [new Uint8Array(maxBodyBytes), new Uint8Array(1)];
    assert.equal(await create(fixture, { body: arrived }), "payload_too_large");
    const pending = fixture.clock.pending;
    const late = create(fixture, { body, arrayBuffer: () => new Promise(() => {}) }, "17");
    while (fixture.clock.pending === pending) await settle();
    await fixture.clock.advance(5_000);
    assert.equal(await late, "request_timeout");
  });
});
