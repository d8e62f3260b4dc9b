/**
 * How the Node adapter puts a stream's pieces on the socket: in chunks of its own where that is safe.
 */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { test } from "node:test";
import { toNodeHandler } from "../adapters/node.ts";
import type { TwinEngine } from "../core/mod.ts";
import { openFixture, parseEvents, textOf, transports } from "./harness.ts";

const words = ["Grüße ", "über ", "das ", "Meer ", "🐚."];

/** Writes each word once the client has got something: the one before, as a rule. So each is a piece of its own. */
const wordByWord = (received: () => Promise<void>): TwinEngine => ({
  async reply(_, output) {
    for (const word of words) {
      await received();
      output.write(word);
    }
    return { finishReason: "stop", usage: null };
  },
});

/** What a client gets of a streamed send, byte for byte, and what `response.write` was called with. */
async function streamBytes(
  version: "1.0" | "1.1",
  { patch = false } = {},
): Promise<{ text: string; writes: string[] }> {
  const [transport] = transports;
  assert.ok(transport);
  let receive = () => {};
  const received = () =>
    new Promise<void>((resolve) => {
      receive = resolve;
    });
  await using fixture = await openFixture(transport, { engines: { echo: wordByWord(received) } });
  const key = await fixture.key();
  const path = `/api/v1/conversations/${await fixture.conversation(key)}/messages/stream`;
  const writes: string[] = [];
  const handler = toNodeHandler(fixture.service);
  const server = createServer((request, response) => {
    const write = response.write.bind(response);
    if (patch) {
      response.write = (chunk: unknown) => {
        writes.push(String(chunk));
        return write(chunk);
      };
    }
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const body = JSON.stringify({ content: "?" });
  const fields = [
    "Host: x",
    `Authorization: Bearer ${key}`,
    "Content-Type: application/json",
    "Connection: close",
  ];
  const head = [`POST ${path} HTTP/${version}`, ...fields, `Content-Length: ${body.length}`].join("\r\n");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.setEncoding("utf8").write(`${head}\r\n\r\n${body}`);
  let text = "";
  for await (const piece of socket) {
    text += piece;
    receive();
  }
  server.close();
  return { text, writes };
}

/** A chunked body, put together. Fails if a chunk's length is wrong. */
function unchunk(body: string): string {
  let bytes = Buffer.from(body);
  let text = "";
  for (;;) {
    const end = bytes.indexOf("\r\n");
    const length = Number.parseInt(bytes.toString("latin1", 0, end), 16);
    assert.equal(bytes.toString("latin1", end + 2 + length, end + 4 + length), "\r\n");
    if (length === 0) return text;
    text += bytes.toString("utf8", end + 2, end + 2 + length);
    bytes = bytes.subarray(end + 4 + length);
  }
}

test("pieces that are written to the socket are chunks of the right length in bytes", async () => {
  const { text } = await streamBytes("1.1");
  const events = parseEvents(unchunk(text.slice(text.indexOf("\r\n\r\n") + 4)));
  assert.equal(textOf(events), words.join(""));
});

test("a middleware that replaces response.write sees every piece but the last, which goes with the end", async () => {
  const { writes } = await streamBytes("1.1", { patch: true });
  assert.equal(textOf(parseEvents(writes.join(""))), words.slice(0, -1).join(""));
});

test("an HTTP/1.0 client gets the stream without chunks", async () => {
  const { text } = await streamBytes("1.0");
  assert.equal(textOf(parseEvents(text.slice(text.indexOf("\r\n\r\n") + 4))), words.join(""));
});
