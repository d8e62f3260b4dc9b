/**
 * What every store must do about budgets of tokens.
 *
 * @module
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { BeginReply, Store } from "../../core/store/store.ts";
import type { TokenBudget, TokenReservation } from "../../core/store/token-budgets.ts";
import { begin, day, key, newConversation, newOwner, nextToBegin, start, toEnd } from "./store-records.ts";

/** A budget of a key. */
function budgetOf(owner: string, fields: Partial<TokenBudget> = {}): TokenBudget {
  return { scope: "key", owner, of: "key_1", endUser: null, period: "day", limit: 1000, ...fields };
}

/** What `told` tokens reserve. */
function reserving({ reply }: BeginReply, budgets: readonly TokenBudget[], told = 88): TokenReservation {
  return { id: reply.id, at: start + 5, told, budgets };
}

const tokens = (totalTokens: number) => ({
  usage: { inputTokens: totalTokens, outputTokens: 0, totalTokens, cachedInputTokens: null },
});

/** The part of the store's suite about budgets of tokens. */
export function tokenBudgetsContract(open: () => Store): void {
  describe("budgets of tokens", () => {
    let store: Store;
    before(() => {
      store = open();
    });

    /** Begins a reply in a new conversation. */
    async function spend(owner: string, budgets: readonly TokenBudget[], told?: number) {
      const { id } = await newConversation(store, owner);
      const begun = await nextToBegin(store, owner, id);
      const result = await store.beginReply({ ...begun, reserves: reserving(begun, budgets, told) });
      return { begun, result };
    }

    async function stateOf(...budgets: TokenBudget[]) {
      const states = await store.readTokenBudgets(budgets, start + 5);
      return states.map(({ used, reserved }) => [used, reserved]);
    }

    test("a reply reserves of each of its budgets, and its end counts what it took instead", async () => {
      const owner = newOwner();
      const budgets = [budgetOf(owner), budgetOf(owner, { period: "month", limit: 5000 })];
      const { begun, result } = await spend(owner, budgets);
      assert.equal(result.result, "begun");
      assert.deepEqual(await store.readTokenBudgets(budgets, start + day - 1), [
        { scope: "key", period: "day", limit: 1000, used: 0, reserved: 600 },
        { scope: "key", period: "month", limit: 5000, used: 0, reserved: 600 },
      ]);
      assert.equal(await store.endReply(toEnd(begun, { ...tokens(70), reserved: true })), true);
      assert.deepEqual(await stateOf(...budgets), [
        [70, 0],
        [70, 0],
      ]);
      const next = await store.readTokenBudgets(budgets, start + day);
      assert.deepEqual(
        next.map(({ used }) => used),
        [0, 70],
        "the next day, the same month",
      );
    });

    test("what its model did not count is counted by what it was told and wrote; nothing without text", async () => {
      const owner = newOwner();
      const budget = budgetOf(owner);
      const { begun } = await spend(owner, [budget]);
      await store.endReply(toEnd(begun, { content: "Because.", reserved: true }));
      assert.deepEqual(await stateOf(budget), [[90, 0]], "88 and 2");
      const { begun: silent } = await spend(owner, [budget]);
      await store.endReply(toEnd(silent, { content: "", reserved: true }));
      assert.deepEqual(await stateOf(budget), [[90, 0]]);
    });

    test("a reply is admitted while less than the limit is used and reserved, else nothing is stored", async () => {
      const owner = newOwner();
      const budget = budgetOf(owner, { limit: 1200 });
      for (const _ of [1, 2]) assert.equal((await spend(owner, [budget])).result.result, "begun");
      const { begun, result } = await spend(owner, [budget, budgetOf(owner, { of: "key_2" })]);
      const spent = [{ scope: "key", period: "day", limit: 1200, used: 0, reserved: 1200 }];
      assert.deepEqual(result, { result: "over_budget", spent });
      const { conversationId } = begun.reply;
      assert.equal((await store.getConversation({ owner }, conversationId))?.logLength, 0);
      assert.deepEqual(await stateOf(budget, budgetOf(owner, { of: "key_2" })), [
        [0, 1200],
        [0, 0],
      ]);
      const larger = { ...budget, limit: 1201 };
      assert.equal((await spend(owner, [larger])).result.result, "begun", "the limit is what it is now");
    });

    test("of many at once, no more are admitted than one after the other", async () => {
      const owner = newOwner();
      const budget = budgetOf(owner, { limit: 2500 });
      const all = await Promise.all(Array.from({ length: 20 }, () => spend(owner, [budget])));
      const begun = all.filter(({ result }) => result.result === "begun");
      assert.equal(begun.length, 5, "4 of 600 leave 100");
      assert.deepEqual(await stateOf(budget), [[0, 3000]]);
      await Promise.all(
        begun.map(({ begun }) => store.endReply(toEnd(begun, { ...tokens(10), reserved: true }))),
      );
      assert.deepEqual(await stateOf(budget), [[50, 0]]);
    });

    test("budgets of keys, end users, twins and owners are kept apart", async () => {
      const owner = newOwner();
      const budgets = [
        budgetOf(owner),
        budgetOf(owner, { of: "key_2" }),
        budgetOf(owner, { scope: "endUser", endUser: "ann" }),
        budgetOf(owner, { scope: "endUser", endUser: "bob" }),
        budgetOf(owner, { scope: "owner", of: "" }),
        budgetOf(newOwner()),
      ];
      for (const [index, budget] of budgets.entries()) await spend(owner, [budget], index);
      assert.deepEqual(
        await stateOf(...budgets),
        budgets.map((_, index) => [0, 512 + index]),
      );
    });

    test("an owner's budget is raised by its live keys", async () => {
      const owner = newOwner();
      const budget = budgetOf(owner, { scope: "owner", of: "" });
      const raising = [
        key(owner, { ownerTokensPerDay: 3000 }),
        key(owner, { ownerTokensPerDay: 2000 }),
        key(owner, { ownerTokensPerDay: 10 }),
        key(owner, { ownerTokensPerDay: 9000, expiresAt: start + 4 }),
        key(newOwner(), { ownerTokensPerDay: 8000 }),
      ];
      const limit = async () => (await store.readTokenBudgets([budget], start + 5))[0]?.limit;
      for (const record of raising) await store.createKey(record, 50);
      assert.equal(await limit(), 3000);
      for (const _ of [1, 2, 3, 4, 5]) assert.equal((await spend(owner, [budget])).result.result, "begun");
      assert.equal((await spend(owner, [budget])).result.result, "over_budget");
      for (const { id } of raising) await store.updateKey(owner, id, { revokedAt: start + 1 });
      assert.equal(await limit(), 1000);
    });

    test("each part of a budget that is used up is told once", async () => {
      const owner = newOwner();
      const budget = budgetOf(owner, { limit: 1000 });
      const month = budgetOf(owner, { period: "month", limit: 1400 });
      const end = async (total: number) => {
        const { begun } = await spend(owner, [budget, month], 0);
        return store.endReply(toEnd(begun, { ...tokens(total), reserved: true }));
      };
      const told = { scope: "key", owner, of: "key_1" };
      assert.equal(await end(799), true);
      assert.deepEqual(await end(1), [{ ...told, period: "day", limit: 1000, percent: 80 }]);
      assert.equal(await end(199), true);
      const reached = await end(500);
      assert.ok(Array.isArray(reached));
      const sorted = reached.toSorted((one, other) => one.limit - other.limit || one.percent - other.percent);
      assert.deepEqual(sorted, [
        { ...told, period: "day", limit: 1000, percent: 100 },
        { ...told, period: "month", limit: 1400, percent: 80 },
        { ...told, period: "month", limit: 1400, percent: 100 },
      ]);
      assert.equal(await end(0), false, "there is no room, and so no reply");
    });

    test("what a reply has used up that is deleted, or replaced, is told by that", async () => {
      const owner = newOwner();
      const budget = budgetOf(owner, { limit: 1000 });
      const reached = [{ scope: "key", owner, of: "key_1", period: "day", limit: 1000 }] as const;
      const { begun } = await spend(owner, [budget], 0);
      const { conversationId } = begun.reply;
      const replaces = toEnd(begun, { ...tokens(800), reserved: true });
      const next = await nextToBegin(store, owner, conversationId);
      const replaced = { ...next, replaces, reserves: reserving(next, [budget], 200) };
      assert.deepEqual(await store.beginReply(replaced), {
        result: "begun",
        memory: null,
        reached: reached.map((part) => ({ ...part, percent: 80 })),
      });
      await store.saveReply({ owner, id: next.reply.id, content: "1", lease: next.lease });
      const deleted = await store.deleteConversation({ owner }, conversationId, start + 9);
      assert.deepEqual(
        deleted?.reached,
        reached.map((part) => ({ ...part, percent: 100 })),
      );
    });

    test("a reply that another process ends, takes over, replaces or deletes is settled by that", async () => {
      const owner = newOwner();
      const budget = budgetOf(owner, { limit: 100_000 });
      const until = start + 30_000;
      const abandoned = async (id: string) =>
        (await store.findAbandonedReplies(until + 1)).find((found) => found.id === id);

      const { begun } = await spend(owner, [budget]);
      assert.equal((await abandoned(begun.reply.id))?.reserved, true);
      const { lease } = begun;
      await store.saveReply({ owner, id: begun.reply.id, content: "1234", lease });
      const { content: _, ...end } = toEnd(begun, { leaseExpiredBefore: until + 1, reserved: true });
      await store.endReply(end);
      assert.deepEqual(await stateOf(budget), [[89, 0]], "by what was saved");

      const { begun: second } = await spend(owner, [budget]);
      const found = await abandoned(second.reply.id);
      assert.ok(found);
      assert.equal(await store.takeOverReply(found, { holder: "them", until }, 0), true);
      assert.deepEqual(await stateOf(budget), [[89, 600]]);
      await store.endReply(toEnd(second, { ...tokens(11), reserved: true, holder: "them" }));
      assert.deepEqual(await stateOf(budget), [[100, 0]]);

      const { begun: third } = await spend(owner, [budget]);
      const { conversationId } = third.reply;
      const next = await nextToBegin(store, owner, conversationId);
      const replaces = toEnd(third, { ...tokens(1), reserved: true });
      const replaced = { ...next, replaces, reserves: reserving(next, [budget]) };
      assert.equal((await store.beginReply(replaced)).result, "begun");
      assert.deepEqual(await stateOf(budget), [[101, 600]]);

      await store.saveReply({ owner, id: next.reply.id, content: "12345678", lease: next.lease });
      await store.deleteConversation({ owner }, conversationId, start + 9);
      assert.deepEqual(await stateOf(budget), [[191, 0]], "88 and 2");
    });

    test("a send in the place of a reply needs room once that is settled; refused, it ends nothing", async () => {
      const owner = newOwner();
      const budget = budgetOf(owner, { limit: 600 });
      const { begun } = await spend(owner, [budget]);
      const { conversationId } = begun.reply;
      const next = await nextToBegin(store, owner, conversationId);
      const replace = (total: number) =>
        store.beginReply({
          ...next,
          replaces: toEnd(begun, { ...tokens(total), reserved: true }),
          reserves: reserving(next, [budget]),
        });
      assert.equal((await replace(600)).result, "over_budget");
      assert.equal((await store.getConversation({ owner }, conversationId))?.replyId, begun.reply.id);
      assert.deepEqual(await stateOf(budget), [[0, 600]]);
      assert.equal((await replace(599)).result, "begun");
      assert.deepEqual(await stateOf(budget), [[599, 600]]);
    });

    test("a reply without budgets is found and ended as one that has reserved nothing", async () => {
      const owner = newOwner();
      const { id } = await newConversation(store, owner);
      const begun = await begin(store, owner, id);
      const found = await store.findAbandonedReplies(start + day);
      assert.equal(found.find((one) => one.id === begun.reply.id)?.reserved, false);
      assert.equal(await store.endReply(toEnd(begun, { ...tokens(10), reserved: true })), true);
    });

    test("a reply that is not stored reserves, and settles as it is counted", async () => {
      const owner = newOwner();
      const budget = budgetOf(owner, { limit: 600 });
      const of = (id: string) => ({ id, at: start, told: 88, budgets: [budget], until: start + 1000 });
      const [one, two] = [`msg_${owner}1`, `msg_${owner}2`];
      assert.deepEqual(await store.reserveTokens(of(one)), []);
      assert.deepEqual(await store.reserveTokens(of(two)), [
        { scope: "key", period: "day", limit: 600, used: 0, reserved: 600 },
      ]);
      const counted = { owner, endUser: "ann", twinId: "ada", beganAt: start, completedAt: start + 1 };
      const count = (id: string, text: string) =>
        store.countReply({ ...counted, usage: null, reserved: { id, text } });
      assert.deepEqual(await count(one, "12345678"), []);
      assert.deepEqual(await stateOf(budget), [[90, 0]]);
      assert.deepEqual(await store.reserveTokens(of(two)), []);
      await store.countReply({ ...counted, ...tokens(20), reserved: { id: two, text: "…" } });
      assert.deepEqual(await stateOf(budget), [[110, 0]]);
      assert.deepEqual(await store.countReply({ ...counted, ...tokens(20) }), []);
      assert.deepEqual(await stateOf(budget), [[110, 0]]);
    });

    test("what a dead process has reserved for a reply that is not stored is given back in time", async () => {
      const owner = newOwner();
      const budget = budgetOf(owner);
      const at = start + 400 * day;
      const of = { id: `msg_${owner}`, at, told: 88, budgets: [budget] };
      assert.deepEqual(await store.reserveTokens({ ...of, until: at + 1000 }), []);
      const reserved = async () => (await store.readTokenBudgets([budget], at))[0]?.reserved;
      await store.sweep(at + 999 - 10 * day);
      assert.equal(await reserved(), 600);
      await store.sweep(at + 1000);
      assert.equal(await reserved(), 0);
    });

    test("erasing a person forgets what its budgets have had, and lets a reply that still runs end", async () => {
      const owner = newOwner();
      const ofAnn = budgetOf(owner, { scope: "endUser", endUser: "ann" });
      const budgets = [ofAnn, { ...ofAnn, endUser: "bob" }, budgetOf(owner)];
      const { begun } = await spend(owner, budgets, 0);
      await store.forgetEndUser(owner, "ann", start + 9);
      assert.deepEqual(await stateOf(...budgets), [
        [0, 0],
        [0, 512],
        [0, 512],
      ]);
      await store.endReply(toEnd(begun, { ...tokens(7), reserved: true }));
      assert.deepEqual(await stateOf(...budgets), [
        [0, 0],
        [7, 0],
        [7, 0],
      ]);
    });
  });
}
