/**
 * Replies over connections that break: the text is exact, one reply is stored, and the engine is asked once.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TwinClient } from "../../client/mod.ts";
import { openChat } from "../support/chat.ts";
import { overSocket } from "../support/harness.ts";
import { openBreakingProxy } from "./breaking-proxy.ts";
import {
  assertWhole,
  type Connection,
  converse,
  everywhere,
  positions,
  type Reading,
  ways,
  whole,
} from "./broken-connections.ts";
import { allOf, collect, textIn } from "./collect.ts";

/** Reads a reply with the client of this process. */
async function read({ baseUrl, apiKey, conversationId }: Connection): Promise<Reading> {
  const client = new TwinClient({ baseUrl, apiKey, silenceMs: 200 });
  const reply = client.messages.stream(conversationId, { content: "Hello?" });
  const { events, end, reach } = collect(reply);
  const text = allOf(reply.text);
  return {
    reach,
    async end() {
      const final = await reply.final();
      await end;
      return { final, events, text: (await text).join("") };
    },
  };
}

describe("a reply over a connection that breaks", () => {
  for (const { name, ...position } of positions) {
    test(`${name} is whole, stored once and asked for once`, async () => {
      const conversations = ways.map((how) => converse([{ ...position, how }], read));
      for (const conversation of await Promise.all(conversations)) assertWhole(conversation);
    });
  }

  test("again and again, is whole", async () => {
    assertWhole(await converse(everywhere, read));
  });

  test("is asked for again after a 502, before the reply and in the middle of it", async () => {
    const { events, requests, asked } = await converse(
      [
        { after: [], how: "502" },
        { after: ["café"], how: "reset" },
        { after: [], how: "502" },
      ],
      read,
    );
    assert.deepEqual([textIn(events), asked], [whole, 1]);
    assert.deepEqual(
      requests.map((line) => line.replace(/ .*\/stream/, " …/stream")),
      ["POST …/stream", "POST …/stream", "GET …/stream?after=7", "GET …/stream?after=7"],
    );
  });

  test("gives each event once, with the length of the text as its id", async () => {
    const { events } = await converse([{ after: ["café", "\n\n"], how: "reset" }], read);
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
