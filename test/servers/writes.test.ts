/**
 * How the Node adapter writes a stream's pieces to the socket: in chunks of its own where that is safe.
 */

import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { toNodeHandler } from "../../adapters/servers/node/mod.ts";
import { createTwinList, type ReplyOutput, type Service, type TwinEngine } from "../../core/mod.ts";
import { createMemoryStore, type Store } from "../../core/store/mod.ts";
import { joinMs } from "../../core/wire/event-sender.ts";
import { jsonType } from "../http/raw-requests.ts";
import { createGate } from "../support/gate.ts";
import { inProcess, newTwin, openFixture, parseEvents, textOf } from "../support/harness.ts";
import { listen } from "../support/ports.ts";
import { head } from "../support/raw-socket.ts";
import { runtime } from "../support/runtime.ts";

const words = ["Grüße ", "über ", "das ", "Meer ", "🐚."];

/** Writes a reply; `received` resolves when the client has received something more. */
type Writer = (output: ReplyOutput, received: () => Promise<void>) => Promise<void> | void;

/** Writes each word once the client has received something, usually the previous one, so that each is its own piece. */
const wordByWord: Writer = async (output, received) => {
  for (const word of words) {
    await received();
    output.write(word);
  }
};

interface Setup {
  /** Gets the response before the service does. */
  readonly middleware?: (response: ServerResponse) => void;
  readonly write?: Writer;
  readonly store?: Store;
  /** The client reads nothing before this resolves. */
  readonly readable?: Promise<void>;
}

/** What a client receives for a streamed send, byte for byte. */
async function streamBytes(
  version: "1.0" | "1.1",
  { middleware = () => {}, write = wordByWord, store, readable }: Setup = {},
): Promise<string> {
  let receive = () => {};
  const received = () =>
    new Promise<void>((resolve) => {
      receive = resolve;
    });
  const engine: TwinEngine = {
    async reply(_, output) {
      await write(output, received);
      return { finishReason: "stop", usage: null };
    },
  };
  await using fixture = await openFixture(inProcess, {
    engines: { echo: engine },
    ...(store && { store }),
  });
  const key = await fixture.key();
  const path = `/api/v1/conversations/${await fixture.conversation(key)}/messages/stream`;
  const handler = toNodeHandler(fixture.service);
  const server = createServer((request, response) => {
    middleware(response);
    handler(request, response);
  });
  const body = JSON.stringify({ content: "?" });
  const fields = [`X-API-Key: ${key}`, jsonType, `Content-Length: ${body.length}`];
  const socket = connect(await listen(server), "127.0.0.1");
  socket.setEncoding("utf8").write(head(`POST ${path} HTTP/${version}`, ...fields) + body);
  await readable;
  let text = "";
  for await (const piece of socket) {
    text += piece;
    receive();
  }
  server.close();
  return text;
}

function bodyOf(text: string): string {
  return text.slice(text.indexOf("\r\n\r\n") + 4);
}

/** The body of an answer with a Content-Length. Fails if that is missing or wrong. */
function wholeBodyOf(text: string): string {
  const body = bodyOf(text);
  assert.equal(/\r\ncontent-length: (\d+)\r\n/i.exec(text)?.[1], String(Buffer.byteLength(body)));
  return body;
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

/** Fails unless a chunked answer is the stream of the whole reply. */
function assertChunked(text: string): void {
  assert.equal(textOf(parseEvents(unchunk(bodyOf(text)))), words.join(""));
}

test("pieces are written to the socket as chunks of the right length in bytes", async () => {
  assertChunked(await streamBytes("1.1"));
});

test("a middleware that replaces response.write sees every piece but the last, which is sent with the end", async () => {
  const writes: string[] = [];
  const bytes = await streamBytes("1.1", {
    middleware(response) {
      const write = response.write.bind(response);
      response.write = (chunk: unknown) => {
        writes.push(String(chunk));
        return write(chunk);
      };
    },
  });
  const [all, seen] = [unchunk(bodyOf(bytes)), writes.join("")];
  assert.ok(all.startsWith(seen));
  assert.ok(textOf(parseEvents(seen)).startsWith(words.slice(0, -1).join(""))); // the last word may have come alone
  const last = parseEvents(all.slice(seen.length)).map(({ data }) => data.type);
  assert.equal(last.at(-1), "complete");
});

/** All of a reply at once. */
const allAtOnce: Writer = (output) => {
  for (const word of words) output.write(word);
};

/** A store that begins and ends replies only once it may. */
function gatedStore(mayBegin: Promise<void>, mayEnd: Promise<void>): Store {
  const store = createMemoryStore();
  return {
    ...store,
    async beginReply(begin) {
      await mayBegin;
      return store.beginReply(begin);
    },
    async endReply(end) {
      await mayEnd;
      return store.endReply(end);
    },
  };
}

/** Counts the writes to a response's socket. */
function countWrites({ socket }: ServerResponse, count: () => void): void {
  assert.ok(socket);
  for (const name of ["_write", "_writev"] as const) {
    const write = socket[name]?.bind(socket) as (...args: unknown[]) => void;
    Object.assign(socket, {
      [name](...args: unknown[]) {
        count();
        write(...args);
      },
    });
  }
}

/** For tests that spy on sockets or stop the clock, which works only on Node. */
const onNode = { skip: runtime !== "node" && "needs Node's own sockets and timers", timeout: 10_000 };

/** Stops time while `act` runs, so that the moment for which streams may wait does not pass. */
async function inOneMoment({ mock }: TestContext, act: () => Promise<void>): Promise<void> {
  const now = performance.now();
  mock.method(performance, "now", () => now);
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    await act();
  } finally {
    mock.timers.tick(joinMs); // the streams of other tests share the timer
  }
}

test(
  "replies that are complete as they begin wait a moment for their ends, and are one write of known length each",
  onNode,
  (t) =>
    inOneMoment(t, async () => {
      const [begin, end] = [createGate(), createGate()];
      let arrived = 0;
      let writes = 0;
      const setup: Setup = {
        write: allAtOnce,
        store: gatedStore(begin.opened, end.opened),
        middleware(response) {
          countWrites(response, () => writes++);
          if (++arrived < 2) return;
          begin.open();
          setImmediate(() => setImmediate(end.open)); // later than the answers
        },
      };
      for (const text of await Promise.all([streamBytes("1.1", setup), streamBytes("1.1", setup)])) {
        assert.equal(textOf(parseEvents(wholeBodyOf(text))), words.join(""));
      }
      assert.equal(writes, 2);
    }),
);

test("a complete stream has a Content-Length even if it is more than one piece", onNode, (t) =>
  inOneMoment(t, async () => {
    const text = "海".repeat(12_000); // in a delta and in the message: 72 KB
    const write: Writer = (output) => output.write(text);
    assert.equal(textOf(parseEvents(wholeBodyOf(await streamBytes("1.1", { write })))), text);
  }),
);

test("the first text is sent at once, however soon it comes after the head", onNode, (t) =>
  inOneMoment(t, async () => {
    const write: Writer = async (output, received) => {
      await received();
      output.write("One");
      await received();
    };
    const text = await streamBytes("1.1", { write });
    assert.equal(textOf(parseEvents(unchunk(bodyOf(text)))), "One");
  }),
);

test("an HTTP/1.0 client gets the stream without chunks", async () => {
  assert.equal(textOf(parseEvents(bodyOf(await streamBytes("1.0")))), words.join(""));
});

test("a middleware whose writeHead returns nothing does no harm", async () => {
  const text = await streamBytes("1.1", {
    middleware(response) {
      const writeHead = response.writeHead.bind(response);
      response.writeHead = ((status: number, headers: Record<string, string>) => {
        writeHead(status, { ...headers, "X-Middleware": "here" });
      }) as unknown as typeof response.writeHead;
    },
  });
  assert.match(text, /\r\nX-Middleware: here\r\n/);
  assertChunked(text);
});

test("a middleware that holds the head back until the first piece keeps its fields", async () => {
  const text = await streamBytes("1.1", {
    middleware(response) {
      const [writeHead, write] = [response.writeHead.bind(response), response.write.bind(response)];
      let send = () => {};
      response.writeHead = (status: number, headers: unknown) => {
        send = () => void writeHead(status, headers as Record<string, string>);
        return response;
      };
      response.write = (chunk: unknown) => {
        send();
        send = () => {};
        return write(chunk);
      };
    },
  });
  assert.match(text, /\r\ncontent-type: text\/event-stream/i);
  assertChunked(text);
});

test("a middleware that holds back pieces for a while does not change their order", async () => {
  let release = () => {};
  const write: Writer = async (output) => {
    for (const word of words) {
      output.write(word);
      await new Promise((resolve) => setImmediate(resolve));
    }
    release();
  };
  const middleware = (response: ServerResponse) => {
    response.cork();
    release = () => response.uncork();
  };
  assertChunked(await streamBytes("1.1", { middleware, write }));
});

test("a host that simulates requests, on a socket without setTimeout, gets the whole answer", async () => {
  const middleware = ({ socket }: ServerResponse) =>
    void Object.assign(socket ?? {}, { setTimeout: undefined });
  assertChunked(await streamBytes("1.1", { middleware }));
});

test("a host whose write returns nothing is not mistaken for a slow reader", {
  timeout: 20_000,
}, async () => {
  const middleware = (response: ServerResponse) => {
    const write = response.write.bind(response) as (piece: string) => boolean;
    response.write = ((piece: string) => void write(piece)) as unknown as ServerResponse["write"];
  };
  assertChunked(await streamBytes("1.1", { middleware }));
});

test("nothing is written after the end of a body that the host ended itself", async () => {
  let endBody = () => {};
  const written = createGate();
  const piece = "x".repeat(30_000);
  const write: Writer = async (output) => {
    for (let count = 0; count < 400; count++) {
      output.write(piece); // far more than an unread socket takes
      if (count === 200) endBody();
      await new Promise((resolve) => setImmediate(resolve));
    }
    written.open();
  };
  const middleware = (response: ServerResponse) => {
    endBody = () => void response.end();
  };
  const text = await streamBytes("1.1", { middleware, write, readable: written.opened });
  assert.equal(text.slice(text.indexOf("\r\n0\r\n\r\n")), "\r\n0\r\n\r\n");
});

test("a long answer is not written for a client that has left", onNode, async () => {
  await using fixture = await openFixture(inProcess, {
    twins: createTwinList([newTwin({ id: "ada", description: "long ".repeat(50_000) })]),
  });
  const key = await fixture.key();
  const left = createGate();
  const written = createGate();
  const service: Service = {
    ...fixture.service,
    async answer(request) {
      const answer = await fixture.service.answer(request);
      await left.opened;
      setImmediate(written.open);
      return answer;
    },
  };
  const handler = toNodeHandler(service);
  let waiting: ServerResponse | undefined;
  const server = createServer((request, response) => {
    waiting = response;
    response.once("close", left.open);
    handler(request, response);
    socket.destroy();
  });
  const socket = connect(await listen(server), "127.0.0.1");
  socket.write(`GET /api/v1/twins HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n\r\n`);
  await written.opened;
  assert.equal(
    waiting?.listenerCount("drain"),
    0,
    "the answer is kept until it can be sent, which never happens",
  );
  server.close();
});
