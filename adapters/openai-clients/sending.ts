/**
 * Sends a message once, however often a client repeats its request: with an `Idempotency-Key`, or as a retry after a broken
 * connection.
 *
 * @module
 */

import { LRUCache } from "lru-cache";
import { hold } from "../../core/api/lookup.ts";
import { isWithin } from "../../core/base/clock.ts";
import {
  claimOf,
  replayedHeaders,
  requireIdempotencyKey,
  requireSameFields,
} from "../../core/http/idempotency.ts";
import type { Call, HandlerContext, Result } from "../../core/http/route.ts";
import type { ReplyFeed, Sent } from "../../core/replies/replies.ts";
import { type IdempotencyClaim, type MessageRecord, mostCharactersRead } from "../../core/store/records.ts";
import type { Reach } from "../../core/store/store.ts";
import { messageNotFound, replyFailed } from "../../core/wire/errors.ts";
import type { ReplyEvents } from "../../core/wire/resources.ts";
import { conversationField } from "./header-names.ts";
import type { CommonParameters } from "./parameters.ts";

/** What the routes that ask share. */
export interface AskingSetting {
  /** How many characters a question may have. */
  readonly maxMessageCharacters: number;
  /** Requests that may be sent again. */
  readonly broken: BrokenRequests;
}

/** A message that is sent at most once. */
export interface Sending {
  readonly reach: Reach;
  /** What an `Idempotency-Key` is for. */
  readonly path: string;
  /** What requests with equal keys must have in common. */
  readonly fields: object;
  /** Replies whose connections broke. */
  readonly broken: BrokenRequests;
  /** Finds the conversation, and sends the message into it. */
  send(claim: IdempotencyClaim | undefined): Promise<Sent>;
}

/** The reply to follow, and what the answer says about how it came. */
export interface SentOnce {
  readonly feed: ReplyFeed;
  readonly headers: Readonly<Record<string, string>>;
  /** Notes that the client left before its answer was complete. */
  readonly left?: () => void;
}

/** A reply that is followed is read with all of its text. */
const whole = { characters: mostCharactersRead };

/** How long a request may be repeated as a retry, in milliseconds. */
const retryWindowMs = 60_000;

/** Sends a message, or finds the reply that an equal request began. */
export function sendOnce(
  call: Call<undefined, CommonParameters>,
  context: HandlerContext,
  sending: Sending,
): Promise<SentOnce> {
  const isKeyed = call.fields.idempotencyKey !== null;
  return isKeyed ? sendWithKey(call, context, sending) : sendOrJoin(call, context, sending);
}

async function sendWithKey(call: Call, context: HandlerContext, sending: Sending): Promise<SentOnce> {
  const { fields, reach, path, send } = sending;
  const { store, replies } = context;
  requireIdempotencyKey("supported", call.fields.idempotencyKey);
  const claim = claimOf({ fields: call.fields, reach, body: fields }, path, context);
  const sent = await context.keyed.once(claim, () => send(claim));
  if ("feed" in sent) return { feed: sent.feed, headers: {} };
  requireSameFields(claim, sent.claim);
  const reply = (await store.getMessage(reach, sent.claim.resourceId, whole)) ?? messageNotFound();
  return { feed: replies.find(reach, reply), headers: replayedHeaders };
}

/**
 * Joins the newest equal request of the last minute: a retry, if its reply still runs; and any, if this process saw its
 * connection break before the answer was complete. Not all clients that retry say so.
 */
async function sendOrJoin(
  { caller, body, headers }: Call<undefined, CommonParameters>,
  { store, clock, replies, sha256 }: HandlerContext,
  { reach, path, broken, send }: Sending,
): Promise<SentOnce> {
  const { owner, endUser = null } = reach;
  const request = { ...body.whole, stream: undefined };
  const key = sha256(
    JSON.stringify([caller.key?.id, owner, endUser, path, conversationField(headers)?.value, request]),
  );
  const createdAt = clock.now();
  const expiresAt = createdAt + retryWindowMs;
  const claim: IdempotencyClaim = {
    ...{ owner, endUser, path: `${path}#retry`, key, fingerprint: "" },
    ...{ createdAt, expiresAt, replaces: true },
  };
  const follow = (feed: ReplyFeed): SentOnce => ({
    feed,
    headers: {},
    left: () => broken.note(key, feed.id, clock.now()),
  });
  const brokenId = broken.take(key, createdAt);
  const isRetry = Number(headers.retryCount ?? 0) >= 1;
  const replyId = brokenId ?? (isRetry ? (await store.findClaim(claim))?.resourceId : undefined);
  const reply = replyId === undefined ? undefined : await store.getMessage(reach, replyId, whole);
  if (reply && (brokenId !== undefined || reply.status === "in_progress")) {
    return follow(replies.find(reach, reply));
  }
  const sent = await send(claim);
  if ("feed" in sent) return follow(sent.feed);
  throw new TypeError("A claim that replaces others cannot have been made before.");
}

/** How a reply is written: its events, and, once it has ended, its document. */
interface Written {
  readonly events: ReplyEvents;
  document(reply: MessageRecord): Generator<string>;
}

/** Answers with a reply: its events, if they are asked for, or its document at its end, unless it failed. */
export async function answerWith(
  { feed, headers, left }: SentOnce,
  { events, document }: Written,
  { body, requestId, request: { signal }, memory }: Call<undefined, CommonParameters>,
  { replies }: HandlerContext,
): Promise<Result> {
  if (body.stream) {
    return { events: replies.stream(feed, { from: 0, requestId, events, left, memory }), headers };
  }
  try {
    const reply = await replies.end(feed, signal);
    if (reply.error) throw replyFailed(reply.id, reply.error, headers);
    hold(memory, [reply]);
    return { document: document(reply), headers };
  } catch (error) {
    if (signal?.aborted) left?.();
    throw error;
  }
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
