/**
 * The server's own HTTP/1.1: what a connection is good for, byte by byte. Refusals are in `framing.test.ts`.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, mock, test } from "node:test";
import { serve } from "../../adapters/node/mod.ts";
import { ApiError, createMemoryLimiter, type RateLimiter } from "../../core/mod.ts";
import { openChat } from "../support/chat.ts";
import { settle } from "../support/clock.ts";
import { collectGarbage } from "../support/garbage.ts";
import { createGate } from "../support/gate.ts";
import { countConversations, type Fixture, inProcess, openFixture, overSocket } from "../support/harness.ts";
import { assertRefused, exchange, head, parseAnswers, talk } from "../support/raw-socket.ts";

const health = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
const create = "POST /api/v1/conversations HTTP/1.1";
const body = '{"twinId":"echo"}';

/** The status and the Connection of each answer in what came over a connection. */
function outcomes(text: string): [number, string | null][] {
  return parseAnswers(text).map(({ status, headers }) => [status, headers.get("connection")]);
}

async function postFields({ key }: Pick<Fixture, "key">, ...more: readonly string[]): Promise<string[]> {
  return [`X-API-Key: ${await key()}`, "Content-Type: application/json", ...more];
}

/** A limiter that admits a key's requests only once the test says so. */
function heldLimiter() {
  const [asked, goOn] = [createGate(), createGate()];
  const { take, peek } = createMemoryLimiter();
  const limiter: RateLimiter = {
    peek,
    async take(id, policy) {
      if (id.startsWith("key_")) {
        asked.open();
        await goOn.opened;
      }
      return take(id, policy);
    },
  };
  return { asked, goOn, limiter };
}

describe("a connection", () => {
  for (const [what, request, expected] of [
    ["stays open after HTTP/1.1", health, [200, "keep-alive"]],
    ["stays open after a 404", health.replace("healthz", "nowhere"), [404, "keep-alive"]],
    ["stays open after an unknown method", health.replace("GET", "BREW"), [405, "keep-alive"]],
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
      const isLast = expected[1] === "close";
      const text = await exchange(fixture.url, request + (isLast ? health : head("GET /healthz HTTP/1.1")));
      assert.deepEqual(outcomes(text), isLast ? [expected] : [expected, [200, "close"]]);
    });
  }

  test("takes a request that arrives byte by byte, its body in chunks with extensions and trailers", async () => {
    await using fixture = await openFixture(overSocket);
    const fields = await postFields(fixture, "Transfer-Encoding: chunked");
    const chunks = `5;a=b\r\n${body.slice(0, 5)}\r\nC ; c\r\n${body.slice(5)}\r\n000\r\nX-Trailer: 1\r\n\r\n`;
    const text = await talk(fixture.url, async (socket) => {
      socket.setNoDelay(true);
      for (const byte of `\r\n${head(create, ...fields)}${chunks}`) {
        socket.write(byte);
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    assert.deepEqual(outcomes(text), [[201, "close"]]);
  });

  for (const [what, chunks] of [
    ["a size that is not hexadecimal", `0x11\r\n${body}\r\n0\r\n\r\n`],
    ["a negative size", `-1\r\n${body}\r\n0\r\n\r\n`],
    ["no size", `\r\n${body}\r\n0\r\n\r\n`],
    ["a size of thirteen digits", `0000000000011\r\n${body}\r\n0\r\n\r\n`],
    ["a size line that ends with LF", `11\n${body}\r\n0\r\n\r\n`],
    ["a CR within the size line", `11;a\rb\r\n${body}\r\n0\r\n\r\n`],
    ["an endless size line", `11;${"x".repeat(300)}`],
    ["more than its size says", `10\r\n${body}\r\n0\r\n\r\n`],
    ["less than its size says", `12\r\n${body}\r\n0\r\n\r\n`],
    ["an end that is no CR LF", `11\r\n${body}\n0\r\n\r\n`],
    ["a trailer that is no field", `11\r\n${body}\r\n0\r\nno field\r\n\r\n`],
    ["endless trailers", `11\r\n${body}\r\n0\r\n${"X: y\r\n".repeat(9000)}`],
  ] as const) {
    test(`refuses a chunked body with ${what}`, async () => {
      await using fixture = await openFixture(overSocket);
      const fields = await postFields(fixture, "Transfer-Encoding: chunked");
      const text = await exchange(fixture.url, head(create, ...fields), chunks);
      assertRefused(text, 400, "invalid_request");
    });
  }

  for (const [what, fields] of [
    ["a Transfer-Encoding in HTTP/1.0", ["Transfer-Encoding: chunked"]],
    ["two Transfer-Encodings", ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"]],
    ["an empty Transfer-Encoding", ["Transfer-Encoding:"]],
    ["an empty Content-Length", ["Content-Length: "]],
    ["a Content-Length with a sign", ["Content-Length: +5"]],
    ["two equal Content-Lengths", ["Content-Length: 5", "Content-Length: 5"]],
    ["a list of Content-Lengths", ["Content-Length: 5, 5"]],
    ["a space before a colon", ["X : y"]],
    ["a field without a colon", ["X"]],
    ["a field without a name", [": y"]],
    ["a CR within a field", ["X: a\rb"]],
  ] as const) {
    test(`refuses ${what}, and nothing that follows is a request`, async () => {
      await using fixture = await openFixture(overSocket);
      const line = what.endsWith("1.0") ? create.replace("1.1", "1.0") : create;
      const text = await exchange(
        fixture.url,
        `${line}\r\nHost: a\r\n${fields.join("\r\n")}\r\n\r\n${health}`,
      );
      assertRefused(text, 400, "invalid_request");
    });
  }

  test("that ends within a head gets a 400", async () => {
    await using fixture = await openFixture(overSocket);
    const text = await talk(fixture.url, (socket) => socket.end("GET /healthz HTTP/1.1\r\nHost:"));
    assertRefused(text, 400, "invalid_request");
  });

  test("answers a flood of pipelined requests, reading no further than it answers", async () => {
    await using chat = await openChat(overSocket);
    const count = 20_000;
    const content = JSON.stringify({ content: "Hello?" });
    const path = `/api/v1/conversations/${chat.conversationId}/messages`;
    const fields = [
      `X-API-Key: ${chat.key}`,
      "Content-Type: application/json",
      `Content-Length: ${content.length}`,
    ];
    const send = `POST ${path} HTTP/1.1\r\nHost: a\r\n${fields.join("\r\n")}\r\n\r\n${content}`;
    const socket = connect(Number(new URL(chat.fixture.url).port), "127.0.0.1");
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
    });
    const flood = health.repeat(count);
    socket.write(send + flood + head("GET /healthz HTTP/1.1"));
    const run = await chat.engine.next();
    await settle();
    assert.equal(text, "");
    run.finish();
    await once(socket, "end");
    assert.equal(text.split("HTTP/1.1 200 OK").length - 1, count + 2);
  });

  test("takes no more of a flood than waits for its answer, however many are answered", async () => {
    const limiter = createMemoryLimiter();
    let left = 0;
    let wake = () => {};
    await using fixture = await openFixture(overSocket, {
      limiter: {
        take: limiter.take,
        async peek() {
          while (left === 0) {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
          left--;
          await settle();
          return { allowed: true, debt: 0 };
        },
      },
    });
    const usage = `GET /api/v1/usage HTTP/1.1\r\nHost: a\r\nX-API-Key: ${await fixture.key()}\r\n\r\n`;
    const piece = usage.repeat(500);
    const socket = connect(Number(new URL(fixture.url).port), "127.0.0.1").resume();
    let taken = 0;
    const send = () => {
      socket.write(piece, (error) => {
        if (error) return;
        taken += piece.length;
        send();
      });
    };
    send();
    const untilFull = async () => {
      for (let before = -1; before < taken; ) {
        before = taken;
        for (let turn = 0; turn < 20; turn++) await settle();
      }
    };
    await untilFull();
    const atFirst = taken;
    left = 200;
    wake();
    while (left > 0) await settle();
    await untilFull();
    socket.destroy();
    left = 1;
    wake();
    assert.ok(taken - atFirst < 1_000_000, `${taken - atFirst} bytes more were taken for 200 answers`);
  });

  test("lets others have their turn while it answers many requests", async () => {
    const routes: unknown[] = [];
    await using fixture = await openFixture(overSocket, {
      log: (_, message, details) => void (message === "request" && routes.push(details?.route)),
    });
    const { port, hostname } = new URL(fixture.url);
    const [greedy, modest] = [connect(Number(port), hostname), connect(Number(port), hostname)];
    await Promise.all([once(greedy, "connect"), once(modest, "connect")]);
    greedy.write(health.repeat(1_000));
    modest.write(head("GET /readyz HTTP/1.1"));
    modest.resume();
    greedy.resume();
    await once(modest, "end");
    greedy.destroy();
    assert.ok(routes.slice(0, 500).includes("/readyz"), `after ${routes.indexOf("/readyz")} others`);
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

  test("takes a long body that arrives while the request is being admitted", async () => {
    const { asked, goOn, limiter } = heldLimiter();
    await using fixture = await openFixture(overSocket, { limiter });
    const long = JSON.stringify({ twinId: "echo", ignored: "x".repeat(200_000) });
    const fields = await postFields(fixture, `Content-Length: ${long.length}`);
    const answered = exchange(fixture.url, head(create, ...fields), long);
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
    const [answer] = parseAnswers(await exchange(fixture.url, request));
    assert.equal(answer?.headers.get("x-hint"), "schlüssel");
    assert.match(Buffer.from(answer?.body ?? "", "latin1").toString(), /Schlüssel ↯/);
  });
});

describe("the server's patience", () => {
  /** A server whose time a test lets pass, and a connection to it on which something was sent. */
  async function openAt(sent: string) {
    mock.timers.enable({ apis: ["setInterval"] });
    const { service } = await openFixture(inProcess);
    const server = await serve(service, { port: 0 });
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
    });
    const ended = once(socket, "end");
    await once(socket, "connect");
    // Whatever the connection before sent has arrived once this one is answered.
    socket.write(sent);
    assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
    return {
      socket,
      text: () => text,
      pass(seconds: number) {
        for (let second = 0; second < seconds; second++) mock.timers.tick(1_000);
      },
      ended,
      async [Symbol.asyncDispose]() {
        mock.timers.reset();
        socket.destroy();
        await server.close({ graceMs: 0 });
      },
    };
  }

  test("a connection that never sends anything is closed after a minute", { timeout: 20_000 }, async () => {
    await using open = await openAt("");
    open.pass(60);
    assert.equal(open.socket.readableEnded, false);
    open.pass(1);
    await open.ended;
    assert.equal(open.text(), "");
  });

  test("a head that does not arrive within a minute is refused, however often a byte comes", {
    timeout: 20_000,
  }, async () => {
    await using open = await openAt("GET /healthz HTTP/1.1\r\n");
    for (let part = 0; part < 61; part++) {
      open.socket.write(`X-${part}: y\r\n`);
      await settle();
      open.pass(1);
    }
    await open.ended;
    assertRefused(open.text(), 400, "invalid_request");
  });

  test("a connection is idle for 65 seconds before it is closed, and each request starts anew", {
    timeout: 20_000,
  }, async () => {
    await using open = await openAt(health);
    const answered = async (count: number) => {
      while (open.text().split('"ok"').length <= count) await once(open.socket, "data");
      await settle(); // the connection has noticed that all is sent
    };
    await answered(1);
    open.pass(64);
    open.socket.write(health);
    await answered(2);
    open.pass(65);
    assert.equal(open.socket.readableEnded, false);
    open.pass(1);
    await open.ended;
  });
});

function upgrade(connection: string): string {
  return `GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: ${connection}\r\nUpgrade: websocket\r\n\r\n`;
}
