/**
 * What every store must do about idempotency claims.
 *
 * @module
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Store } from "../../core/store/store.ts";
import {
  begin,
  claim,
  conversation,
  newConversation,
  newOwner,
  nextToBegin,
  start,
  toBegin,
  toEnd,
} from "./store-records.ts";

/** The part of the store's suite about idempotency claims. */
export function claimsContract(open: () => Store): void {
  describe("claims", () => {
    let store: Store;
    before(() => {
      store = open();
    });

    test("an existing claim is returned instead of a second conversation", async () => {
      const owner = newOwner();
      const made = claim(owner, { fingerprint: "first" });
      const record = conversation(owner);
      assert.equal(await store.createConversation(record, made), undefined);
      const second = conversation(owner);
      const again = await store.createConversation(second, { ...made, fingerprint: "second" });
      assert.deepEqual(again, { fingerprint: "first", resourceId: record.id });
      assert.equal(await store.getConversation({ owner }, second.id), undefined);
      assert.equal((await store.listConversations({ owner }, { offset: 0, limit: 20 })).total, 1);
    });

    test("a claim that replaces an equal one finds the newest conversation", async () => {
      const owner = newOwner();
      const made = claim(owner, { replaces: true });
      const records = [conversation(owner), conversation(owner)];
      for (const record of records) assert.equal(await store.createConversation(record, made), undefined);
      assert.equal((await store.findClaim(made))?.resourceId, records[1]?.id);
      assert.equal((await store.listConversations({ owner }, { offset: 0, limit: 20 })).total, 2);
    });

    test("an existing claim is returned instead of a second reply, whether the conversation is busy or idle, until it is deleted", async () => {
      const { owner, id } = await newConversation(store);
      const made = claim(owner, { path: `/conversations/${id}/messages` });
      const first = await begin(store, owner, id, { claim: made });
      const claimed = { result: "claimed", claim: { fingerprint: "fields", resourceId: first.reply.id } };
      assert.deepEqual(await store.beginReply(toBegin(owner, id, { claim: made })), claimed);
      await store.endReply(toEnd(first));
      const second = await nextToBegin(store, owner, id, { claim: made });
      assert.deepEqual(await store.beginReply(second), claimed);
      assert.equal((await store.getConversation({ owner }, id))?.messageCount, 2);
      await store.deleteConversation({ owner }, id, start);
      const late = await store.beginReply(toBegin(owner, id, { claim: made }));
      assert.deepEqual(late, { result: "not_found" });
    });

    test("of twenty conversations created at once for one claim exactly one is stored", async () => {
      const owner = newOwner();
      const made = claim(owner);
      const records = Array.from({ length: 20 }, () => conversation(owner));
      const results = await Promise.all(records.map((record) => store.createConversation(record, made)));
      const winner = results.indexOf(undefined);
      const resourceId = records[winner]?.id;
      for (const [index, result] of results.entries()) {
        assert.deepEqual(result, index === winner ? undefined : { fingerprint: "fields", resourceId });
      }
      assert.equal((await store.listConversations({ owner }, { offset: 0, limit: 20 })).total, 1);
    });

    test("of twenty replies begun at once for one claim exactly one begins", async () => {
      const { owner, id } = await newConversation(store);
      const made = claim(owner);
      const attempts = Array.from({ length: 20 }, () => toBegin(owner, id, { claim: made }));
      const results = await Promise.all(attempts.map((attempt) => store.beginReply(attempt)));
      const winner = results.findIndex(({ result }) => result === "begun");
      const resourceId = attempts[winner]?.reply.id;
      const claimed = { result: "claimed", claim: { fingerprint: "fields", resourceId } };
      for (const [index, result] of results.entries()) {
        assert.deepEqual(result, index === winner ? { result: "begun", memory: null } : claimed);
      }
    });

    test("a claim that replaces an equal one finds the newest reply, and changes nothing if that cannot begin", async () => {
      const { owner, id } = await newConversation(store);
      const made = claim(owner, { replaces: true });
      const first = await begin(store, owner, id, { claim: made });
      const refused = await store.beginReply(toBegin(owner, id, { claim: made }));
      assert.deepEqual(refused, { result: "busy", replyId: first.reply.id });
      assert.equal((await store.findClaim(made))?.resourceId, first.reply.id);
      await store.endReply(toEnd(first));
      const second = await nextToBegin(store, owner, id, { claim: made });
      assert.deepEqual(await store.beginReply(second), { result: "begun", memory: null });
      assert.equal((await store.findClaim(made))?.resourceId, second.reply.id);
    });

    test("an expired claim gives way to a new one", async () => {
      const owner = newOwner();
      const made = claim(owner, { fingerprint: "old", expiresAt: start + 10 });
      await store.createConversation(conversation(owner), made);
      const late = { ...made, fingerprint: "new", expiresAt: start + 99 };
      const before = await store.createConversation(conversation(owner), { ...late, createdAt: start + 9 });
      assert.ok(before && before !== "token_ended");
      assert.equal(before.fingerprint, "old");
      const record = conversation(owner);
      assert.equal(await store.createConversation(record, { ...late, createdAt: start + 10 }), undefined);
      const found = await store.findClaim({ ...made, createdAt: start + 50 });
      assert.deepEqual(found, { fingerprint: "new", resourceId: record.id });
    });

    test("a claim is found by its owner, path and key until it expires", async () => {
      const owner = newOwner();
      const made = claim(owner, { expiresAt: start + 10 });
      const record = conversation(owner);
      await store.createConversation(record, made);
      const found = { fingerprint: "fields", resourceId: record.id };
      assert.deepEqual(await store.findClaim({ ...made, createdAt: start + 9 }), found);
      assert.equal(await store.findClaim({ ...made, createdAt: start + 10 }), undefined);
      assert.equal(await store.findClaim({ ...made, owner: newOwner() }), undefined);
      assert.equal(await store.findClaim({ ...made, path: "/other" }), undefined);
      assert.equal(await store.findClaim({ ...made, key: "other" }), undefined);
    });

    test("equal keys of two owners, or on two paths, are two claims", async () => {
      const owner = newOwner();
      const made = claim(owner);
      await newConversation(store, owner);
      assert.equal(await store.createConversation(conversation(owner), made), undefined);
      assert.equal(await store.createConversation(conversation(owner), { ...made, path: "/b" }), undefined);
      const other = newOwner();
      const theirs = { ...made, owner: other };
      assert.equal(await store.createConversation(conversation(other), theirs), undefined);
    });

    test("a sweep removes expired claims and nothing else", async () => {
      const owner = newOwner();
      // In the past, so that a sweep of a shared database removes nothing that other tests need.
      const at = Date.UTC(2001, 0, 1);
      const old = claim(owner, { createdAt: at, expiresAt: at + 10 });
      const young = claim(owner, { createdAt: at, expiresAt: at + 11 });
      await store.createConversation(conversation(owner), old);
      await store.createConversation(conversation(owner), young);
      await store.sweep(at + 10);
      assert.equal(await store.findClaim(old), undefined);
      assert.ok(await store.findClaim(young));
    });
  });
}
