/**
 * Budgets of tokens: what replies may take in a day or month of UTC, and what of that is used and reserved. The transaction that
 * begins a reply reserves its estimate; the one that ends or deletes it gives that back and counts what it took, in the day and
 * month in which it began. What a reply that is not stored has reserved is given back by its process, or when its time is over
 * (`until`). Erasing a person forgets that person's budget.
 *
 * @module
 */

import { dayMs, dayOf } from "./days.ts";

/** Whose replies a budget is for: those of a key, of its end user, of a twin, or of an owner. */
export const tokenBudgetScopes = ["key", "endUser", "twin", "owner"] as const;

/** Whose replies a budget is for. */
export type TokenBudgetScope = (typeof tokenBudgetScopes)[number];

/** For how long a budget is, in UTC. */
export const tokenBudgetPeriods = ["day", "month"] as const;

/** For how long a budget is, in UTC. */
export type TokenBudgetPeriod = (typeof tokenBudgetPeriods)[number];

/** The least and the most tokens of a budget. */
export const tokenBudgetRange: readonly [least: number, most: number] = [1, 1_000_000_000_000];

/** How many tokens some replies may take together. */
export interface TokenBudget {
  readonly scope: TokenBudgetScope;
  /** Empty: the replies of all owners, with a twin that several may use. */
  readonly owner: string;
  /** The id of the key or the twin. Empty: an owner's budget. */
  readonly of: string;
  /** Null: no end user's budget. */
  readonly endUser: string | null;
  readonly period: TokenBudgetPeriod;
  /** An owner's is raised to the highest `ownerTokensPerDay` of its live keys. */
  readonly limit: number;
}

/** A budget, and what is gone of it. */
export interface TokenBudgetState extends Pick<TokenBudget, "scope" | "period" | "limit"> {
  /** What ended replies took. */
  readonly used: number;
  /** What running replies are expected to take. */
  readonly reserved: number;
}

/** What a reply is expected to take, of each budget that it counts towards. */
export interface TokenReservation {
  /** The reply's. */
  readonly id: string;
  /** When it begins: it counts in this day and month. */
  readonly at: number;
  /** What its model is told. */
  readonly told: number;
  readonly budgets: readonly TokenBudget[];
  /** When it is given back, if its process has not done so: of a reply that is not stored. Absent: it ends with its reply. */
  readonly until?: number | undefined;
}

/** What a reply is expected to take. */
export function tokensReserved({ told }: Pick<TokenReservation, "told">): number {
  return told + 512;
}

/** A part of a budget that was used up just now, in percent. */
export interface ReachedBudget extends Omit<TokenBudget, "period" | "endUser"> {
  readonly period: TokenBudgetPeriod;
  readonly percent: (typeof tokenBudgetPercents)[number];
}

/** What is told of a budget as it is used up. */
export const tokenBudgetPercents = [80, 100] as const;

/** About how many tokens so many characters are. */
export function tokensOf(characters: number): number {
  return Math.ceil(characters / 4);
}

/** The day or month of a moment, `YYYY-MM-DD` or `YYYY-MM` in UTC. */
export function nameOfPeriod(period: TokenBudgetPeriod, at: number): string {
  return period === "day" ? dayOf(at) : dayOf(at).slice(0, 7);
}

/** When the day or month of a moment ends. */
export function endOfPeriod(period: TokenBudgetPeriod, at: number): number {
  if (period === "day") return (Math.floor(at / dayMs) + 1) * dayMs;
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}

/** The store's methods about budgets of tokens, besides those that begin and end replies. */
export interface TokenBudgetStore {
  /** Reserves what a reply that is not stored is expected to take, or returns the budgets that have no room. */
  reserveTokens(reservation: TokenReservation): Promise<readonly TokenBudgetState[]>;
  /** What is gone of budgets of tokens in the day or month of a moment, in their order. */
  readTokenBudgets(budgets: readonly TokenBudget[], at: number): Promise<readonly TokenBudgetState[]>;
}
