import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { HistoryMessage, TwinSource } from "../../core/mod.ts";
import { createMemoryStore, type Store } from "../../core/store/mod.ts";
import { acceptedId, type Chat, countCalls, openChat } from "../support/chat.ts";
import { heapInUse, skipOffV8 } from "../support/garbage.ts";
import { assertErrorAnswer, errorOf, inProcess, newTwin, openFixture } from "../support/harness.ts";

/** Sends a message, has the engine reply, and returns the history that it was given. */
async function ask(chat: Chat, content: string, reply = `to ${content}`) {
  const sending = chat.send(content);
  const run = await chat.engine.next();
  run.write(reply);
  run.finish();
  await sending;
  return run.turn.history;
}

function said(...contents: string[]): HistoryMessage[] {
  return contents.flatMap((content): HistoryMessage[] => [
    { role: "user", content },
    { role: "assistant", content: `to ${content}` },
  ]);
}

describe("conversations in memory", () => {
  test("a conversation that continues is not read again", async () => {
    const { store, calls } = countCalls(createMemoryStore());
    await using chat = await openChat(inProcess, { store });
    await ask(chat, "one");
    await ask(chat, "two");
    assert.deepEqual(await ask(chat, "three"), said("one", "two"));
    assert.equal(calls.get("getConversation"), 1);
    assert.equal(calls.get("readHistory"), undefined);
  });

  test("messages added by another process are seen", async () => {
    await using chat = await openChat(inProcess);
    await using other = await chat.another();
    await ask(chat, "one");
    await ask(other, "two");
    assert.deepEqual(await ask(chat, "three"), said("one", "two"));
    assert.deepEqual(await ask(other, "four"), said("one", "two", "three"));
  });

  test("a model is given 25 to 49 questions from a multiple of 25 on, whether they are remembered or read", async () => {
    await using chat = await openChat(inProcess);
    const names = Array.from({ length: 77 }, (_, index) => `question ${index}`);
    for (const [index, name] of names.entries()) {
      const from = index < 50 ? 0 : index < 75 ? 25 : 50;
      assert.deepEqual(await ask(chat, name), said(...names.slice(from, index)));
    }
    await using other = await chat.another();
    assert.deepEqual(await ask(other, "next"), said(...names.slice(50)));
  });

  test("a model is given 2 Mi characters at most, whether they are remembered or read", async () => {
    await using chat = await openChat(inProcess);
    const long = "x".repeat(768 * 1024);
    for (const question of ["one", "two", "three"]) await ask(chat, question, long);
    const questionsIn = (history: readonly HistoryMessage[]) =>
      history.flatMap(({ role, content }) => (role === "user" ? content : []));
    assert.deepEqual(questionsIn(await ask(chat, "four")), ["two", "three"]);
    await using other = await chat.another();
    assert.deepEqual(questionsIn(await ask(other, "five")), ["two", "three", "four"]);
  });

  test("a reply that was cancelled before its history was read removes nothing from the next one's", async () => {
    const memory = createMemoryStore();
    let hanging = false;
    const store: Store = {
      ...memory,
      readHistory: (...read) => (hanging ? new Promise(() => {}) : memory.readHistory(...read)),
    };
    await using chat = await openChat(inProcess, { store });
    await using other = await chat.another();
    await ask(chat, "one");
    await ask(other, "two");
    const expected = said("one", "two");
    for (const process of [chat, await chat.another()]) {
      hanging = true;
      const stream = await process.stream("cancelled");
      await process.cancel(await acceptedId(stream));
      await stream.rest();
      hanging = false;
      assert.deepEqual(await ask(process, "next"), expected);
      expected.push(...said("next"));
    }
  });

  test("a conversation that another process deleted is not found", async () => {
    await using chat = await openChat(inProcess);
    await ask(chat, "one");
    await using other = await chat.another();
    assert.equal((await other.remove()).status, 204);
    for (const _ of [1, 2]) {
      await assertErrorAnswer(await chat.send("two"), 404, "conversation_not_found");
    }
  });

  test("a conversation that another process deleted is not found even if its twin is gone, too", async () => {
    const twin = newTwin({ id: "scripted", engine: "scripted" });
    let gone = false;
    const twins: TwinSource = {
      list: async () => ({ items: [], total: 0 }),
      get: async () => (gone ? undefined : twin),
    };
    await using chat = await openChat(inProcess, { twins });
    await ask(chat, "one");
    await using other = await chat.another();
    await other.remove();
    gone = true;
    assert.equal((await errorOf(await chat.send("two"))).code, "conversation_not_found");
  });

  test("a conversation that another process deleted is not found with an Idempotency-Key, whatever the fields", async () => {
    await using chat = await openChat(inProcess);
    const once = { "Idempotency-Key": "once" };
    const sending = chat.send("one", once);
    (await chat.engine.next()).finish();
    assert.equal((await sending).status, 200);
    await using other = await chat.another();
    await other.remove();
    for (const asked of [chat, other]) {
      for (const content of ["one", "two"]) {
        await assertErrorAnswer(await asked.send(content, once), 404, "conversation_not_found");
      }
    }
  });

  test("a message counts for more than its text, which may be short", async () => {
    const { store, calls } = countCalls(createMemoryStore());
    await using chat = await openChat(inProcess, { store });
    const { fixture, engine } = chat;
    const key = await fixture.key();
    async function converse(content: string, times: number, id?: string): Promise<void> {
      const path = `/conversations/${id ?? (await fixture.conversation(key, "scripted"))}/messages`;
      for (let sent = 0; sent < times; sent++) {
        const sending = fixture.call("POST", path, id === undefined ? key : chat.key, { content: "?" });
        const run = await engine.next();
        run.write(content);
        run.finish();
        assert.equal((await sending).status, 200);
      }
    }
    const long = "x".repeat(1_333_000); // 12 of these leave room for less than 4,000 of 16,000,000 code units
    await converse(long, 1, chat.conversationId);
    for (let opened = 0; opened < 11; opened++) await converse(long, 1);
    for (let opened = 0; opened < 10; opened++) await converse("!", 25);
    const before = calls.get("getConversation") ?? 0;
    await ask(chat, "?");
    assert.equal(calls.get("getConversation"), before + 1, "the long conversation had to be read again");
  });

  test("a remembered conversation does not retain its request's URL", { skip: skipOffV8 }, async () => {
    await using fixture = await openFixture(inProcess);
    async function keptOf(search: string): Promise<number> {
      const before = await heapInUse();
      const key = await fixture.key();
      for (let sent = 0; sent < 200; sent++) {
        const path = `/conversations/${await fixture.conversation(key, "echo")}/messages${search}`;
        assert.equal((await fixture.call("POST", path, key, { content: "Hi" })).status, 200);
      }
      return ((await heapInUse()) - before) / 200;
    }
    await keptOf(""); // warms up: compiled code stays in memory, too
    const long = `?${"x".repeat(8000)}`;
    const more = (await keptOf(long)) - (await keptOf(""));
    assert.ok(more < long.length / 2, `${more} bytes a conversation`);
  });
});
