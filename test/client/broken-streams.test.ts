/**
 * Replies over connections that break: the text is exact, one reply is stored, and the engine is asked once.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConnectionError, type Message, type ReplyStream, TwinClient } from "../../client/mod.ts";
import { openChat } from "../support/chat.ts";
import { dataOf, overSocket } from "../support/harness.ts";
import { type Break, type Fault, openBreakingProxy } from "./breaking-proxy.ts";
import { allOf, collect, textIn } from "./collect.ts";

/** Characters of one, two, three and four bytes of UTF-8, and of one and two code units. */
const pieces = ["Hello, ", "café", " 世界", " and 👋🏽", "!"];
const whole = pieces.join("");

const complete = '{"type":"complete"';

/** Where connections break. */
const positions: readonly (Omit<Fault, "how"> & { readonly name: string })[] = [
  { name: "before the head", after: [] },
  { name: "inside the head", after: ["HTTP/1.1 2"] },
  { name: "between head and body", after: ["\r\n\r\n"] },
  { name: "inside the first event", after: ['{"type":"progress"'] },
  { name: "behind the first event", after: ['"stage":"accepted"', "\n\n"] },
  { name: "inside a delta", after: ['"content":"Hel'] },
  { name: "inside a character of two bytes", after: ["caf"], plus: 1 },
  { name: "inside a character of four bytes", after: [" and "], plus: 2 },
  { name: "behind a delta", after: ["café", "\n\n"] },
  { name: "behind the last delta", after: ['"content":"!"', "\n\n"] },
  { name: "inside the last event", after: [complete] },
  { name: "inside the last event's text", after: [complete, "世"], plus: -1 },
  { name: "inside the blank line of the last event", after: [complete, "\n"] },
  { name: "between the last event and the end", after: [complete, "\n\n"] },
];

const ways: readonly Break[] = ["end", "reset", "stall"];

/** Sends a message through a proxy with faults. The engine writes a piece once the client has those before it. */
async function converse(faults: readonly Fault[]) {
  await using chat = await openChat(overSocket);
  await using proxy = await openBreakingProxy(chat.fixture.url, faults);
  const client = new TwinClient({ baseUrl: proxy.url, apiKey: chat.key, silenceMs: 200 });
  const reply = client.messages.stream(chat.conversationId, { content: "Hello?" });
  const reading = collect(reply);
  const text = allOf(reply.text);
  const run = await chat.engine.next();
  let written = "";
  for (const piece of pieces) {
    run.write(piece);
    written += piece;
    await reading.reach(written.length);
  }
  run.finish();
  const final = await reply.final();
  await reading.end;
  return {
    final,
    events: reading.events,
    text: (await text).join(""),
    unused: proxy.faults.length,
    requests: proxy.requests,
    stored: await dataOf<Message[]>(await chat.get("/messages")),
    asked: chat.engine.asked,
  };
}

describe("a reply over a connection that breaks", () => {
  for (const { name, ...position } of positions) {
    test(`${name} is whole, stored once and asked for once`, async () => {
      const conversations = ways.map((how) => converse([{ ...position, how }]));
      for (const { final, events, text, unused, stored, asked } of await Promise.all(conversations)) {
        assert.equal(unused, 0, "the connection broke");
        assert.equal(textIn(events), whole);
        assert.equal(text, whole);
        assert.deepEqual([final.content, final.status], [whole, "completed"]);
        assert.deepEqual(
          stored.map(({ content }) => content),
          ["Hello?", whole],
        );
        assert.equal(asked, 1);
      }
    });
  }

  test("again and again, is whole", async () => {
    const after = [
      ["HTTP/1.1 200"],
      ['"stage":"accepted"', "\n\n"],
      ["café"],
      [" and "],
      ['"!"', "\n\n"],
      [complete],
    ];
    const faults = after.map((after, index): Fault => ({ after, how: ways[index % ways.length] ?? "end" }));
    const { events, unused, asked } = await converse(faults);
    assert.deepEqual([textIn(events), unused, asked], [whole, 0, 1]);
  });

  test("is asked for again after a 502, before the reply and in the middle of it", async () => {
    const { events, requests, asked } = await converse([
      { after: [], how: "502" },
      { after: ["café"], how: "reset" },
      { after: [], how: "502" },
    ]);
    assert.deepEqual([textIn(events), asked], [whole, 1]);
    assert.deepEqual(
      requests.map((line) => line.replace(/ .*\/stream/, " …/stream")),
      ["POST …/stream", "POST …/stream", "GET …/stream?after=7", "GET …/stream?after=7"],
    );
  });

  test("gives each event once, with the length of the text as its id", async () => {
    const { events } = await converse([{ after: ["café", "\n\n"], how: "reset" }]);
    assert.deepEqual(
      events.map(({ type, id }) => [type, id]),
      [
        ["progress", 0],
        ["delta", 7],
        ["delta", 11],
        ["delta", 14],
        ["delta", 23],
        ["delta", 24],
        ["complete", 24],
      ],
    );
  });

  test("fails once that many connections in a row have brought nothing new", async () => {
    await using chat = await openChat(overSocket);
    const faults = Array.from({ length: 2 }, (): Fault => ({ after: [], how: "reset" }));
    await using proxy = await openBreakingProxy(chat.fixture.url, faults);
    const client = new TwinClient({ baseUrl: proxy.url, apiKey: chat.key, maxRetries: 1 });
    const reply: ReplyStream = client.messages.stream(chat.conversationId, { content: "Hello?" });
    await assert.rejects(reply.final(), ConnectionError);
    assert.equal(proxy.requests.length, 2);
  });
});

describe("a normal send over a connection that breaks", () => {
  for (const how of ["end", "reset", "502"] as const) {
    test(`by ${how} resolves with the reply, which is stored once`, async () => {
      await using chat = await openChat(overSocket);
      await using proxy = await openBreakingProxy(chat.fixture.url, [{ after: [], how }]);
      const client = new TwinClient({ baseUrl: proxy.url, apiKey: chat.key });
      const sending = client.messages.send(chat.conversationId, { content: "Hello?" });
      const run = await chat.engine.next();
      run.write(whole);
      run.finish();
      assert.equal((await sending).content, whole);
      assert.deepEqual([proxy.faults.length, chat.engine.asked], [0, 1]);
    });
  }
});
