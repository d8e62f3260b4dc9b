/**
 * What replies take of budgets of tokens: reserved as they begin, settled as they end.
 *
 * @module
 */

import type { MessageRecord } from "../store/records.ts";
import {
  endOfPeriod,
  type ReachedBudget,
  type TokenBudget,
  type TokenBudgetState,
  type TokenReservation,
  tokensOf,
} from "../store/token-budgets.ts";
import type { HistoryMessage, ReplyFormat, TwinEngine } from "../twins/engine.ts";
import type { Twin } from "../twins/twins.ts";
import { overBudget } from "../wire/errors.ts";
import { formatLength, type ReplyContext } from "./context.ts";

/** What a reply counts towards, and whom it asks. */
export interface Spending {
  /** The budgets of whoever sends. */
  readonly budgets: readonly TokenBudget[];
  readonly twin: Twin;
  readonly engine: TwinEngine | undefined;
}

/** The budgets that a reply counts towards. Empty: no tokens are reserved for it, and nothing is read for that. */
export function budgetsOf({ budgets, twin, engine }: Spending): readonly TokenBudget[] {
  if (engine?.asksModel === false) return [];
  if (twin.tokensPerDay === null) return budgets;
  const [owner = "", ...others] = twin.access ?? []; // a twin of one owner may have the id of another's
  const own: TokenBudget = {
    scope: "twin",
    owner: others.length === 0 ? owner : "",
    of: twin.id,
    endUser: null,
    period: "day",
    limit: twin.tokensPerDay,
  };
  return [...budgets, own];
}

/** The longest part of a twin's text that a model is told, where it is not told all of it, in characters. */
const mostToldOfTwin = 24_000;

/** What a model is told. */
interface Told {
  readonly twin: Twin;
  readonly content: string;
  readonly history: readonly HistoryMessage[];
  readonly format?: ReplyFormat | undefined;
}

/** What a reply is expected to take. */
export function reservationOf(
  { id, createdAt: at }: Pick<MessageRecord, "id" | "createdAt">,
  budgets: readonly TokenBudget[],
  { twin, content, history, format }: Told,
): TokenReservation {
  const text = twin.documents.reduce((sum, { text }) => sum + text.length, twin.instructions.length);
  const ofTwin = twin.knowledge === "whole" ? text : Math.min(text, mostToldOfTwin);
  const told = history.reduce(
    (sum, message) => sum + message.content.length,
    ofTwin + content.length + formatLength(format),
  );
  return { id, at, told: tokensOf(told), budgets };
}

/** @throws {ApiError} `budget_exceeded`, for the one of these budgets that resets last. */
export function requireRoom(spent: readonly TokenBudgetState[], now: number): void {
  const [last] = spent.toSorted(
    (one, other) => endOfPeriod(other.period, now) - endOfPeriod(one.period, now),
  );
  if (last) throw overBudget(last, endOfPeriod(last.period, now), now);
}

/** Says in the log that 80 or 100 % of budgets are used up. */
export function tellReached(
  { log }: Pick<ReplyContext, "log">,
  reached: boolean | readonly ReachedBudget[] = [],
): void {
  if (typeof reached === "boolean") return;
  for (const { scope, owner, of, period, limit, percent } of reached) {
    const who = {
      ...(owner !== "" && { owner }),
      ...(of !== "" && { [scope === "twin" ? "twinId" : "keyId"]: of }),
    };
    log("warn", `${percent} % of a budget of tokens are used up`, { scope, ...who, period, limit, percent });
  }
}

/** The engines of which it was said that their models do not count. */
const estimated = new WeakSet<TwinEngine>();

/** Says once in the log that what an engine's replies take is estimated, as its model does not count its tokens. */
export function tellEstimated(
  { log }: Pick<ReplyContext, "log">,
  engine: TwinEngine | undefined,
  { content, status, usage }: Pick<MessageRecord, "content" | "status" | "usage">,
): void {
  if (!engine || usage || status !== "completed" || content === "" || estimated.has(engine)) return;
  estimated.add(engine);
  log(
    "warn",
    "a model does not count its tokens: for budgets, they are estimated by what it is told and writes",
  );
}
