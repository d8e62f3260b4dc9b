/**
 * `/v1/responses`: replies that are stored, unless the client wants otherwise, and can be followed from any event.
 *
 * @module
 */

import { hold, requireConversation, sendFields, sendIntoNew } from "../../core/api/lookup.ts";
import { isJsonObject, isString, type JsonObject } from "../../core/base/json.ts";
import {
  type Call,
  type CallerReach,
  type HandlerContext,
  type Result,
  type Route,
  route,
} from "../../core/http/route.ts";
import {
  type MessageRecord,
  mostCharactersAsked,
  mostCharactersRead,
  windowOf,
} from "../../core/store/records.ts";
import type { HistoryMessage } from "../../core/twins/engine.ts";
import { messageNotFound } from "../../core/wire/errors.ts";
import { jsonPieces } from "../../core/wire/json.ts";
import { type FromSchema, itemsQuerySchema, responseQuerySchema } from "../../core/wire/schemas.ts";
import {
  readInput,
  refuseReference,
  requireQuestion,
  requireShortQuestion,
  type SpokenInput,
} from "./conversation-text.ts";
import { findResponse, placeAfter, placeIn } from "./conversations.ts";
import { refuseParam } from "./errors.ts";
import { clientHeaders } from "./header-names.ts";
import { listOf } from "./items.ts";
import {
  type CommonParameters,
  isId,
  maxBodyBytes,
  reachOf,
  readBoolean,
  readCommonParameters,
  requireAsked,
  requireBody,
} from "./parameters.ts";
import { headNumber, ResponseEvents, tailLength } from "./response-events.ts";
import { messageIdOf, type ResponseHead, responseInProgress, responseObject } from "./response-object.ts";
import { type AskingSetting, answerWith, type SentOnce, sendOnce } from "./sending.ts";
import { saidBefore } from "./stored-history.ts";

/** A request for a response. */
interface ResponseRequest extends CommonParameters, SpokenInput {
  readonly background: boolean;
  readonly store: boolean;
  readonly conversationId: string | undefined;
  readonly previousId: string | undefined;
}

// A table: one record for each endpoint.
export function responseRoutes(setting: AskingSetting): Route[] {
  return [
    route({
      operationId: "createResponse",
      method: "POST",
      path: "/v1/responses",
      summary: "Ask a twin; the reply is stored, unless store is false",
      credential: "api_key",
      scope: "full_access",
      readBody: readResponseRequest,
      maxBodyBytes,
      headers: clientHeaders,
      success: { status: 200, description: "The response, or its events.", events: true },
      handle: (call, context) => respond(call, context, setting),
    }),

    route({
      operationId: "getResponse",
      method: "GET",
      path: "/v1/responses/{id}",
      summary: "Read a response, or follow it from any event",
      credential: "api_key",
      scope: "read_only",
      query: responseQuerySchema,
      success: { status: 200, description: "The response, or its events.", events: true },
      async handle(call, context) {
        const { reply, head } = await requireResponse(call, context);
        if (call.query.stream === "true") return resume(reply, head, call, context);
        hold(call.memory, [reply]);
        return { document: documentOf(reply, head) };
      },
    }),

    route({
      operationId: "deleteResponse",
      method: "DELETE",
      path: "/v1/responses/{id}",
      summary: "Delete a response with its conversation, where that has nothing else",
      credential: "api_key",
      scope: "full_access",
      success: { status: 200, description: "What was deleted." },
      handle: deleteResponse,
    }),

    route({
      operationId: "listInputItems",
      method: "GET",
      path: "/v1/responses/{id}/input_items",
      summary: "List what a response was asked",
      credential: "api_key",
      scope: "read_only",
      query: itemsQuerySchema,
      success: { status: 200, description: "The question." },
      handle: listInput,
    }),

    route({
      operationId: "cancelResponse",
      method: "POST",
      path: "/v1/responses/{id}/cancel",
      summary: "Stop a response and keep its text so far",
      credential: "api_key",
      scope: "full_access",
      success: { status: 200, description: "The response, once it has ended." },
      async handle(call, context) {
        const { reply, head } = await requireResponse(call, context);
        const ended = await context.replies.cancel(call.caller.reach, reply);
        hold(call.memory, [ended]);
        return { document: documentOf(ended, head) };
      },
    }),
  ];
}

function readResponseRequest(value: unknown): ResponseRequest {
  const body = requireBody(value);
  const common = readCommonParameters(body);
  const background = readBoolean(body.background, "background");
  const store = readBoolean(body.store, "store", true);
  if (background && !store) refuseParam("background", "must be false where store is false");
  const conversationId = readConversationId(body);
  const previousId = readPreviousId(body);
  if (conversationId !== undefined && previousId !== undefined) {
    refuseParam("previous_response_id", "must be left out if there is a conversation");
  }
  const spoken: SpokenInput = isString(body.input)
    ? { question: requireQuestion(body.input, "input"), history: [] }
    : readInput(body.input, "input");
  return { background, store, conversationId, previousId, ...common, ...spoken };
}

function readConversationId({ conversation }: JsonObject): string | undefined {
  if (conversation === undefined || conversation === null) return undefined;
  const id = isJsonObject(conversation) ? conversation.id : conversation;
  return isId(id) ? id : refuseParam("conversation", "must be the id of a conversation");
}

function readPreviousId({ previous_response_id: id }: JsonObject): string | undefined {
  if (id === undefined || id === null) return undefined;
  return messageIdOf(id) ?? refuseParam("previous_response_id", "must be the id of a response");
}

async function respond(
  call: Call<undefined, ResponseRequest>,
  context: HandlerContext,
  { maxMessageCharacters, broken }: AskingSetting,
): Promise<Result> {
  const { body } = call;
  const { model, question: content, history, conversationId, previousId } = body;
  requireShortQuestion(content, "input", maxMessageCharacters);
  const reach = reachOf(call, body);
  const format = body.form?.format;
  if (!body.store) return answer(await ask(reach, call, context), conversationId ?? null, call, context);
  const sent = await sendOnce(call, context, {
    reach,
    path: "/v1/responses",
    fields: { model, content, history, conversationId, previousId, format },
    broken,
    async send(claim) {
      const twin = await requireAsked(call, context);
      const message = { twin, content, format, claim, ...reach, ...sendFields(call) };
      const { replies } = context;
      if (conversationId !== undefined || previousId !== undefined) {
        const place =
          conversationId !== undefined
            ? await placeIn(conversationId, "conversation", context, twin, reach)
            : await placeAfter(String(previousId), context, twin, reach);
        return replies.send({ ...message, ...place });
      }
      const said = history.length === 0 ? undefined : await recall(history, reach, call, context);
      return sendIntoNew(context, reach, twin.id, claim, (id) =>
        replies.send({ ...message, conversationId: id, history: said }),
      );
    },
  });
  return answer(sent, sent.feed.conversationId, call, context);
}

async function answer(
  sent: SentOnce,
  conversationId: string | null,
  call: Call<undefined, ResponseRequest>,
  context: HandlerContext,
): Promise<Result> {
  const { id: messageId, createdAt } = sent.feed;
  const { model, stream, background, store, form } = call.body;
  const format = form?.format;
  const head = { messageId, conversationId, createdAt, model, background, store, format };
  if (background && !stream)
    return { document: JSON.stringify(responseInProgress(head)), headers: sent.headers };
  const events = new ResponseEvents(head, -1);
  return answerWith(sent, { events, document: (reply) => documentOf(reply, head) }, call, context);
}

/** Asks a twin without storing anything. What is stored of a conversation, or up to a response, was said before. */
async function ask(
  reach: CallerReach,
  call: Call<undefined, ResponseRequest>,
  context: HandlerContext,
): Promise<SentOnce> {
  const { question: content, history, conversationId, previousId, form } = call.body;
  const twin = await requireAsked(call, context);
  const isSaidByClient = conversationId === undefined && previousId === undefined;
  const said = isSaidByClient
    ? { history: windowOf(await recall(history, reach, call, context)) }
    : await saidBefore({ conversationId, previousId }, twin, reach, call, context);
  const feed = await context.replies.ask({
    twin,
    isSaidByClient,
    content,
    format: form?.format,
    ...reach,
    ...said,
    ...sendFields(call),
  });
  return { feed, headers: {} };
}

/** What was said before, with the messages that are named by their ids, each read once. */
async function recall(
  history: SpokenInput["history"],
  reach: CallerReach,
  { received }: Call,
  context: HandlerContext,
): Promise<HistoryMessage[]> {
  const known = new Map<string, HistoryMessage>();
  const said: HistoryMessage[] = [];
  let left = mostCharactersAsked;
  for (const item of history) {
    if ("content" in item) {
      said.push(item);
      continue;
    }
    let named = known.get(item.messageId);
    if (!named) {
      const found = await findResponse(item.messageId, reach, context, left + 1);
      if (!found) return refuseReference(item.path);
      named = { role: "assistant", content: found.reply.content };
      known.set(item.messageId, named);
      hold(received, [named]);
    }
    left -= named.content.length;
    if (left < 0) refuseParam("input", `must refer to texts of at most ${mostCharactersAsked} characters`);
    said.push(named);
  }
  return said.filter(({ content }) => content.trim() !== "");
}

function documentOf(reply: MessageRecord, head: ResponseHead): Generator<string> {
  return jsonPieces(responseObject(head, reply));
}

/** The reply that a path names by its response, with so many characters of its text. */
async function requireResponse(
  { caller: { reach }, params }: Call,
  context: HandlerContext,
  characters = mostCharactersRead,
): Promise<{ readonly reply: MessageRecord; readonly head: ResponseHead }> {
  const messageId = messageIdOf(params.id) ?? messageNotFound();
  const found = await findResponse(messageId, reach, context, characters);
  const { reply, twinId: model } = found ?? messageNotFound();
  const { conversationId, createdAt } = reply;
  return { reply, head: { messageId, conversationId, createdAt, model } };
}

/** A log has no holes: a response is deleted with its conversation, and only where that has nothing else. */
async function deleteResponse(call: Call, context: HandlerContext): Promise<Result> {
  const { store, clock, replies, tells } = context;
  const { reach } = call.caller;
  const { reply } = await requireResponse(call, context, 0);
  const conversation = await requireConversation(store, reach, reply.conversationId);
  const { id, logLength } = conversation;
  if (logLength > (reply.alone ? 1 : 2)) {
    refuseParam("response_id", `is one of several in the conversation ${id}; delete that with all it has`);
  }
  // Behind it, something may be said meanwhile; also behind one that runs, which may end.
  const how = { mostMessages: logLength, tells };
  const deleted = await store.deleteConversation(reach, id, clock.now(), how);
  if (!deleted) return deleteResponse(call, context);
  replies.drop(deleted);
  return { document: JSON.stringify({ id: call.params.id, object: "response", deleted: true }) };
}

/** What a response was asked: its question. What else the client sent with it is not stored. */
async function listInput(
  call: Call<FromSchema<typeof itemsQuerySchema>>,
  context: HandlerContext,
): Promise<Result> {
  const { caller, query, memory } = call;
  const { reply } = await requireResponse(call, context, 0);
  const options = { conversationId: reply.conversationId, characters: mostCharactersRead };
  const isAsked = !reply.alone && reply.after !== null;
  const question = isAsked ? await context.store.getMessage(caller.reach, reply.after, options) : undefined;
  if (query.after !== undefined && query.after !== question?.id) messageNotFound();
  if (question) hold(memory, [question]);
  return { document: jsonPieces(listOf(question && query.after === undefined ? [question] : [], false)) };
}

/** Follows a response from the event after the one that the client has. */
function resume(
  reply: MessageRecord,
  head: ResponseHead,
  call: Call<FromSchema<typeof responseQuerySchema>>,
  context: HandlerContext,
): Result {
  const { starting_after: after = -1 } = call.query;
  const feed = context.replies.find(call.caller.reach, reply);
  const offset = Math.max(0, after - headNumber);
  const { ended, text } = feed;
  const isInTail = ended && offset > text.length && offset <= text.length + tailLength;
  if (!isInTail && !feed.reaches(offset)) {
    const last = headNumber + text.length + (ended ? tailLength : 0);
    refuseParam(
      "starting_after",
      `must be the sequence number of an event of this response, at most ${last}`,
    );
  }
  const from = ended ? Math.min(offset, text.length) : offset;
  const events = new ResponseEvents(head, after);
  return {
    events: context.replies.stream(feed, { from, requestId: call.requestId, events, memory: call.memory }),
  };
}
