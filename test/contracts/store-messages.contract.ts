/**
 * What every store must do about messages.
 *
 * @module
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { EndReply } from "../../core/store/records.ts";
import type { MessageSlice, Store } from "../../core/store/store.ts";
import {
  addAlone,
  begin,
  converse,
  failure,
  ids,
  messagesOf,
  newConversation,
  newOwner,
  start,
  toEnd,
} from "./store-records.ts";
import { whole } from "./whole.ts";

/** The part of the store's suite about messages. */
export function messagesContract(open: () => Store): void {
  describe("messages", () => {
    let store: Store;
    before(() => {
      store = open();
    });

    test("a question and its reply are stored unchanged", async () => {
      const { owner, id } = await newConversation(store);
      const begun = await begin(store, owner, id, {
        content: "\u{1F600} a\u0301 \u2028 '); -- $1 ?1 \uFFFF",
      });
      assert.deepEqual(await store.getMessage({ owner }, begun.question.id, whole), begun.question);
      assert.deepEqual(await store.getMessage({ owner }, begun.reply.id, whole), begun.reply);
    });

    test("a page ends before it has more than so many characters, but has a message", async () => {
      const { owner, id } = await newConversation(store);
      const contents = ["aaaa", "\u{1F600}\u{1F600}\u{1F600}", "bb", "ccccc", "d", ""];
      for (let at = 0; at < contents.length; at += 2) {
        const begun = await begin(store, owner, id, { content: contents[at] ?? "" });
        await store.endReply(toEnd(begun, { content: contents[at + 1] ?? "" }));
      }
      const read = async (slice: Omit<MessageSlice, "limit" | "path">) => {
        const page = await store.listMessages({ owner }, id, { limit: 6, path: "current", ...slice });
        return [page?.items.map(({ content }) => content).join(" "), page?.total];
      };
      assert.deepEqual(await read({ order: "asc", offset: 0, characters: 7 }), [
        contents.slice(0, 2).join(" "),
        6,
      ]);
      assert.deepEqual(await read({ order: "asc", offset: 0, characters: 6 }), ["aaaa", 6]);
      assert.deepEqual(await read({ order: "asc", offset: 0, characters: 1 }), ["aaaa", 6]);
      assert.deepEqual(await read({ order: "asc", offset: 2, characters: 7 }), ["bb ccccc", 6]);
      assert.deepEqual(await read({ order: "desc", offset: 0, characters: 7 }), [" d ccccc", 6]);
      assert.deepEqual(await read({ order: "desc", offset: 0, characters: 100 }), [
        contents.toReversed().join(" "),
        6,
      ]);
    });

    test("a message is found in its conversation, or by its id alone, within a caller's reach", async () => {
      const { owner, id } = await newConversation(store, newOwner(), { endUser: "zoe" });
      const other = await newConversation(store, owner);
      const { question } = await begin(store, owner, id);
      for (const reach of [{ owner }, { owner, endUser: "zoe" }]) {
        assert.deepEqual(await store.getMessage(reach, question.id, whole), question);
        assert.deepEqual(
          await store.getMessage(reach, question.id, { ...whole, conversationId: id }),
          question,
        );
      }
      const elsewhere = { conversationId: other.id };
      assert.equal(await store.getMessage({ owner }, question.id, { ...whole, ...elsewhere }), undefined);
      assert.equal(
        await store.getMessage({ owner }, question.id, { ...whole, ...elsewhere, skip: 1 }),
        undefined,
      );
      assert.equal(await store.getMessage({ owner }, "msg_none", whole), undefined);
    });

    test("the rest of a message is read after a number of characters, however many code units they take", async () => {
      const { owner, id } = await newConversation(store);
      const { reply, lease } = await begin(store, owner, id);
      await store.saveReply({ owner, id: reply.id, lease, content: "a\u{1F600}\u00E9z" });
      for (const [skip, content] of [
        [0, "a\u{1F600}\u00E9z"],
        [1, "\u{1F600}\u00E9z"],
        [2, "\u00E9z"],
        [4, ""],
        [9, ""],
      ] as const) {
        assert.deepEqual(await store.getMessage({ owner }, reply.id, { ...whole, skip }), {
          ...reply,
          content,
        });
      }
    });

    test("so many characters of a message are read, however many code units they take", async () => {
      const { owner, id } = await newConversation(store);
      const { question } = await begin(store, owner, id, { content: "a\u{1F600}\u00E9z" });
      for (const [skip, characters, content] of [
        [0, 0, ""],
        [0, 2, "a\u{1F600}"],
        [1, 2, "\u{1F600}\u00E9"],
        [0, 4, "a\u{1F600}\u00E9z"],
        [2, 9, "\u00E9z"],
      ] as const) {
        const read = await store.getMessage({ owner }, question.id, { skip, characters });
        assert.deepEqual(read, { ...question, content });
      }
    });

    test("a text of very many characters is read whole, alone and in lists, and from any character on", async () => {
      const { owner, id } = await newConversation(store);
      const content = `a${"\u{1F600}".repeat(299_999)}${"b".repeat(400_000)}`;
      const begun = await begin(store, owner, id, { content: "Hi" });
      await store.endReply(toEnd(begun, { content }));
      const found = await store.getMessage({ owner }, begun.reply.id, whole);
      assert.ok(found?.content === content);
      const rest = await store.getMessage({ owner }, begun.reply.id, { skip: 262_144, characters: 300_000 });
      assert.ok(rest?.content === content.slice(2 * 262_144 - 1, 2 * 300_000 - 1 + 262_144));
      for (const order of ["asc", "desc"] as const) {
        for (const characters of [1, 800_000]) {
          const slice = { offset: 0, limit: 10, path: "current", order, characters } as const;
          const page = await store.listMessages({ owner }, id, slice);
          const lengths = page?.items.map((message) => message.content.length);
          const both = order === "asc" ? [2, content.length] : [content.length, 2];
          assert.deepEqual(lengths, characters === 1 ? both.slice(0, 1) : both);
        }
      }
    });

    test("a history leaves out the oldest questions where all have more than so many characters", async () => {
      const { owner, id } = await newConversation(store);
      let after = "";
      for (const content of ["aaaa", "\u{1F600}\u{1F600}", "c"]) {
        const begun = await begin(store, owner, id, { content });
        await store.endReply(toEnd(begun, { content: "yes" }));
        after = begun.reply.id;
      }
      const read = async (characters: number) => {
        const history = await store.readHistory({ owner }, id, { after, characters });
        return history.map(({ content }) => content).join(" ");
      };
      assert.equal(await read(100), "aaaa yes \u{1F600}\u{1F600} yes c yes");
      assert.equal(await read(16), "aaaa yes \u{1F600}\u{1F600} yes c yes");
      assert.equal(await read(15), "\u{1F600}\u{1F600} yes c yes");
      assert.equal(await read(8), "c yes");
    });

    test("messages are listed oldest first, or in reverse", async () => {
      const { owner, id } = await newConversation(store);
      // The order is that of storing: times do not matter, because a clock may step back.
      const first = await converse(store, owner, id, { at: start + 500 });
      const second = await begin(store, owner, id, { at: start });
      const expected = [first.question.id, first.reply.id, second.question.id, second.reply.id];
      const slice = { offset: 0, limit: 20 };
      const asc = await store.listMessages({ owner }, id, { ...whole, ...slice, order: "asc" });
      assert.deepEqual([ids(asc), asc?.total], [expected, 4]);
      const desc = await store.listMessages({ owner }, id, { ...whole, ...slice, order: "desc" });
      assert.deepEqual([ids(desc), desc?.total], [expected.toReversed(), 4]);
    });

    test("a page of messages is the right slice of the list after any message, in both orders", async () => {
      const { owner, id } = await newConversation(store);
      for (let n = 0; n < 4; n++) await converse(store, owner, id);
      const all = ids(await messagesOf(store, owner, id)) ?? [];
      for (const order of ["asc", "desc"] as const) {
        const inOrder = order === "asc" ? all : all.toReversed();
        for (const after of [undefined, ...inOrder]) {
          const behind = after === undefined ? inOrder : inOrder.slice(inOrder.indexOf(after) + 1);
          for (const [offset, limit] of [
            [0, 20],
            [0, 3],
            [2, 3],
            [6, 3],
            [8, 3],
            [99, 3],
            [0, 0],
          ] as const) {
            const slice = { offset, limit, order, ...(after !== undefined && { after }) };
            const page = await store.listMessages({ owner }, id, { ...whole, ...slice });
            assert.deepEqual(ids(page), behind.slice(offset, offset + limit), JSON.stringify(slice));
            assert.equal(page?.total, behind.length, JSON.stringify(slice));
          }
        }
      }
    });

    test("messages of a missing conversation, or after a missing message, are undefined", async () => {
      const { owner, id } = await newConversation(store);
      const other = await newConversation(store, owner);
      const { question } = await begin(store, owner, other.id);
      const slice = { offset: 0, limit: 20, order: "asc" } as const;
      assert.equal(await store.listMessages({ owner }, "conv_none", { ...whole, ...slice }), undefined);
      assert.equal(
        await store.listMessages({ owner }, id, { ...whole, ...slice, after: "msg_none" }),
        undefined,
      );
      assert.equal(
        await store.listMessages({ owner }, id, { ...whole, ...slice, after: question.id }),
        undefined,
      );
      assert.deepEqual(await store.listMessages({ owner }, id, { ...whole, ...slice }), {
        items: [],
        total: 0,
      });
    });

    test("history is the questions with their replies, oldest first, without failed ones or the one in progress", async () => {
      const { owner, id } = await newConversation(store);
      const answered = async (question: string, reply: string, end: Partial<EndReply> = {}) => {
        const begun = await begin(store, owner, id, { content: question });
        await store.endReply(toEnd(begun, { ...end, content: reply }));
        last = begun.reply.id;
        return [
          { role: "user", content: question },
          { role: "assistant", content: reply },
        ];
      };
      let last = "";
      const first = await answered("1?", "1");
      await answered("failed?", "partial", failure);
      const second = await answered("2?", "2, cut", { status: "cancelled", finishReason: "cancelled" });
      const third = await answered("3?", "3");
      const ended = last;
      const running = await begin(store, owner, id);
      for (const after of [ended, running.reply.id]) {
        const history = await store.readHistory({ owner }, id, { after, ...whole });
        assert.deepEqual(history, [...first, ...second, ...third]);
      }
      assert.deepEqual(await store.readHistory({ owner }, id, { after: "msg_other", ...whole }), []);
      const { id: other } = await newConversation(store, owner);
      assert.deepEqual(await store.readHistory({ owner }, other, { after: ended, ...whole }), []);
    });

    test("histories have what replaces a question, and nothing of an exchange whose question has nothing in its place", async () => {
      const { owner, id } = await newConversation(store);
      const asked = async (content: string) => {
        const begun = await begin(store, owner, id, { content });
        await store.endReply(toEnd(begun, { content: `to ${content}` }));
        replies.push(begun.reply.id);
        return begun.question;
      };
      const replies: string[] = [];
      const [first, second, third] = [await asked("1?"), await asked("2?"), await asked("3?")];
      const replace = ({ id: question }: { id: string }, told: string) =>
        store.replaceQuestion({ owner, conversationId: id, id: question, told });
      await replace(first, "once more");
      await replace(first, "(one)?");
      await replace(second, "");
      await store.replaceQuestion({ owner: newOwner(), conversationId: id, id: third.id, told: "" });
      await store.replaceQuestion({ owner, conversationId: "other", id: third.id, told: "" });
      const read = async (after = "", characters = whole.characters) => {
        const history = await store.readHistory({ owner }, id, { after, characters });
        return history.map(
          ({ role, content, isUnjudged }) => `${role}: ${content}${isUnjudged ? " (unjudged)" : ""}`,
        );
      };
      const seen = ["user: (one)?", "assistant: to 1?", "user: 3?", "assistant: to 3?"];
      assert.deepEqual(await read(replies[2]), seen);
      assert.deepEqual(await read(replies[2], 10), seen.slice(2));
      assert.deepEqual(await read(replies[1]), seen.slice(0, 2));
      const { items } = await messagesOf(store, owner, id);
      assert.deepEqual(
        items.map(({ content }) => content),
        ["1?", "to 1?", "2?", "to 2?", "3?", "to 3?"],
      );
      const alone = await addAlone(store, owner, id, { content: "Alone." });
      assert.deepEqual(await read(alone.id), [...seen, "assistant: Alone."]);
      const question = await addAlone(store, owner, id, { role: "user", content: "4?" });
      const withBoth = [...seen, "assistant: Alone.", "user: 4? (unjudged)"];
      assert.deepEqual(await read(question.id), withBoth);
    });

    test("history begins at a multiple of 25 questions and has 25 to 49, and failed ones are not counted", async () => {
      const { owner, id } = await newConversation(store);
      const seen = async () => {
        const after = (await store.getConversation({ owner }, id))?.lastMessageId ?? "";
        const history = await store.readHistory({ owner }, id, { after, ...whole });
        const questions = history.flatMap(({ role, content }) => (role === "user" ? content : []));
        return [questions[0], questions.at(-1), questions.length];
      };
      for (let n = 0; n < 76; n++) {
        const begun = await begin(store, owner, id, { content: `${n}?` });
        await store.endReply(toEnd(begun));
        if (n % 7 === 0) await converse(store, owner, id, failure);
        if (n === 48) assert.deepEqual(await seen(), ["0?", "48?", 49]);
        if (n === 49) assert.deepEqual(await seen(), ["25?", "49?", 25]);
        if (n === 73) assert.deepEqual(await seen(), ["25?", "73?", 49]);
      }
      assert.deepEqual(await seen(), ["50?", "75?", 26]);
      for (let n = 0; n < 30; n++) await converse(store, owner, id, failure);
      assert.deepEqual(await seen(), ["50?", "75?", 26]);
    });
  });
}
