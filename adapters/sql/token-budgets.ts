/**
 * Budgets of tokens in SQL.
 *
 * @module
 */

import type { TokenBudgetStore } from "../../core/store/store.ts";
import {
  endOfPeriod,
  nameOfPeriod,
  type ReachedBudget,
  type TokenBudget,
  type TokenBudgetScope,
  type TokenBudgetState,
  type TokenReservation,
  tokenBudgetPercents,
  tokensReserved,
} from "../../core/store/token-budgets.ts";
import type { TellingWrite } from "../../core/store/webhooks.ts";
import type { SqlDriver, SqlRow, SqlStatement, SqlValue } from "./driver.ts";
import { personOf } from "./people.ts";
import { insertDeliveries } from "./webhooks.ts";

const name = "scope, owner, person, subject, period";

/** The store's methods about budgets of tokens. */
export function tokenBudgetMethods(driver: SqlDriver): TokenBudgetStore {
  return {
    async reserveTokens(reservation) {
      const result = await driver.batch(reserveTokens(reservation));
      return result.committed ? [] : readSpent(driver, reservation);
    },

    readTokenBudgets: (budgets, at) => readStates(driver, budgets, at),
  };
}

/** Reserves tokens, if all budgets have room. The first statement misses its expectation if one has none. */
export function reserveTokens(reservation: TokenReservation): SqlStatement[] {
  const { id, at, told, until = null } = reservation;
  const budgets = reservation.budgets.toSorted((one, other) => compare(keyOf(one, at), keyOf(other, at)));
  const reserved = tokensReserved(reservation);
  const sums: SqlValue[] = [];
  const rows = budgets.map((budget) => {
    const parameter = (value: SqlValue) => `$${sums.push(value)}`;
    const of = keyOf(budget, at).map(parameter);
    const limit = limitOf(budget, at, parameter);
    const values = [...of, parameter(endOfPeriod(budget.period, at)), limit, 0, parameter(reserved), 0];
    return `(${values.join(", ")})`;
  });
  const reservations: SqlValue[] = [id, told, reserved, until];
  const kept = budgets.map((budget) => {
    const of = keyOf(budget, at).map((value) => `$${reservations.push(value)}`);
    return `($1, ${of.join(", ")}, $2, $3, $4)`;
  });
  return [
    {
      sql: `INSERT INTO token_sums (${name}, ends_at, most, used, reserved, told) VALUES ${rows.join(", ")}
        ON CONFLICT (${name}) DO UPDATE
          SET reserved = token_sums.reserved + excluded.reserved, most = excluded.most
          WHERE token_sums.used + token_sums.reserved < excluded.most`,
      params: sums,
      expect: budgets.length,
    },
    {
      sql: `INSERT INTO token_reservations (reply_id, ${name}, told, reserved, expires_at) VALUES ${kept.join(", ")}`,
      params: reservations,
    },
  ];
}

/** The budgets that have no room, after a reservation was refused: all, if they have some by now. */
export async function readSpent(
  driver: SqlDriver,
  { budgets, at }: TokenReservation,
): Promise<readonly TokenBudgetState[]> {
  const states = await readStates(driver, budgets, at);
  const spent = states.filter(({ used, reserved, limit }) => used + reserved >= limit);
  return spent.length > 0 ? spent : states;
}

async function readStates(
  driver: SqlDriver,
  budgets: readonly TokenBudget[],
  at: number,
): Promise<readonly TokenBudgetState[]> {
  const params: SqlValue[] = [];
  const parameter = (value: SqlValue) => `$${params.push(value)}`;
  const selects = budgets.map((budget, index) => {
    const limit = limitOf(budget, at, parameter);
    const [scope, owner, person, subject, period] = keyOf(budget, at).map(parameter);
    const found = `FROM token_sums WHERE scope = ${scope} AND owner = ${owner} AND person = ${person}
      AND subject = ${subject} AND period = ${period}`;
    return `SELECT ${index} AS place, CAST(${limit} AS BIGINT) AS most, (SELECT used ${found}) AS used,
      (SELECT reserved ${found}) AS reserved`;
  });
  if (selects.length === 0) return [];
  const rows = await driver.all(`${selects.join(" UNION ALL ")} ORDER BY place`, params);
  return budgets.map(({ scope, period }, index) => {
    const row = rows[index] ?? {};
    const limit = Number(row.most);
    return { scope, period, limit, used: Number(row.used ?? 0), reserved: Number(row.reserved ?? 0) };
  });
}

/** How many tokens a budget has, in SQL: an owner's is raised by its live keys. */
function limitOf(
  { scope, owner, limit }: TokenBudget,
  at: number,
  parameter: (value: SqlValue) => string,
): string {
  const most = `CAST(${parameter(limit)} AS BIGINT)`;
  if (scope !== "owner") return most;
  return `(SELECT CASE WHEN max(owner_tokens_per_day) > ${most} THEN max(owner_tokens_per_day) ELSE ${most} END
    FROM api_keys WHERE owner = ${parameter(owner)} AND revoked_at IS NULL
      AND (expires_at IS NULL OR expires_at > ${parameter(at)}))`;
}

/** What a reply took, and whose webhooks are told of what it used up. */
interface SettledTokens extends TellingWrite {
  /** Undefined: its model did not say. */
  readonly tokens: number | undefined;
  readonly text?: string | undefined;
  readonly owner?: string;
  readonly at?: number;
  /** Whose it is; or the conversation that says so. */
  readonly endUser?: string | null;
  readonly conversationId?: string;
}

/**
 * Counts what a reply took instead of what was reserved for it, if that was. What its model did not say is counted by the text
 * that is stored of it, or by `text`, if that is given. The sums are locked in the order in which {@link reserveTokens} does.
 */
export function settleTokens(id: string, settled: SettledTokens): SqlStatement[] {
  const { tokens, text } = settled;
  const length =
    text === undefined ? "(SELECT length(content) FROM messages WHERE id = $1)" : "CAST($3 AS BIGINT)";
  const took = `COALESCE(CAST($2 AS BIGINT), CASE WHEN COALESCE(${length}, 0) = 0 THEN 0
      ELSE told + (${length} + 3) / 4 END)`;
  const isKnown = `EXISTS (SELECT 1 FROM token_sums WHERE scope = held.scope AND owner = held.owner
      AND person = held.person AND subject = held.subject AND period = held.period)`;
  return [
    {
      sql: `INSERT INTO token_sums (${name}, ends_at, most, used, reserved, told)
        SELECT ${name}, 0, 0, ${took}, -reserved, 0 FROM token_reservations AS held
          WHERE reply_id = $1 AND ${isKnown} ORDER BY ${name}
        ON CONFLICT (${name}) DO UPDATE
          SET used = token_sums.used + excluded.used, reserved = token_sums.reserved + excluded.reserved`,
      params: [id, tokens ?? null, ...(text === undefined ? [] : [[...text].length])],
    },
    ...tokenBudgetPercents.flatMap((percent) => [
      ...tellOfReached(id, percent, settled),
      {
        sql: `UPDATE token_sums SET told = ${percent}
          WHERE (${name}) IN (SELECT ${name} FROM token_reservations WHERE reply_id = $1)
            AND told < ${percent} AND used * 100 >= most * ${percent}
          RETURNING scope, owner, subject, period, most, ${percent} AS percent`,
        params: [id],
      },
    ]),
    { sql: "DELETE FROM token_reservations WHERE reply_id = $1", params: [id] },
  ];
}

/** Tells webhooks of what will be noted as used up. The sums are locked already: it is told once. */
function tellOfReached(
  id: string,
  percent: number,
  { tells, owner = "", at = 0, endUser = null, conversationId = "" }: SettledTokens,
): SqlStatement[] {
  const sql = `SELECT NULL AS conversation_id, NULL AS message_id,
      CASE WHEN scope = 'twin' THEN subject END AS twin_id,
      CASE WHEN scope = 'endUser' THEN COALESCE(CAST($8 AS TEXT), (SELECT end_user FROM conversations
        WHERE owner = $2 AND id = $9)) END AS end_user,
      '_' || scope || '_' || period AS part
    FROM token_sums WHERE (${name}) IN (SELECT ${name} FROM token_reservations WHERE reply_id = $7)
      AND told < ${percent} AND used * 100 >= most * ${percent}`;
  const told = { tells, owner, event: "budget.reached", at } as const;
  return insertDeliveries(told, { sql, params: [id, endUser, conversationId] });
}

/** What statements of {@link settleTokens} among others have found to be used up. */
export function reachedIn(rows: readonly (readonly SqlRow[])[]): readonly ReachedBudget[] {
  return rows
    .flat()
    .filter((row) => "percent" in row)
    .map((row) => ({
      scope: String(row.scope) as TokenBudgetScope,
      owner: String(row.owner),
      of: String(row.subject),
      period: String(row.period).length > 7 ? "day" : "month",
      limit: Number(row.most),
      percent: Number(row.percent) as ReachedBudget["percent"],
    }));
}

/** Forgets what an end user's budgets have had. */
export function forgetTokenSums(owner: string, endUser: string): SqlStatement {
  return {
    sql: "DELETE FROM token_sums WHERE scope = 'endUser' AND owner = $1 AND person = $2",
    params: [owner, personOf(owner, endUser)],
  };
}

/** How often {@link TokenSweep} looks, in milliseconds. */
const sweepMs = 60_000;

/** Gives back what dead processes have reserved, and forgets days and months that are over. */
export class TokenSweep {
  readonly #driver: SqlDriver;
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(driver: SqlDriver) {
    this.#driver = driver;
  }

  async sweep(at: number): Promise<void> {
    if (Math.abs(at - this.#sweptAt) < sweepMs) return;
    const sql =
      "SELECT reply_id FROM token_reservations WHERE expires_at <= $1 ORDER BY expires_at LIMIT 100";
    const left = await this.#driver.all(sql, [at]);
    for (const id of new Set(left.map((row) => String(row.reply_id)))) {
      await this.#driver.batch(settleTokens(id, { tokens: 0 }));
    }
    const over = "DELETE FROM token_sums WHERE ends_at <= $1 AND reserved = 0";
    await this.#driver.batch([{ sql: over, params: [at] }]);
    this.#sweptAt = at;
  }
}

/** What names a budget in a day or month. */
function keyOf({ scope, owner, of, endUser, period }: TokenBudget, at: number): string[] {
  return [scope, owner, endUser === null ? "" : personOf(owner, endUser), of, nameOfPeriod(period, at)];
}

function compare(one: readonly string[], other: readonly string[]): number {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at === -1 ? 0 : (one[at] ?? "") < (other[at] ?? "") ? -1 : 1;
}
