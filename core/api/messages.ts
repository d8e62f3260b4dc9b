/**
 * The endpoints of messages: sending, normally and streamed, reading, resuming and cancelling.
 *
 * @module
 */

import { keyRequired } from "../auth/credentials.ts";
import { claimOf, replayedHeaders, requireSameFields } from "../http/idempotency.ts";
import { type Call, type HandlerContext, type Result, route } from "../http/route.ts";
import type { ReplyFeed } from "../replies/replies.ts";
import { readPortions } from "../store/portions.ts";
import {
  type IdempotencyClaim,
  type MadeClaim,
  type MessageRecord,
  messagesPath,
  mostCharactersRead,
} from "../store/records.ts";
import {
  conversationNotFound,
  messageNotFound,
  replyFailed,
  tooMuchAtOnce,
  twinNotFound,
  validationError,
} from "../wire/errors.ts";
import { accepted } from "../wire/field-errors.ts";
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
  sendFields,
} from "./lookup.ts";
import { pageOf, sliceOf } from "./pagination.ts";

const sendErrors = [
  "conversation_not_found",
  "twin_not_found",
  "message_not_found",
  "conversation_busy",
  "too_many_branches",
  "too_many_running",
  "budget_exceeded",
  "shutting_down",
] as const;

/** The header field in which a client says what it prefers. */
const preferences = { prefer: "Prefer" } as const;

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
        // Where its reader may hold no more, the page ends: asked for again, it would be refused again. One byte is the answer's.
        if (!memory.reserve(1 + 2 * lengthOf(portion.items))) {
          if (items.length === 0) throw tooMuchAtOnce();
          break;
        }
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
    summary: "Send a message and wait for the whole reply; or store one without a reply",
    credential: "api_key",
    scope: "full_access",
    headers: preferences,
    body: sendMessageSchema,
    idempotency: "supported",
    success: {
      status: 200,
      description: "The twin's reply, once it has ended.",
      schema: messageSchema,
      async: true,
      also: {
        201: "What was stored without a reply.",
        202: "The question, which waits: a person answers in this conversation; or the reply as it begins, with Prefer: respond-async.",
      },
    },
    errors: [...sendErrors, "insufficient_scope", "model_error", "model_timeout"],
    async handle(given, context) {
      if (isAlone(given.body)) requireOwner(given.caller);
      const call = { ...given, body: requireWords(given.body) };
      requireRoleOfMembers(call.body);
      if (isAlone(call.body)) return say(call, context);
      const sent = await send(call, context);
      const { headers } = sent;
      if (sent.waiting) return { status: 202, data: messageResource(sent.waiting), headers };
      const { feed } = sent;
      if (prefers(call, respondAsync)) return { status: 202, ...begun(sent, call, context) };
      const reply = await context.replies.end(feed, call.request.signal);
      if (reply.error) throw replyFailed(reply.id, reply.error, headers);
      hold(call.memory, [reply]);
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
    headers: preferences,
    body: sendMessageSchema,
    idempotency: "supported",
    success: { status: 200, description: "The reply as Server-Sent Events.", events: true },
    errors: sendErrors,
    async handle(given, context) {
      const call = { ...given, body: requireWords(given.body) };
      requireStreamed(call.body);
      const sent = await send(call, context, prefers(call, readingPace));
      const { headers, repeated } = sent;
      if (sent.waiting) return { events: new OwnEvents(call.requestId).waiting(sent.waiting), headers };
      const { feed } = sent;
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
      hold(memory, [message]);
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
    async handle({ caller: { reach }, params, memory }, { store, replies }) {
      const reply = await requireReply(store, reach, params.id, params.messageId);
      const ended = await replies.cancel(reach, reply);
      hold(memory, [ended]);
      return { data: messageResource(ended) };
    },
  }),
];

/** The length of the texts of messages, in UTF-16 code units. */
function lengthOf(messages: readonly MessageRecord[]): number {
  return messages.reduce(
    (sum, { content, pendingCalls }) =>
      sum + content.length + (pendingCalls ? JSON.stringify(pendingCalls).length : 0),
    0,
  );
}

/** What a client prefers that reads along, and one that does not wait for the reply (RFC 7240). */
const readingPace = "reading-pace";
const respondAsync = "respond-async";

/** Whether a client has this preference, among others. */
function prefers({ headers: { prefer } }: Call, name: string): boolean {
  const preferences = prefer?.split(",") ?? [];
  return preferences.some((one) => one.split(";")[0]?.trim().toLowerCase() === name);
}

/** The answer to a client that does not wait for the reply: as it began, or, if an equal request was made before, as it is now. */
function begun({ reply, headers }: BegunReply, { memory }: Call, { api }: HandlerContext): Result {
  hold(memory, [reply]);
  const { conversationId, id } = reply;
  const Location = `${api.root}/conversations/${conversationId}/messages/${id}`;
  return {
    data: messageResource(reply),
    headers: { Location, "Preference-Applied": respondAsync, ...headers },
  };
}

/** A message that says something, or decides of calls. */
type SendBody = FromSchema<typeof sendMessageSchema> & { readonly content: string };

/** Calls of which nothing is decided are as none. */
function requireWords({ calls = {}, ...body }: FromSchema<typeof sendMessageSchema>): SendBody {
  const decides = Object.keys(calls).length > 0;
  if (!body.content && !decides) {
    const message = `is required: ${accepted({ ...sendMessageSchema.properties.content, minLength: 1 })}`;
    throw validationError([{ path: "content", message }]);
  }
  return { ...body, content: body.content ?? "", ...(decides && { calls }) };
}

/** Whether a message is stored without a reply. */
function isAlone({ role, reply }: Pick<SendBody, "role" | "reply">): boolean {
  return role === "assistant" || reply === false;
}

/** Only a conversation's owner may store a message without a reply, not its end user. */
function requireOwner({ reach }: Call["caller"]): void {
  if (reach.endUser !== undefined) throw keyRequired("no end user may store a message without a reply");
}

/** What a person says has an author, and may settle who answers; a question may have no reply. */
function requireRoleOfMembers({ role = "user", author, answeredBy, reply, calls }: SendBody): void {
  if (role === "assistant" || reply === false)
    requireAbsent({ calls }, "must be left out: only a message with a reply decides");
  const given = role === "user" ? { author, answeredBy } : { reply: reply === false || undefined };
  const other = role === "user" ? "assistant" : "user";
  requireAbsent(given, `must be left out: it is of messages with the role ${other}`);
}

/** A stream is that of a twin's reply. */
function requireStreamed({ role, author, answeredBy, reply }: SendBody): void {
  const isSaid = role === "assistant" || undefined;
  const given = { role: isSaid, author, answeredBy, reply: reply === false || undefined };
  requireAbsent(given, "must be left out: what is stored without a reply has no stream");
}

function requireAbsent(given: Readonly<Record<string, unknown>>, message: string): void {
  const present = Object.entries(given).filter(([, value]) => value !== undefined);
  if (present.length > 0) throw validationError(present.map(([path]) => ({ path, message })));
}

/** Whether an equal request stored what was sent, and the header fields that say so. */
interface Repeated {
  readonly headers: Readonly<Record<string, string>>;
  readonly repeated?: true;
}

/** The reply to follow. */
interface BegunReply extends Repeated {
  readonly feed: ReplyFeed;
  readonly reply: MessageRecord;
  readonly waiting?: undefined;
}

/** The reply to follow, or the question that waits for a person. */
type SendResult = BegunReply | (Repeated & { readonly waiting: MessageRecord });

/** The common part of both kinds of sending: begins the reply, or finds the one that an equal request began. */
async function send(
  call: Call<unknown, SendBody>,
  context: HandlerContext,
  readAlong = false,
): Promise<SendResult> {
  const { body } = call;
  const { reach } = call.caller;
  const { store, twins, replies } = context;
  const { conversation, claim } = await claimIn(call, context);
  const { id: conversationId, twinId } = conversation;
  const sent = await context.keyed.once(claim, async () => {
    const twin = await findTwin(twins, reach, twinId);
    if (!twin) {
      const { answeredBy } = await requireConversation(store, reach, conversationId); // it may have been deleted since it was cached
      if (answeredBy === "twin") return twinNotFound();
    }
    return replies.sendOrWait({
      conversationId,
      twin,
      content: body.content,
      mayAsk: true,
      decisions: body.calls,
      after: body.after,
      replaces: body.whenBusy === "replace",
      claim,
      readAlong,
      ...reach,
      ...sendFields(call),
    });
  });
  if ("feed" in sent) return { feed: sent.feed, reply: sent.reply, headers: {} };
  if ("message" in sent) return { waiting: sent.message, headers: {} };
  const message = await findMade(call, context, { conversationId, claim, made: sent.claim });
  const repeated = { headers: replayedHeaders, repeated: true } as const;
  if (message.role === "user") return { waiting: message, ...repeated };
  return { feed: replies.find(reach, message), reply: message, ...repeated };
}

/** Stores a message without a reply. */
async function say(call: Call<unknown, SendBody>, context: HandlerContext): Promise<Result> {
  const { body } = call;
  const { reach } = call.caller;
  const { conversation, claim } = await claimIn(call, context);
  const { id: conversationId } = conversation;
  const { role = "user", content, author = null, answeredBy, after, whenBusy } = body;
  const said = await context.keyed.once(claim, () =>
    context.replies.say({
      conversationId,
      role,
      content,
      author,
      answeredBy,
      after,
      replaces: whenBusy === "replace",
      claim,
      ...reach,
    }),
  );
  if ("message" in said) return { status: 201, data: messageResource(said.message) };
  const message = await findMade(call, context, { conversationId, claim, made: said.claim });
  return { status: 201, data: messageResource(message), headers: replayedHeaders };
}

/** The conversation, and the request's claim on a message in it. */
async function claimIn(call: Call<unknown, SendBody>, context: HandlerContext) {
  const { caller, params, fields } = call;
  const { reach } = caller;
  const conversation = (await context.replies.findConversation(reach, params.id)) ?? conversationNotFound();
  requireTwinInReach(reach, conversation);
  const { whenBusy: _, ...body } = call.body; // it says when, and not what
  return { conversation, claim: claimOf({ fields, reach, body }, messagesPath(conversation.id), context) };
}

/** What an equal request stored. First, because the conversation may have been deleted since it was cached, which is 404 with any fields. */
async function findMade(
  { caller: { reach } }: Call,
  { store }: HandlerContext,
  of: { conversationId: string; claim: IdempotencyClaim | undefined; made: MadeClaim },
): Promise<MessageRecord> {
  const { conversationId, claim, made } = of;
  const message = await requireMessage(
    store,
    reach,
    { conversationId, id: made.resourceId },
    mostCharactersRead,
  );
  requireSameFields(claim, made);
  return message;
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
