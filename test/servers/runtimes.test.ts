/**
 * What every runtime's own server answers alike. `framing.test.ts` has what only Node's adapter answers.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { maxBodyBytes } from "../../core/http/body.ts";
import type { Service } from "../../core/mod.ts";
import {
  body,
  chunked,
  chunkOf,
  create,
  credential,
  fields,
  health,
  jsonType,
  keptOpen,
  statusesOf,
} from "../http/raw-requests.ts";
import { messagesOf, openMcp } from "../mcp-clients/fixture.ts";
import { startServerAfter } from "../server/process.ts";
import { openChat } from "../support/chat.ts";
import { type Fixture, inProcess, openFixture, overSocket } from "../support/harness.ts";
import { assertRefused, head, post, sendBytes, talk } from "../support/raw-socket.ts";
import { runtime, serve } from "../support/runtime.ts";
import { until } from "../support/until.ts";

let fixture: Fixture;
before(async () => {
  fixture = await openFixture(overSocket);
});
after(() => fixture[Symbol.asyncDispose]());

/** The answer, after which the client closes: not every runtime closes while a body is still outstanding. */
function answerTo(bytes: string): Promise<string> {
  return talk(
    fixture.url,
    (socket) => socket.write(bytes),
    (text, socket) => {
      if (/\}\}$|Content-Length: 0\r\n[\s\S]*\r\n\r\n$/i.test(text)) socket.end();
    },
  );
}

describe(`a request's header section, on ${runtime}`, () => {
  for (const [what, bytes] of [
    ["100 header fields", head(health, ...fields(98))],
    ["fields of 15 KiB", head(health, `X: ${"x".repeat(15 * 1024)}`)],
    ["an empty expectation", head(health, "Expect:")],
  ] as const) {
    test(`${what}: served`, async () => {
      assert.match(await sendBytes(fixture.url, bytes), /^HTTP\/1\.1 200 /);
    });
  }

  /** Refused by Bun itself, in a form of its own: the service does not see the request. */
  const byBun = runtime === "bun";
  for (const [what, bytes, status, code, byRuntime] of [
    ["101 header fields", head(health, ...fields(99)), 431, "headers_too_large"],
    ["fields of 40 KiB", head(health, `X: ${"x".repeat(40 * 1024)}`), 431, "headers_too_large", byBun],
    ["an unknown expectation", head(health, "Expect: cookies"), 400, "invalid_request"],
    [
      "100-continue and another expectation",
      head(health, "Expect: 100-continue, cookies"),
      400,
      "invalid_request",
    ],
    ["a word around 100-continue", head(health, "Expect: x-100-continue-y"), 400, "invalid_request"],
    [
      "a coding besides chunked",
      head(health, "Transfer-Encoding: gzip, chunked"),
      400,
      "invalid_request",
      byBun,
    ],
    ["a path of 9 KiB", head(`GET /${"x".repeat(9 * 1024)} HTTP/1.1`), 414, "uri_too_long"],
  ] as const) {
    test(`${what}: ${status} ${code}`, async () => {
      const text = await answerTo(bytes);
      if (byRuntime) assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
      else assertRefused(text, status, code);
    });
  }

  test("a body over the runtimes' own limits gets the service's refusal", async () => {
    const fieldLines = [jsonType, `Content-Length: ${128 * 1024 * 1024 + 1}`];
    const tooLong = await answerTo(head(create, await credential(fixture), ...fieldLines));
    assertRefused(tooLong, 413, "payload_too_large");
    assertRefused(await answerTo(head(create, ...fieldLines)), 401, "missing_credentials");
  });

  test("two equal lengths are 400, and none of the body is waited for", async () => {
    const length = `Content-Length: ${maxBodyBytes + 1}`;
    const request = head(create, await credential(fixture), jsonType, length, length);
    assertRefused(await answerTo(request), 400, "invalid_request");
  });

  test("a body of single bytes takes little memory", async () => {
    const request = head(create, await credential(fixture), jsonType, chunked);
    const chunks = `${chunkOf(" ").repeat(30_000)}${chunkOf(body)}0\r\n\r\n`;
    const before = process.memoryUsage().rss;
    const text = await answerTo(request + chunks);
    const grown = process.memoryUsage().rss - before;
    assertRefused(text, 413, "payload_too_large");
    assert.ok(grown < 800 * 1024 * 1024, `the memory has grown by ${grown} bytes`); // 64 KiB for each byte would be 2 GB
  });

  test("a GET may have a short body, and a long one unless the runtime would buffer it", async () => {
    const short = `${head(health, "Content-Length: 2")}{}`;
    assert.match(await answerTo(short), /^HTTP\/1\.1 200 /);
    for (const field of [chunked, `Content-Length: ${maxBodyBytes + 1}`]) {
      const text = await answerTo(`${head(health, field)}2\r\n{}\r\n`);
      if (runtime === "deno") assertRefused(text, 413, "payload_too_large");
      else assert.match(text, /^HTTP\/1\.1 200 /, field);
    }
  });

  test("a body that comes with an offer to upgrade, as from Java, is read unless the runtime refuses the request", async () => {
    const offer = ["Upgrade: h2c", "HTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA"];
    const fieldLines = [await credential(fixture), jsonType, `Content-Length: ${body.length}`, ...offer];
    const request = head(create, ...fieldLines).replace("close", "Upgrade, HTTP2-Settings");
    const status = runtime === "deno" ? 400 : 201; // Deno's own refusal: the service does not see the request
    assert.match(await answerTo(request + body), new RegExp(`^HTTP/1\\.1 ${status} `));
  });
});

describe(`HEAD, on ${runtime}`, () => {
  for (const [path, status] of [
    ["/healthz", 200],
    ["/api/v1/openapi.json", 200],
    ["/nowhere", 404],
    ["/api/v1/twins", 401],
    ["/api/v1/conversations/conv_1/messages/msg_1/stream", 405],
  ] as const) {
    test(`${path} has the length that ${status === 405 ? "its refusal" : "GET"} would have, and no body`, async () => {
      const [start, body] = (await sendBytes(fixture.url, head(`HEAD ${path} HTTP/1.1`))).split("\r\n\r\n");
      assert.match(start ?? "", new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.equal(body, "");
      const length = Number(/^content-length: (\d+)$/im.exec(start ?? "")?.[1]);
      assert.ok(length > 0, start);
      if (status !== 405) {
        const got = await fetch(fixture.url + path);
        assert.equal(length, (await got.arrayBuffer()).byteLength);
      }
    });
  }
});

test(`a server is not started for a promise of a service, nor on an empty host, on ${runtime}`, async (t) => {
  const started = (service: unknown, host?: string) =>
    serve(service as Service, { host, port: 0 }).then((server) => t.after(() => server.close()));
  await assert.rejects(started(Promise.resolve()), {
    name: "TypeError",
    message: "The service must be what createService() returns, not [object Promise].",
  });
  await assert.rejects(started(fixture.service, ""), {
    name: "TypeError",
    message: 'serve: host must be a name or an address, not "".',
  });
});

test(`a connection serves one request after another, on ${runtime}`, async () => {
  const request = keptOpen(create, await credential(fixture), jsonType, `Content-Length: ${body.length}`);
  let asked = false;
  const text = await talk(
    fixture.url,
    (socket) => socket.write(request + body),
    (heard, socket) => {
      if (asked || !heard.endsWith("}}")) return;
      asked = true;
      socket.write(head(health));
    },
  );
  assert.deepEqual(statusesOf(text), [201, 200]);
});

test(`a refusal before the body has arrived has Connection: close, on ${runtime}`, async () => {
  const text = await answerTo(`${keptOpen(create, "Content-Length: 5000000")}{`);
  assert.match(text, /^HTTP\/1\.1 401 [\s\S]*\r\nconnection: close\r\n/i);
});

test(`the refusal of a body that turns out too long has Connection: close if the rest is unread, on ${runtime}`, async () => {
  const request = keptOpen(create, jsonType, await credential(fixture), chunked);
  const text = await answerTo(request + chunkOf(" ".repeat(maxBodyBytes + 1)));
  assert.match(text, /^HTTP\/1\.1 413 /);
  if (runtime !== "deno") assert.match(text, /\r\nconnection: close\r\n/i); // Deno reads such a body to its end
});

test(`a closing server accepts no new connection, and closes one that never sent a request, on ${runtime}`, async () => {
  await using chat = await openChat(inProcess);
  const server = await serve(chat.service, { port: 0 });
  const { hostname, port } = new URL(server.url);
  assert.equal(hostname, "127.0.0.1", "only this machine can connect by default");
  const silent = connect(Number(port), hostname)
    .on("error", () => {})
    .resume();
  const ended = new Promise((resolve) => silent.once("close", resolve));
  await once(silent, "connect");
  const { stream, run } = await chat.begin();
  const closing = server.close({ graceMs: 10_000 });
  const [error] = await once(connect(Number(port), hostname), "error");
  assert.equal(error.code, "ECONNREFUSED");
  run.finish();
  await stream.rest();
  await closing;
  if (runtime === "bun") silent.destroy(); // Bun does not know of it before its first byte
  await ended;
});

test(`an answer sent during a shutdown has Connection: close, on ${runtime}`, async () => {
  const chat = await openChat(overSocket);
  const answered = sendBytes(chat.fixture.url, post(chat, "messages"));
  await chat.engine.next();
  await chat[Symbol.asyncDispose]();
  assert.match(await answered, /^HTTP\/1\.1 503 [\s\S]*\r\nconnection: close\r\n[\s\S]*"shutting_down"/i);
});

test("a server that has no file descriptor left for a connection goes on as soon as it has, on Deno", {
  skip: runtime !== "deno" && "only Deno's server gives up",
}, async () => {
  const server = await startServerAfter("ulimit -n 100", ["--database", "memory:"]);
  const { hostname, port } = new URL(server.url);
  const idle = Array.from({ length: 150 }, () => connect(Number(port), hostname).on("error", () => {}));
  await until("a new connection is served", 5_000, async () => {
    const response = await fetch(`${server.url}/healthz`).catch(() => undefined);
    return response?.ok ?? false;
  });
  for (const socket of idle) socket.destroy();
  assert.equal(await server.stop(), 0);
});

test("a flood of pipelined requests closes its connection, on Bun", {
  skip: runtime !== "bun" && "others begin a request when the one before has been answered",
}, async () => {
  const { hostname, port } = new URL(fixture.url);
  const socket = connect(Number(port), hostname).on("error", () => {}); // a reset
  let text = "";
  socket.setEncoding("latin1").on("data", (part) => {
    text += part;
  });
  socket.write(keptOpen(health).repeat(3000));
  await new Promise((resolve) => socket.once("close", resolve));
  assert.ok(text.split("HTTP/1.1 200").length <= 201);
});

test(`an MCP client that waits for progress is told some in silence, on ${runtime}`, async () => {
  await using mcp = await openMcp(overSocket);
  const params = {
    name: "ask_twin",
    arguments: { twin: "scripted", question: "Hi" },
    _meta: { progressToken: 7 },
  };
  const asked = mcp.legacy("tools/call", params, { Accept: "application/json, text/event-stream" });
  const answered = asked.then(messagesOf); // on Bun, the head comes with the first piece
  const run = await mcp.chat.engine.next();
  for (let pause = 0; pause < 3; pause++) await mcp.chat.clock.advance(5_000);
  run.write("A");
  run.finish();
  const progress = (await answered).filter((message) => "method" in message);
  assert.ok(progress.length > 1, JSON.stringify(progress));
});

test("the connection of a stream may be silent while it lasts, and 65 s once it has ended, on Bun", {
  skip: runtime !== "bun" && "only Bun limits the silence of each connection by itself",
}, async (t) => {
  const { Bun } = globalThis as unknown as { Bun: { serve(options: object): BunServer } };
  interface BunServer {
    timeout(request: Request, seconds: number): void;
  }
  const limits: number[] = [];
  const serveOnBun = Bun.serve;
  t.after(() => {
    Bun.serve = serveOnBun;
  });
  Bun.serve = (options) => {
    const server = serveOnBun(options);
    const setTimeLimit = server.timeout.bind(server);
    server.timeout = (request, seconds) => {
      limits.push(seconds);
      setTimeLimit(request, seconds);
    };
    return server;
  };
  await using chat = await openChat(overSocket);
  limits.length = 0; // of the requests that made the conversation
  const { stream, run } = await chat.begin();
  assert.deepEqual(limits, [0]);
  run.finish();
  await stream.rest();
  assert.deepEqual(limits, [0, 65]);
});
