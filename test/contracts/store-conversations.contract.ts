/**
 * What every store must do about conversations.
 *
 * @module
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { BeginReply, ConversationEnd, Store } from "../../core/store/store.ts";
import {
  begin,
  conversation,
  converse,
  day,
  ids,
  messagesOf,
  newConversation,
  newOwner,
  start,
  toBegin,
  toEnd,
} from "./store-records.ts";
import { whole } from "./whole.ts";

/** The part of the store's suite about conversations. */
export function conversationsContract(open: () => Store): void {
  describe("conversations", () => {
    let store: Store;
    before(() => {
      store = open();
    });

    test("a conversation is stored unchanged", async () => {
      const record = await newConversation(store, newOwner(), {
        title: "Häuser 🏠 'quoted' \"twice\"\n\\",
      });
      assert.deepEqual(await store.getConversation({ owner: record.owner }, record.id), record);
    });

    test("two owners may use the same id, each for a record of their own", async () => {
      const mine = await newConversation(store, newOwner(), { title: "mine" });
      const yours = await newConversation(store, newOwner(), { id: mine.id, title: "yours" });
      assert.deepEqual(await store.getConversation({ owner: mine.owner }, mine.id), mine);
      assert.deepEqual(await store.getConversation({ owner: yours.owner }, mine.id), yours);
    });

    test("conversations are listed newest first, by time and then by id", async () => {
      const owner = newOwner();
      const a = conversation(owner, { createdAt: start + 1 });
      const b = conversation(owner, { createdAt: start });
      const c = conversation(owner, { createdAt: start + 1 });
      const d = conversation(owner, { createdAt: start + 2 });
      for (const record of [c, a, d, b]) await store.createConversation(record);
      const listing = await store.listConversations({ owner }, { offset: 0, limit: 20 });
      assert.deepEqual(listing, { items: [d, c, a, b], total: 4 });
    });

    test("ids are compared as bytes, not as words", async () => {
      const owner = newOwner();
      const names = ["conv_b", "conv_A", "conv_a", "conv_B", "conv_1", "conv__"];
      for (const id of names) await newConversation(store, owner, { id });
      const listing = await store.listConversations({ owner }, { offset: 0, limit: 20 });
      assert.deepEqual(ids(listing), [...names].sort().reverse());
    });

    test("a page of conversations has the requested offset and limit, and the total of all", async () => {
      const owner = newOwner();
      for (let n = 0; n < 7; n++)
        await newConversation(store, owner, { createdAt: start + n, title: `${n}` });
      const page = async (offset: number, limit: number) => {
        const { items, total } = await store.listConversations({ owner }, { offset, limit });
        return [total, ...items.map(({ title }) => title)];
      };
      assert.deepEqual(await page(2, 3), [7, "4", "3", "2"]);
      assert.deepEqual(await page(6, 3), [7, "0"]);
      assert.deepEqual(await page(70_000_000_000, 3), [7]);
      assert.deepEqual(await page(0, 0), [7]);
    });

    test("a list can be limited to one twin's conversations", async () => {
      const owner = newOwner();
      const a = await newConversation(store, owner, { twinId: "ada" });
      await newConversation(store, owner, { twinId: "Ada" });
      const b = await newConversation(store, owner, { twinId: "ada" });
      const list = (twinId: string, offset = 0) =>
        store.listConversations({ owner }, { offset, limit: 20, twinIds: [twinId] });
      assert.deepEqual(await list("ada"), { items: [b, a], total: 2 });
      assert.deepEqual(await list("ada", 1), { items: [a], total: 2 });
      assert.deepEqual(await list("bob"), { items: [], total: 0 });
      assert.equal((await store.listConversations({ owner }, { offset: 0, limit: 20 })).total, 3);
    });

    test("a conversation's twin is chosen once, and counts from then on", async () => {
      const owner = newOwner();
      const { id } = await newConversation(store, owner, { twinId: "", endUser: "ann" });
      const list = async (twinId: string) => {
        const { items, total } = await store.listConversations(
          { owner },
          { offset: 0, limit: 9, twinIds: [twinId] },
        );
        return [total, items.length];
      };
      assert.deepEqual(
        [await list(""), await list("ada")],
        [
          [1, 1],
          [0, 0],
        ],
      );
      const choose = async (
        choosesTwin: string,
        fields: Partial<BeginReply> = {},
        end: ConversationEnd = { logLength: 0, lastMessageId: null },
      ) => (await store.beginReply({ ...toBegin(owner, id, { end }), ...fields, choosesTwin })).result;
      assert.equal(await choose("ada", { endUser: "bob" }), "not_found");
      assert.equal(await choose("ada", { owner: newOwner() }), "not_found");
      assert.equal(await choose("ada", {}, { logLength: 2, lastMessageId: "msg_other" }), "moved");
      assert.deepEqual(
        [await list(""), await list("ada")],
        [
          [1, 1],
          [0, 0],
        ],
      );
      assert.equal(await choose("ada"), "begun");
      assert.deepEqual([await choose("bob"), await choose("ada")], ["other_twin", "busy"]);
      assert.deepEqual(
        [await list(""), await list("ada"), await list("bob")],
        [
          [0, 0],
          [1, 1],
          [0, 0],
        ],
      );
      await store.deleteConversation({ owner }, id, start);
      assert.deepEqual(
        [await list(""), await list("ada")],
        [
          [0, 0],
          [0, 0],
        ],
      );
    });

    test("conversations are found by all of the pairs that they were given", async () => {
      const owner = newOwner();
      const ann = { endUser: "ann" };
      const web = { metadata: { app: "web", plan: "free" } };
      const a = await newConversation(store, owner, { createdAt: start, ...web });
      const b = await newConversation(store, owner, {
        createdAt: start + 1,
        metadata: { app: "web", plan: "paid" },
        ...ann,
      });
      const c = await newConversation(store, owner, {
        createdAt: start + 2,
        metadata: { app: "phone", plan: "web" },
      });
      await newConversation(store, owner, { createdAt: start + 3 });
      await newConversation(store, newOwner(), web);
      const list = async (metadata: Record<string, string>, more: object = {}, endUser?: string) => {
        const slice = { offset: 0, limit: 20, metadata, ...more };
        const listing = await store.listConversations({ owner, endUser }, slice);
        return [listing.total, ...listing.items.map(({ id }) => id)];
      };
      assert.deepEqual(await list({ app: "web" }), [2, b.id, a.id]);
      assert.deepEqual(await list({ app: "web" }, { limit: 1, offset: 1 }), [2, a.id]);
      assert.deepEqual(await list({ app: "web" }, { order: "asc" }), [2, a.id, b.id]);
      assert.deepEqual(await list({ app: "web", plan: "paid" }), [1, b.id]);
      assert.deepEqual(await list({ plan: "web" }), [1, c.id]);
      assert.deepEqual(await list({ app: "web" }, {}, "ann"), [1, b.id]);
      assert.deepEqual(await list({ app: "web" }, { twinIds: [a.twinId, "bob"] }), [2, b.id, a.id]);
      assert.deepEqual(await list({ app: "web" }, { answeredBy: "person" }), [0]);
      assert.deepEqual(await list({ app: "web", plan: "none" }), [0]);
      assert.deepEqual((await store.getConversation({ owner }, a.id))?.metadata, web.metadata);
      const change = { metadata: { app: "web", seen: "yes" } };
      const changed = await store.updateConversation({ owner }, a.id, change, start + 9);
      assert.deepEqual(changed, { ...a, ...change, updatedAt: start + 9 });
      assert.deepEqual([await list({ plan: "free" }), await list({ seen: "yes" })], [[0], [1, a.id]]);
      const none = await store.updateConversation({ owner }, "conv_none", change, start + 9);
      assert.equal(none, undefined);
      await store.updateConversation({ owner, endUser: "bob" }, b.id, { metadata: {} }, start + 9);
      assert.deepEqual(await list({ app: "web" }), [2, b.id, a.id]);
      await store.deleteConversation({ owner }, b.id, start + 9);
      assert.deepEqual(await list({ app: "web" }), [1, a.id]);
      await store.updateConversation({ owner }, a.id, { metadata: {} }, start + 10);
      assert.deepEqual(await list({ app: "web" }), [0]);
      assert.deepEqual((await store.getConversation({ owner }, a.id))?.metadata, {});
    });

    test("another owner's conversations are not listed", async () => {
      await newConversation(store);
      const listing = await store.listConversations({ owner: newOwner() }, { offset: 0, limit: 20 });
      assert.deepEqual(listing, { items: [], total: 0 });
    });

    test("renaming sets the title and returns the conversation", async () => {
      const record = await newConversation(store, newOwner(), { title: "old" });
      const renamed = { ...record, title: "new", updatedAt: start + 5 };
      assert.deepEqual(
        await store.updateConversation({ owner: record.owner }, record.id, { title: "new" }, start + 5),
        renamed,
      );
      assert.deepEqual(await store.getConversation({ owner: record.owner }, record.id), renamed);
      const untitled = await store.updateConversation(
        { owner: record.owner },
        record.id,
        { title: null },
        start + 6,
      );
      assert.equal(untitled?.title, null);
    });

    test("deleting removes the conversation and its messages everywhere", async () => {
      const owner = newOwner();
      const kept = await newConversation(store, owner);
      const record = await newConversation(store, owner);
      const { question, reply } = await converse(store, owner, record.id);
      const now = await store.getConversation({ owner }, record.id);
      assert.deepEqual(await store.deleteConversation({ owner }, record.id, start), now);
      assert.equal(await store.getConversation({ owner }, record.id), undefined);
      assert.equal(await store.deleteConversation({ owner }, record.id, start), undefined);
      const slice = { offset: 0, limit: 20 };
      assert.deepEqual(await store.listConversations({ owner }, slice), { items: [kept], total: 1 });
      const ofTwin = await store.listConversations({ owner }, { ...slice, twinIds: [record.twinId] });
      assert.deepEqual(ofTwin, { items: [kept], total: 1 });
      assert.equal(
        await store.listMessages({ owner }, record.id, { ...whole, ...slice, order: "asc" }),
        undefined,
      );
      for (const { id } of [question, reply])
        assert.equal(await store.getMessage({ owner }, id, whole), undefined);
      assert.deepEqual(await store.readHistory({ owner }, record.id, { after: reply.id, ...whole }), []);
      assert.equal((await store.beginReply(toBegin(owner, record.id))).result, "not_found");
    });

    test("a long conversation is deleted with all of its messages, and another one keeps its own", async () => {
      const owner = newOwner();
      const [long, other] = [await newConversation(store, owner), await newConversation(store, owner)];
      const pairs = [];
      for (let n = 0; n < 260; n++) pairs.push(await converse(store, owner, long.id));
      const kept = await converse(store, owner, other.id);
      const running = await begin(store, owner, long.id);
      const deleted = await store.deleteConversation({ owner }, long.id, start);
      assert.equal(deleted?.logLength, 522);
      for (const { question, reply } of [...pairs, running]) {
        for (const { id } of [question, reply])
          assert.equal(await store.getMessage({ owner }, id, whole), undefined);
      }
      assert.equal((await messagesOf(store, owner, other.id)).total, 2);
      assert.ok(await store.getMessage({ owner }, kept.reply.id, whole));
    });

    test("deleting returns the running reply, whose saves and end are then lost", async () => {
      const record = await newConversation(store);
      const { owner } = record;
      const begun = await begin(store, owner, record.id, { holder: "gone", leaseUntil: start });
      const deleted = await store.deleteConversation({ owner }, record.id, start);
      assert.equal(deleted?.replyId, begun.reply.id);
      const { lease } = begun;
      assert.equal(await store.saveReply({ owner, id: begun.reply.id, content: "x", lease }), "lost");
      assert.equal(await store.endReply(toEnd(begun)), false);
      const abandoned = await store.findAbandonedReplies(start + day);
      assert.ok(!abandoned.some(({ id }) => id === begun.reply.id));
    });

    test("a named conversation is found by its owner, end user, twin and name, and deleted with its name", async () => {
      const owner = newOwner();
      const named = { twinId: "ada", name: "chat 1" };
      for (const endUser of [null, "ann"]) {
        const reach = { owner, ...(endUser && { endUser }) };
        for (let time = 0; time < 3; time++) {
          const attempts = [1, 2, 3].map(() => conversation(owner, { ...named, endUser }));
          const results = await Promise.all(attempts.map((each) => store.createConversation(each)));
          const made = attempts[results.indexOf(undefined)];
          const taken = { fingerprint: "", resourceId: made?.id };
          assert.deepEqual(
            results.filter((result) => result !== undefined),
            [taken, taken],
          );
          assert.deepEqual(await store.getConversation(reach, named), made);
          assert.equal((await store.listConversations(reach, { offset: 0, limit: 9 })).total, 1);
          for (const other of [
            { ...named, name: "chat 2" },
            { ...named, twinId: "bob" },
          ]) {
            assert.equal(await store.getConversation(reach, other), undefined);
          }
          assert.equal(await store.getConversation({ owner, endUser: "zoe" }, named), undefined);
          assert.equal(await store.getConversation({ owner: newOwner() }, named), undefined);
          await store.deleteConversation({ owner }, made?.id ?? "", start);
          assert.equal(await store.getConversation(reach, named), undefined);
        }
      }
    });

    test("conversations created and deleted at once are counted correctly", async () => {
      const owner = newOwner();
      const records = Array.from({ length: 30 }, (_, n) =>
        conversation(owner, { twinId: n % 2 ? "ada" : "bob" }),
      );
      await Promise.all(records.map((record) => store.createConversation(record)));
      const gone = records.slice(0, 9);
      await Promise.all([...gone, ...gone].map(({ id }) => store.deleteConversation({ owner }, id, start)));
      const slice = { offset: 0, limit: 50 };
      const all = await store.listConversations({ owner }, slice);
      assert.deepEqual([all.total, all.items.length], [21, 21]);
      const ada = await store.listConversations({ owner }, { ...slice, twinIds: ["ada"] });
      assert.deepEqual([ada.total, ada.items.length], [11, 11]);
    });
  });
}
