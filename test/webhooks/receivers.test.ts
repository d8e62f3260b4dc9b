/**
 * Receivers that answer as real ones do on a bad day, byte by byte over a socket.
 */

import assert from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import { after, describe, test } from "node:test";
import { listen } from "../support/ports.ts";
import { hook, open, say, untilNewest } from "./hooks.ts";
import { startReceiver } from "./receiver.ts";

/** How a receiver answers on a connection, once a request has begun to come. */
type Answer = (socket: Socket) => void;

/** Starts a receiver of bytes, which ends with the tests. */
async function startSocket(answer: Answer) {
  const sockets = new Set<Socket>();
  let arrived = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    socket.once("data", () => {
      arrived++;
      answer(socket);
    });
  });
  const host = `127.0.0.1:${await listen(server)}`;
  after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { host, url: `http://${host}/`, count: () => arrived };
}

/** Tells a receiver of one reply, and gives the delivery once it has been tried, or once a try has been broken off. */
async function tell(answer: Answer, isBrokenOff = false) {
  const receiver = await startSocket(answer);
  await using fixture = await open(receiver);
  const { id } = await hook(fixture, receiver.url);
  const key = await fixture.key();
  const began = fixture.clock.now();
  await say(fixture, key, await fixture.conversation(key));
  const delivery = await untilNewest(fixture, id, async ({ status, nextAttemptAt }) => {
    if (isBrokenOff && receiver.count() > 0) await fixture.clock.advance(1_000);
    return status !== "pending" || Date.parse(nextAttemptAt ?? "") > began;
  });
  return { ...delivery, lasted: fixture.clock.now() - began };
}

/** Sends the same without an end. */
function writeOn(socket: Socket, text: string): void {
  if (!socket.destroyed) socket.write(text, () => setImmediate(writeOn, socket, text));
}

const head = (line: string) => `HTTP/1.1 ${line}\r\nContent-Length: 0\r\n\r\n`;

describe("a receiver", () => {
  for (const [does, answer] of [
    ["closes at once", (socket) => socket.end()],
    ["resets the connection", (socket) => socket.resetAndDestroy()],
    ["answers in no HTTP", (socket) => socket.end("220 mail.example.com ESMTP\r\n")],
    ["closes within the head of its answer", (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-")],
    [
      "changes to another protocol",
      (socket) =>
        socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"),
    ],
    [
      "sends header fields without an end",
      (socket) => {
        socket.write("HTTP/1.1 200 OK\r\n");
        writeOn(socket, `X-More: ${"x".repeat(4_000)}\r\n`);
      },
    ],
    [
      "says without an end that it goes on",
      (socket) => writeOn(socket, "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100)),
    ],
  ] as const satisfies readonly (readonly [string, Answer])[]) {
    test(`that ${does} has not been told: it is tried again`, async () => {
      const { status, lastStatus, attempts } = await tell(answer);
      assert.deepEqual([status, lastStatus, attempts], ["pending", null, 1]);
    });
  }

  test("that answers before it has read anything has been told", async () => {
    const { status, lastStatus } = await tell((socket) => socket.end(head("202 Accepted")));
    assert.deepEqual([status, lastStatus], ["delivered", 202]);
  });

  test("may say first that it goes on", async () => {
    const { status, lastStatus } = await tell((socket) => {
      socket.write("HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n");
      socket.write(head("204 No Content"));
    });
    assert.deepEqual([status, lastStatus], ["delivered", 204]);
  });

  test("that answers after 20 seconds has not been told, and its answer is not waited for", async () => {
    const { status, lastStatus, lasted } = await tell(() => {}, true);
    assert.deepEqual([status, lastStatus], ["pending", null]);
    assert.ok(lasted >= 10_000 && lasted < 20_000, `${lasted}`);
  });

  test("whose head comes byte by byte has 10 seconds for it", async () => {
    const { status, lastStatus, lasted } = await tell((socket) => {
      const bytes = `HTTP/1.1 200 OK\r\nX-Slow: ${"x".repeat(10_000)}`; // a longer head is refused
      let at = 0;
      const more = () => {
        if (!socket.destroyed && at < bytes.length)
          socket.write(bytes.charAt(at++), () => setImmediate(more));
      };
      more();
    }, true);
    assert.deepEqual([status, lastStatus], ["pending", null]);
    assert.ok(lasted >= 10_000, `${lasted}`);
  });

  test("whose body has no end has been told, by the status of its head", async () => {
    const { status, lastStatus } = await tell((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nt");
    }, true);
    assert.deepEqual([status, lastStatus], ["delivered", 200]);
  });

  test("whose body is framing alone, without an end, has been told, by the status of its head", async () => {
    const { status, lastStatus, lasted } = await tell((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      writeOn(socket, `1;${"x".repeat(10_000)}\r\nx\r\n`);
    });
    assert.deepEqual([status, lastStatus, lasted], ["delivered", 200, 0]);
  });

  for (const code of [301, 302, 303, 307, 308])
    test(`that answers ${code} to an address of the machine has not been told, nor has that address`, async () => {
      const inside = await startReceiver();
      const { status, lastStatus } = await tell((socket) =>
        socket.end(`HTTP/1.1 ${code} Elsewhere\r\nLocation: ${inside.url}\r\nContent-Length: 0\r\n\r\n`),
      );
      assert.deepEqual([status, lastStatus], ["pending", code]);
      assert.equal(inside.arrived.length, 0);
    });
});
