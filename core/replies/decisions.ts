/**
 * What a message decides of the calls with which the reply before it has ended.
 *
 * @module
 */

import type { Decisions, PendingCalls } from "../store/records.ts";
import type { BeginReply, NotStored, Store } from "../store/store.ts";
import type { DecidedCalls } from "../twins/engine.ts";
import { validationError } from "../wire/errors.ts";
import type { Place, Placed } from "./place.ts";

/** A message that may decide of calls. */
export interface Deciding extends Placed {
  /** What was said of calls, by their ids. Undefined: nothing. */
  readonly decisions?: Decisions | undefined;
}

/** Calls as the engine is told of them, and how that is stored. */
export interface Decided {
  readonly calls: DecidedCalls;
  readonly decides: NonNullable<BeginReply["decides"]>;
}

/**
 * What a message decides where it is to be stored. Undefined: nothing waits there. Where the place may not be the right one, it
 * says so, as the store would.
 *
 * @throws {ApiError} `validation_error` for ids of calls that do not wait there
 */
export async function decide(
  store: Store,
  { owner, endUser, conversationId, decisions, replaces }: Deciding,
  { seq, after, forkAt }: Place,
): Promise<Decided | NotStored | undefined> {
  const found = after === null ? undefined : await store.readCalls(owner, after);
  const pending = found?.isOpen ? found.pending : undefined;
  const known = new Set(pending?.calls.map(({ callId }) => callId));
  const unknown = Object.keys(decisions ?? {}).filter((id) => !known.has(id));
  if (unknown.length > 0) {
    const now = await store.getConversation({ owner, endUser }, conversationId);
    if (!now) return { result: "not_found" };
    const { replyId, logLength, lastMessageId } = now;
    if (replyId !== null && !replaces) return { result: "busy", replyId }; // no call waits behind a reply that runs
    if (logLength !== seq || (forkAt === undefined && lastMessageId !== after))
      return { result: "moved", end: { logLength, lastMessageId } };
    const message =
      "must be the callId of one of the pendingCalls of the reply that the message goes on from";
    throw validationError(unknown.map((id) => ({ path: `calls.${id}`, message })));
  }
  if (!pending || after === null) return undefined;
  return {
    calls: withDecisions(pending, decisions ?? {}),
    decides: { replyId: after, decisions: decisions ?? {} },
  };
}

/** What a question has decided, for another process. Undefined: nothing. */
export async function decidedBefore(
  store: Store,
  owner: string,
  { id, after }: { readonly id: string; readonly after: string | null },
): Promise<DecidedCalls | undefined> {
  const asked = await store.readCalls(owner, id);
  const decided = asked?.decisions && after !== null ? await store.readCalls(owner, after) : undefined;
  return decided?.pending && withDecisions(decided.pending, asked?.decisions ?? {});
}

function withDecisions({ calls, state }: PendingCalls, decisions: Decisions): DecidedCalls {
  return {
    calls: calls.map((call) => ({
      ...call,
      decision: Object.hasOwn(decisions, call.callId) ? decisions[call.callId] : undefined,
    })),
    state,
  };
}
