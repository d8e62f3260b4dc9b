/**
 * What every store must do about what was not used for long.
 *
 * @module
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { idleConversations, idleMemories } from "../../core/store/portions.ts";
import type { Store } from "../../core/store/store.ts";
import { addAlone, begin, converse, day, newConversation, newOwner, start, toEnd } from "./store-records.ts";

/** The part of the store's suite about what was not used for long. */
export function retentionContract(open: () => Store): void {
  describe("what was not used for long", () => {
    let store: Store;
    before(() => {
      store = open();
    });

    /** The ids of an owner's idle conversations, and their lengths. */
    async function idle(owner: string, since: number, limit = 1000) {
      const found: [string, number][] = [];
      for (let after: { owner: string; id: string } | undefined; ; ) {
        const { items, next } = await store.findIdleConversations({ before: since, after, limit });
        for (const one of items) if (one.owner === owner) found.push([one.id, one.logLength]);
        if (!next) return found;
        after = next;
      }
    }

    test("conversations are found by their last message, or else their beginning, in portions of any size", async () => {
      const owner = newOwner();
      const empty = await newConversation(store, owner);
      const used = await newConversation(store, owner);
      await converse(store, owner, used.id, { at: start + 5 * day });
      const said = await newConversation(store, owner);
      await addAlone(store, owner, said.id, { createdAt: start + 2 * day });
      assert.deepEqual(await idle(owner, start), []);
      assert.deepEqual(await idle(owner, start + 1), [[empty.id, 0]]);
      for (const limit of [1, 2, 1000]) {
        assert.deepEqual(await idle(owner, start + 3 * day, limit), [
          [empty.id, 0],
          [said.id, 1],
        ]);
      }
      assert.deepEqual(new Map(await idle(owner, start + 6 * day)).get(used.id), 2);
      const all = [];
      for await (const some of idleConversations(store, start + 6 * day)) all.push(...some);
      assert.equal(all.filter((one) => one.owner === owner).length, 3);
    });

    test("one that is used again, or in which a reply runs, is neither found nor deleted", async () => {
      const owner = newOwner();
      const { id } = await newConversation(store, owner);
      const begun = await begin(store, owner, id, { at: start });
      const since = start + day;
      const remove = () => store.deleteConversation({ owner }, id, start + 9, { idleSince: since });
      assert.deepEqual([await idle(owner, since), await remove()], [[], undefined]);
      await store.endReply(toEnd(begun));
      assert.deepEqual(await idle(owner, since), [[id, 2]]);
      await converse(store, owner, id, { at: since });
      assert.deepEqual([await idle(owner, since), await remove()], [[], undefined]);
      assert.equal((await store.getConversation({ owner }, id))?.logLength, 4);
      const later = { idleSince: since + 2 };
      assert.equal((await store.deleteConversation({ owner }, id, start + 9, later))?.id, id);
      assert.equal(await store.getConversation({ owner }, id), undefined);
    });

    test("one is deleted only if it has no more messages than that, where it is asked for", async () => {
      const owner = newOwner();
      const { id } = await newConversation(store, owner);
      await converse(store, owner, id, { at: start });
      const remove = (one: string, mostMessages = 0) =>
        store.deleteConversation({ owner }, one, start + 9, { mostMessages });
      for (const most of [0, 1]) assert.equal(await remove(id, most), undefined);
      assert.equal((await store.getConversation({ owner }, id))?.logLength, 2);
      assert.equal((await remove(id, 2))?.id, id);
      const empty = await newConversation(store, owner);
      assert.equal((await remove(empty.id))?.id, empty.id);
      assert.deepEqual(
        [await remove(empty.id), await store.getConversation({ owner }, empty.id)],
        [undefined, undefined],
      );
    });

    test("what a twin knows of a person is found and deleted once it is old, and there is no conversation left", async () => {
      const owner = newOwner();
      const { id } = await newConversation(store, owner, { endUser: "ann" });
      const of = (endUser: string, twinId = "ada") => ({ owner, endUser, twinId });
      const written = { content: "Likes tea.", updatedAt: start };
      for (const one of [of("ann"), of("bob"), of("bob", "ben")]) await store.setMemory(one, written);
      await store.setMemory(of("new"), { ...written, updatedAt: start + 2 * day });
      const since = start + day;
      const found = async () => {
        const all = [];
        for await (const some of idleMemories(store, since)) all.push(...some);
        return all.filter((one) => one.owner === owner);
      };
      assert.deepEqual(await found(), [of("bob"), of("bob", "ben")]);
      const { items, next } = await store.findIdleMemories({ before: since, after: of("ann"), limit: 1 });
      assert.deepEqual([items, next], [[of("bob")], of("bob")]);
      const remove = (endUser: string) => store.setMemory(of(endUser), null, { idleSince: since });
      assert.deepEqual(await Promise.all(["ann", "bob", "new"].map(remove)), [false, true, false]);
      assert.equal(await remove("bob"), false, "there is none any more");
      await store.deleteConversation({ owner }, id, start + 9);
      assert.deepEqual(await found(), [of("ann"), of("bob", "ben")]);
    });

    test("a lease on work is one holder's until it is over", async () => {
      const work = newOwner();
      const take = (holder: string, at: number, until = at + 10) =>
        store.takeLease(work, { holder, until }, at);
      assert.equal(await take("here", start), true);
      assert.equal(await take("there", start + 9), false);
      assert.equal(await take("here", start + 5), true, "renewed");
      assert.equal(await take("there", start + 14), false);
      assert.equal(await take("there", start + 15), true);
      assert.equal(await take("here", start + 16), false);
      assert.equal(await store.takeLease(`${work} 2`, { holder: "here", until: start }, start), true);
      const all = await Promise.all(["a", "b", "c", "d"].map((holder) => take(holder, start + 100)));
      assert.equal(all.filter(Boolean).length, 1);
    });
  });
}
