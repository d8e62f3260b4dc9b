/**
 * What every store must do about messages that are stored without an engine, and about who answers.
 *
 * @module
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { MessageRecord } from "../../core/store/records.ts";
import type { Store } from "../../core/store/store.ts";
import {
  addAlone,
  begin,
  claim,
  converse,
  failure,
  ids,
  messagesOf,
  newConversation,
  newOwner,
  nextAlone,
  nextToBegin,
  start,
  toEnd,
} from "./store-records.ts";
import { whole, wholeTexts } from "./whole.ts";

const page = { offset: 0, limit: 100 };
const cancelled = { status: "cancelled", finishReason: "cancelled" } as const;

/** The part of the store's suite about people who answer. */
export function personContract(open: () => Store): void {
  describe("a person answers", () => {
    let store: Store;
    before(() => {
      store = open();
    });

    async function openConversation(owner: string = newOwner()) {
      const { id } = await newConversation(store, owner);
      const now = async () => {
        const found = await store.getConversation({ owner }, id);
        assert.ok(found);
        return found;
      };
      const who = async () => {
        const { answeredBy, waitingSince } = await now();
        return [answeredBy, waitingSince];
      };
      return { owner, id, now, who };
    }

    test("what is said is stored as it is, at the end of the path", async () => {
      const { owner, id, now } = await openConversation();
      const { reply } = await converse(store, owner, id);
      const said = await addAlone(store, owner, id, { author: "Eva", createdAt: start + 9 });
      assert.equal(said.after, reply.id);
      const { items } = await messagesOf(store, owner, id);
      assert.deepEqual(items.at(-1), said);
      const { messageCount, logLength, lastMessageId, lastMessageAt, updatedAt, replyId } = await now();
      assert.deepEqual([messageCount, logLength, lastMessageId, replyId], [3, 3, said.id, null]);
      assert.deepEqual([lastMessageAt, updatedAt], [start + 9, start + 9]);
    });

    test("a question waits only while a person answers, since the oldest that waits", async () => {
      const { owner, id, who } = await openConversation();
      const waiting = { role: "user", waits: true } as const;
      const early = await nextAlone(store, owner, id, waiting);
      assert.deepEqual(await store.addMessage(early), { result: "answered_by", answeredBy: "twin" });
      await addAlone(store, owner, id, { answeredBy: "person" });
      assert.deepEqual(await who(), ["person", null]);
      await addAlone(store, owner, id, { ...waiting, createdAt: start + 5 });
      await addAlone(store, owner, id, { ...waiting, createdAt: start + 7 });
      assert.deepEqual(await who(), ["person", start + 5]);
      await addAlone(store, owner, id, { createdAt: start + 9 });
      assert.deepEqual(await who(), ["person", null]);
    });

    test("no reply begins while a person answers, and one begins once the twin does again", async () => {
      const { owner, id, who } = await openConversation();
      await store.updateConversation({ owner }, id, { answeredBy: "person" }, start);
      await addAlone(store, owner, id, { role: "user", waits: true });
      const refused = await store.beginReply(await nextToBegin(store, owner, id));
      assert.deepEqual(refused, { result: "answered_by", answeredBy: "person" });
      await store.updateConversation({ owner }, id, { answeredBy: "twin", title: "Back" }, start);
      assert.deepEqual(await who(), ["twin", null]);
      await begin(store, owner, id);
    });

    test("a question alone waits for nobody, whoever answers", async () => {
      const { owner, id, who } = await openConversation();
      await addAlone(store, owner, id, { role: "user" });
      await store.updateConversation({ owner }, id, { answeredBy: "person" }, start);
      await addAlone(store, owner, id, { role: "user" });
      assert.deepEqual(await who(), ["person", null]);
    });

    test("of a send and a say at once, each sees who answers as the other left it", async () => {
      const { owner, id, who } = await openConversation();
      const [send, say] = [await nextToBegin(store, owner, id), await nextAlone(store, owner, id)];
      const results = await Promise.all([
        store.beginReply(send),
        store.addMessage({ ...say, answeredBy: "person" }),
      ]);
      const [sent, said] = results.map(({ result }) => result);
      assert.ok(
        (sent === "begun" && said === "busy") || (sent === "answered_by" && said === "added"),
        `${sent} ${said}`,
      );
      assert.deepEqual(await who(), [said === "added" ? "person" : "twin", null]);
    });

    test("a reply that hands over ends, and its question waits, in one step; a cancelled one does not", async () => {
      for (const [fields, by] of [
        [{ handsOver: true }, "person"],
        [{ ...failure, handsOver: true }, "person"],
        [cancelled, "twin"],
      ] as const) {
        const { owner, id, who, now } = await openConversation();
        const begun = await nextToBegin(store, owner, id, { at: start + 3 });
        await store.beginReply(begun);
        await store.endReply(toEnd(begun, fields));
        assert.deepEqual((await who())[0], by);
        assert.equal((await now()).waitingSince !== null, by === "person");
        assert.equal((await now()).replyId, null);
      }
    });

    test("a message in the place of a running reply ends it and follows it, in one step", async () => {
      const { owner, id, now } = await openConversation();
      const running = await begin(store, owner, id);
      await store.saveReply({ owner, id: running.reply.id, content: "Bec", lease: running.lease });
      const replaces = toEnd(running, { ...cancelled, content: "Becau" });
      const next = { ...(await nextToBegin(store, owner, id)), replaces };
      assert.equal((await store.beginReply(next)).result, "begun");
      const { items } = await messagesOf(store, owner, id);
      const texts = items.map(({ content, status }) => [content, status]);
      assert.deepEqual(texts.slice(1, 3), [
        ["Becau", "cancelled"],
        ["Why?", "completed"],
      ]);
      assert.equal(items[2]?.after, running.reply.id);
      assert.equal((await now()).replyId, next.reply.id);
      const { content: _, ...stored } = toEnd(next, cancelled);
      const said = await addAlone(store, owner, id, { replaces: stored });
      assert.equal(said.after, next.reply.id);
      assert.equal((await now()).replyId, null);
      assert.equal(await store.endReply(toEnd(next)), false, "it has ended");
    });

    test("a message in the place of a reply that has ended is stored, in the place of another it is not", async () => {
      const { owner, id } = await openConversation();
      const ended = await converse(store, owner, id);
      const begun = { ...(await nextToBegin(store, owner, id)), replaces: toEnd(ended) };
      assert.equal((await store.beginReply(begun)).result, "begun");
      const late = { ...(await nextToBegin(store, owner, id)), replaces: toEnd(ended) };
      assert.deepEqual(await store.beginReply(late), { result: "busy", replyId: begun.reply.id });
      const [question, answer] = (await messagesOf(store, owner, id)).items;
      assert.deepEqual([question?.content, answer?.content], ["Why?", "Because."]);
    });

    test("a claim on a message alone is made once, and what has moved is tried again", async () => {
      const { owner, id } = await openConversation();
      const made = claim(owner);
      const first = await nextAlone(store, owner, id, { claim: made });
      const moved = await nextAlone(store, owner, id);
      assert.equal((await store.addMessage(first)).result, "added");
      const again = await store.addMessage({ ...(await nextAlone(store, owner, id)), claim: made });
      assert.deepEqual(again, {
        result: "claimed",
        claim: { fingerprint: made.fingerprint, resourceId: first.message.id },
      });
      assert.deepEqual(await store.addMessage(moved), {
        result: "moved",
        end: { logLength: 1, lastMessageId: first.message.id },
      });
      assert.equal((await store.addMessage({ ...moved, owner: newOwner() })).result, "not_found");
    });

    test("messages alone fork, and paths lead over them", async () => {
      const { owner, id } = await openConversation();
      const asked = await addAlone(store, owner, id, { role: "user", content: "Q" });
      await addAlone(store, owner, id, { content: "A" });
      const fork = await nextAlone(store, owner, id, { content: "B", forkAt: asked.seq });
      await store.addMessage({ ...fork, message: { ...fork.message, after: asked.id } });
      await converse(store, owner, id);
      const { items } = await messagesOf(store, owner, id);
      assert.deepEqual(
        items.map(({ content }) => content),
        ["Q", "B", "Why?", "Because."],
      );
      await store.updateConversation({ owner }, id, { last: { id: "", seq: 1 } }, start);
      const back = await messagesOf(store, owner, id);
      assert.deepEqual(
        back.items.map(({ content }) => content),
        ["Q", "A"],
      );
    });

    test("the history has what was said and asked alone, and its window counts questions", async () => {
      const { owner, id } = await openConversation();
      await addAlone(store, owner, id, { content: "Welcome." });
      await converse(store, owner, id, failure);
      await addAlone(store, owner, id, { role: "user", content: "Anyone?" });
      await addAlone(store, owner, id, { content: "I am." });
      await converse(store, owner, id);
      const history = async () => {
        const { logLength, lastMessageId } = (await store.getConversation({ owner }, id)) ?? {};
        const asked = await begin(store, owner, id);
        assert.equal(asked.question.seq, logLength);
        assert.equal(asked.question.after, lastMessageId);
        const seen = await store.readHistory({ owner }, id, { after: lastMessageId ?? "", ...whole });
        await store.endReply(toEnd(asked));
        return seen.map(({ role, content }) => `${role}: ${content}`);
      };
      const all = ["assistant: Welcome.", "user: Anyone?", "assistant: I am.", "user: Why?"];
      assert.deepEqual(await history(), [...all, "assistant: Because."]);
      for (let n = 0; n < 46; n++) await converse(store, owner, id);
      assert.equal((await history()).filter((text) => text.startsWith("user")).length, 49);
      const window = await history();
      assert.equal(window.filter((text) => text.startsWith("user")).length, 25);
      assert.equal(window[0], "user: Why?");
      const after = (await store.getConversation({ owner }, id))?.lastMessageId ?? "";
      const short = await store.readHistory({ owner }, id, { after, characters: 30 });
      assert.equal(short[0]?.role, "user");
    });

    test("conversations are listed by who answers, and those that wait with the longest first", async () => {
      const owner = newOwner();
      const twin = await newConversation(store, owner);
      const person = await newConversation(store, owner, { createdAt: start + 1 });
      const waiting: string[] = [];
      for (const since of [7, 5, 6]) {
        const { id } = await newConversation(store, owner, { createdAt: start + 2 + since });
        await store.updateConversation({ owner }, id, { answeredBy: "person" }, start);
        await addAlone(store, owner, id, { role: "user", waits: true, createdAt: start + since });
        waiting.push(id);
      }
      await store.updateConversation({ owner }, person.id, { answeredBy: "person" }, start);
      const list = async (slice: object) => store.listConversations({ owner }, { ...page, ...slice });
      const [seven, five, six] = waiting;
      assert.deepEqual(ids(await list({ waiting: true })), [five, six, seven]);
      const first = await list({ waiting: true, limit: 1 });
      assert.deepEqual([ids(first), first.total], [[five], 3]);
      assert.deepEqual(ids(await list({ answeredBy: "twin" })), [twin.id]);
      assert.equal((await list({ answeredBy: "twin" })).total, 1);
      const byPerson = await list({ answeredBy: "person" });
      assert.deepEqual([ids(byPerson), byPerson.total], [[seven, six, five, person.id], 4]);
    });

    test("those that wait are counted, with when the first one began to, of all owners", async () => {
      const before = await store.countWaiting();
      const { owner, id } = await openConversation();
      await store.updateConversation({ owner }, id, { answeredBy: "person" }, start);
      assert.deepEqual(await store.countWaiting(), before);
      await addAlone(store, owner, id, { role: "user", waits: true, createdAt: -5 });
      assert.deepEqual(await store.countWaiting(), { count: before.count + 1, since: -5 });
      await addAlone(store, owner, id, {});
      assert.deepEqual(await store.countWaiting(), before);
    });

    test("a question that a person answered is not unanswered", async () => {
      const { owner, id } = await openConversation();
      const unanswered = async () =>
        (await store.listUnanswered(owner, { ...page, ...wholeTexts })).items.map(({ question }) => question);
      const marked = (content: string) =>
        begin(store, owner, id, { content }).then((begun) =>
          store.endReply(toEnd(begun, { sources: [], unanswered: content })),
        );
      await marked("first");
      await addAlone(store, owner, id, { content: "Here it is." });
      await marked("second");
      assert.deepEqual(await unanswered(), ["second"]);
      await addAlone(store, owner, id, { role: "user" });
      assert.deepEqual(await unanswered(), ["second"], "another question answers nothing");
      await addAlone(store, owner, id);
      assert.deepEqual(await unanswered(), []);
    });

    test("what a person says answers questions among the 200 messages before", async () => {
      const { owner, id } = await openConversation();
      for (const content of ["far", "near"]) {
        const begun = await begin(store, owner, id, { content });
        await store.endReply(toEnd(begun, { sources: [], unanswered: content }));
      }
      for (let count = 0; count < 198; count++) await addAlone(store, owner, id, { role: "user" });
      await addAlone(store, owner, id);
      const { items } = await store.listUnanswered(owner, { ...page, ...wholeTexts });
      assert.deepEqual(
        items.map(({ question }) => question),
        ["far"],
      );
    });

    test("a say that another end user's reach does not find is not stored", async () => {
      const owner = newOwner();
      const { id } = await newConversation(store, owner, { endUser: "ann" });
      const said = await nextAlone(store, owner, id, { endUser: "bob" });
      assert.equal((await store.addMessage(said)).result, "not_found");
      const stored = await store.getMessage({ owner }, said.message.id, whole);
      assert.equal(stored satisfies MessageRecord | undefined, undefined);
    });
  });
}
