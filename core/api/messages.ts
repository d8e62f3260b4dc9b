/**
 * The endpoints of messages: sending, normally and streamed, reading, resuming and cancelling.
 *
 * @module
 */

import { claimOf, replayedHeaders, requireSameFields } from "../http/idempotency.ts";
import { type Call, type HandlerContext, type Result, route } from "../http/route.ts";
import type { ReplyFeed } from "../replies/replies.ts";
import { readPortions } from "../store/portions.ts";
import { type MessageRecord, messagesPath, mostCharactersRead } from "../store/records.ts";
import {
  conversationNotFound,
  messageNotFound,
  replyFailed,
  twinNotFound,
  validationError,
} from "../wire/errors.ts";
import { headerNames } from "../wire/request.ts";
import { messageResource, OwnEvents } from "../wire/resources.ts";
import {
  type FromSchema,
  messageSchema,
  messagesQuerySchema,
  sendMessageSchema,
  streamQuerySchema,
} from "../wire/schemas.ts";
import {
  findTwin,
  hold,
  requireConversation,
  requireMessage,
  requireReply,
  requireTwinInReach,
} from "./lookup.ts";
import { pageOf, sliceOf } from "./pagination.ts";

const sendErrors = [
  "conversation_not_found",
  "twin_not_found",
  "message_not_found",
  "conversation_busy",
  "too_many_branches",
  "too_many_running",
  "shutting_down",
] as const;

export const messageRoutes = [
  route({
    operationId: "listMessages",
    method: "GET",
    path: "/api/v1/conversations/{id}/messages",
    summary: "Read the messages on a conversation's current path, or all of them, oldest first",
    credential: "api_key",
    scope: "read_only",
    query: messagesQuerySchema,
    success: { status: 200, description: "A page of messages.", schema: messageSchema, list: true },
    errors: ["conversation_not_found", "message_not_found"],
    async handle({ caller: { reach }, params, query, memory }, { store }) {
      const { order, after, path } = query;
      await requireConversation(store, reach, params.id);
      const characters = mostCharactersRead;
      const slice = { order, path, characters, ...sliceOf(query), ...(after && { after }) };
      const items: MessageRecord[] = [];
      let total: number | undefined;
      for await (const portion of readPortions(store, reach, params.id, slice)) {
        hold(memory, portion.items.map(lengthOf));
        items.push(...portion.items);
        total ??= portion.total;
      }
      return pageOf(query, total === undefined ? messageNotFound() : { items, total }, messageResource);
    },
  }),

  route({
    operationId: "sendMessage",
    method: "POST",
    path: "/api/v1/conversations/{id}/messages",
    summary: "Send a message and wait for the whole reply",
    credential: "api_key",
    scope: "full_access",
    body: sendMessageSchema,
    idempotency: "supported",
    success: { status: 200, description: "The twin's reply, once it has ended.", schema: messageSchema },
    errors: [...sendErrors, "model_error", "model_timeout"],
    async handle(call, context) {
      const { feed, headers } = await send(call, context);
      const reply = await context.replies.end(feed, call.request.signal);
      if (reply.error) throw replyFailed(reply.id, reply.error, headers);
      return { data: messageResource(reply), headers };
    },
  }),

  route({
    operationId: "streamMessage",
    method: "POST",
    path: "/api/v1/conversations/{id}/messages/stream",
    summary: "Send a message and stream the reply as it is produced",
    credential: "api_key",
    scope: "full_access",
    // Clients that reconnect by themselves also repeat a POST, with the id of the last event that they have.
    query: streamQuerySchema,
    queryHeaders: { after: "lastEventId" },
    headers: { prefer: "Prefer" },
    body: sendMessageSchema,
    idempotency: "supported",
    success: { status: 200, description: "The reply as Server-Sent Events.", events: true },
    errors: sendErrors,
    async handle(call, context) {
      const { feed, headers, repeated } = await send(call, context);
      return repeated ? resume(feed, call, context, headers) : follow(feed, 0, call, context);
    },
  }),

  route({
    operationId: "getMessage",
    method: "GET",
    path: "/api/v1/conversations/{id}/messages/{messageId}",
    summary: "Read one message",
    credential: "api_key",
    scope: "read_only",
    success: { status: 200, description: "The message.", schema: messageSchema },
    errors: ["conversation_not_found", "message_not_found"],
    async handle({ caller: { reach }, params, memory }, { store }) {
      const named = { conversationId: params.id, id: params.messageId };
      const message = await requireMessage(store, reach, named, mostCharactersRead);
      hold(memory, [message.content.length]);
      return { data: messageResource(message) };
    },
  }),

  route({
    operationId: "resumeMessageStream",
    method: "GET",
    path: "/api/v1/conversations/{id}/messages/{messageId}/stream",
    summary: "Stream a reply from any point of its text, while it is produced or any time later",
    credential: "api_key",
    scope: "read_only",
    query: streamQuerySchema,
    queryHeaders: { after: "lastEventId" },
    success: { status: 200, description: "The rest of the reply as Server-Sent Events.", events: true },
    errors: ["conversation_not_found", "message_not_found"],
    async handle(call, context) {
      const { reach } = call.caller;
      const reply = await requireReply(context.store, reach, call.params.id, call.params.messageId);
      return resume(context.replies.find(reach, reply), call, context);
    },
  }),

  route({
    operationId: "cancelMessage",
    method: "POST",
    path: "/api/v1/conversations/{id}/messages/{messageId}/cancel",
    summary: "Stop a reply and keep its text so far; a reply that has ended stays as it is",
    credential: "api_key",
    scope: "full_access",
    success: { status: 200, description: "The reply, once it has ended.", schema: messageSchema },
    errors: ["conversation_not_found", "message_not_found", "shutting_down"],
    async handle({ caller: { reach }, params }, { store, replies }) {
      const reply = await requireReply(store, reach, params.id, params.messageId);
      return { data: messageResource(await replies.cancel(reach, reply)) };
    },
  }),
];

function lengthOf({ content }: MessageRecord): number {
  return content.length;
}

/** What a client sends that reads along, among other preferences (RFC 7240). */
const readingPace = /(?:^|,)[ \t]*reading-pace[ \t]*(?:[,;]|$)/i;

interface SendResult {
  readonly feed: ReplyFeed;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether an equal request began the reply. */
  readonly repeated?: true;
}

/** The common part of both kinds of sending: begins the reply, or finds the one that an equal request began. */
async function send(
  call: Call<unknown, FromSchema<typeof sendMessageSchema>>,
  context: HandlerContext,
): Promise<SendResult> {
  const { caller, params, body, fields, headers, requestId } = call;
  const { reach, limits } = caller;
  const { store, twins, replies, clock, sha256 } = context;
  const conversation = (await replies.findConversation(reach, params.id)) ?? conversationNotFound();
  requireTwinInReach(reach, conversation);
  const { id: conversationId, twinId } = conversation;
  const now = clock.now();
  const claim = claimOf({ fields, reach, body }, { path: messagesPath(conversationId), now, sha256 });
  let made = claim && (await store.findClaim(claim));
  if (!made) {
    const twin = await findTwin(twins, reach, twinId);
    if (!twin) {
      await requireConversation(store, reach, conversationId); // it may have been deleted since it was cached
      return twinNotFound();
    }
    const sent = await replies.send({
      limits,
      conversationId,
      twin,
      content: body.content,
      after: body.after,
      claim,
      requestId,
      traceparent: fields.traceparent ?? undefined,
      readAlong: readingPace.test(headers.prefer ?? ""),
      received: call.received,
      ...reach,
    });
    if ("feed" in sent) return { feed: sent.feed, headers: {} };
    made = sent.claim;
  }
  // First, because the conversation may have been deleted since it was cached, which is 404 with any fields.
  const reply = await requireReply(store, reach, conversationId, made.resourceId);
  requireSameFields(claim, made);
  return { feed: replies.find(reach, reply), headers: replayedHeaders, repeated: true };
}

/** Follows a reply that was begun before, from the offset in the request. */
function resume(
  feed: ReplyFeed,
  call: Call<FromSchema<typeof streamQuerySchema>>,
  context: HandlerContext,
  headers?: Readonly<Record<string, string>>,
): Result {
  const { after: from = 0 } = call.query;
  if (feed.reaches(from)) return follow(feed, from, call, context, headers);
  const path = call.fields.lastEventId === null ? "after" : headerNames.lastEventId;
  const message = `must be the id of an event of this reply: a whole number from 0 to ${feed.text.length}`;
  throw validationError([{ path, message }]);
}

function follow(
  feed: ReplyFeed,
  from: number,
  { requestId, memory }: Call,
  { replies }: HandlerContext,
  headers: Readonly<Record<string, string>> = {},
): Result {
  const events = replies.stream(feed, { from, requestId, memory, events: new OwnEvents(requestId) });
  return { events, headers };
}
