/**
 * `serve` on Node: how long a connection stays open, what it may send, and how a shutdown ends it. Refusals are in
 * `test/http/framing.test.ts`.
 */

import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { Server } from "node:http";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { serve } from "../../adapters/servers/node/mod.ts";
import { ApiError, createMemoryLimiter, type RateLimiter } from "../../core/mod.ts";
import { body, chunked, chunkOf, create, credential, jsonType } from "../http/raw-requests.ts";
import { openChat } from "../support/chat.ts";
import { settle } from "../support/clock.ts";
import { collectGarbage, heapInUse } from "../support/garbage.ts";
import { createGate } from "../support/gate.ts";
import { countConversations, inProcess, openFixture, overSocket } from "../support/harness.ts";
import { assertRefused, head, parseAnswers, post, sendBytes, talk } from "../support/raw-socket.ts";
import { stopTimers } from "./hosted.ts";

const health = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

/** The status and the Connection of each answer in what came over a connection. */
function outcomes(text: string): [number, string | null][] {
  return parseAnswers(text).map(({ status, headers }) => [status, headers.get("connection")]);
}

/** A limiter that admits a key's requests only once the test says so. */
function heldLimiter() {
  const [asked, goOn] = [createGate(), createGate()];
  const memory = createMemoryLimiter();
  const limiter: RateLimiter = {
    ...memory,
    async take(id, policy) {
      if (id.startsWith("key_")) {
        asked.open();
        await goOn.opened;
      }
      return memory.take(id, policy);
    },
  };
  return { asked, goOn, limiter };
}

describe("a connection", () => {
  for (const [what, request, expected] of [
    ["stays open after HTTP/1.1", health, [200, "keep-alive"]],
    ["stays open after a 404", health.replace("healthz", "nowhere"), [404, "keep-alive"]],
    [
      "stays open after a method that a path does not have",
      health.replace("GET", "PURGE"),
      [405, "keep-alive"],
    ],
    ["stays open after an empty line before a request", `\r\n\r\n${health}`, [200, "keep-alive"]],
    ["stays open after an offer to upgrade", upgrade("Upgrade"), [200, "keep-alive"]],
    ["is closed if the client says so among other options", upgrade("Upgrade, CLOSE"), [200, "close"]],
    ["is closed after HTTP/1.0", "GET /healthz HTTP/1.0\r\n\r\n", [200, "close"]],
    [
      "stays open after HTTP/1.0 that asks for it",
      "GET /healthz HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
      [200, "keep-alive"],
    ],
  ] as const) {
    test(what, async () => {
      await using fixture = await openFixture(overSocket);
      const next = head("GET /healthz HTTP/1.1");
      const text = await talk(
        fixture.url,
        (socket) => socket.write(request),
        (heard, socket) => {
          if (outcomes(heard).length === 1) socket.write(next);
        },
      );
      assert.deepEqual(outcomes(text), expected[1] === "close" ? [expected] : [expected, [200, "close"]]);
    });
  }

  test("takes a request that arrives byte by byte, its body in chunks with extensions and trailers", async () => {
    await using fixture = await openFixture(overSocket);
    const request = head(create, await credential(fixture), jsonType, chunked);
    const chunks = `5;a=b\r\n${body.slice(0, 5)}\r\nC;c\r\n${body.slice(5)}\r\n000\r\nX-Trailer: 1\r\n\r\n`;
    const text = await talk(fixture.url, async (socket) => {
      socket.setNoDelay(true);
      for (const byte of `\r\n${request}${chunks}`) {
        socket.write(byte);
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    assert.deepEqual(outcomes(text), [[201, "close"]]);
  });

  for (const [what, chunks] of [
    ["a size line that ends with LF", `11\n${body}\r\n0\r\n\r\n`],
    ["a trailer that is no field", `11\r\n${body}\r\n0\r\nno field\r\n\r\n`],
  ] as const) {
    test(`refuses a chunked body with ${what}`, async () => {
      await using fixture = await openFixture(overSocket);
      const request = head(create, await credential(fixture), jsonType, chunked);
      const text = await sendBytes(fixture.url, request, chunks);
      assertRefused(text, 400, "invalid_request");
    });
  }

  test("that ends within a head gets a 400", async () => {
    await using fixture = await openFixture(overSocket);
    const text = await talk(fixture.url, (socket) => socket.end("GET /healthz HTTP/1.1\r\nHost:"));
    assertRefused(text, 400, "invalid_request");
  });

  test("begins no request of a client that has left before the last answer", async () => {
    const { asked, goOn, limiter } = heldLimiter();
    await using fixture = await openFixture(overSocket, { limiter });
    const key = await fixture.key();
    const fields = [`X-API-Key: ${key}`, "Content-Type: application/json", `Content-Length: ${body.length}`];
    const socket = connect(Number(new URL(fixture.url).port), "127.0.0.1");
    socket.write(`${create}\r\nHost: a\r\n${fields.join("\r\n")}\r\n\r\n${body}`.repeat(3));
    await asked.opened;
    socket.resetAndDestroy();
    goOn.open(); // before the server has noticed
    for (let turn = 0; turn < 20; turn++) await settle();
    assert.equal(await countConversations(fixture, key), 1);
  });

  test("that is idle keeps nothing of its last request in memory", async () => {
    await using fixture = await openFixture(overSocket);
    const key = await fixture.key();
    const long = JSON.stringify({ twinId: "echo", ignored: "x".repeat(60_000) });
    const fields = [`X-API-Key: ${key}`, "Content-Type: application/json", `Content-Length: ${long.length}`];
    const sockets = [];
    await collectGarbage();
    const before = process.memoryUsage().arrayBuffers;
    for (let count = 0; count < 200; count++) {
      const socket = connect(Number(new URL(fixture.url).port), "127.0.0.1");
      socket.write(`${create}\r\nHost: a\r\n${fields.join("\r\n")}\r\n\r\n${long}`);
      await once(socket, "data");
      sockets.push(socket);
    }
    await collectGarbage();
    const kept = process.memoryUsage().arrayBuffers - before;
    for (const socket of sockets) socket.destroy();
    assert.ok(kept < 4_000_000, `${kept} bytes are kept`);
  });

  test("keeps little of a body of single-byte chunks while the request is being admitted", async () => {
    const { asked, goOn, limiter } = heldLimiter();
    await using fixture = await openFixture(overSocket, { limiter });
    const request = head(create, await credential(fixture), jsonType, chunked) + chunkOf(" ").repeat(10_000);
    const before = await heapInUse();
    const sockets = Array.from({ length: 10 }, () => {
      const socket = connect(Number(new URL(fixture.url).port), "127.0.0.1");
      socket.on("error", () => {}).write(request);
      return socket;
    });
    await asked.opened;
    for (let turn = 0; turn < 100; turn++) await settle();
    const kept = (await heapInUse()) - before;
    for (const socket of sockets) socket.destroy();
    goOn.open();
    assert.ok(kept < 5_000_000, `${kept} bytes are kept`);
  });

  test("takes a long body that arrives while the request is being admitted", async () => {
    const { asked, goOn, limiter } = heldLimiter();
    await using fixture = await openFixture(overSocket, { limiter });
    const long = JSON.stringify({ twinId: "echo", ignored: "x".repeat(200_000) });
    const request = head(create, await credential(fixture), jsonType, `Content-Length: ${long.length}`);
    const answered = sendBytes(fixture.url, request, long);
    await asked.opened;
    await settle();
    goOn.open();
    assert.deepEqual(outcomes(await answered), [[201, "close"]]);
  });

  test("skips what follows of a body that nobody read, to the next request", async () => {
    await using fixture = await openFixture(overSocket);
    const long = "x".repeat(200_000);
    const unread = `POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: ${long.length}\r\n\r\n`;
    const text = await talk(
      fixture.url,
      (socket) => socket.write(unread),
      (heard, socket) => {
        if (outcomes(heard).length === 1) socket.write(long + head("GET /healthz HTTP/1.1"));
      },
    );
    assert.deepEqual(outcomes(text), [
      [404, "keep-alive"],
      [200, "close"],
    ]);
  });

  test("has the header fields of an answer in Latin-1, and its body in UTF-8", async () => {
    await using fixture = await openFixture(overSocket, {
      verifyToken: () => {
        throw new ApiError("invalid_token", "Schlüssel ↯", { headers: { "X-Hint": "schlüssel" } });
      },
    });
    const request = head("GET /api/v1/auth/api-keys HTTP/1.1", "Authorization: Bearer a.b.c");
    const [answer] = parseAnswers(await sendBytes(fixture.url, request));
    assert.equal(answer?.headers.get("x-hint"), "schlüssel");
    assert.match(Buffer.from(answer?.body ?? "", "latin1").toString(), /Schlüssel ↯/);
  });
});

describe("the server's patience", () => {
  /** A server, and the `node:http` server that it runs on, whose limits are too long to wait for. */
  async function openServer() {
    const fixture = await openFixture(overSocket);
    let found: Server | undefined;
    const see = (message: unknown) => {
      found = (message as { server: Server }).server;
    };
    subscribe("http.server.request.start", see);
    await fixture.send("/healthz");
    unsubscribe("http.server.request.start", see);
    assert.ok(found);
    return { fixture, server: found };
  }

  test("a head may take a minute to arrive, then it is refused", { timeout: 20_000 }, async () => {
    const { fixture, server } = await openServer();
    await using _ = fixture;
    assert.equal(server.headersTimeout, 60_000);
    server.headersTimeout = 1;
    const text = await talk(fixture.url, (socket) => socket.write("GET /healthz HTTP/1.1\r\n"));
    assertRefused(text, 400, "invalid_request");
  });

  test("a connection that never sends anything is closed after that time", { timeout: 20_000 }, async () => {
    const { fixture, server } = await openServer();
    await using _ = fixture;
    server.headersTimeout = 1;
    assert.equal(await talk(fixture.url, () => {}), "");
  });

  test("a connection may be idle for 65 seconds, and answers say so", { timeout: 20_000 }, async () => {
    const { fixture, server } = await openServer();
    await using _ = fixture;
    assert.equal((await fixture.send("/healthz")).headers.get("keep-alive"), "timeout=65");
    const text = await talk(fixture.url, (socket) => {
      server.keepAliveTimeout = 1;
      socket.write(health);
    });
    assert.deepEqual(outcomes(text), [[200, "keep-alive"]]);
  });
});

test("a shutdown does not wait for connections that never sent a request", {
  timeout: 20_000,
}, async () => {
  await using fixture = await openFixture(inProcess);
  const server = await serve(fixture.service, { port: 0 });
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  const closed = once(socket, "close");
  await once(socket, "connect");
  assert.equal((await fetch(`${server.url}/healthz`)).status, 200); // the server has accepted both by now
  using _ = stopTimers(); // the time limit for last answers never comes
  await server.close();
  await closed;
});

test("during a shutdown, an open connection learns from /readyz that the server is stopping", async () => {
  await using chat = await openChat(inProcess);
  const server = await serve(chat.service, { port: 0 });
  const stream = await chat.stream(); // what the shutdown waits for
  const run = await chat.engine.next();
  const ready = health.replace("healthz", "readyz");
  let closing: Promise<void> | undefined;
  const text = await talk(
    server.url,
    (socket) => socket.write(ready),
    (heard, socket) => {
      if (closing || !heard.endsWith("}}")) return;
      closing = server.close({ graceMs: 10_000 });
      socket.write(ready);
    },
  );
  assert.deepEqual(outcomes(text), [
    [200, "keep-alive"],
    [503, "close"],
  ]);
  run.finish();
  await stream.rest();
  await closing;
});

test("during a shutdown, a proxy's connections close as they are idle, so that it asks another server", async () => {
  await using chat = await openChat(inProcess);
  const server = await serve(chat.service, { port: 0 });
  const stream = await chat.stream(); // what the shutdown waits for
  const run = await chat.engine.next();
  const through = (request: string) => request.replace("\r\n", "\r\nX-Forwarded-For: 192.0.2.7\r\n");
  const idle = createGate();
  const idleEnded = talk(
    server.url,
    (socket) => socket.write(through(health)),
    () => idle.open(),
  );
  const other = post(chat, "messages/stream", await chat.fixture.conversation(chat.key, "scripted"));
  const streamed = talk(server.url, (socket) => socket.write(through(other)));
  const itsRun = await chat.engine.next();
  await idle.opened;
  const closing = server.close({ graceMs: 10_000 });
  assert.deepEqual(outcomes(await idleEnded), [[200, "keep-alive"]]);
  itsRun.finish();
  assert.match(await streamed, /"type":"complete"/);
  run.finish();
  await stream.rest();
  await closing;
});

function upgrade(connection: string): string {
  return `GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: ${connection}\r\nUpgrade: websocket\r\n\r\n`;
}
