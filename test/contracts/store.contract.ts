/**
 * What every store must do, wherever it stores its records. Run with {@link storeContract}.
 *
 * Owners and ids are new in every test, so that a database that other tests also use can be tested.
 *
 * @module
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Store } from "../../core/store/store.ts";
import { claimsContract } from "./store-claims.contract.ts";
import { clientTokensContract } from "./store-client-tokens.contract.ts";
import { conversationsContract } from "./store-conversations.contract.ts";
import { endUsersContract } from "./store-end-users.contract.ts";
import { keysContract } from "./store-keys.contract.ts";
import { messagesContract } from "./store-messages.contract.ts";
import { ownTwinsContract } from "./store-own-twins.contract.ts";
import { pathsContract } from "./store-paths.contract.ts";
import { personContract } from "./store-person.contract.ts";
import {
  begin,
  claim,
  converse,
  day,
  key,
  messagesOf,
  newConversation,
  newOwner,
  start,
} from "./store-records.ts";
import { repliesContract } from "./store-replies.contract.ts";
import { retentionContract } from "./store-retention.contract.ts";
import { reviewContract } from "./store-review.contract.ts";
import { tokenBudgetsContract } from "./store-token-budgets.contract.ts";
import { webhooksContract } from "./store-webhooks.contract.ts";
import { whole } from "./whole.ts";

/** A store under test. */
export interface OpenStore {
  readonly store: Store;
  /** Closes the store and opens it again with its data. Absent: its data is lost when it closes. */
  readonly reopen?: () => Promise<Store>;
  /** Closes the store and removes its data. */
  readonly dispose: () => Promise<void>;
}

/**
 * Runs the store suite on stores that `open` creates.
 *
 * @example
 * ```ts
 * import { storeContract } from "twin-service/testing";
 *
 * storeContract("my store", async () => {
 *   let store = await openMyStore();
 *   async function reopen() {
 *     await store.close();
 *     store = await openMyStore();
 *     return store;
 *   }
 *   return { store, reopen, dispose: () => store.close() }; // and removes its data
 * });
 * ```
 */
export function storeContract(name: string, open: () => Promise<OpenStore>): void {
  describe(`${name}: store`, () => {
    let opened: OpenStore;
    let store: Store;
    before(async () => {
      opened = await open();
      store = opened.store;
    });
    after(() => opened.dispose());

    for (const contract of [
      keysContract,
      conversationsContract,
      messagesContract,
      pathsContract,
      repliesContract,
      personContract,
      reviewContract,
      claimsContract,
      endUsersContract,
      clientTokensContract,
      tokenBudgetsContract,
      retentionContract,
      ownTwinsContract,
      webhooksContract,
    ]) {
      contract(() => store);
    }

    test("the store answers a ping", async () => {
      await store.ping();
    });

    test("everything stored is still there after the store is closed and reopened", async (t) => {
      if (!opened.reopen) return t.skip("this store persists nothing");
      const owner = newOwner();
      const kept = key(owner);
      await store.createKey(kept, 50);
      const record = await newConversation(store, owner, { title: "kept" });
      const made = claim(owner);
      const ended = await converse(store, owner, record.id, { at: start });
      const running = await begin(store, owner, record.id, { claim: made, holder: "before" });
      const listing = await messagesOf(store, owner, record.id);
      store = await opened.reopen();
      assert.deepEqual(await store.findKey(kept.hash), kept);
      assert.deepEqual(await messagesOf(store, owner, record.id), listing);
      assert.equal((await store.getConversation({ owner }, record.id))?.replyId, running.reply.id);
      assert.equal((await store.listConversations({ owner }, { offset: 0, limit: 1 })).total, 1);
      const history = await store.readHistory({ owner }, record.id, { after: ended.reply.id, ...whole });
      assert.deepEqual(history, [
        { role: "user", content: ended.question.content },
        { role: "assistant", content: "Because." },
      ]);
      const found = await store.findClaim(made);
      assert.equal(found?.resourceId, running.reply.id);
      const abandoned = await store.findAbandonedReplies(start + day);
      assert.ok(abandoned.some(({ id }) => id === running.reply.id));
    });
  });
}
