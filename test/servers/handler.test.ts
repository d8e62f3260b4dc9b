/**
 * `toNodeHandler` in hosts' own servers, and in hosts that simulate requests.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, IncomingMessage, ServerResponse } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { Socket } from "node:net";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { toNodeHandler } from "../../adapters/servers/node/mod.ts";
import { maxBodyBytes } from "../../core/http/body.ts";
import type { HostUser, IncomingRequest, Service } from "../../core/mod.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import { body, create, credential, expectation, jsonType, statusesOf } from "../http/raw-requests.ts";
import { openChat } from "../support/chat.ts";
import { createGate } from "../support/gate.ts";
import { dataOf, errorOf, inProcess, jsonRequest, openFixture } from "../support/harness.ts";
import { listen } from "../support/ports.ts";
import { head, parseAnswers, sendBytes } from "../support/raw-socket.ts";
import { hosted, putBefore } from "./hosted.ts";

for (const [what, rawHeaders] of [
  ["an empty list", []],
  ["nothing", undefined],
]) {
  test(`a host that simulates requests may give their header fields only as an object, and ${what} as it was sent`, async () => {
    const { server, transport } = hosted();
    await using chat = await openChat(transport);
    server.prependListener("request", (message) => {
      Object.assign(message, { headers: { ...message.headers }, rawHeaders });
    });
    assert.equal((await chat.get("")).status, 200);
    const sent = chat.send("Hello?");
    (await chat.engine.next()).finish();
    assert.equal((await sent).status, 200);
  });
}

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
  await using fixture = await openFixture(inProcess);
  const handle = toNodeHandler(fixture.service);
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
  await using fixture = await openFixture(inProcess);
  const handle = toNodeHandler(fixture.service);
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
  const waits: Promise<string>[] = [];
  putBefore(server, (handle, message, response) => {
    waits.push(handle(message, response).then(() => (response.closed ? "closed" : "open")));
  });
  const sent = chat.send("Hello?");
  const run = await chat.engine.next();
  assert.equal(await Promise.race([...waits, "still pending"]), "still pending");
  run.finish();
  assert.equal((await sent).status, 200);
  assert.deepEqual(await Promise.all(waits), ["closed"]);
});

for (const [where, keep] of [
  ["as its bytes in `rawBody`, as by cloud functions", (text: string) => ({ rawBody: Buffer.from(text) })],
  ["in `body`, as the object that a JSON parser made", (text: string) => ({ body: JSON.parse(text) })],
  ["in `body`, as its text", (text: string) => ({ body: text })],
  ["in `body`, as its bytes", (text: string) => ({ body: Buffer.from(text) })],
] as const) {
  test(`a body that the host has already read is taken from where it was kept: ${where}`, async () => {
    const { server, transport } = hosted();
    await using fixture = await openFixture(transport);
    const key = await fixture.key();
    putBefore(server, async (handle, message, response) => {
      handle(Object.assign(message, keep(await text(message))), response);
    });
    const create = (body: unknown) => fixture.call("POST", "/conversations", key, body);
    const made = await dataOf<{ title: string }>(await create({ twinId: "echo", title: "Séance 😀" }));
    assert.equal(made.title, "Séance 😀");
    assert.equal((await errorOf(await create({ title: 7 }))).code, "validation_error");
    const long = JSON.stringify({ twinId: "echo", pad: "x".repeat(maxBodyBytes) });
    assert.equal((await errorOf(await create(long))).code, "payload_too_large");
    const headers = { "X-API-Key": key, "Content-Type": "application/json" };
    const inChunks = { method: "POST", headers, body: new Blob([long]).stream(), duplex: "half" };
    assert.equal((await fixture.send("/api/v1/conversations", inChunks as RequestInit)).status, 413);
  });
}

test("a host that throws for invalid JSON as its body is looked at, as Vercel's does, gets invalid_json", async () => {
  const { server, transport } = hosted();
  await using fixture = await openFixture(transport);
  const key = await fixture.key();
  putBefore(server, async (handle, message, response) => {
    const sent = await text(message);
    handle(Object.defineProperty(message, "body", { get: () => JSON.parse(sent) }), response);
  });
  const headers = { "X-API-Key": key, "Content-Type": "application/json" };
  const post = (body: string) => fixture.send("/api/v1/conversations", { method: "POST", headers, body });
  assert.equal((await errorOf(await post("{twinId:"))).code, "invalid_json");
  assert.equal((await post('{"twinId":"echo"}')).status, 201);
});

test("a parser that has read nothing, and leaves an empty object, does not hide the body", async () => {
  const { server, transport } = hosted();
  await using fixture = await openFixture(transport);
  server.prependListener("request", (message) => Object.assign(message, { body: {} }));
  const made = await fixture.call("POST", "/conversations", await fixture.key(), { twinId: "echo" });
  assert.equal(made.status, 201);
});

test("authenticate sees the request as the host has it", async () => {
  const { server, transport } = hosted();
  const authenticate = ({ original }: IncomingRequest) => (original as { user?: HostUser }).user ?? null;
  await using fixture = await openFixture(transport, { authenticate });
  assert.equal((await fixture.send("/api/v1/twins")).status, 401);
  server.prependListener("request", (message) => Object.assign(message, { user: { owner: "alice" } }));
  assert.equal((await fixture.send("/api/v1/twins")).status, 200);
});

test("a body that the host has already read is a 500, and the log says what to do", async () => {
  const { server, transport } = hosted();
  const said: unknown[] = [];
  await using chat = await openChat(transport, { log: (_, __, { error } = {}) => void said.push(error) });
  putBefore(server, async (handle, message, response) => {
    await text(message); // as a body parser does
    handle(message, response);
  });
  const response = await chat.send("Hello?");
  assert.equal(response.status, 500);
  assert.match(String(said.find(Boolean)), /body was read before.+mount the service before/);
});

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
    const asked = { method: "POST", ...jsonRequest(chat.key, { content: "Hello?" }) };
    const sent = fetch(`${url}/api/v1/conversations/${chat.conversationId}/${path}`, {
      ...asked,
      signal: client.signal,
    });
    await beginning.opened;
    client.abort();
    await assert.rejects(sent, { name: "AbortError" });
    await left;
    goOn.open();
    let last: { readonly status: string } | undefined;
    while (last === undefined || last.status === "in_progress") {
      last = (await (await chat.get("/messages?order=desc&limit=1")).json()).data[0];
    }
    assert.equal(last.status, "cancelled");
  });
}

test("a host's server sends 100 Continue only once if it does so by itself", async () => {
  await using fixture = await openFixture(hosted().transport);
  const request = head(
    create,
    await credential(fixture),
    jsonType,
    `Content-Length: ${body.length}`,
    expectation,
  );
  assert.deepEqual(statusesOf(await sendBytes(fixture.url, request, body)), [100, 201]);
});

test("all who read the OpenAPI document are given the same bytes", async () => {
  const { server, transport } = hosted();
  await using fixture = await openFixture(transport);
  const written = new Set<ArrayBufferLike>();
  server.prependListener("request", (_, response) => {
    const write = response.write.bind(response) as (piece: Uint8Array) => boolean;
    const watched = (piece: Uint8Array) => {
      written.add(piece.buffer);
      return write(piece);
    };
    Object.assign(response, { write: watched });
  });
  for (let count = 0; count < 3; count++) {
    const headers = { "Accept-Encoding": "identity" };
    await (await fixture.call("GET", "/openapi.json", "", undefined, headers)).text();
  }
  assert.equal(written.size, 1);
});

test("a host may strip the path that it mounted the service under", async () => {
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
  const text = await sendBytes(`http://127.0.0.1:${port}`, head("GET /chat/healthz HTTP/1.1"));
  server.close();
  assert.equal(parseAnswers(text)[0]?.status, 200);
});
