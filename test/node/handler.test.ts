import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, IncomingMessage, type Server, ServerResponse } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { connect, Socket } from "node:net";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { mock, test } from "node:test";
import { setImmediate as turnEnd } from "node:timers/promises";
import { serve, toNodeHandler } from "../../adapters/node/mod.ts";
import { maxBodyBytes } from "../../core/http/body.ts";
import {
  createEchoEngine,
  createMemoryLimiter,
  createMemoryStore,
  createService,
  createTwinList,
  type Service,
} from "../../core/mod.ts";
import { type Chat, openChat } from "../support/chat.ts";
import { settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import { inProcess, openFixture, overSocket, type Transport } from "../support/harness.ts";
import { listen } from "../support/ports.ts";
import { parseAnswers, talk } from "../support/raw-socket.ts";

function newService(verifyToken: () => Promise<string>) {
  return createService({
    store: createMemoryStore(),
    twins: createTwinList([]),
    engines: { echo: createEchoEngine() },
    limiter: createMemoryLimiter(),
    verifyToken,
  });
}

test("a shutdown does not wait for connections that never sent a request", {
  timeout: 20_000,
}, async () => {
  const server = await serve(
    newService(async () => "alice"),
    { port: 0 },
  );
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  const closed = once(socket, "close");
  await once(socket, "connect");
  assert.equal((await fetch(`${server.url}/healthz`)).status, 200); // the server has accepted both by now
  mock.timers.enable({ apis: ["setTimeout"] }); // the time limit for last answers never comes
  try {
    await server.close();
    await closed;
  } finally {
    mock.timers.reset();
  }
});

test("a connection may be idle for 65 seconds, and answers say so", async () => {
  await using fixture = await openFixture(overSocket);
  assert.equal((await fixture.send("/healthz")).headers.get("keep-alive"), "timeout=65");
});

test("an answer sent during a shutdown has Connection: close", async () => {
  let release = (_owner: string) => {};
  const asked = createGate();
  const service = newService(() => {
    asked.open();
    return new Promise((resolve) => {
      release = resolve;
    });
  });
  const server = await serve(service, { port: 0 });
  const answer = fetch(`${server.url}/api/v1/auth/api-keys`, { headers: { Authorization: "Bearer a.b.c" } });
  await asked.opened;
  const closed = server.close({ graceMs: 0 });
  release("alice");
  const { status, headers } = await answer;
  assert.deepEqual([status, headers.get("connection")], [200, "close"]);
  await closed;
});

test("during a shutdown, an open connection learns from /readyz that the server is stopping", async () => {
  await using chat = await openChat(inProcess);
  const server = await serve(chat.service, { port: 0 });
  const stream = await chat.stream(); // what the shutdown waits for
  const run = await chat.engine.next();
  let closing: Promise<void> | undefined;
  const text = await talk(
    server.url,
    (socket) => socket.write("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"),
    (heard, socket) => {
      if (closing || !heard.endsWith("}}")) return;
      closing = server.close({ graceMs: 10_000 });
      socket.write("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n");
    },
  );
  assert.deepEqual(
    parseAnswers(text).map(({ status, headers }) => [status, headers.get("connection")]),
    [
      [200, "keep-alive"],
      [503, "close"],
    ],
  );
  run.finish();
  await stream.rest();
  await closing;
});

test("a host that simulates requests may give their header fields only as an object", async () => {
  const { server, transport } = hosted();
  await using chat = await openChat(transport);
  server.prependListener("request", (message) => {
    Object.assign(message, { headers: { ...message.headers }, rawHeaders: [] });
  });
  assert.equal((await chat.get("")).status, 200);
  const sent = chat.send("Hello?");
  const run = await chat.engine.next();
  run.finish();
  assert.equal((await sent).status, 200);
});

test("a host that simulates requests may give no header section at all, besides that object", async () => {
  const { server, transport } = hosted();
  await using chat = await openChat(transport);
  server.prependListener("request", (message) => {
    Object.assign(message, { headers: { ...message.headers }, rawHeaders: undefined });
  });
  assert.equal((await chat.get("")).status, 200);
});

test("a host that simulates requests may give a length as a number", async () => {
  const { server, transport } = hosted();
  await using chat = await openChat(transport);
  server.prependListener("request", (message) => {
    const fields = Object.entries(message.headers).map(([name, value]) => [
      name,
      name === "content-length" ? Number(value) : value,
    ]);
    Object.assign(message, { headers: Object.fromEntries(fields), rawHeaders: fields.flat() });
  });
  assert.match(await chat.fixture.conversation(chat.key, "scripted"), /^conv_/);
});

test("a host that simulates requests may give its response nothing but a stream to write to", async () => {
  const handle = toNodeHandler(newService(async () => "alice"));
  const message = Object.assign(new IncomingMessage(new Socket()), {
    httpVersion: "1.1",
    method: "POST",
    url: "/api/v1/conversations",
    headers: { host: "twins", "content-length": String(maxBodyBytes + 1) },
  });
  const response = new ServerResponse(message);
  const written: Buffer[] = [];
  const socket = new Writable({
    write(piece, _encoding, done) {
      written.push(piece);
      done();
    },
  });
  response.assignSocket(socket as Socket);
  const ended = once(response, "finish");
  void handle(message, response);
  await ended;
  assert.match(String(Buffer.concat(written)), /^HTTP\/1\.1 401 .*"missing_credentials"/s);
});

test("a long body over HTTP/2 gets the answer that the protocol is another", async () => {
  const handle = toNodeHandler(newService(async () => "alice"));
  const server = createHttp2Server((message, response) =>
    handle(message as unknown as IncomingMessage, response as unknown as ServerResponse),
  );
  const client = connectHttp2(`http://127.0.0.1:${await listen(server)}`);
  const request = client.request({
    ":method": "POST",
    ":path": "/api/v1/conversations",
    "content-length": maxBodyBytes + 1,
  });
  request.write("{");
  const [{ ":status": status }] = await once(request, "response");
  assert.equal(status, 400);
  assert.match(await text(request), /The protocol must be HTTP\/1\.1/);
  client.destroy();
  server.close();
});

test("a credential that the host adds or removes takes effect", async () => {
  const { server, transport } = hosted();
  await using chat = await openChat(transport);
  server.prependListener("request", ({ headers }) => {
    if (headers.cookie) headers["x-api-key"] = chat.key;
    else delete headers["x-api-key"];
  });
  const withCookie = await chat.fixture.send("/api/v1/twins", { headers: { Cookie: "session=1" } });
  assert.equal(withCookie.status, 200);
  assert.equal((await chat.fixture.call("GET", "/twins", chat.key)).status, 200);
  const withKey = await chat.fixture.send("/api/v1/twins", { headers: { "X-API-Key": chat.key } });
  assert.equal(withKey.status, 401);
});

test("a credential that the host shortens or empties counts as changed", async () => {
  const { server, transport } = hosted();
  const seen: string[] = [];
  const verifyToken = async (token: string) => {
    seen.push(token);
    return "alice";
  };
  await using chat = await openChat(transport, { verifyToken });
  let told = "Bearer a";
  server.prependListener("request", ({ headers }) => {
    headers.authorization = told;
  });
  assert.equal((await chat.fixture.call("GET", "/auth/api-keys", "admin")).status, 200);
  assert.equal(seen.at(-1), "a");
  told = "";
  assert.equal((await chat.fixture.call("GET", "/auth/api-keys", "admin")).status, 401);
});

test("the refusal of an unread body keeps the header fields that the host has set", async () => {
  const { server, transport } = hosted();
  await using chat = await openChat(transport);
  const responses: ServerResponse[] = [];
  server.prependListener("request", (_, response) => {
    responses.push(response);
    response.setHeader("Access-Control-Allow-Origin", "*");
    response.setHeader("content-type", "text/html");
  });
  const { status, headers } = await chat.send("x".repeat(300_000));
  assert.equal(status, 413);
  assert.equal(headers.get("access-control-allow-origin"), "*");
  assert.match(headers.get("content-type") ?? "", /^application\/json/);
  assert.equal(responses.at(-1)?.statusCode, 413); // for the host's own log
});

test("anything but a service is refused as its handler is created, not by an exception in each request", () => {
  const promise = Promise.resolve() as unknown as Service;
  assert.throws(() => toNodeHandler(promise), {
    name: "TypeError",
    message: "The service must be what createService() returns, not [object Promise].",
  });
});

test("a handler's promise resolves when its response has closed", async () => {
  const { server, transport } = hosted();
  await using chat = await openChat(transport);
  const [handle] = server.listeners("request");
  server.removeAllListeners("request");
  const waits: Promise<string>[] = [];
  server.on("request", (message, response) => {
    const handled: Promise<void> = handle?.call(server, message, response);
    waits.push(handled.then(() => (response.closed ? "closed" : "open")));
  });
  const sent = chat.send("Hello?");
  const run = await chat.engine.next();
  assert.equal(await Promise.race([...waits, "still pending"]), "still pending");
  run.finish();
  assert.equal((await sent).status, 200);
  assert.deepEqual(await Promise.all(waits), ["closed"]);
});

test("a body that the host has already read is taken from `rawBody` if it was kept there", async () => {
  const { server, transport } = hosted();
  await using fixture = await openFixture(transport);
  const [handle] = server.listeners("request");
  server.removeAllListeners("request");
  server.on("request", async (message, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of message) pieces.push(piece);
    Object.assign(message, { rawBody: Buffer.concat(pieces) }); // as Cloud Functions do
    handle?.call(server, message, response);
  });
  const key = await fixture.key();
  const post = (body: BodyInit) =>
    fixture.send("/api/v1/conversations", {
      method: "POST",
      headers: { "X-API-Key": key, "Content-Type": "application/json" },
      body,
      ...{ duplex: "half" },
    });
  assert.equal((await post('{"twinId":"echo"}')).status, 201);
  assert.equal((await post(new Blob([" ".repeat(maxBodyBytes + 1)]).stream())).status, 413);
});

test("a body that the host has already read is a 500, and the log says what to do", async () => {
  const { server, transport } = hosted();
  const said: unknown[] = [];
  await using chat = await openChat(transport, { log: (_, __, { error } = {}) => void said.push(error) });
  const [handle] = server.listeners("request");
  server.removeAllListeners("request");
  server.on("request", async (message, response) => {
    for await (const _ of message); // as a body parser does
    handle?.call(server, message, response);
  });
  const response = await chat.send("Hello?");
  assert.equal(response.status, 500);
  assert.match(String(said.find(Boolean)), /body was read before.+mount the service before/);
});

/** A connection that sends `requests`, reads the beginning of the answer, and then no more until told to. */
async function openReader(url: string, requests: string) {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => {}); // being cut may be a reset
  socket.write(requests);
  const [head] = (await once(socket, "data")) as [Buffer];
  socket.pause();
  let text = head.toString("latin1");
  return {
    write: (more: string) => socket.write(more),
    /** Reads about 4 MB more. */
    async takeSome(): Promise<void> {
      for (let taken = 0; taken < 4_000_000; ) {
        const bytes: Buffer | null = socket.read();
        if (bytes) text += bytes.toString("latin1");
        else await once(socket, "readable");
        taken += bytes?.length ?? 0;
      }
    },
    /** Everything received once the connection is closed or `end` has arrived. */
    async readUntil(end: string): Promise<string> {
      const closed = once(socket, "close");
      let tail = text.slice(-end.length);
      socket.on("data", (bytes: Buffer) => {
        const more = bytes.toString("latin1");
        text += more;
        tail = tail.slice(-end.length) + more; // searching all of a long text for each piece would take forever
        if (tail.includes(end)) socket.destroy();
      });
      socket.resume();
      await closed;
      return text;
    },
  };
}

/** A conversation whose messages are longer than what operating systems buffer for a reader. */
async function openLongChat(transport: Transport) {
  const store = createMemoryStore();
  const long: typeof store = {
    ...store,
    async listMessages(...slice) {
      const listing = await store.listMessages(...slice);
      const content = "long ".repeat(4_000_000);
      return listing && { ...listing, items: listing.items.map((message) => ({ ...message, content })) };
    },
  };
  const chat = await openChat(transport, { store: long });
  const sent = chat.send();
  (await chat.engine.next()).finish();
  assert.equal((await sent).status, 200);
  const path = `/api/v1/conversations/${chat.conversationId}/messages`;
  return {
    chat,
    request: `GET ${path} HTTP/1.1\r\nHost: a\r\nX-API-Key: ${chat.key}\r\n\r\n`,
  };
}

/** Reads some of an answer just before each minute of silence is over, `minutes` times. Timers must be mocked. */
async function takeSlowly(reader: Awaited<ReturnType<typeof openReader>>, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    mock.timers.tick(59_000);
    await reader.takeSome();
    await turnEnd();
  }
}

test("a reader that reads nothing of a long answer for 60 s is cut", async () => {
  const { server, transport } = hosted();
  const { chat, request } = await openLongChat(transport);
  await using _ = chat;
  const destroyed = countDestroyed(server);
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const reader = await openReader(chat.fixture.url, request);
    await turnEnd();
    mock.timers.tick(59_999);
    assert.equal(destroyed(), 0);
    mock.timers.tick(1);
    assert.equal(destroyed(), 1);
    const text = await reader.readUntil("no such text: to its end");
    assert.ok(text.length < 40_000_000, `${text.length} bytes came`);
  } finally {
    mock.timers.reset();
  }
});

test("once 256 MB wait to be read, the longest-stalled reader is cut", { timeout: 60_000 }, async () => {
  const { server, transport } = hosted();
  const { chat, request } = await openLongChat(transport); // 40 MB for each reader
  await using _ = chat;
  const destroyed = countDestroyed(server);
  const open = () => openReader(chat.fixture.url, request);
  const first = await open();
  const second = await open();
  for (let more = 0; more < 4; more++) await open();
  assert.equal(destroyed(), 0);
  await open();
  assert.equal(destroyed(), 1);
  const cut = await first.readUntil("no such text: to its end");
  assert.ok(cut.length < 40_000_000, `${cut.length} bytes came`);
  const whole = await second.readUntil('"pagination"');
  assert.ok(whole.length > 40_000_000, `${whole.length} bytes came`);
  await open(); // what has been read no longer counts
  assert.equal(destroyed(), 1);
});

for (const transport of servers()) {
  test(`a slow reader gets all of a long answer, ${transport.name}`, { timeout: 20_000 }, async () => {
    const { chat, request } = await openLongChat(transport);
    await using _ = chat;
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const reader = await openReader(chat.fixture.url, request);
      await takeSlowly(reader, 4);
      const text = await reader.readUntil('"pagination"');
      assert.ok(text.length > 40_000_000, `${text.length} bytes came`);
    } finally {
      mock.timers.reset();
    }
  });
}

for (const transport of servers()) {
  test(`a slow reader gets all of a long last event, ${transport.name}`, { timeout: 20_000 }, async () => {
    await using chat = await openChat(transport);
    const body = '{"content":"Hello?"}';
    const path = `/api/v1/conversations/${chat.conversationId}/messages/stream`;
    const fields = `Host: a\r\nX-API-Key: ${chat.key}\r\nContent-Type: application/json`;
    const request = `POST ${path} HTTP/1.1\r\n${fields}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const reader = await openReader(chat.fixture.url, request);
    const run = await chat.engine.next();
    await turnEnd(); // the stream has begun
    run.write("long ".repeat(4_000_000));
    run.finish();
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      for (let megabytes = 0; megabytes < 24; megabytes += 4) await reader.takeSome(); // 20 of them in deltas
      await takeSlowly(reader, 2);
      const text = await reader.readUntil("\r\n0\r\n\r\n");
      assert.ok(text.length > 40_000_000, `${text.length} bytes came`);
    } finally {
      mock.timers.reset();
    }
  });
}

for (const transport of servers()) {
  test(`a pipelined answer that waits for its reply is not cut for having nothing to send, ${transport.name}`, async () => {
    await using chat = await openChat(transport);
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const health = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
      const reader = await openReader(chat.fixture.url, health + post(chat, "messages"));
      const run = await chat.engine.next();
      mock.timers.tick(120_000);
      run.write("At last.");
      run.finish();
      assert.match(
        await reader.readUntil("At last."),
        /"status":"ok"[\s\S]*HTTP\/1.1 200 OK[\s\S]*At last\./,
      );
    } finally {
      mock.timers.reset();
    }
  });
}

test("a pipelined answer that is ready waits as long as the one before it takes", async () => {
  const { server, transport } = hosted();
  await using chat = await openChat(transport);
  const destroyed = countDestroyed(server);
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const health = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    const reader = await openReader(chat.fixture.url, post(chat, "messages/stream") + health);
    const run = await chat.engine.next();
    for (let minute = 0; minute < 3; minute++) {
      mock.timers.tick(60_000);
      await turnEnd();
    }
    assert.equal(destroyed(), 0);
    run.finish();
    assert.match(await reader.readUntil('"status":"ok"'), /"type":"complete"[\s\S]*"status":"ok"/);
  } finally {
    mock.timers.reset();
  }
});

/** Counts the responses of a server that have been destroyed so far. */
function countDestroyed(server: Server): () => number {
  const responses: ServerResponse[] = [];
  server.prependListener("request", (_, response) => responses.push(response));
  return () => responses.filter((response) => response.destroyed && !response.writableFinished).length;
}

for (const transport of servers()) {
  test(`a stream pipelined after another begins when that has ended, ${transport.name}`, async () => {
    await using chat = await openChat(transport);
    const other = await chat.fixture.conversation(chat.key, "scripted");
    const requests = post(chat, "messages/stream") + post(chat, "messages/stream", other);
    const reader = await openReader(chat.fixture.url, requests);
    const first = await chat.engine.next();
    await chat.clock.advance(130_000);
    assert.equal(chat.engine.asked, 1);
    first.finish();
    const read = reader.readUntil("At last.");
    const second = await chat.engine.next();
    second.write("At last.");
    second.finish();
    assert.equal((await read).split("HTTP/1.1 200 OK").length, 3);
  });
}

/** The bytes of a request that sends a message into a conversation. */
function post({ key, ...chat }: Chat, path: string, conversationId = chat.conversationId): string {
  const body = JSON.stringify({ content: "Hello?" });
  return [
    `POST /api/v1/conversations/${conversationId}/${path} HTTP/1.1`,
    "Host: twins.test",
    `Authorization: Bearer ${key}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\r\n");
}

/** A host's own server, which a test can observe. */
function hosted() {
  const server = createServer();
  const transport: Transport = {
    name: "in a host's own server",
    async open(service: Service) {
      server.on("request", toNodeHandler(service));
      const url = `http://127.0.0.1:${await listen(server)}`;
      return {
        url,
        send: (path, init) => fetch(url + path, init),
        async close() {
          await service.close({ graceMs: 0 });
          server.close();
          server.closeAllConnections();
        },
      };
    },
  };
  return { server, transport };
}

/** The two kinds of servers on Node: a host's own, and ours. */
function servers(): readonly Transport[] {
  return [hosted().transport, overSocket];
}

for (const path of ["messages", "messages/stream"]) {
  test(`a client that leaves while its reply begins no longer counts as a follower: ${path}`, {
    timeout: 20_000,
  }, async () => {
    const store = createMemoryStore();
    const { server, transport } = hosted();
    const [beginning, goOn] = [createGate(), createGate()];
    const slow = {
      ...store,
      async beginReply(begin: Parameters<typeof store.beginReply>[0]) {
        beginning.open();
        await goOn.opened;
        return store.beginReply(begin);
      },
    };
    await using chat = await openChat(transport, { store: slow, onDisconnect: "cancel" });
    const client = new AbortController();
    const left = once(server, "request").then(([, response]) => once(response, "close"));
    const { url } = chat.fixture;
    const sent = fetch(`${url}/api/v1/conversations/${chat.conversationId}/${path}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${chat.key}`, "Content-Type": "application/json" },
      body: JSON.stringify({ content: "Hello?" }),
      signal: client.signal,
    });
    await beginning.opened;
    client.abort();
    await assert.rejects(sent, { name: "AbortError" });
    await left;
    goOn.open();
    await (await chat.engine.next()).aborted;
  });
}

for (const transport of servers()) {
  test(`a pipelined request is not begun once its client has left, ${transport.name}`, {
    timeout: 20_000,
  }, async () => {
    await using chat = await openChat(transport, { onDisconnect: "cancel" });
    const other = await chat.fixture.conversation(chat.key, "scripted");
    const { port, hostname } = new URL(chat.fixture.url);
    const socket = connect(Number(port), hostname);
    socket.write(post(chat, "messages/stream") + post(chat, "messages/stream", other));
    const run = await chat.engine.next();
    socket.destroy();
    await run.aborted;
    await settle();
    assert.equal(chat.engine.asked, 1);
  });
}

test("up to a hundred pipelined requests wait, and beyond that the connection is closed", {
  timeout: 20_000,
}, async () => {
  const { transport } = hosted();
  await using chat = await openChat(transport);
  const health = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
  const ahead = health.repeat(99) + health.replace("healthz", "nowhere");
  const reader = await openReader(chat.fixture.url, post(chat, "messages/stream") + ahead);
  const run = await chat.engine.next();
  run.finish();
  const all = await reader.readUntil('"not_found"');
  assert.equal(all.split("HTTP/1.1 200 OK").length, 101);
  const flood = connect(Number(new URL(chat.fixture.url).port), "127.0.0.1");
  const closed = new Promise((resolve) => flood.once("close", resolve)); // a reset may come before
  flood.on("error", () => {}).resume();
  flood.write(post(chat, "messages/stream") + health.repeat(2_000));
  await closed;
});

for (const transport of servers()) {
  test(`requests pipelined a few at a time are answered, however many there are, ${transport.name}`, {
    timeout: 20_000,
  }, async () => {
    await using chat = await openChat(transport);
    const batch = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".repeat(50);
    const answersIn = (text: string) => text.split('"status":"ok"').length - 1;
    let sent = 50;
    const all = await talk(
      chat.fixture.url,
      (socket) => socket.write(batch),
      (text, socket) => {
        if (answersIn(text) < sent) return;
        if (sent === 250) socket.end();
        else socket.write(batch);
        sent += 50;
      },
    );
    assert.equal(answersIn(all), 250);
  });
}

test("a request pipelined after one that had to wait waits for that, too", {
  timeout: 20_000,
}, async () => {
  const { server, transport } = hosted();
  await using chat = await openChat(transport);
  const second = await chat.fixture.conversation(chat.key, "scripted");
  const third = await chat.fixture.conversation(chat.key, "scripted");
  const reader = await openReader(
    chat.fixture.url,
    ["GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", post(chat, "messages", second)].join(""),
  );
  const run = await chat.engine.next();
  const arrived = once(server, "request");
  reader.write(post(chat, "messages", third));
  await arrived;
  await chat.clock.advance(1_000);
  assert.equal(chat.engine.asked, 1);
  run.finish();
  const read = reader.readUntil("At last.");
  const last = await chat.engine.next();
  last.write("At last.");
  last.finish();
  assert.equal((await read).split("HTTP/1.1 200 OK").length, 4);
});
