/**
 * What every store must do about client tokens. Part of `storeContract`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Store } from "../../core/store/store.ts";
import { claim, clientToken, conversation, newOwner, start } from "./store-records.ts";

export function clientTokensContract(open: () => Store): void {
  describe("client tokens", () => {
    let store: Store;
    before(() => {
      store = open();
    });

    test("a token is stored unchanged, with its twins or without any in particular", async () => {
      for (const twinIds of [null, ["ada"], ["b'b", '"', "é"]]) {
        const token = clientToken(newOwner(), { twinIds });
        await store.createClientToken(token);
        assert.deepEqual(await store.findClientToken(token.hash), token);
      }
      assert.equal(await store.findClientToken("unknown"), undefined);
    });

    test("what needs a token that has ended is not stored", async () => {
      const owner = newOwner();
      const token = clientToken(owner, { endUser: "zoe" });
      await store.createClientToken(token);
      const made = claim(owner, { endUser: "zoe" });
      const make = (id: string, withClaim: boolean) =>
        store.createConversation(
          conversation(owner, { id, endUser: "zoe" }),
          withClaim ? made : undefined,
          token.hash,
        );
      assert.equal(await make("conv_1", false), undefined);
      assert.equal(await store.deleteClientTokens(owner, "zoe", start), 1);
      assert.equal(await make("conv_2", false), "token_ended");
      assert.equal(await make("conv_3", true), "token_ended");
      assert.equal(await store.findClaim(made), undefined);
      const list = await store.listConversations({ owner, endUser: "zoe" }, { offset: 0, limit: 10 });
      assert.deepEqual(
        list.items.map(({ id }) => id),
        ["conv_1"],
      );
    });

    test("the tokens of a key and end user have the requests of the latest", async () => {
      const owner = newOwner();
      const old = clientToken(owner, { requestsPerHour: 10 });
      const ofOtherUser = clientToken(owner, { endUser: "bob", requestsPerHour: 10 });
      const ofOtherKey = clientToken(owner, { keyId: "key_2", requestsPerHour: 10 });
      const ofOtherOwner = clientToken(newOwner(), { requestsPerHour: 10 });
      for (const each of [old, ofOtherUser, ofOtherKey, ofOtherOwner]) await store.createClientToken(each);
      await store.createClientToken(clientToken(owner, { requestsPerHour: 3 }));
      assert.equal((await store.findClientToken(old.hash))?.requestsPerHour, 3);
      for (const { hash } of [ofOtherUser, ofOtherKey, ofOtherOwner]) {
        assert.equal((await store.findClientToken(hash))?.requestsPerHour, 10);
      }
    });

    test("an end user's tokens are deleted, of any key, and those that were alive are counted", async () => {
      const owner = newOwner();
      const ann = [
        clientToken(owner, { expiresAt: start + 10 }),
        clientToken(owner, { expiresAt: start + 11 }),
        clientToken(owner, { keyId: "key_2", expiresAt: start + 12 }),
      ];
      const others = [clientToken(owner, { endUser: "bob" }), clientToken(newOwner())];
      for (const each of [...ann, ...others]) await store.createClientToken(each);
      assert.equal(await store.deleteClientTokens(owner, "ann", start + 10), 2);
      for (const { hash } of ann) assert.equal(await store.findClientToken(hash), undefined);
      for (const { hash } of others) assert.ok(await store.findClientToken(hash));
      assert.equal(await store.deleteClientTokens(owner, "ann", start), 0);
    });

    test("a sweep removes expired tokens and nothing else", async () => {
      const at = Date.UTC(2001, 0, 1); // in the past, so that other tests' tokens stay
      const old = clientToken(newOwner(), { expiresAt: at });
      const young = clientToken(newOwner(), { expiresAt: at + 1 });
      for (const each of [old, young]) await store.createClientToken(each);
      await store.sweep(at);
      assert.equal(await store.findClientToken(old.hash), undefined);
      assert.ok(await store.findClientToken(young.hash));
    });
  });
}
