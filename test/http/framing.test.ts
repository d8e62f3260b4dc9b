import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { toNodeHandler } from "../../adapters/node/mod.ts";
import { createMemoryLimiter, type Log, type Scope } from "../../core/mod.ts";
import { settle } from "../support/clock.ts";
import { countConversations, type Fixture, inProcess, openFixture, overSocket } from "../support/harness.ts";
import { listen } from "../support/ports.ts";
import { assertRefused, exchange, head, parseAnswers, talk } from "../support/raw-socket.ts";

const maxBodyBytes = 256 * 1024;
const body = '{"twinId":"echo"}';
const megabytes = Buffer.alloc(8 * 1024 * 1024, "x");
const health = "GET /healthz HTTP/1.1";
const create = "POST /api/v1/conversations HTTP/1.1";
const jsonType = "Content-Type: application/json";
const chunked = "Transfer-Encoding: chunked";
const expectation = "Expect: 100-continue";

// One server for all tests: a connection that it hung up on lingers, and closing a server would wait for that.
let fixture: Fixture;
/** What was logged of each request. */
const logged: Readonly<Record<string, unknown>>[] = [];
/** A host's own server with the same service. */
let host: Server;
before(async () => {
  const log: Log = (_, message, details = {}) => {
    if (message === "request") logged.push(details);
  };
  fixture = await openFixture(overSocket, { log });
  host = createServer(toNodeHandler(fixture.service));
  await listen(host);
});
after(async () => {
  await fixture[Symbol.asyncDispose]();
  host.close();
  host.closeAllConnections();
});

/** Both kinds of servers on Node: what is said of a request's body and credentials holds on each. */
const servers: readonly (readonly [where: string, url: () => string])[] = [
  ["", () => fixture.url],
  [", in a host's own server", () => `http://127.0.0.1:${(host.address() as AddressInfo).port}`],
];

describe("framing", () => {
  const refused: [name: string, bytes: string | Uint8Array, status: number, code: string][] = [
    ["two Host fields", head(health, "Host: twins.test"), 400, "invalid_request"],
    ["no Host field", `${health}\r\n\r\n`, 400, "invalid_request"],
    [
      "a path in Host",
      `${health}\r\nHost: a/api/v1/twins?\r\nConnection: close\r\n\r\n`,
      400,
      "invalid_request",
    ],
    ["a user in Host", `${health}\r\nHost: a@b\r\nConnection: close\r\n\r\n`, 400, "invalid_request"],
    ["a broken port in Host", `${health}\r\nHost: a:b\r\nConnection: close\r\n\r\n`, 400, "invalid_request"],
    ["HTTP/0.9", "GET /healthz\r\n\r\n", 400, "invalid_request"],
    ["HTTP/0.9 with its version", "GET /healthz HTTP/0.9\r\n\r\n", 400, "invalid_request"],
    ["HTTP/2 with prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "invalid_request"],
    ["101 header fields", head(health, ...fields(99)), 431, "headers_too_large"],
    ["3,000 header fields", head(health, ...fields(3000)), 431, "headers_too_large"],
    ["a header field of 100 KiB", head(health, `X: ${"x".repeat(102_400)}`), 431, "headers_too_large"],
    ["a header field of 1 MiB", head(health, `X: ${"x".repeat(1_048_576)}`), 431, "headers_too_large"],
    ["a path of 9 KiB", head(`GET /${"x".repeat(9 * 1024)} HTTP/1.1`), 414, "uri_too_long"],
    ["a path of 100 KiB", head(`GET /${"x".repeat(102_400)} HTTP/1.1`), 414, "uri_too_long"],
    ["a query of 1 MiB", head(`GET /healthz?${"x".repeat(1_048_576)} HTTP/1.1`), 414, "uri_too_long"],
    ["two lengths", head(create, "Content-Length: 1", "Content-Length: 2"), 400, "invalid_request"],
    ["both a length and chunks", head(create, "Content-Length: 1", chunked), 400, "invalid_request"],
    ["an invalid length", head(create, "Content-Length: -1"), 400, "invalid_request"],
    ["a folded header field", head(health, "X: a", " b"), 400, "invalid_request"],
    ["a space in a field's name", head(health, "X y: a"), 400, "invalid_request"],
    ["NUL in a header field", head(health, "X: a\0b"), 400, "invalid_request"],
    ["a target that is no path", head("GET healthz HTTP/1.1"), 400, "invalid_request"],
    ["a target with half a scheme", head("GET http:/healthz HTTP/1.1"), 400, "invalid_request"],
    ["more than a method without a space", "x".repeat(40), 400, "invalid_request"],
    ["a space in the path", head("GET /health z HTTP/1.1"), 400, "invalid_request"],
    ["a raw non-ASCII byte in the path", Buffer.from(head("GET /\xe4 HTTP/1.1")), 400, "invalid_request"],
    ["a bare line feed", `${health}\nHost: a\n\n`, 400, "invalid_request"],
    ["an unknown expectation", head(create, "Expect: cookies"), 400, "invalid_request"],
    ["garbage", "\x00\x01\x02\xff\r\n\r\n", 400, "invalid_request"],
    ["a TLS hello", Buffer.from("16030100c8010000c40303", "hex"), 400, "invalid_request"],
    ["CONNECT", head("CONNECT twins.test:443 HTTP/1.1"), 404, "not_found"],
    ["a double slash before a host", head("GET //evil.test/../healthz HTTP/1.1"), 404, "not_found"],
    ["dots in the path", head("GET /x/../healthz HTTP/1.1"), 404, "not_found"],
    ["an absolute target without a path", head("GET http://twins.test?/healthz HTTP/1.1"), 404, "not_found"],
    ["a target with another scheme", head("GET file:///healthz/x HTTP/1.1"), 404, "not_found"],
    ["OPTIONS *", head("OPTIONS * HTTP/1.1"), 404, "not_found"],
    ["TRACE", head("TRACE /healthz HTTP/1.1"), 405, "method_not_allowed"],
    ["an unknown method", head("BREW /healthz HTTP/1.1"), 405, "method_not_allowed"],
    ["a method in lower case", head("get /healthz HTTP/1.1"), 405, "method_not_allowed"],
    ["CONNECT to a path", head("CONNECT /healthz HTTP/1.1"), 405, "method_not_allowed"],
    ["CONNECT without Host", "CONNECT /healthz HTTP/1.1\r\n\r\n", 400, "invalid_request"],
    ["an unknown method without Host", "BREW /healthz HTTP/1.1\r\n\r\n", 400, "invalid_request"],
    ["an unknown method with two Hosts", head("BREW /healthz HTTP/1.1", "Host: a/b"), 400, "invalid_request"],
    ["an unknown method with 101 fields", head("BREW / HTTP/1.1", ...fields(99)), 431, "headers_too_large"],
    [
      "a transfer coding besides chunked",
      head(create, "Transfer-Encoding: gzip, chunked"),
      400,
      "invalid_request",
    ],
    [
      "an unknown method with a Host full of spaces",
      `BREW / HTTP/1.1\r\nHost:${" ".repeat(30_000)}x\r\nConnection: close\r\n\r\n`,
      404,
      "not_found",
    ],
    ["an unknown method on an unknown path", head("BREW /tea HTTP/1.1"), 404, "not_found"],
  ];
  for (const [name, bytes, status, code] of refused) {
    test(`refuses ${name} with ${status} ${code}`, async () => {
      const answer = assertRefused(await exchange(fixture.url, bytes), status, code);
      assert.equal(answer.headers.get("connection"), "close");
      if (status === 405) assert.equal(answer.headers.get("allow"), "GET, HEAD, OPTIONS");
      assert.equal((await fixture.send("/healthz")).status, 200);
    });
  }

  const accepted: [name: string, bytes: string][] = [
    ["100 header fields", head(health, ...fields(98))],
    ["an absolute target, whatever its host", head("GET http://evil.test:1/healthz HTTP/1.1")],
    ["a target with a fragment", head("GET /healthz?a#b?c HTTP/1.1")],
    ["HTTP/1.0 without Host", "GET /healthz HTTP/1.0\r\n\r\n"],
    ["an IPv6 Host", `${health}\r\nHost: [::1]:8787\r\nConnection: close\r\n\r\n`],
    ["an IPv4-mapped IPv6 Host", `${health}\r\nHost: [::ffff:127.0.0.1]\r\nConnection: close\r\n\r\n`],
    ["a Host with an underscore", `${health}\r\nHost: twin_service:8787\r\nConnection: close\r\n\r\n`],
    [
      "an offer to upgrade",
      `${health}\r\nHost: a\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n`,
    ],
    ["a body where none is expected", `${head(health, "Content-Length: 5")}hello`],
  ];
  for (const [name, bytes] of accepted) {
    test(`serves ${name}`, async () => {
      const [answer, ...more] = parseAnswers(await exchange(fixture.url, bytes));
      assert.deepEqual(more, []);
      assert.equal(answer?.status, 200);
      assert.equal(answer.body, '{"data":{"status":"ok"}}');
    });
  }

  test("a refusal has a body unless the refused request is HEAD, whatever came before it", async () => {
    const good = keptOpen("HEAD /healthz HTTP/1.1");
    const broken = (method: string) => `${method} /healthz HTTP/1.1\r\nHost: a\r\nX y: z\r\n\r\n`;
    const ofGet = await exchange(fixture.url, good + broken("GET"));
    assert.match(ofGet, /\r\n\r\nHTTP\/1\.1 400 [\s\S]*"invalid_request"/);
    const ofHead = await exchange(fixture.url, good + broken("HEAD"));
    assert.match(ofHead, /\r\n\r\nHTTP\/1\.1 400 [\s\S]*\r\n\r\n$/);
  });

  test("an unknown method is 405 even if its head arrives in pieces", async () => {
    const text = await talk(fixture.url, (socket) => {
      socket.write("BREW /healthz HTTP/1.1\r\nX: y\r\n");
      setImmediate(() => socket.write("Host: a\r\nConnection: close\r\n\r\n"));
    });
    assertRefused(text, 405, "method_not_allowed");
  });

  const bodiless: [name: string, bytes: string, status: number, length: RegExp | null][] = [
    ["HEAD", head("HEAD /healthz HTTP/1.1"), 200, /^24$/],
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
      const text = await exchange(fixture.url, bytes);
      const [headers, body] = text.split("\r\n\r\n");
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
      const [, told] = /\r\nContent-Length: (.*)/i.exec(headers ?? "") ?? [];
      if (length) assert.match(String(told), length);
      else assert.equal(told, undefined);
      assert.equal(body, "");
    });
  }

  for (const [where, url] of servers) {
    for (const name of ["Authorization", "X-API-Key", "authorization"]) {
      test(`${name} sent twice is 400, even if both are the same or one is empty${where}`, async () => {
        const key = await createKey("read_only");
        const field = `${name}: ${name === "X-API-Key" ? key : `Bearer ${key}`}`;
        for (const second of [field, `${name}: `]) {
          const text = await exchange(url(), head("GET /api/v1/twins HTTP/1.1", field, second));
          assertRefused(text, 400, "invalid_request");
        }
      });
    }
  }

  for (const [where, url] of servers) {
    test(`Idempotency-Key sent twice is 400, and nothing is stored${where}`, async () => {
      const key = await createKey("full_access");
      const length = `Content-Length: ${body.length}`;
      for (const second of ["Idempotency-Key: once", "idempotency-key: again", "Idempotency-Key:"]) {
        const fieldLines = [`X-API-Key: ${key}`, jsonType, length, "Idempotency-Key: once", second];
        const text = await exchange(url(), head(create, ...fieldLines), body);
        assertRefused(text, 400, "validation_error");
      }
      assert.equal(await countConversations(fixture, key), 0);
    });
  }

  for (const [where, url] of servers) {
    test(`a key in a trailer does not count${where}`, async () => {
      const request = head(create, jsonType, chunked, "Trailer: X-API-Key");
      const trailer = `X-API-Key: ${await createKey("full_access")}`;
      const text = await exchange(url(), request, `${chunkOf(body)}0\r\n${trailer}\r\n\r\n`);
      assertRefused(text, 401, "missing_credentials");
    });
  }

  for (const [where, url] of servers) {
    test(`a chunked body is read, wherever it is split${where}`, async () => {
      const request = head(create, await credential(), jsonType, chunked);
      const chunks = [...body].map(chunkOf).join("");
      const [answer] = parseAnswers(await exchange(url(), request, `${chunks}0\r\n\r\n`));
      assert.equal(answer?.status, 201);
    });
  }

  test("a chunked body that arrives before it is needed is read to its end", async () => {
    const limiter = createMemoryLimiter();
    await using fixture = await openFixture(overSocket, {
      limiter: {
        peek: limiter.peek,
        async take(id, policy) {
          await settle(); // the rest of the request arrives meanwhile
          return limiter.take(id, policy);
        },
      },
    });
    const request = head(create, `X-API-Key: ${await fixture.key()}`, jsonType, chunked);
    for (const [pieces, status] of [
      [[...body], 201],
      [[body, "garbage"], 400],
    ] as const) {
      const text = await exchange(fixture.url, `${request}${pieces.map(chunkOf).join("")}0\r\n\r\n`);
      assert.equal(parseAnswers(text)[0]?.status, status, text);
    }
  });

  for (const [where, url] of servers) {
    test(`header fields are case-insensitive, and not confused with others of the same length${where}`, async () => {
      const key = `X-API-Key: ${await createKey("full_access")}`;
      const others = ["From: alice@twins.test", "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT"];
      const request = head(create, key, jsonType, "TRANSFER-ENCODING: Chunked", ...others);
      const sent = request.replace("Host: twins.test", "hOST: Twins.Test");
      const [answer] = parseAnswers(await exchange(url(), sent, `${chunkOf(body)}0\r\n\r\n`));
      assert.equal(answer?.status, 201, answer?.body);
    });
  }

  test("a body whose chunks turn to garbage is 400, and nothing is stored", async () => {
    const key = await createKey("full_access");
    const request = head(create, `X-API-Key: ${key}`, jsonType, chunked);
    const text = await exchange(fixture.url, request, `${chunkOf(body)}nonsense\r\n`);
    assertRefused(text, 400, "invalid_request");
    assert.equal(await countConversations(fixture, key), 0);
  });

  for (const [what, fields, bytes] of [
    ["that is no HTTP", [chunked], `${chunkOf(body)}nonsense\r\n`],
    ["that ends within a chunk", [chunked], chunkOf(body).slice(0, -4)],
    ["that ends before its announced length", ["Content-Length: 99"], body],
  ] as const) {
    test(`a body ${what} is one line in the log, and its answer has the fields of every answer to a key`, async () => {
      const request = head(create, await credential(), jsonType, ...fields);
      const before = logged.length;
      const text = await talk(fixture.url, (socket) => socket.end(request + bytes));
      const { headers } = assertRefused(text, 400, "invalid_request");
      assert.match(headers.get("ratelimit") ?? "", /r=499;/);
      const lines = logged.slice(before).map(({ requestId, status, route }) => [requestId, status, route]);
      assert.deepEqual(lines, [[headers.get("x-request-id"), 400, "/api/v1/conversations"]]);
    });
  }

  test("a request that needs no body is answered whatever its body is, and its connection is closed", async () => {
    const key = await createKey("full_access");
    const path = `/api/v1/conversations/${await fixture.conversation(key)}`;
    const request = keptOpen(`DELETE ${path} HTTP/1.1`, `X-API-Key: ${key}`, chunked);
    const [answer, ...more] = parseAnswers(await exchange(fixture.url, `${request}nonsense\r\n`));
    assert.deepEqual([answer?.status, answer?.headers.get("connection"), more], [204, "close", []]);
    assert.equal(await countConversations(fixture, key), 0);
  });

  for (const [where, url] of servers) {
    test(`a body that is shorter than announced stores nothing${where}`, async () => {
      const key = await createKey("full_access");
      const request = head(create, `X-API-Key: ${key}`, jsonType, `Content-Length: ${body.length + 1}`);
      await talk(url(), (socket) => socket.end(request + body));
      assert.equal(await countConversations(fixture, key), 0);
      assert.equal((await fixture.send("/healthz")).status, 200);
    });
  }

  for (const [where, url] of servers) {
    test(`nothing waits any longer for a client that leaves in the middle of its body${where}`, async () => {
      const waiting = fixture.clock.pending;
      const request = head(create, await credential(), jsonType, `Content-Length: ${body.length + 1}`);
      await talk(url(), (socket) => socket.end(request + body));
      await settle();
      assert.equal(fixture.clock.pending, waiting);
    });
  }

  test("what follows a body's announced end is another request, answered after the first", async () => {
    const request = keptOpen(create, await credential(), jsonType, `Content-Length: ${body.length}`);
    const answers = parseAnswers(await exchange(fixture.url, `${request}${body}garbage\r\n\r\n`));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 400],
    );
  });

  test("pipelined requests are answered in order, and garbage after them last", async () => {
    const requests = ["/healthz", "/nowhere", "/readyz"].map((path) => keptOpen(`GET ${path} HTTP/1.1`));
    const answers = parseAnswers(await exchange(fixture.url, `${requests.join("")}\0\0garbage\r\n\r\n`));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 404, 200, 400],
    );
  });

  for (const [where, url] of servers) {
    for (const [what, refused] of [
      ["two Host fields", keptOpen(health, "Host: twins.test")],
      ["101 header fields", keptOpen(health, ...fields(100))],
    ] as const) {
      test(`a request is not carried out after one that closes the connection: ${what}${where}`, async () => {
        const key = await createKey("full_access");
        const next = keptOpen(create, `X-API-Key: ${key}`, jsonType, `Content-Length: ${body.length}`) + body;
        for (const later of [next, next.repeat(2)]) {
          const answers = parseAnswers(await exchange(url(), refused + later));
          assert.equal(answers.length, 1);
        }
        assert.equal(await countConversations(fixture, key), 0);
      });
    }
  }

  test("garbage after a streamed send leaves the stream intact", async () => {
    const key = await createKey("full_access");
    const path = `/api/v1/conversations/${await fixture.conversation(key)}/messages/stream`;
    const content = '{"content":"One two"}';
    const request = keptOpen(`POST ${path} HTTP/1.1`, `X-API-Key: ${key}`, jsonType, "Content-Length: 21");
    const text = await exchange(fixture.url, `${request}${content}garbage\r\n\r\n`);
    const end = text.indexOf("HTTP/1.1 400");
    assert.match(text.slice(0, end), /^HTTP\/1\.1 200 OK\r\n[\s\S]*"type":"complete".*\n\n$/);
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

describe("refused bodies", () => {
  const tooLong: [name: string, field: string, sent: string | Uint8Array][] = [
    ["with a Content-Length", `Content-Length: ${megabytes.length}`, megabytes],
    ["in one chunk", chunked, Buffer.concat([Buffer.from("800000\r\n"), megabytes])],
    ["in many chunks", chunked, chunkOf("x".repeat(1000)).repeat(8000)],
  ];
  for (const [where, url] of servers) {
    for (const [name, field, sent] of tooLong) {
      test(`an overlong body ${name} gets its 413 while the client is still sending${where}`, async () => {
        const request = head(create, await credential(), jsonType, field);
        const answer = assertRefused(await exchange(url(), request, sent), 413, "payload_too_large");
        assert.equal(answer.headers.get("connection"), "close");
      });
    }
  }

  for (const [where, url] of servers) {
    test(`a long body without credentials gets its 401 while the client is still sending${where}`, async () => {
      const request = head(create, jsonType, `Content-Length: ${megabytes.length}`);
      assertRefused(await exchange(url(), request, megabytes), 401, "missing_credentials");
    });
  }

  for (const [where, url] of servers) {
    test(`a connection stays open after a small body is refused unread${where}`, async () => {
      const refusal = `${keptOpen(create, jsonType, `Content-Length: ${body.length}`)}${body}`;
      const answers = parseAnswers(await exchange(url(), refusal + head(health)));
      assert.deepEqual(
        answers.map(({ status }) => status),
        [401, 200],
      );
    });
  }

  test("a connection is closed if its client still owes a body that nobody will read", async () => {
    const owed = [[`Content-Length: ${maxBodyBytes + 1}`], [chunked], ["Content-Length: 10", expectation]];
    for (const fieldLines of owed) {
      const text = await exchange(fixture.url, keptOpen(create, jsonType, ...fieldLines));
      const { headers } = assertRefused(text, 401, "missing_credentials");
      assert.equal(headers.get("connection"), "close");
      assert.ok(Date.parse(headers.get("date") ?? ""), "it has a Date, as every answer does");
    }
  });

  test("a connection is closed if a body does not arrive in time", async () => {
    for (const waiting of [[], [expectation]]) {
      const { pending } = fixture.clock;
      const request = keptOpen(create, await credential(), jsonType, "Content-Length: 10", ...waiting);
      const exchanged = exchange(fixture.url, `${request}{`);
      while (fixture.clock.pending === pending) await settle();
      await fixture.clock.advance(30_000);
      const answers = (await exchanged).replace("HTTP/1.1 100 Continue\r\n\r\n", "");
      const { headers } = assertRefused(answers, 400, "invalid_request");
      assert.equal(headers.get("connection"), "close");
    }
  });

  test("a client that waits for 100 Continue gets it once everything but the body is checked, and keeps its connection", async () => {
    const length = `Content-Length: ${body.length}`;
    const request = keptOpen(create, await credential(), jsonType, length, expectation);
    let sent = false;
    const text = await talk(
      fixture.url,
      (socket) => socket.write(request),
      (heard, socket) => {
        if (!sent && heard === "HTTP/1.1 100 Continue\r\n\r\n") sent = socket.write(body + head(health));
      },
    );
    assert.deepEqual(
      parseAnswers(text).map(({ status }) => status),
      [100, 201, 200],
    );
  });

  test("a client that waits for 100 Continue gets its refusal instead", async () => {
    const key = await credential();
    const readOnly = `X-API-Key: ${await createKey("read_only")}`;
    const length = `Content-Length: ${body.length}`;
    const twice = "Idempotency-Key: a, a";
    const stream = "POST /api/v1/conversations/any/messages/stream HTTP/1.1";
    const refusals: [string, string[], number, string][] = [
      [create, [jsonType, length], 401, "missing_credentials"],
      [create, [readOnly, jsonType, length], 403, "insufficient_scope"],
      [create, [key, "Content-Type: text/plain", length], 415, "unsupported_media_type"],
      [create, [key, jsonType, `Content-Length: ${maxBodyBytes + 1}`], 413, "payload_too_large"],
      ["POST /nowhere HTTP/1.1", [key, jsonType, length], 404, "not_found"],
      ["PUT /healthz HTTP/1.1", [key, jsonType, length], 405, "method_not_allowed"],
      [create, [key, jsonType, length, "Host: b"], 400, "invalid_request"],
      [create, [key, jsonType, length, twice], 400, "validation_error"],
      [stream, [key, jsonType, length, "Last-Event-ID: x"], 400, "validation_error"],
      [create, [key, "Content-Type: text/plain", length, twice], 415, "unsupported_media_type"],
      [create, [key, jsonType, `Content-Length: ${maxBodyBytes + 1}`, twice], 413, "payload_too_large"],
    ];
    for (const [requestLine, fieldLines, status, code] of refusals) {
      const text = await exchange(fixture.url, head(requestLine, ...fieldLines, expectation));
      assertRefused(text, status, code);
    }
  });

  test("an HTTP/1.0 client is not sent 100 Continue", async () => {
    const fieldLines = [await credential(), jsonType, `Content-Length: ${body.length}`, expectation];
    const request = ["POST /api/v1/conversations HTTP/1.0", ...fieldLines, "", body].join("\r\n");
    const [answer] = parseAnswers(await exchange(fixture.url, request));
    assert.equal(answer?.status, 201);
  });
});

/** A request that leaves the connection open. */
function keptOpen(requestLine: string, ...fieldLines: readonly string[]): string {
  return head(requestLine, ...fieldLines).replace("Connection: close\r\n", "");
}

function fields(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `X-Field-${index}: 1`);
}

function chunkOf(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

describe("a host's own server", () => {
  test("sends 100 Continue only once if it does so by itself", async () => {
    const server = createServer(toNodeHandler(fixture.service));
    const port = await listen(server);
    const request = head(create, await credential(), jsonType, `Content-Length: ${body.length}`, expectation);
    const text = await exchange(`http://127.0.0.1:${port}`, request, body);
    server.close();
    assert.deepEqual(
      parseAnswers(text).map(({ status }) => status),
      [100, 201],
    );
  });

  test("may strip the path that it mounted the service under", async () => {
    await using mounted = await openFixture(inProcess, { basePath: "/chat" });
    const handler = toNodeHandler(mounted.service);
    const server = createServer((message, response) => {
      const cut = Object.assign(message, {
        originalUrl: message.url,
        url: message.url?.slice("/chat".length),
      });
      handler(cut, response);
    });
    const port = await listen(server);
    const text = await exchange(`http://127.0.0.1:${port}`, head("GET /chat/healthz HTTP/1.1"));
    server.close();
    assert.equal(parseAnswers(text)[0]?.status, 200);
  });
});

let owners = 0;

/** The secret of a new key, of a new owner: an owner may create only a few an hour. */
function createKey(scope: Scope): Promise<string> {
  return fixture.key(scope, `owner-${++owners}`);
}

async function credential(): Promise<string> {
  return `X-API-Key: ${await createKey("full_access")}`;
}
