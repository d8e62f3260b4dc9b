/**
 * Sends a message once, however often a client repeats its request: with an `Idempotency-Key`, or as a retry of OpenAI's
 * clients, which count their retries in a header field.
 *
 * @module
 */

import { LRUCache } from "lru-cache";
import { isWithin } from "../../core/base/clock.ts";
import {
  claimOf,
  replayedHeaders,
  requireIdempotencyKey,
  requireSameFields,
} from "../../core/http/idempotency.ts";
import type { Call, HandlerContext } from "../../core/http/route.ts";
import type { ReplyFeed, Send, Sent } from "../../core/replies/replies.ts";
import type { IdempotencyClaim, MadeClaim } from "../../core/store/records.ts";
import type { Reach, Store } from "../../core/store/store.ts";
import { messageNotFound } from "../../core/wire/errors.ts";

/** A message that is sent at most once. */
export interface Sending {
  readonly reach: Reach;
  /** What an `Idempotency-Key` is for. */
  readonly path: string;
  /** What equal requests have in common. */
  readonly fields: object;
  /** What retries are for: they join only where this is the same. Undefined: retries are no claims. */
  readonly retryPath: string | undefined;
  /** Finds the conversation, and sends the message into it. */
  send(claim: IdempotencyClaim | undefined): Promise<Sent>;
}

/** The reply to follow, and what the answer says about how it came. */
export interface SentOnce {
  readonly feed: ReplyFeed;
  readonly headers: Readonly<Record<string, string>>;
}

/** How long a request may be repeated as a retry, in milliseconds. */
const retryWindowMs = 60_000;

/** Whether one of OpenAI's clients sends this request again. */
export function isRetry({ headers }: Pick<Call, "headers">): boolean {
  return Number(headers.retryCount ?? 0) >= 1;
}

/** What the log and the traces say of the request that sends a message. */
export function sendFields({
  requestId,
  caller: { key },
  fields,
}: Call): Pick<Send, "requestId" | "keyId" | "traceparent"> {
  return { requestId, keyId: key?.id, traceparent: fields.traceparent ?? undefined };
}

/** Identifies equal requests of one credential. */
export function digestOf(call: Call, fields: object, { sha256 }: HandlerContext): string {
  const { key, owner, reach } = call.caller;
  return sha256(JSON.stringify([key?.id, owner, reach.endUser, fields]));
}

/** Sends a message, or finds the reply that an equal request began. */
export async function sendOnce(call: Call, context: HandlerContext, sending: Sending): Promise<SentOnce> {
  if (call.fields.idempotencyKey !== null) return sendWithKey(call, context, sending);
  const { retryPath } = sending;
  if (retryPath === undefined) return begun(await sending.send(undefined));
  return sendOrJoin(call, context, { ...sending, retryPath });
}

async function sendWithKey(call: Call, context: HandlerContext, sending: Sending): Promise<SentOnce> {
  const { fields, reach, path, send } = sending;
  const { store, clock, sha256 } = context;
  requireIdempotencyKey("supported", call.fields.idempotencyKey);
  const claim = claimOf({ fields: call.fields, reach, body: fields }, { path, now: clock.now(), sha256 });
  let made = claim && (await store.findClaim(claim));
  if (!made) {
    const sent = await send(claim);
    if ("feed" in sent) return begun(sent);
    made = sent.claim;
  }
  requireSameFields(claim, made);
  return { ...(await join(made, reach, context)), headers: replayedHeaders };
}

/**
 * Each equal request makes a claim of its own, numbered from 0 in each minute of the clock: a retry joins the last of
 * them, and a request that is no retry makes the next one.
 */
async function sendOrJoin(
  call: Call,
  context: HandlerContext,
  { reach, fields, retryPath, send }: Sending & { readonly retryPath: string },
): Promise<SentOnce> {
  const { store, clock, replies } = context;
  const digest = digestOf(call, fields, context);
  const now = clock.now();
  const minute = Math.floor(now / retryWindowMs);
  const claims = (one: number) => (number: number) =>
    retryClaim({ reach, path: retryPath, key: `${digest}.${one}.${number}` }, now, (one + 2) * retryWindowMs);
  if (isRetry(call)) {
    let last: MadeClaim | undefined;
    // The clock of the process of the first try may be ahead.
    for (const one of [minute + 1, minute, minute - 1]) last ??= await findLast(store, claims(one));
    const reply = last && (await store.findMessage(reach, last.resourceId));
    if (reply && now - reply.createdAt < retryWindowMs) {
      return { feed: replies.find(reach.owner, reply), headers: {} };
    }
  }
  for (let number = 0; ; number++) {
    const sent = await send(claims(minute)(number));
    if ("feed" in sent) return begun(sent);
    if (isRetry(call)) return join(sent.claim, reach, context);
  }
}

/** The last of the claims that are numbered from 0. Those of a minute expire together, so that no number is missing. */
async function findLast(
  store: Store,
  claim: (number: number) => IdempotencyClaim,
): Promise<MadeClaim | undefined> {
  let last: MadeClaim | undefined;
  for (let number = 0; ; number++) {
    const made = await store.findClaim(claim(number));
    if (!made) return last;
    last = made;
  }
}

function retryClaim(
  { reach, path, key }: { readonly reach: Reach; readonly path: string; readonly key: string },
  createdAt: number,
  expiresAt: number,
): IdempotencyClaim {
  const { owner, endUser = null } = reach;
  return { owner, endUser, path, key, fingerprint: "", createdAt, expiresAt };
}

function begun(sent: Sent): SentOnce {
  if ("feed" in sent) return { feed: sent.feed, headers: {} };
  throw new TypeError("A send without a claim cannot have been made before.");
}

/** Follows the reply that was claimed. */
export async function join(
  { resourceId }: Pick<MadeClaim, "resourceId">,
  reach: Reach,
  { store, replies }: HandlerContext,
): Promise<SentOnce> {
  const reply = (await store.findMessage(reach, resourceId)) ?? messageNotFound();
  return { feed: replies.find(reach.owner, reply), headers: {} };
}

/** How many requests are remembered whose client was cut off. */
const most = 10_000;

/**
 * The replies of requests whose client was cut off before it had the answer, by what identifies equal requests. Each is
 * joined by one retry.
 */
export class BrokenRequests {
  readonly #replies = new LRUCache<string, { readonly replyId: string; readonly at: number }>({
    maxSize: most,
    sizeCalculation: () => 1,
  });

  /** The client of a request has left. */
  note(digest: string, replyId: string, now: number): void {
    this.#replies.set(digest, { replyId, at: now });
  }

  /** The reply of an equal request, at most a minute ago. It is forgotten. */
  take(digest: string, now: number): string | undefined {
    const found = this.#replies.get(digest);
    this.#replies.delete(digest);
    return found && isWithin(retryWindowMs, found.at, now) ? found.replyId : undefined;
  }
}
