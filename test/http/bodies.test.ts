/**
 * Bodies byte by byte: how they arrive, and how they are refused.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { createMemoryLimiter, type Log } from "../../core/mod.ts";
import { settle } from "../support/clock.ts";
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
  health,
  jsonType,
  keptOpen,
  statusesOf,
} from "./raw-requests.ts";

const maxBodyBytes = 256 * 1024;
const megabytes = Buffer.alloc(8 * 1024 * 1024, "x");

// One server for all tests: a connection that it hung up on lingers, and closing a server would wait for that.
let fixture: Fixture;
/** What was logged of each request. */
const logged: Readonly<Record<string, unknown>>[] = [];
before(async () => {
  const log: Log = (_, message, details = {}) => {
    if (message === "request") logged.push(details);
  };
  fixture = await openFixture(overSocket, { log });
});
after(() => fixture[Symbol.asyncDispose]());

describe("bodies", () => {
  test("a key in a trailer does not count", async () => {
    const request = head(create, jsonType, chunked, "Trailer: X-API-Key");
    const trailer = `X-API-Key: ${await createKey(fixture)}`;
    const text = await sendBytes(fixture.url, request, `${chunkOf(body)}0\r\n${trailer}\r\n\r\n`);
    assertRefused(text, 401, "missing_credentials");
  });

  test("a chunked body that arrives before it is needed is read to its end", async () => {
    const limiter = createMemoryLimiter();
    await using fixture = await openFixture(overSocket, {
      limiter: {
        ...limiter,
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
      const text = await sendBytes(fixture.url, `${request}${pieces.map(chunkOf).join("")}0\r\n\r\n`);
      assert.equal(parseAnswers(text)[0]?.status, status, text);
    }
  });

  for (const [what, bytes] of [
    ["whose chunks turn to garbage", `${chunkOf(body)}nonsense\r\n`],
    ["whose chunk is too long", `${chunkOf(body).replace("\r\n", "\r\n ")}0\r\n\r\n`],
  ] as const) {
    test(`a body ${what} is refused like others: the key's limit is told, one line is logged, and nothing is stored`, async () => {
      const key = await createKey(fixture);
      const request = head(create, `X-API-Key: ${key}`, jsonType, chunked);
      const before = logged.length;
      const text = await sendBytes(fixture.url, request + bytes);
      const { headers } = assertRefused(text, 400, "invalid_request");
      assert.match(headers.get("ratelimit") ?? "", /r=499;/);
      const lines = logged.slice(before).map(({ requestId, status, route }) => [requestId, status, route]);
      assert.deepEqual(lines, [[headers.get("x-request-id"), 400, "/api/v1/conversations"]]);
      assert.equal(await countConversations(fixture, key), 0);
    });
  }

  test("a request that needs no body is answered whatever its body is, and its connection is closed", async () => {
    const key = await createKey(fixture);
    const path = `/api/v1/conversations/${await fixture.conversation(key)}`;
    const request = keptOpen(`DELETE ${path} HTTP/1.1`, `X-API-Key: ${key}`, chunked);
    const [answer, ...more] = parseAnswers(await sendBytes(fixture.url, `${request}nonsense\r\n`));
    assert.deepEqual([answer?.status, answer?.headers.get("connection"), more], [204, "close", []]);
    assert.equal(await countConversations(fixture, key), 0);
  });

  test("a body that is shorter than announced stores nothing, and nothing waits for the rest of it", async () => {
    const key = await createKey(fixture);
    const waiting = fixture.clock.pending;
    const request = head(create, `X-API-Key: ${key}`, jsonType, `Content-Length: ${body.length + 1}`);
    await talk(fixture.url, (socket) => socket.end(request + body));
    assert.equal(await countConversations(fixture, key), 0);
    assert.equal((await fixture.send("/healthz")).status, 200);
    assert.equal(fixture.clock.pending, waiting);
  });
});

describe("refused bodies", () => {
  const tooLong: [name: string, field: string, sent: string | Uint8Array][] = [
    ["with a Content-Length", `Content-Length: ${megabytes.length}`, megabytes],
    ["in one chunk", chunked, Buffer.concat([Buffer.from("800000\r\n"), megabytes])],
    ["in many chunks", chunked, chunkOf("x".repeat(1000)).repeat(8000)],
  ];
  for (const [name, field, sent] of tooLong) {
    test(`an overlong body ${name} gets its 413 while the client is still sending`, async () => {
      const request = head(create, await credential(fixture), jsonType, field);
      const answer = assertRefused(await sendBytes(fixture.url, request, sent), 413, "payload_too_large");
      assert.equal(answer.headers.get("connection"), "close");
    });
  }

  test("a long body without credentials gets its 401 while the client is still sending", async () => {
    const request = head(create, jsonType, `Content-Length: ${megabytes.length}`);
    assertRefused(await sendBytes(fixture.url, request, megabytes), 401, "missing_credentials");
  });

  test("the rest of a refused body is not read", async () => {
    const socket = connect({
      port: Number(new URL(fixture.url).port),
      host: "127.0.0.1",
      allowHalfOpen: true,
    });
    socket.on("error", () => {}).resume();
    socket.write(head(create, jsonType, `Content-Length: ${Number.MAX_SAFE_INTEGER}`));
    let taken = 0;
    const send = () => {
      socket.write(megabytes, (error) => {
        if (error) return;
        taken += megabytes.length;
        send();
      });
    };
    send();
    await once(socket, "end");
    const atEnd = taken;
    for (let before = -1; before < taken; ) {
      before = taken;
      for (let turn = 0; turn < 20; turn++) await settle();
    }
    socket.destroy();
    assert.ok(taken - atEnd < 4 * megabytes.length, `${taken - atEnd} bytes more were taken`);
  });

  test("a connection stays open after a small body is refused unread", async () => {
    const refusal = `${keptOpen(create, jsonType, `Content-Length: ${body.length}`)}${body}`;
    const text = await sendBytes(fixture.url, refusal + head(health));
    assert.deepEqual(statusesOf(text), [401, 200]);
  });

  test("a connection is closed if its client still owes a body that nobody will read", async () => {
    const owed = [[`Content-Length: ${maxBodyBytes + 1}`], [chunked], ["Content-Length: 10", expectation]];
    for (const fieldLines of owed) {
      const text = await sendBytes(fixture.url, keptOpen(create, jsonType, ...fieldLines));
      const { headers } = assertRefused(text, 401, "missing_credentials");
      assert.equal(headers.get("connection"), "close");
      assert.ok(Date.parse(headers.get("date") ?? ""), "it has a Date, as every answer does");
    }
  });

  test("a connection is closed if a body does not arrive in time", async () => {
    for (const waiting of [[], [expectation]]) {
      const { pending } = fixture.clock;
      const request = keptOpen(create, await credential(fixture), jsonType, "Content-Length: 10", ...waiting);
      const answered = sendBytes(fixture.url, `${request}{`);
      while (fixture.clock.pending === pending) await settle();
      await fixture.clock.advance(5_000);
      const answers = (await answered).replace("HTTP/1.1 100 Continue\r\n\r\n", "");
      const { headers } = assertRefused(answers, 408, "request_timeout");
      assert.equal(headers.get("connection"), "close");
    }
  });

  test("a client that waits for 100 Continue gets it once everything but the body is checked, and keeps its connection", async () => {
    const length = `Content-Length: ${body.length}`;
    const request = keptOpen(create, await credential(fixture), jsonType, length, expectation);
    let sent = false;
    const text = await talk(
      fixture.url,
      (socket) => socket.write(request),
      (heard, socket) => {
        if (!sent && heard === "HTTP/1.1 100 Continue\r\n\r\n") sent = socket.write(body + head(health));
      },
    );
    assert.deepEqual(statusesOf(text), [100, 201, 200]);
  });

  test("a client that waits for 100 Continue gets its refusal instead", async () => {
    const key = await credential(fixture);
    const readOnly = `X-API-Key: ${await createKey(fixture, "read_only")}`;
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
      const text = await sendBytes(fixture.url, head(requestLine, ...fieldLines, expectation));
      assertRefused(text, status, code);
    }
  });

  test("an HTTP/1.0 client is not sent 100 Continue", async () => {
    const fieldLines = [await credential(fixture), jsonType, `Content-Length: ${body.length}`, expectation];
    const request = ["POST /api/v1/conversations HTTP/1.0", ...fieldLines, "", body].join("\r\n");
    const [answer] = parseAnswers(await sendBytes(fixture.url, request));
    assert.equal(answer?.status, 201);
  });
});
