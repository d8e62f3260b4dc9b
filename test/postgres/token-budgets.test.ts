/**
 * Budgets of tokens are exact over the processes on a database.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import type { TokenBudget } from "../../core/store/token-budgets.ts";
import { newConversation, newOwner, nextToBegin, start, toEnd } from "../contracts/store-records.ts";
import { sharedDatabase, skipWithoutPostgres } from "./database.ts";

describe("budgets of tokens over two processes", { skip: await skipWithoutPostgres() }, () => {
  const shared = sharedDatabase();

  test("of 100 senders at once, no more are admitted than there is room for, while others end", async (t) => {
    const [one, other] = await Promise.all([openPostgres(shared.url), openPostgres(shared.url)]);
    t.after(() => Promise.all([one.close(), other.close()]));
    const owner = newOwner();
    const whole = { scope: "owner", owner, of: "", endUser: null, period: "day", limit: 30_000 } as const;
    const ofKeys: readonly TokenBudget[] = [0, 1, 2].map((n) => ({
      ...whole,
      scope: "key",
      of: `key_${n}`,
      limit: 1e9,
    }));
    const usage = { inputTokens: 600, outputTokens: 0, totalTokens: 600, cachedInputTokens: null };
    const messages: { store: typeof one.store; begun: Awaited<ReturnType<typeof nextToBegin>> }[] = [];
    for (const store of Array.from({ length: 50 }, () => [one.store, other.store]).flat()) {
      const { id } = await newConversation(store, owner);
      messages.push({ store, begun: await nextToBegin(store, owner, id) });
    }
    const send = async ({ store, begun }: (typeof messages)[number], n: number) => {
      const budgets = [ofKeys[n % 3] ?? whole, whole];
      const reserves = { id: begun.reply.id, at: start, told: 88, budgets };
      const { result } = await store.beginReply({ ...begun, reserves });
      if (result !== "begun") return result;
      const ending = n % 4 > 1 ? one.store : other.store;
      if (n % 5) await ending.endReply(toEnd(begun, { usage, reserved: true }));
      return result;
    };
    const results = await Promise.all(messages.map(send));
    const begun = results.filter((result) => result === "begun").length;
    assert.deepEqual([begun, new Set(results)], [50, new Set(["begun", "over_budget"])]);
    const [state] = await one.store.readTokenBudgets([whole], start);
    assert.equal((state?.used ?? 0) + (state?.reserved ?? 0), 30_000);
    const each = await other.store.readTokenBudgets(ofKeys, start);
    assert.equal(
      each.reduce((sum, { used, reserved }) => sum + used + reserved, 0),
      30_000,
    );
  });
});
