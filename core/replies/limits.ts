/**
 * The limits that may refuse a reply. The one that refused a reply is told by the code of an `ApiError`, which the dispatcher
 * answers (`errorAnswer` in `core/http/envelope.ts`; `/v1` and `/mcp` have forms of their own). In the order in which they refuse,
 * with those that stand elsewhere:
 *
 * 1. requests an hour: 429 `rate_limited`, in `core/http/rate-limit.ts`;
 * 2. how many replies run at once: 429 `too_many_running` (`RunningReplies.prepare`; `Replies.ask` for those that are not
 *    stored), unless the conversation is busy, or a person answers there: then that is told, with its code in 4;
 * 3. the memory that the process, an owner and an end user may hold: 503 `unavailable`;
 * 4. the place in the conversation: 409 `conversation_busy`, `answered_by_person`, `too_many_branches`, in `place.ts`;
 * 5. budgets of tokens: 429 `budget_exceeded`, decided by the transaction that begins the reply; those that are used up also
 *    before a running reply is stopped for it.
 *
 * Clients tell a key's limit from a token's by the names in `RateLimit`, of running replies by `details.limit`, and a lack of
 * memory from a store that is away by the message; at `/v1`, the first two have one code and the third is a `server_error`.
 * Operators see the code above and the key in the log's `request` line.
 *
 * A stream of a conversation counts as a reply does in 2: 429 `too_many_streams` (`ConversationStreams.open`).
 * `core/http/admission.ts` says which limits a caller has.
 *
 * @module
 */

import { counted } from "../base/counted.ts";
import type { Log } from "../base/log.ts";
import type { Held } from "../base/memory-budget.ts";
import type { MessageRecord } from "../store/records.ts";
import {
  endOfPeriod,
  type ReachedBudget,
  type TokenBudget,
  type TokenBudgetState,
  type TokenReservation,
  tokensOf,
} from "../store/token-budgets.ts";
import type { HistoryMessage, ReplyFormat, Turn, TwinEngine } from "../twins/engine.ts";
import { sizeOfOwn, type Twin } from "../twins/twins.ts";
import { ApiError } from "../wire/errors.ts";

/** A limit of what runs at once: of a key, an end user or a host's user. */
export interface RunningLimit {
  readonly id: string;
  /** How many replies, or streams, may run at once. */
  readonly most: number;
}

/** Counts the replies, or the streams, that run in this process, by what limits them. */
export class RunningCounts {
  readonly #counts = new Map<string, number>();
  readonly #refusal: (most: number) => ApiError;

  /** `refusal`: the error if one more would break a limit. */
  constructor(refusal: (most: number) => ApiError) {
    this.#refusal = refusal;
  }

  /** @throws {ApiError} if one more would break a limit. Nothing is counted then. */
  enter(limits: readonly RunningLimit[]): void {
    for (const { id, most } of limits) if ((this.#counts.get(id) ?? 0) >= most) throw this.#refusal(most);
    this.add(limits);
  }

  /** Counts one that may run whatever runs already. */
  add(limits: readonly RunningLimit[]): void {
    for (const { id } of limits) this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
  }

  leave(limits: readonly RunningLimit[]): void {
    for (const { id } of limits) {
      const left = (this.#counts.get(id) ?? 0) - 1;
      if (left > 0) this.#counts.set(id, left);
      else this.#counts.delete(id);
    }
  }
}

export function tooManyRunning(most: number): ApiError {
  const message = `${counted(most, "reply is", "replies are")} running already; wait until one has ended, or cancel one.`;
  const headers = { "Retry-After": "5" };
  return new ApiError("too_many_running", message, { details: { limit: most }, headers });
}

export function tooManyStreams(most: number): ApiError {
  const message = `You have ${counted(most, "stream")} of conversations open; close one first.`;
  return new ApiError("too_many_streams", message, { headers: { "Retry-After": "5" } });
}

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

/** What a reply is expected to take. */
export function reservationOf(
  { id, createdAt: at }: Pick<MessageRecord, "id" | "createdAt">,
  budgets: readonly TokenBudget[],
  { twin, content, history, format }: Pick<Turn, "twin" | "content" | "history" | "format">,
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
  if (!last) return;
  const { scope, period, limit } = last;
  const resetAt = endOfPeriod(period, now);
  const whose = { key: "the key's", endUser: "the end user's", twin: "the twin's", owner: "the owner's" };
  const until = new Date(resetAt).toISOString();
  const seconds = Math.min(86_400, Math.max(1, Math.ceil((resetAt - now) / 1000)));
  throw new ApiError(
    "budget_exceeded",
    `All of ${whose[scope]} ${limit} tokens a ${period} are used or reserved; there are new ones from ${until.slice(0, 10)} on.`,
    { details: { scope, limit, resetAt: until }, headers: { "Retry-After": String(seconds) } },
  );
}

/** Says in the log that 80 or 100 % of budgets are used up. */
export function tellReached(
  { log }: { readonly log: Log },
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
  { log }: { readonly log: Log },
  engine: TwinEngine | undefined,
  { content, finishReason, usage }: Pick<MessageRecord, "content" | "finishReason" | "usage">,
): void {
  if (!engine || usage || finishReason !== "stop" || content === "" || estimated.has(engine)) return;
  estimated.add(engine);
  log(
    "warn",
    "a model does not count its tokens: for budgets, they are estimated by what it is told and writes",
  );
}

/**
 * What an engine is asked, in bytes: a model is sent it as JSON, which is there as text and as bytes while it is sent, and
 * the messages stay.
 */
export function questionBytes(
  content: string,
  history: readonly HistoryMessage[] = [],
  format?: ReplyFormat,
): number {
  const asked = content.length + formatLength(format);
  return 3 * history.reduce((sum, message) => sum + message.content.length, asked);
}

/** Holds a twin that its owner made, for as long as the memory is held. False: others that are used leave no room. */
export function holdTwin(memory: Held, twin: Twin): boolean {
  const bytes = sizeOfOwn(twin);
  return bytes === 0 || memory.share(twin, bytes);
}

/** How long the form is that a reply is to have, in characters. */
function formatLength(format: ReplyFormat | undefined): number {
  return format ? JSON.stringify(format).length : 0;
}
