/**
 * Budgets of tokens in memory.
 *
 * @module
 */

import type { MemoryRecords, TokenSumEntry } from "./memory-records.ts";
import { isLiveKey } from "./records.ts";
import type { TokenBudgetStore } from "./store.ts";
import {
  endOfPeriod,
  nameOfPeriod,
  type ReachedBudget,
  type TokenBudget,
  type TokenBudgetState,
  type TokenReservation,
  tokenBudgetPercents,
  tokensOf,
  tokensReserved,
} from "./token-budgets.ts";

/** The store's methods about budgets of tokens. */
export function tokenBudgetMethods(records: MemoryRecords): TokenBudgetStore {
  return {
    async reserveTokens(reservation) {
      const reserved = reserveInstead(records, reservation, undefined);
      return "spent" in reserved ? reserved.spent : [];
    },

    async readTokenBudgets(budgets, at) {
      return budgets.map((budget) => stateOf(records, budget, at));
    },
  };
}

/** What a reply took. `tokens`: undefined if its model did not say. */
export interface Settlement {
  readonly id: string;
  readonly tokens: number | undefined;
  readonly text: string;
}

/**
 * Reserves tokens, once the reply that ends with this is settled; or returns the budgets that have no room, and changes
 * nothing.
 */
export function reserveInstead(
  records: MemoryRecords,
  reservation: TokenReservation | undefined,
  ending: Settlement | undefined,
): { readonly reached: readonly ReachedBudget[] } | { readonly spent: readonly TokenBudgetState[] } {
  const before = ending && records.reservations.get(ending.id);
  const sums = before ? [...records.tokenSums].map(([name, sum]) => [name, { ...sum }] as const) : [];
  const reached = ending ? settle(records, ending) : [];
  if (!reservation) return { reached };
  const { id, at, budgets } = reservation;
  const states = budgets.map((budget) => stateOf(records, budget, at));
  const spent = states.filter(({ used, reserved, limit }) => used + reserved >= limit);
  if (spent.length > 0) {
    for (const [name, sum] of sums) records.tokenSums.set(name, sum);
    if (before) records.reservations.set(before.id, before);
    return { spent };
  }
  for (const budget of budgets) {
    const sum = sumOf(records, budget, at) ?? newSum(budget, at);
    sum.reserved += tokensReserved(reservation);
    sum.limit = limitOf(records, budget, at);
    records.tokenSums.set(nameOf(budget, at), sum);
  }
  records.reservations.set(id, reservation);
  return { reached };
}

/** Counts what a reply took instead of what was reserved for it, if that was. */
export function settle(records: MemoryRecords, { id, tokens, text }: Settlement): readonly ReachedBudget[] {
  const reservation = records.reservations.get(id);
  if (!reservation) return [];
  records.reservations.delete(id);
  const { at, told, budgets } = reservation;
  const took = tokens ?? (text === "" ? 0 : told + tokensOf([...text].length));
  return budgets.flatMap((budget) => {
    const sum = sumOf(records, budget, at);
    if (!sum) return []; // its end user was erased
    sum.reserved -= tokensReserved(reservation);
    sum.used += took;
    const { scope, owner, of, period } = budget;
    const reached = tokenBudgetPercents.filter(
      (percent) => percent > sum.told && sum.used * 100 >= sum.limit * percent,
    );
    sum.told = reached.at(-1) ?? sum.told;
    return reached.map((percent) => ({ scope, owner, of, period, limit: sum.limit, percent }));
  });
}

/** Forgets what an end user's budgets have had. */
export function forgetTokenSums({ tokenSums }: MemoryRecords, owner: string, endUser: string): void {
  for (const [name, sum] of tokenSums) {
    if (sum.owner === owner && sum.endUser === endUser) tokenSums.delete(name);
  }
}

/** Gives back what dead processes have reserved, and forgets days and months that are over. */
export function sweepTokenSums(records: MemoryRecords, at: number): void {
  for (const { id, until = Number.POSITIVE_INFINITY } of [...records.reservations.values()]) {
    if (until <= at) settle(records, { id, tokens: 0, text: "" });
  }
  for (const [name, { endsAt, reserved }] of records.tokenSums) {
    if (endsAt <= at && reserved === 0) records.tokenSums.delete(name);
  }
}

function stateOf(records: MemoryRecords, budget: TokenBudget, at: number): TokenBudgetState {
  const { scope, period } = budget;
  const { used = 0, reserved = 0 } = sumOf(records, budget, at) ?? {};
  return { scope, period, limit: limitOf(records, budget, at), used, reserved };
}

function limitOf({ owners }: MemoryRecords, { scope, owner, limit }: TokenBudget, at: number): number {
  if (scope !== "owner") return limit;
  const live = [...(owners.get(owner)?.keys.values() ?? [])].filter(({ record }) => isLiveKey(record, at));
  return Math.max(limit, ...live.map(({ record }) => record.ownerTokensPerDay ?? 0));
}

function sumOf({ tokenSums }: MemoryRecords, budget: TokenBudget, at: number): TokenSumEntry | undefined {
  return tokenSums.get(nameOf(budget, at));
}

function newSum({ owner, endUser, period, limit }: TokenBudget, at: number): TokenSumEntry {
  return { owner, endUser, endsAt: endOfPeriod(period, at), limit, used: 0, reserved: 0, told: 0 };
}

function nameOf({ scope, owner, of, endUser, period }: TokenBudget, at: number): string {
  return JSON.stringify([scope, owner, of, endUser, nameOfPeriod(period, at)]);
}
