/**
 * Pages of other origins, in real browsers: what they may send and read, and how replies stream to them.
 */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { acceptedId, openChat } from "../support/chat.ts";
import {
  countConversations,
  jsonRequest,
  openFixture,
  overSocket,
  parseEvents,
  textOf,
} from "../support/harness.ts";
import { listen } from "../support/ports.ts";
import { patienceMs } from "./browsers.ts";
import { sharedBrowsers } from "./shared-browsers.ts";

/** What a page asks for. */
interface Asked {
  readonly url: string;
  readonly init: RequestInit;
}

/** Makes a request in a page, and reads its answer. */
async function request({ url, init }: Asked) {
  const response = await fetch(url, init);
  const headers = Object.fromEntries(response.headers);
  return { status: response.status, headers, body: await response.text() };
}

/** The page's stream, between one function in it and the next. */
declare global {
  var stream: ReadableStreamDefaultReader<string> | undefined;
}

/** Begins a stream in a page, and reads it until it contains a text. Later reads go on from there. */
async function beginStream({ url, init, until }: Asked & { readonly until: string }): Promise<string> {
  const response = await fetch(url, init);
  if (!response.body) throw new Error(`${response.status} without a body`);
  globalThis.stream = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let read = "";
  while (!read.includes(until)) {
    const { done, value } = await globalThis.stream.read();
    if (done) throw new Error(`The stream ended after: ${read}`);
    read += value;
  }
  return read;
}

/** Reads the page's stream to its end. */
async function endStream(): Promise<string> {
  let read = "";
  for (;;) {
    const { done, value } = (await globalThis.stream?.read()) ?? { done: true };
    if (done) return read;
    read += value;
  }
}

/** Follows a stream in a page with the browser's own client, and resolves with its text. */
function followWithEventSource(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const source = new EventSource(url);
    source.onmessage = ({ data }) => {
      const event = JSON.parse(data);
      if (event.type === "delta") text += event.content;
      if (event.type !== "complete") return;
      source.close(); // or it would ask again
      resolve(text);
    };
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) reject(new Error(`given up after: ${text}`));
    };
  });
}

/**
 * A page's own server, which adds the key to what an EventSource asks. It calls `connected` with each `Last-Event-ID`, and
 * ends the response after a delta.
 */
async function openBackend(stream: string, key: string, connected: (lastEventId?: string) => void) {
  const server = createServer(async ({ headers }, response) => {
    const last = headers["last-event-id"];
    const answer = await fetch(stream, {
      headers: { "X-API-Key": key, ...(last !== undefined && { "Last-Event-ID": String(last) }) },
    });
    response.writeHead(answer.status, {
      "Content-Type": "text/event-stream",
      "Access-Control-Allow-Origin": "*",
    });
    response.write("retry: 1\n\n"); // milliseconds, so that the test need not wait
    connected(last === undefined ? last : String(last));
    for await (const text of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      response.write(text);
      if (text.includes('"type":"delta"')) break;
    }
    response.end();
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const post = (key: string, body: unknown) => ({ method: "POST", ...jsonRequest(key, body) });

for (const { name, skip, start } of sharedBrowsers) {
  describe(`pages of other origins, in ${name}`, { skip }, () => {
    const app = createServer((_, response) => response.end("<!doctype html>"));
    let page: Page;
    let origin: string;
    before(async () => {
      origin = `http://127.0.0.1:${await listen(app)}`;
      page = await (await start()).newPage();
      page.setDefaultTimeout(patienceMs);
      await page.goto(origin);
    });
    after(async () => {
      await page?.close();
      app.close();
    });

    test("a page creates, renames, reads and deletes a conversation, with the key in either header field", async () => {
      await using fixture = await openFixture(overSocket, {
        corsOrigins: ["https://app.example.com", origin],
      });
      const key = await fixture.key();
      const created = await page.evaluate(request, {
        url: `${fixture.url}/api/v1/conversations`,
        init: post(key, { twinId: "echo" }),
      });
      assert.equal(created.status, 201);
      const url = fixture.url + created.headers.location;
      const headers = { "X-API-Key": key, "Content-Type": "application/json" };
      const ask = (init: RequestInit = {}) => page.evaluate(request, { url, init: { headers, ...init } });
      assert.equal((await ask({ method: "PATCH", body: JSON.stringify({ title: "Grüße" }) })).status, 200);
      assert.equal(JSON.parse((await ask()).body).data.title, "Grüße");
      assert.equal((await ask({ method: "DELETE" })).status, 204);
      assert.equal((await ask()).status, 404);
    });

    test("a page reads what is left of its key's limit, and after a refusal, when to try again", async () => {
      await using fixture = await openFixture(overSocket, { corsOrigins: [origin] });
      const key = await fixture.key("read_only");
      const list = { url: `${fixture.url}/api/v1/twins`, init: jsonRequest(key) };
      const first = await page.evaluate(request, list);
      assert.equal(first.headers["x-ratelimit-remaining"], "199");
      assert.equal(first.headers.ratelimit, '"hourly";r=199;t=18');
      for (let sent = 1; sent < 200; sent++) await fixture.call("GET", "/twins", key);
      const refused = await page.evaluate(request, list);
      assert.equal(refused.status, 429);
      assert.equal(refused.headers["retry-after"], "18");
      assert.match(refused.headers["x-request-id"] ?? "", /^req_/);
      assert.equal(JSON.parse(refused.body).error.code, "rate_limited");
    });

    test("a page gets each piece of a streamed reply while the next is yet to be written", async () => {
      await using chat = await openChat(overSocket, { corsOrigins: [origin] });
      const url = `${chat.fixture.url}/api/v1/conversations/${chat.conversationId}/messages/stream`;
      const init = post(chat.key, { content: "Hi" });
      const beginning = page.evaluate(beginStream, { url, init, until: "Grüße" });
      const run = await chat.engine.next();
      run.write("Grüße");
      const first = await beginning;
      run.write(" und 👋");
      run.finish();
      const events = parseEvents(first + (await page.evaluate(endStream)));
      assert.equal(textOf(events), "Grüße und 👋");
      assert.equal(events.at(-1)?.data.type, "complete");
    });

    test("an EventSource behind a server that adds the key goes on where it was, each time its response ends", async () => {
      await using chat = await openChat(overSocket);
      const messageId = acceptedId(await chat.stream());
      const run = await chat.engine.next();
      const url = `${chat.fixture.url}/api/v1/conversations/${chat.conversationId}/messages/${await messageId}/stream`;
      const pieces = ["Grüße", " und", " 👋"];
      const lastEventIds: unknown[] = [];
      await using backend = await openBackend(url, chat.key, (lastEventId) => {
        lastEventIds.push(lastEventId);
        const piece = pieces.shift();
        if (piece) run.write(piece);
        else run.finish();
      });
      assert.equal(await page.evaluate(followWithEventSource, backend.url), "Grüße und 👋");
      assert.deepEqual(lastEventIds, [undefined, "5", "9", "12"]);
    });

    test("a page of an origin that is not listed can read nothing, and its requests with a key change nothing", async () => {
      await using fixture = await openFixture(overSocket, { corsOrigins: ["https://app.example.com"] });
      const key = await fixture.key();
      const url = `${fixture.url}/api/v1/conversations`;
      for (const asked of [
        { url, init: post(key, { twinId: "echo" }) },
        { url, init: { headers: { "X-API-Key": key } } },
        { url: `${fixture.url}/healthz`, init: {} },
      ]) {
        await assert.rejects(page.evaluate(request, asked), /TypeError/);
      }
      assert.equal(await countConversations(fixture, key), 0);
    });
  });
}
