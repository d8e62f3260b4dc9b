/**
 * What every store must do about feedback and unanswered questions.
 *
 * @module
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Feedback, Source } from "../../core/store/records.ts";
import type { Store } from "../../core/store/store.ts";
import { begin, converse, newConversation, newOwner, start, toEnd } from "./store-records.ts";
import { whole, wholeTexts } from "./whole.ts";

const up: Feedback = { rating: "up", comment: null, updatedAt: start + 10 };
const down: Feedback = { rating: "down", comment: "Out of date. \u{1F44E}", updatedAt: start + 20 };
const all = { offset: 0, limit: 20 };

/** The part of the store's suite about what an owner reviews. */
export function reviewContract(open: () => Store): void {
  describe("feedback and unanswered questions", () => {
    let store: Store;
    before(() => {
      store = open();
    });

    test("feedback is a reply's until it is replaced or taken back", async () => {
      const { owner, id } = await newConversation(store);
      const { question, reply } = await converse(store, owner, id);
      const read = async () => (await store.getMessage({ owner }, reply.id, whole))?.feedback;
      assert.equal(await read(), null);
      for (const feedback of [up, down, null, up]) {
        await store.rateReply({ owner }, reply.id, feedback);
        assert.deepEqual(await read(), feedback);
      }
      const list = await store.listMessages({ owner }, id, { ...whole, ...all, order: "asc" });
      assert.deepEqual(
        list?.items.map(({ feedback }) => feedback),
        [null, up],
      );
      assert.equal((await store.getMessage({ owner }, question.id, whole))?.feedback, null);
    });

    test("only an ended reply within reach is rated", async () => {
      const { owner, id } = await newConversation(store, newOwner(), { endUser: "ann" });
      const ended = await converse(store, owner, id);
      const { reply } = await begin(store, owner, id);
      await store.rateReply({ owner }, reply.id, up);
      await store.rateReply({ owner }, ended.question.id, up);
      await store.rateReply({ owner: newOwner() }, ended.reply.id, up);
      await store.rateReply({ owner, endUser: "bob" }, ended.reply.id, up);
      await store.rateReply({ owner }, "msg_none", up);
      assert.deepEqual(await store.listFeedback(owner, { ...wholeTexts, ...all }), { items: [], total: 0 });
      await store.rateReply({ owner, endUser: "ann" }, ended.reply.id, up);
      assert.equal((await store.listFeedback(owner, { ...wholeTexts, ...all })).total, 1);
    });

    test("rated replies are listed with what they answer, latest feedback first, by twin, rating and time", async () => {
      const owner = newOwner();
      const ada = await newConversation(store, owner, { endUser: "ann" });
      const bob = await newConversation(store, owner, { twinId: "bob" });
      const sources = [{ heading: "Note G", document: "letters.md", score: 0.5 }];
      const first = await converse(store, owner, ada.id, { sources });
      const second = await converse(store, owner, bob.id);
      await converse(store, owner, bob.id);
      await store.rateReply({ owner }, second.reply.id, up);
      await store.rateReply({ owner }, first.reply.id, down);
      const listed = await store.listFeedback(owner, { ...wholeTexts, ...all });
      assert.deepEqual(listed, {
        items: [
          {
            ...down,
            messageId: first.reply.id,
            conversationId: ada.id,
            twinId: "ada",
            endUser: "ann",
            question: "Why?",
            content: "Because.",
            sources,
            twinRevision: null,
          },
          {
            ...up,
            messageId: second.reply.id,
            conversationId: bob.id,
            twinId: "bob",
            endUser: null,
            question: "Why?",
            content: "Because.",
            sources: null,
            twinRevision: null,
          },
        ],
        total: 2,
      });
      const ids = async (filter: object) => {
        const { items, total } = await store.listFeedback(owner, { ...wholeTexts, ...all, ...filter });
        return [...items.map(({ messageId }) => messageId), total];
      };
      assert.deepEqual(await ids({ limit: 1 }), [first.reply.id, 2]);
      assert.deepEqual(await ids({ offset: 1 }), [second.reply.id, 2]);
      assert.deepEqual(await ids({ twinId: "bob" }), [second.reply.id, 1]);
      assert.deepEqual(await ids({ rating: "down" }), [first.reply.id, 1]);
      assert.deepEqual(await ids({ rating: "up", twinId: "ada" }), [0]);
      assert.deepEqual(await ids({ from: start + 20 }), [first.reply.id, 1]);
      assert.deepEqual(await ids({ to: start + 20 }), [second.reply.id, 1]);
      assert.deepEqual(await ids({ from: start + 21 }), [0]);
    });

    test("equal questions without an answer are listed as one, most often asked first", async () => {
      const owner = newOwner();
      const ada = await newConversation(store, owner);
      const bob = await newConversation(store, owner, { twinId: "bob" });
      const ask = async (id: string, content: string, unanswered?: string) => {
        const begun = await begin(store, owner, id, { content });
        await store.endReply(toEnd(begun, unanswered === undefined ? {} : { sources: [], unanswered }));
        return begun;
      };
      await ask(ada.id, "who?", "who");
      const once = await ask(ada.id, "When?", "when");
      await ask(ada.id, "Where?");
      const newest = await ask(bob.id, "WHO?", "who");
      const who = {
        question: "WHO?",
        count: 2,
        lastAskedAt: newest.question.createdAt,
        conversationId: bob.id,
        messageId: newest.reply.id,
      };
      const when = { ...who, question: "When?", count: 1, conversationId: ada.id, messageId: once.reply.id };
      assert.deepEqual(await store.listUnanswered(owner, { ...wholeTexts, ...all }), {
        items: [who, when],
        total: 2,
      });
      assert.deepEqual(await store.listUnanswered(owner, { ...wholeTexts, ...all, offset: 1 }), {
        items: [when],
        total: 2,
      });
      const ofBob = await store.listUnanswered(owner, { ...wholeTexts, ...all, twinId: "bob" });
      assert.deepEqual(ofBob, { items: [{ ...who, count: 1 }], total: 1 });
      assert.equal((await store.listUnanswered(owner, { ...wholeTexts, ...all, from: start + 2 })).total, 0);
      assert.equal((await store.listUnanswered(owner, { ...wholeTexts, ...all, to: start + 2 })).total, 2);
    });

    test("a question is listed if the sources of its reply, as they are stored at its end, are none", async () => {
      const owner = newOwner();
      const { id } = await newConversation(store, owner);
      const source = { heading: "Prices", document: null, score: 1 };
      const cases: [string, Source[] | undefined, Source[] | undefined][] = [
        ["none", [], undefined],
        ["one", [source], undefined],
        ["not looked for", undefined, undefined],
        ["one, after all", [], [source]],
        ["none, after all", [source], []],
      ];
      for (const [content, saved, named] of cases) {
        const begun = await begin(store, owner, id, { content });
        const { reply, lease } = begun;
        if (saved) await store.saveReply({ owner, id: reply.id, lease, sources: saved });
        await store.endReply(toEnd(begun, { unanswered: content, ...(named && { sources: named }) }));
      }
      const { items } = await store.listUnanswered(owner, { ...wholeTexts, ...all });
      assert.deepEqual(items.map(({ question }) => question).sort(), ["none", "none, after all"]);
    });

    test("so many characters of each question and reply are listed", async () => {
      const owner = newOwner();
      const { id } = await newConversation(store, owner);
      const begun = await begin(store, owner, id, { content: "\u{1F44E}\u{1F44E}, why?" });
      await store.endReply(toEnd(begun, { content: "Because.", sources: [], unanswered: "why" }));
      await store.rateReply({ owner }, begun.reply.id, down);
      const slice = { ...all, charactersOfEach: 3 };
      const [rated] = (await store.listFeedback(owner, slice)).items;
      assert.deepEqual([rated?.question, rated?.content], ["\u{1F44E}\u{1F44E},", "Bec"]);
      assert.equal(rated?.comment, down.comment);
      const [asked] = (await store.listUnanswered(owner, slice)).items;
      assert.equal(asked?.question, "\u{1F44E}\u{1F44E},");
    });

    test("what was rated or not answered goes with its conversation", async () => {
      const owner = newOwner();
      const { id } = await newConversation(store, owner);
      const { reply } = await converse(store, owner, id, { sources: [], unanswered: "who" });
      await store.rateReply({ owner }, reply.id, down);
      await store.deleteConversation({ owner }, id, start + 30);
      assert.equal((await store.listFeedback(owner, { ...wholeTexts, ...all })).total, 0);
      assert.equal((await store.listUnanswered(owner, { ...wholeTexts, ...all })).total, 0);
    });
  });
}
