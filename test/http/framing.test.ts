/**
 * What a request's head may be, and in which order requests are answered, byte by byte. What all runtimes answer alike is
 * in `test/servers/runtimes.test.ts`.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type ErrorCode, errorStatus } from "../../core/wire/errors.ts";
import { countConversations, type Fixture, openFixture, overSocket } from "../support/harness.ts";
import { assertRefused, head, parseAnswers, sendBytes, talk } from "../support/raw-socket.ts";
import {
  body,
  chunked,
  chunkOf,
  create,
  createKey,
  credential,
  expectation,
  fields,
  health,
  jsonType,
  keptOpen,
  statusesOf,
} from "./raw-requests.ts";

// One server for all tests: a connection that it hung up on lingers, and closing a server would wait for that.
let fixture: Fixture;
before(async () => {
  fixture = await openFixture(overSocket);
});
after(() => fixture[Symbol.asyncDispose]());

describe("framing", () => {
  const refused: Readonly<Record<string, readonly (readonly [name: string, bytes: string | Uint8Array])[]>> =
    {
      invalid_request: [
        ["two Host fields", head(health, "Host: twins.test")],
        ["no Host field", `${health}\r\n\r\n`],
        ["a path in Host", withHost("a/api/v1/twins?")],
        ["a user in Host", withHost("a@b")],
        ["a broken port in Host", withHost("a:b")],
        ["HTTP/0.9", "GET /healthz\r\n\r\n"],
        ["HTTP/0.9 with its version", "GET /healthz HTTP/0.9\r\n\r\n"],
        ["HTTP/2 with prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
        ["two lengths", head(create, "Content-Length: 1", "Content-Length: 1")],
        ["a list of lengths", head(create, "Content-Length: 1, 1")],
        ["a length with a sign", head(create, "Content-Length: +1")],
        ["an empty length", head(create, "Content-Length:")],
        ["both a length and chunks", head(create, "Content-Length: 1", chunked)],
        ["a folded header field", head(health, "X: a", " b")],
        ["a space in a field's name", head(health, "X y: a")],
        ["NUL in a header field", head(health, "X: a\0b")],
        ["a target that is no path", head("GET healthz HTTP/1.1")],
        ["a target with half a scheme", head("GET http:/healthz HTTP/1.1")],
        ["more than a method without a space", "x".repeat(40)],
        ["a space in the path", head("GET /health z HTTP/1.1")],
        ["a raw non-ASCII byte in the path", Buffer.from(head("GET /\xe4 HTTP/1.1"))],
        ["a bare line feed", `${health}\nHost: a\n\n`],
        ["garbage", "\x00\x01\x02\xff\r\n\r\n"],
        ["a TLS hello", Buffer.from("16030100c8010000c40303", "hex")],
        ["CONNECT", head("CONNECT twins.test:443 HTTP/1.1")],
        ["an unknown method", head("BREW /healthz HTTP/1.1")],
        ["a method in lower case", head("get /healthz HTTP/1.1")],
        ["another version", head("GET /healthz HTTP/1.2")],
        ["chunks in HTTP/1.0", head(create.replace("1.1", "1.0"), chunked)],
        ["two transfer codings", head(create, chunked, chunked)],
        ["an empty transfer coding", head(create, "Transfer-Encoding:")],
      ],
      not_found: [
        ["a double slash before a host", head("GET //evil.test/../healthz HTTP/1.1")],
        ["dots in the path", head("GET /x/../healthz HTTP/1.1")],
        ["an absolute target without a path", head("GET http://twins.test?/healthz HTTP/1.1")],
        ["a target with another scheme", head("GET file:///healthz/x HTTP/1.1")],
        ["OPTIONS *", head("OPTIONS * HTTP/1.1")],
      ],
      method_not_allowed: [["TRACE", head("TRACE /healthz HTTP/1.1")]],
      uri_too_long: [["a query of 1 MiB", head(`GET /healthz?${"x".repeat(1_048_576)} HTTP/1.1`)]],
      headers_too_large: [["a header field of 100 KiB", head(health, `X: ${"x".repeat(102_400)}`)]],
    };
  for (const [code, requests] of Object.entries(refused)) {
    const status = errorStatus(code as ErrorCode);
    for (const [name, bytes] of requests) {
      test(`refuses ${name} with ${status} ${code}`, async () => {
        const answer = assertRefused(await sendBytes(fixture.url, bytes), status, code);
        assert.equal(answer.headers.get("connection"), "close");
        if (status === 405) assert.equal(answer.headers.get("allow"), "GET, HEAD, OPTIONS");
        assert.equal((await fixture.send("/healthz")).status, 200);
      });
    }
  }

  const accepted: [name: string, bytes: string][] = [
    ["an absolute target, whatever its host", head("GET http://evil.test:1/healthz HTTP/1.1")],
    ["a target with a fragment", head("GET /healthz?a#b?c HTTP/1.1")],
    ["HTTP/1.0 without Host", "GET /healthz HTTP/1.0\r\n\r\n"],
    ["an IPv6 Host", withHost("[::1]:8787")],
    ["an IPv4-mapped IPv6 Host", withHost("[::ffff:127.0.0.1]")],
    ["a Host with an underscore", withHost("twin_service:8787")],
    ["an offer to upgrade", head(health, "Upgrade: websocket").replace("close", "Upgrade, close")],
  ];
  for (const [name, bytes] of accepted) {
    test(`serves ${name}`, async () => {
      const [answer, ...more] = parseAnswers(await sendBytes(fixture.url, bytes));
      assert.deepEqual(more, []);
      assert.equal(answer?.status, 200);
      assert.equal(answer.body, '{"data":{"status":"ok"}}');
    });
  }

  test("a refusal has a body unless the refused request is HEAD, whatever came before it", async () => {
    const good = keptOpen("HEAD /healthz HTTP/1.1");
    const broken = (method: string) => `${method} /healthz HTTP/1.1\r\nHost: a\r\nX y: z\r\n\r\n`;
    const ofGet = await sendBytes(fixture.url, good + broken("GET"));
    assert.match(ofGet, /\r\n\r\nHTTP\/1\.1 400 [\s\S]*"invalid_request"/);
    const ofHead = await sendBytes(fixture.url, good + broken("HEAD"));
    assert.match(ofHead, /\r\n\r\nHTTP\/1\.1 400 [\s\S]*\r\n\r\n$/);
  });

  const bodiless: [name: string, bytes: string, status: number, length: RegExp | null][] = [
    ["HEAD that expects 100 Continue", head("HEAD /healthz HTTP/1.1", expectation), 200, /^24$/],
    ["HEAD with a body that does not end", head("HEAD /healthz HTTP/1.1", chunked), 200, /^24$/],
    ["HEAD with two Hosts", head("HEAD /healthz HTTP/1.1", "Host: a", chunked), 400, /^\d{2,}$/],
    ["HEAD with a long field", head("HEAD /healthz HTTP/1.1", `X: ${"x".repeat(34_000)}`), 431, /^\d{2,}$/],
    ["HEAD with a long query", head(`HEAD /healthz?${"x".repeat(40_000)} HTTP/1.1`), 414, /^\d{2,}$/],
    ["OPTIONS", head("OPTIONS /healthz HTTP/1.1"), 204, null],
    ["OPTIONS that expects 100 Continue", head("OPTIONS /healthz HTTP/1.1", expectation), 204, null],
  ];
  for (const [name, bytes, status, length] of bodiless) {
    test(`${name} gets a ${status} without a body`, async () => {
      const text = await sendBytes(fixture.url, bytes);
      const [headers, body] = text.split("\r\n\r\n");
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
      const [, told] = /\r\nContent-Length: (.*)/i.exec(headers ?? "") ?? [];
      if (length) assert.match(String(told), length);
      else assert.equal(told, undefined);
      assert.equal(body, "");
    });
  }

  for (const name of ["Authorization", "X-API-Key", "authorization"]) {
    test(`${name} sent twice is 400, even if both are the same or one is empty`, async () => {
      const key = await createKey(fixture, "read_only");
      const field = `${name}: ${name === "X-API-Key" ? key : `Bearer ${key}`}`;
      for (const second of [field, `${name}: `]) {
        const text = await sendBytes(fixture.url, head("GET /api/v1/twins HTTP/1.1", field, second));
        assertRefused(text, 400, "invalid_request");
      }
    });
  }

  test("Idempotency-Key sent twice is 400, and nothing is stored", async () => {
    const key = await createKey(fixture);
    const length = `Content-Length: ${body.length}`;
    for (const second of ["Idempotency-Key: once", "idempotency-key: again", "Idempotency-Key:"]) {
      const fieldLines = [`X-API-Key: ${key}`, jsonType, length, "Idempotency-Key: once", second];
      const text = await sendBytes(fixture.url, head(create, ...fieldLines), body);
      assertRefused(text, 400, "validation_error");
    }
    assert.equal(await countConversations(fixture, key), 0);
  });

  test("header fields are case-insensitive, and not confused with others of the same length", async () => {
    const key = `X-API-Key: ${await createKey(fixture)}`;
    const others = ["From: alice@twins.test", "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT"];
    const request = head(create, key, jsonType, "TRANSFER-ENCODING: Chunked", ...others);
    const sent = request.replace("Host: twins.test", "hOST: Twins.Test");
    const [answer] = parseAnswers(await sendBytes(fixture.url, sent, `${chunkOf(body)}0\r\n\r\n`));
    assert.equal(answer?.status, 201, answer?.body);
  });

  test("what follows a body's announced end is another request, answered after the first", async () => {
    const request = keptOpen(create, await credential(fixture), jsonType, `Content-Length: ${body.length}`);
    const text = await sendBytes(fixture.url, `${request}${body}garbage\r\n\r\n`);
    assert.deepEqual(statusesOf(text), [201, 400]);
  });

  test("pipelined requests are answered in order, and garbage after them last", async () => {
    const requests = ["/healthz", "/nowhere", "/readyz"].map((path) => keptOpen(`GET ${path} HTTP/1.1`));
    const text = await sendBytes(fixture.url, `${requests.join("")}\0\0garbage\r\n\r\n`);
    assert.deepEqual(statusesOf(text), [200, 404, 200, 400]);
  });

  for (const [what, refused] of [
    ["two Host fields", keptOpen(health, "Host: twins.test")],
    ["101 header fields", keptOpen(health, ...fields(100))],
  ] as const) {
    test(`a request is not carried out after one that closes the connection: ${what}`, async () => {
      const key = await createKey(fixture);
      const next = keptOpen(create, `X-API-Key: ${key}`, jsonType, `Content-Length: ${body.length}`) + body;
      for (const later of [next, next.repeat(2)]) {
        const answers = parseAnswers(await sendBytes(fixture.url, refused + later));
        assert.equal(answers.length, 1);
      }
      assert.equal(await countConversations(fixture, key), 0);
    });
  }

  test("garbage after a streamed send leaves the stream intact", async () => {
    const key = await createKey(fixture);
    const path = `/api/v1/conversations/${await fixture.conversation(key)}/messages/stream`;
    const content = '{"content":"One two"}';
    const request = keptOpen(`POST ${path} HTTP/1.1`, `X-API-Key: ${key}`, jsonType, "Content-Length: 21");
    const text = await sendBytes(fixture.url, `${request}${content}garbage\r\n\r\n`);
    const end = text.indexOf("HTTP/1.1 400");
    assert.match(
      text.slice(0, end),
      /^HTTP\/1\.1 200 OK\r\n[\s\S]*"type":"complete".*\n\n(?:\r\n0\r\n\r\n)?$/,
    );
    assertRefused(text.slice(end), 400, "invalid_request");
  });

  test("a client that resets after CONNECT does no harm", async () => {
    await talk(
      fixture.url,
      (socket) => socket.write(head("CONNECT twins.test:443 HTTP/1.1")),
      (_, socket) => socket.resetAndDestroy(),
    );
    assert.equal((await fixture.send("/healthz")).status, 200);
  });
});

function withHost(host: string): string {
  return head(health).replace("twins.test", host);
}
