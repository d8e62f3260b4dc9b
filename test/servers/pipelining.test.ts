/**
 * Requests that a client sends without waiting for earlier answers.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { setImmediate as turnEnd } from "node:timers/promises";
import { openChat } from "../support/chat.ts";
import { settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import { openFixture, overSocket } from "../support/harness.ts";
import { post, talk } from "../support/raw-socket.ts";
import { countDestroyed, hosted, openReader, stopTimers } from "./hosted.ts";

const health = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

test(`a pipelined answer that waits for its reply is not cut for having nothing to send`, async () => {
  await using chat = await openChat(overSocket);
  using timers = stopTimers();
  const reader = await openReader(chat.fixture.url, health + post(chat, "messages"));
  const run = await chat.engine.next();
  timers.tick(120_000);
  run.write("At last.");
  run.finish();
  assert.match(await reader.readUntil("At last."), /"status":"ok"[\s\S]*HTTP\/1.1 200 OK[\s\S]*At last\./);
});

test("a pipelined answer that is ready waits as long as the one before it takes", async () => {
  const { server, transport } = hosted();
  await using chat = await openChat(transport);
  const destroyed = countDestroyed(server);
  using timers = stopTimers();
  const reader = await openReader(chat.fixture.url, post(chat, "messages/stream") + health);
  const run = await chat.engine.next();
  for (let minute = 0; minute < 3; minute++) {
    timers.tick(60_000);
    await turnEnd();
  }
  assert.equal(destroyed(), 0);
  run.finish();
  assert.match(await reader.readUntil('"status":"ok"'), /"type":"complete"[\s\S]*"status":"ok"/);
});

test(`a stream pipelined after another begins when that has ended`, async () => {
  await using chat = await openChat(overSocket);
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

test(`a pipelined request is not begun once its client has left`, {
  timeout: 20_000,
}, async () => {
  await using chat = await openChat(overSocket, { onDisconnect: "cancel" });
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

test("up to a hundred pipelined requests wait, and beyond that the connection is closed", {
  timeout: 20_000,
}, async () => {
  await using chat = await openChat(overSocket);
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

test("long pipelined requests wait up to 64 KiB, and beyond that the connection is closed", {
  timeout: 20_000,
}, async () => {
  await using chat = await openChat(overSocket);
  const long = health.replace("Host", `X-Long: ${"x".repeat(15_000)}\r\nHost`);
  const ahead = long.repeat(3) + long.replace("healthz", "nowhere");
  const reader = await openReader(chat.fixture.url, post(chat, "messages/stream") + ahead);
  (await chat.engine.next()).finish();
  assert.equal((await reader.readUntil('"not_found"')).split("HTTP/1.1 200 OK").length, 5);
  const flood = connect(Number(new URL(chat.fixture.url).port), "127.0.0.1");
  const closed = new Promise((resolve) => flood.once("close", resolve)); // a reset may come before
  flood.on("error", () => {}).resume();
  flood.write(post(chat, "messages/stream") + long.repeat(5));
  await closed;
});

test(`requests pipelined a few at a time are answered, however many there are`, {
  timeout: 20_000,
}, async () => {
  await using chat = await openChat(overSocket);
  const batch = health.repeat(50);
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

test("a request pipelined after one that had to wait waits for that, too", {
  timeout: 20_000,
}, async () => {
  const { server, transport } = hosted();
  await using chat = await openChat(transport);
  const second = await chat.fixture.conversation(chat.key, "scripted");
  const third = await chat.fixture.conversation(chat.key, "scripted");
  const reader = await openReader(chat.fixture.url, health + post(chat, "messages", second));
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

test("CONNECT behind a request that was refused before its body's end ends nothing but its connection", async () => {
  const [asked, refused] = [createGate(), createGate()];
  const authenticate = async () => {
    asked.open();
    await refused.opened;
    return null;
  };
  await using fixture = await openFixture(overSocket, { authenticate });
  const begun = "POST /api/v1/conversations HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const answer = await talk(fixture.url, async (socket) => {
    socket.write(begun);
    await asked.opened;
    await turnEnd(); // the rest arrives in the turn in which the server has ended its half
    socket.write(`0\r\n\r\n${health}CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n`);
    refused.open();
  });
  assert.match(answer, /^HTTP\/1\.1 401 /);
  assert.equal((await fetch(`${fixture.url}/healthz`)).status, 200);
});
