/**
 * A reply as a handler's result: followed as a stream, or at its end.
 *
 * @module
 */

import type { Call, HandlerContext, Result } from "../../core/http/route.ts";
import type { ReplyFeed } from "../../core/replies/feed.ts";
import { followReply } from "../../core/replies/follower.ts";
import type { MessageRecord } from "../../core/store/records.ts";
import { replyFailed } from "../../core/wire/errors.ts";
import type { ReplyEvents } from "../../core/wire/resources.ts";

/** The longest body of a request, in bytes: it may have a whole conversation. */
export const maxBodyBytes: number = 4 * 1024 * 1024;

/** What is followed. */
interface Following {
  readonly feed: ReplyFeed;
  readonly from: number;
  /** Called if the client leaves before the end. */
  readonly left?: (() => void) | undefined;
}

/** Follows a reply from an offset of its text. */
export function followAs(
  events: ReplyEvents,
  { feed, from, left }: Following,
  { requestId }: Call,
  { clock, observe, heartbeatMs, joinTokens }: HandlerContext,
): Result {
  const options = { clock, observe, requestId, from, heartbeatMs, joinTokens, events, left };
  return { events: followReply(feed, options) };
}

/** A reply that has not failed. `headers`: what the answer says about how it came, also if it has. */
export function requireCompleted(
  reply: MessageRecord,
  headers: Readonly<Record<string, string>>,
): MessageRecord {
  if (reply.error) throw replyFailed(reply.id, reply.error, headers);
  return reply;
}
