/**
 * What every store must do about the end users of an owner. Part of `storeContract`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { ConversationSlice, Reach, Store } from "../../core/store/store.ts";
import {
  begin,
  claim,
  conversation,
  converse,
  ids,
  messagesOf,
  newConversation,
  newOwner,
  nextToBegin,
  start,
  toBegin,
  toEnd,
} from "./store-records.ts";
import { whole, wholeTexts } from "./whole.ts";

const slice = { offset: 0, limit: 20 };
const messages = { ...slice, order: "asc" } as const;

export function endUsersContract(open: () => Store): void {
  describe("end users", () => {
    let store: Store;
    before(() => {
      store = open();
    });

    test("a conversation keeps its end user, whatever its name", async () => {
      const owner = newOwner();
      for (const endUser of ["u1", "U1", "ü 👩‍💻", "%_'\"", "x".repeat(128)]) {
        const { id } = await newConversation(store, owner, { endUser });
        assert.equal((await store.getConversation({ owner }, id))?.endUser, endUser);
        assert.equal((await store.listConversations({ owner, endUser }, slice)).total, 1);
      }
    });

    test("what a twin knows of a person is replaced, forgotten, and known as a reply of the person begins", async () => {
      const owner = newOwner();
      const ann = { owner, endUser: "ann", twinId: "ada" };
      const all = { ...wholeTexts, limit: 20 };
      const list = (twinId?: string) => store.listMemories(owner, "ann", { ...all, twinId });
      assert.deepEqual(await list(), []);
      for (const content of ["One.", "Two. \u{1F375}"]) {
        await store.setMemory(ann, { content, updatedAt: start });
        assert.deepEqual(await list(), [{ ...ann, content, updatedAt: start }]);
      }
      await store.setMemory({ ...ann, twinId: "Bob" }, { content: "Of Bob.", updatedAt: start + 1 });
      await store.setMemory({ ...ann, endUser: "eve" }, { content: "Of Eve.", updatedAt: start });
      assert.deepEqual(
        (await list()).map(({ twinId }) => twinId),
        ["Bob", "ada"],
      );
      assert.deepEqual((await list("Bob"))[0]?.content, "Of Bob.");
      const some = async (slice: object) =>
        (await store.listMemories(owner, "ann", { ...all, ...slice })).map(({ content }) => content);
      assert.deepEqual(await some({ limit: 1 }), ["Of Bob."]);
      assert.deepEqual(await some({ after: "Bob", charactersOfEach: 3 }), ["Two"]);
      assert.deepEqual(await some({ after: "Bob", charactersOfEach: 6 }), ["Two. \u{1F375}"]);
      assert.deepEqual(await some({ after: "ada" }), []);
      for (const twinId of ["\u{1F600}", "\uff5e"])
        await store.setMemory({ ...ann, twinId }, { content: twinId, updatedAt: start });
      assert.deepEqual(await some({ after: "ada" }), ["\uff5e", "\u{1F600}"]);
      assert.deepEqual(await some({ after: "\uff5e" }), ["\u{1F600}"]);
      assert.deepEqual(await store.listMemories(newOwner(), "ann", all), []);
      const begun = async (fields: object) => {
        const { id } = await newConversation(store, owner, fields);
        const result = await store.beginReply(toBegin(owner, id));
        return result.result === "begun" ? result.memory : result;
      };
      assert.equal(await begun({ endUser: "ann" }), "Two. \u{1F375}");
      for (const fields of [{}, { endUser: "bob" }, { endUser: "ann", twinId: "carol" }])
        assert.equal(await begun(fields), null);
      await store.setMemory(ann, null);
      await store.setMemory(ann, null);
      assert.deepEqual((await list()).length, 3);
      await store.forgetEndUser(owner, "ann", start);
      assert.deepEqual(await list(), []);
      assert.equal((await store.listMemories(owner, "eve", all)).length, 1);
    });

    test("a list within one end user's reach has only its conversations, newest first, and their number", async () => {
      const owner = newOwner();
      await newConversation(store, owner, { endUser: "bob" });
      const a = await newConversation(store, owner, { endUser: "ann" });
      await newConversation(store, owner);
      const b = await newConversation(store, owner, { endUser: "ann", twinId: "bob" });
      const c = await newConversation(store, owner, { endUser: "ann", createdAt: start - 1 });
      const reach = { owner, endUser: "ann" };
      const list = async (fields: object) => {
        const { items, total } = await store.listConversations(reach, { ...slice, ...fields });
        return [total, ...items.map(({ id }) => id)];
      };
      assert.deepEqual(await list({}), [3, b.id, a.id, c.id]);
      assert.deepEqual(await list({ offset: 1, limit: 1 }), [3, a.id]);
      assert.deepEqual(await list({ offset: 3 }), [3]);
      assert.deepEqual(await list({ twinIds: ["ada"] }), [2, a.id, c.id]);
      assert.deepEqual(await list({ twinIds: ["bob", "ada"] }), [3, b.id, a.id, c.id]);
      assert.deepEqual(await list({ twinIds: ["eve"] }), [0]);
      assert.equal((await store.listConversations({ owner }, slice)).total, 5);
      assert.equal((await store.listConversations({ ...reach, owner: newOwner() }, slice)).total, 0);
      await store.deleteConversation({ owner }, b.id, start);
      assert.deepEqual(await list({}), [2, a.id, c.id]);
    });

    test("a list of several twins' conversations is in one order", async () => {
      const owner = newOwner();
      const made = [];
      for (const twinId of ["ada", "bob", "eve", "ada"]) {
        made.unshift((await newConversation(store, owner, { twinId })).id);
      }
      const listed = await store.listConversations({ owner }, { ...slice, twinIds: ["ada", "bob"] });
      assert.deepEqual([listed.total, ids(listed)], [3, [made[0], made[2], made[3]]]);
    });

    const ofAnn = (owner: string): Reach => ({ owner, endUser: "ann" });
    for (const { whose, endUser, reachOf } of [
      { whose: "another end user's", endUser: "bob", reachOf: ofAnn },
      { whose: "nobody's in particular", endUser: null, reachOf: ofAnn },
      { whose: "another owner's", endUser: null, reachOf: (): Reach => ({ owner: newOwner() }) },
    ]) {
      test(`what is out of reach is not found (${whose})`, async () => {
        const { owner, id } = await newConversation(store, newOwner(), { endUser });
        const { question, reply, lease } = await begin(store, owner, id);
        const reach = reachOf(owner);
        const before = [await store.getConversation({ owner }, id), await messagesOf(store, owner, id)];
        assert.equal(await store.getConversation(reach, id), undefined);
        assert.equal(await store.updateConversation(reach, id, { title: "stolen" }, start), undefined);
        assert.equal(await store.deleteConversation(reach, id, start), undefined);
        assert.equal(await store.getMessage(reach, question.id, whole), undefined);
        assert.equal(
          await store.getMessage(reach, reply.id, { ...whole, conversationId: id, skip: 1 }),
          undefined,
        );
        assert.equal(await store.listMessages(reach, id, { ...whole, ...messages }), undefined);
        assert.deepEqual(await store.readHistory(reach, id, { after: reply.id, ...whole }), []);
        const made = claim(reach.owner, { endUser: reach.endUser ?? null });
        const sent = { ...toBegin(reach.owner, id, { claim: made }), ...reach };
        assert.deepEqual(await store.beginReply(sent), { result: "not_found" });
        assert.equal(await store.findClaim(made), undefined);
        await store.requestCancel(reach, reply.id);
        assert.equal(await store.saveReply({ owner, id: reply.id, lease }), "saved");
        const after = [await store.getConversation({ owner }, id), await messagesOf(store, owner, id)];
        assert.deepEqual(after, before);
      });
    }

    test("what is the end user's is found", async () => {
      const { owner, id } = await newConversation(store, newOwner(), { endUser: "ann" });
      const reach = { owner, endUser: "ann" };
      const { question, reply } = await converse(store, owner, id);
      assert.equal((await store.getMessage(reach, question.id, whole))?.id, question.id);
      assert.equal((await store.getMessage(reach, question.id, { ...whole, skip: 1 }))?.content, "hy?");
      assert.equal(
        (await store.listMessages(reach, id, { ...whole, ...messages, after: question.id }))?.total,
        1,
      );
      assert.equal((await store.readHistory(reach, id, { after: reply.id, ...whole })).length, 2);
      const sent = await nextToBegin(store, owner, id);
      assert.equal((await store.beginReply({ ...sent, endUser: "ann" })).result, "begun");
      await store.requestCancel(reach, sent.reply.id);
      const save = { owner, id: sent.reply.id, lease: sent.lease };
      assert.equal(await store.saveReply(save), "cancel_requested");
      assert.equal((await store.updateConversation(reach, id, { title: "new" }, start))?.title, "new");
      assert.equal((await store.deleteConversation(reach, id, start))?.id, id);
    });

    test("equal idempotency keys of two end users are two claims", async () => {
      const owner = newOwner();
      const made = claim(owner);
      const claims = [made, { ...made, endUser: "ann" }, { ...made, endUser: "bob" }];
      for (const each of claims) {
        const record = conversation(owner, { endUser: each.endUser });
        assert.equal(await store.createConversation(record, each), undefined);
        assert.equal((await store.findClaim(each))?.resourceId, record.id);
        const again = await store.createConversation(conversation(owner), each);
        assert.ok(again && again !== "token_ended");
        assert.equal(again.resourceId, record.id);
      }
    });

    test("conversations are listed in both orders, from any one on", async () => {
      const owner = newOwner();
      const made = [];
      for (const createdAt of [start, start, start + 1, start + 2]) {
        made.push(await newConversation(store, owner, { endUser: "ann", createdAt }));
        await newConversation(store, owner, { endUser: "bob", createdAt });
      }
      const reach = { owner, endUser: "ann" };
      const list = async (fields: Partial<ConversationSlice>) =>
        (await store.listConversations(reach, { offset: 0, limit: 9, ...fields })).items;
      assert.deepEqual(await list({ order: "asc" }), made);
      assert.deepEqual(await list({ order: "asc", after: made[0], limit: 2 }), made.slice(1, 3));
      assert.deepEqual(await list({ order: "asc", after: made[0], offset: 1 }), made.slice(2));
      assert.deepEqual(await list({ order: "asc", after: made[3] }), []);
      assert.deepEqual(await list({ after: made[2] }), [made[1], made[0]]);
      assert.deepEqual(await list({ after: made[0] }), []);
    });

    test("the claims on a conversation's messages go with it, and an end user's are forgotten", async () => {
      const { owner, id } = await newConversation(store, newOwner(), { endUser: "ann" });
      const path = `/conversations/${id}/messages`;
      const ofSends = [claim(owner, { path }), claim(owner, { path, endUser: "ann" })];
      for (const each of ofSends) {
        await store.endReply(toEnd(await begin(store, owner, id, { claim: each })));
      }
      const [ofAnn, ofBob] = [claim(owner, { endUser: "ann" }), claim(owner, { endUser: "bob" })];
      for (const each of [ofAnn, ofBob]) await store.createConversation(conversation(owner), each);
      await store.deleteConversation({ owner, endUser: "ann" }, id, start);
      for (const each of ofSends) assert.equal(await store.findClaim(each), undefined);
      assert.ok(await store.findClaim(ofAnn));
      await store.forgetEndUser(owner, "ann", start);
      assert.equal(await store.findClaim(ofAnn), undefined);
      assert.ok(await store.findClaim(ofBob));
    });

    test("what replies took is summed by day, twin and end user, and survives conversations and end users", async () => {
      const owner = newOwner();
      const day = Date.UTC(2031, 4, 6);
      const usage = (inputTokens: number, cachedInputTokens: number | null = null) => {
        return { inputTokens, outputTokens: 1, totalTokens: inputTokens + 1, cachedInputTokens };
      };
      const mine = await newConversation(store, owner, { endUser: "ann" });
      const other = await newConversation(store, owner, { twinId: "bob" });
      await converse(store, owner, mine.id, { at: day, usage: usage(10, 8) });
      await converse(store, owner, mine.id, { at: day + 86_400_000, usage: usage(20, 0) });
      await converse(store, owner, mine.id, { at: day, usage: null });
      await converse(store, owner, other.id, { at: day, usage: usage(5) });
      const list = async (groupBy: "day" | "twin" | "endUser", fields: object = {}) => {
        const whole = { ...slice, from: "2031-05-06", to: "2031-05-07", groupBy };
        const { items, total } = await store.listUsage(owner, { ...whole, ...fields });
        return [
          total,
          ...items.map((sum) => [
            sum.group,
            sum.replies,
            sum.inputTokens,
            sum.outputTokens,
            sum.cachedInputTokens,
          ]),
        ];
      };
      assert.deepEqual(await list("day"), [2, ["2031-05-06", 3, 15, 2, 8], ["2031-05-07", 1, 20, 1, 0]]);
      assert.deepEqual(await list("day", { offset: 1, limit: 1 }), [2, ["2031-05-07", 1, 20, 1, 0]]);
      assert.deepEqual(await list("twin"), [2, ["ada", 3, 30, 2, 8], ["bob", 1, 5, 1, 0]]);
      assert.deepEqual(await list("endUser"), [2, [null, 1, 5, 1, 0], ["ann", 3, 30, 2, 8]]);
      assert.deepEqual(await list("endUser", { limit: 1 }), [2, [null, 1, 5, 1, 0]]);
      assert.deepEqual(await list("endUser", { offset: 1, limit: 1 }), [2, ["ann", 3, 30, 2, 8]]);
      assert.deepEqual(await list("endUser", { offset: 2, limit: 1 }), [2]);
      assert.deepEqual(await list("endUser", { to: "2031-05-06" }), [
        2,
        [null, 1, 5, 1, 0],
        ["ann", 2, 10, 1, 8],
      ]);
      for (const endUser of ["\u{1F600}", "\uff5e"]) {
        const { id } = await newConversation(store, owner, { endUser });
        await converse(store, owner, id, { at: day - 86_400_000, usage: null });
      }
      const before = await list("endUser", { from: "2031-05-05", to: "2031-05-05" });
      assert.deepEqual(before, [2, ["\uff5e", 1, 0, 0, 0], ["\u{1F600}", 1, 0, 0, 0]]);
      await store.deleteConversation({ owner }, mine.id, start);
      await store.forgetEndUser(owner, "ann", start);
      assert.deepEqual(await list("endUser"), [1, [null, 4, 35, 3, 8]]);
      assert.deepEqual(await list("twin"), [2, ["ada", 3, 30, 2, 8], ["bob", 1, 5, 1, 0]]);
      assert.equal(
        (await store.listUsage(newOwner(), { ...slice, from: "0", to: "9", groupBy: "day" })).total,
        0,
      );
    });

    test("a reply in progress counts when its conversation is deleted, and only then", async () => {
      const { owner, id } = await newConversation(store, newOwner(), { endUser: "ann" });
      const begun = await begin(store, owner, id);
      const at = Date.UTC(2031, 4, 6);
      await store.deleteConversation({ owner }, id, at);
      assert.equal(await store.endReply(toEnd(begun, { completedAt: at })), false);
      const days = { ...slice, from: "2031-05-06", to: "2031-05-06" };
      const { items } = await store.listUsage(owner, { ...days, groupBy: "endUser" });
      assert.deepEqual(items, [
        { group: "ann", replies: 1, inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 },
      ]);
    });

    test("replies that are not stored count, too, beside those that are", async () => {
      const owner = newOwner();
      const completedAt = Date.UTC(2031, 4, 6);
      const usage = { inputTokens: 10, outputTokens: 1, totalTokens: 11, cachedInputTokens: 4 };
      const { id } = await newConversation(store, owner, { endUser: "ann" });
      await converse(store, owner, id, { at: completedAt, usage });
      const counted = { owner, endUser: "ann", twinId: "ada", beganAt: completedAt, completedAt, usage };
      await store.countReply(counted);
      await store.countReply({ ...counted, usage: null });
      await store.countReply({ ...counted, endUser: null });
      await store.countReply({ ...counted, owner: newOwner() });
      const days = { ...slice, from: "2031-05-06", to: "2031-05-06" };
      const { items } = await store.listUsage(owner, { ...days, groupBy: "endUser" });
      assert.deepEqual(items, [
        { group: null, replies: 1, inputTokens: 10, outputTokens: 1, cachedInputTokens: 4 },
        { group: "ann", replies: 3, inputTokens: 20, outputTokens: 2, cachedInputTokens: 8 },
      ]);
      await store.forgetEndUser(owner, "ann", start);
      const whole = { group: null, replies: 4, inputTokens: 30, outputTokens: 3, cachedInputTokens: 12 };
      assert.deepEqual((await store.listUsage(owner, { ...days, groupBy: "endUser" })).items, [whole]);
    });
  });
}
