/**
 * Retention: what was not used for so many days is deleted, by one process at a time.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Log } from "../../core/mod.ts";
import { createMemoryStore, type Store } from "../../core/store/mod.ts";
import type { ConversationResource } from "../../core/wire/schemas.ts";
import { type Chat, type ChatOptions, countCalls, openChat } from "../support/chat.ts";
import { readConversation } from "../support/event-reader.ts";
import { assertErrorAnswer, dataOf, inProcess, transports } from "../support/harness.ts";

const hour = 3_600_000;
const day = 24 * hour;

/** A service that keeps conversations for two days, and looks. */
async function openKeeping(options: ChatOptions = {}, transport = inProcess): Promise<Chat> {
  const chat = await openChat(transport, { retentionDays: 2, ...options });
  await chat.service.ready();
  return chat;
}

/** Has a reply begin and end. */
async function talk(chat: Chat): Promise<void> {
  const sent = chat.send();
  const run = await chat.engine.next();
  run.write("Hi");
  run.finish();
  await sent;
}

async function expiresAt(chat: Chat): Promise<string | null> {
  return (await dataOf<ConversationResource>(await chat.get(""))).expiresAt;
}

for (const transport of transports) {
  describe(`retention, ${transport.name}`, () => {
    test("a conversation says from when on it is deleted: two days after its last message", async () => {
      await using chat = await openKeeping({}, transport);
      assert.equal(await expiresAt(chat), "2026-01-04T03:04:05.678Z");
      await chat.clock.advance(day);
      await talk(chat);
      const listed = await dataOf<ConversationResource[]>(
        await chat.fixture.call("GET", "/conversations", chat.key),
      );
      const later = "2026-01-05T03:04:05.678Z";
      assert.deepEqual([await expiresAt(chat), listed[0]?.expiresAt], [later, later]);
      await using forever = await openChat(transport);
      assert.equal(await expiresAt(forever), null);
    });

    test("then it is deleted as by DELETE, which followers are told, and its use stays counted", async () => {
      await using chat = await openKeeping({}, transport);
      await talk(chat);
      await chat.clock.advance(2 * day + hour - 10_000);
      assert.equal((await chat.get("")).status, 200, "reading does not reset it");
      const stream = readConversation(await chat.get("/stream"));
      await chat.clock.advance(20_000);
      const events = await stream.rest();
      assert.equal(events.at(-1)?.data.type, "deleted");
      await assertErrorAnswer(await chat.get(""), 404, "conversation_not_found");
      const use = await chat.fixture.call("GET", "/usage/history?groupBy=twin", chat.key);
      assert.deepEqual(
        (await dataOf<{ replies: number }[]>(use)).map(({ replies }) => replies),
        [1],
      );
    });
  });
}

describe("retention", () => {
  test("what a twin knows of people who have nothing left is deleted, too", async () => {
    await using chat = await openKeeping();
    const { fixture, key, clock } = chat;
    const page = (person: string) => `/end-users/${person}/memory/scripted`;
    for (const person of ["ann", "bob"]) {
      await fixture.call("PUT", page(person), key, { content: "Likes tea." });
    }
    await fixture.call("POST", "/conversations", key, { twinId: "scripted", endUser: "ann" });
    await clock.advance(day);
    const bobs = await fixture.call("POST", "/conversations", key, { twinId: "scripted", endUser: "bob" });
    assert.equal(bobs.status, 201);
    await clock.advance(day + 2 * hour);
    assert.equal((await fixture.call("GET", page("ann"), key)).status, 404);
    assert.equal((await fixture.call("GET", page("bob"), key)).status, 200);
    await clock.advance(day + hour);
    assert.equal((await fixture.call("GET", page("bob"), key)).status, 404);
  });

  test("of two processes one does it, and the other once that has ended", async () => {
    const store: Store = { ...createMemoryStore(), exclusive: false };
    const counted = [countCalls(store), countCalls(store)] as const;
    await using one = await openKeeping({ store: counted[0].store });
    await using other = await one.another({ store: counted[1].store });
    await other.service.ready();
    const looks = () => counted.map(({ calls }) => calls.get("findIdleConversations") ?? 0);
    await one.clock.advance(1000);
    assert.deepEqual(looks(), [1, 0]);
    await one.clock.advance(hour);
    assert.equal(
      looks().reduce((sum, count) => sum + count),
      2,
      "once an hour",
    );
    await one.service.close({ graceMs: 0 });
    const before = looks()[1] ?? 0;
    await one.clock.advance(2 * hour);
    assert.ok((looks()[1] ?? 0) > before);
  });

  test("many conversations are deleted, and a line in the log says how many", async () => {
    const lines: unknown[] = [];
    const log: Log = (level, message, fields) => {
      if (message.includes("not used")) lines.push([level, message, fields]);
    };
    await using chat = await openKeeping({ log });
    for (let n = 0; n < 24; n++) await chat.fixture.conversation(chat.key, "scripted");
    await chat.clock.advance(2 * day + 2 * hour);
    const left = await chat.fixture.call("GET", "/conversations", chat.key);
    assert.deepEqual(await dataOf(left), []);
    assert.deepEqual(lines, [
      ["info", "what was not used for long was deleted", { days: 2, conversations: 25, memories: 0 }],
    ]);
  });

  test("without a number of days, nothing is looked at", async () => {
    const { store, calls } = countCalls(createMemoryStore());
    await using chat = await openChat(inProcess, { store });
    await chat.service.ready();
    await chat.clock.advance(3 * hour);
    for (const name of ["takeLease", "findIdleConversations", "findIdleMemories"]) {
      assert.equal(calls.has(name), false);
    }
  });
});
