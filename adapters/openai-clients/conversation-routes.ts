/**
 * `/v1/conversations`: conversations and their items, as OpenAI has them. Each is a conversation of this service: it has no
 * twin until its first response, and what is posted into it is said, or asked without a reply.
 *
 * @module
 */

import {
  createConversation,
  hold,
  requireConversation,
  requireMessage,
  sendIntoMade,
} from "../../core/api/lookup.ts";
import { keyRequired } from "../../core/auth/credentials.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { claimOf, replayedHeaders, requireSameFields } from "../../core/http/idempotency.ts";
import { requireValid } from "../../core/http/input.ts";
import { type Call, type HandlerContext, type Result, type Route, route } from "../../core/http/route.ts";
import {
  type ConversationRecord,
  type MessageRecord,
  messagesPath,
  mostCharactersRead,
} from "../../core/store/records.ts";
import type { Reach } from "../../core/store/store.ts";
import { conversationNotFound } from "../../core/wire/errors.ts";
import { jsonPieces } from "../../core/wire/json.ts";
import { itemsQuerySchema, updateConversationSchema } from "../../core/wire/schemas.ts";
import { type PostedItem, readPostedItems } from "./conversation-text.ts";
import { refuseParam } from "./errors.ts";
import { clientHeaders } from "./header-names.ts";
import { itemOf, listItems, listOf } from "./items.ts";
import { maxBodyBytes, reachOf, requireBody } from "./parameters.ts";
import type { AskingSetting } from "./sending.ts";

/** A request that makes or changes a conversation. */
interface ConversationRequest {
  readonly items: readonly PostedItem[];
  /** Undefined: nothing is said about it. */
  readonly metadata: ConversationRecord["metadata"] | undefined;
  /** Both as they were sent: what an `Idempotency-Key` compares. */
  readonly sent: JsonObject;
}

const keyed = { credential: "api_key", maxBodyBytes } as const;

// A table: one record for each endpoint.
export function conversationRoutes({
  maxMessageCharacters,
}: Pick<AskingSetting, "maxMessageCharacters">): Route[] {
  const readRequest = (value: unknown): ConversationRequest => {
    const { items, metadata } = requireBody(value);
    return {
      items: readPostedItems(items ?? [], "items", maxMessageCharacters),
      metadata: readMetadata(metadata),
      sent: { items, metadata },
    };
  };
  return [
    route({
      ...keyed,
      operationId: "createOpenAIConversation",
      method: "POST",
      path: "/v1/conversations",
      summary: "Begin a conversation, whose twin is that of its first response",
      scope: "full_access",
      headers: clientHeaders,
      readBody: readRequest,
      isBodyOptional: true,
      idempotency: "supported",
      success: { status: 200, description: "The conversation." },
      handle: create,
    }),

    route({
      ...keyed,
      operationId: "getOpenAIConversation",
      method: "GET",
      path: "/v1/conversations/{id}",
      summary: "Read a conversation",
      scope: "read_only",
      success: { status: 200, description: "The conversation." },
      async handle({ caller: { reach }, params }, { store }) {
        return told(await requireConversation(store, reach, params.id));
      },
    }),

    route({
      ...keyed,
      operationId: "updateOpenAIConversation",
      method: "POST",
      path: "/v1/conversations/{id}",
      summary: "Change a conversation's metadata",
      scope: "full_access",
      readBody: readRequest,
      success: { status: 200, description: "The conversation." },
      async handle(call, { store, clock, replies }) {
        const { metadata } = call.body;
        if (!metadata) return refuseParam("metadata", "is required: an object, or null");
        const { reach } = call.caller;
        await requireConversation(store, reach, call.params.id);
        const change = { metadata };
        const changed = await store.updateConversation(reach, call.params.id, change, clock.now());
        replies.changed(call.params.id);
        return told(changed ?? conversationNotFound());
      },
    }),

    route({
      ...keyed,
      operationId: "deleteOpenAIConversation",
      method: "DELETE",
      path: "/v1/conversations/{id}",
      summary: "Delete a conversation with its items",
      scope: "full_access",
      success: { status: 200, description: "What was deleted." },
      async handle({ caller: { reach }, params: { id } }, { store, clock, replies, tells }) {
        await requireConversation(store, reach, id);
        replies.drop(
          (await store.deleteConversation(reach, id, clock.now(), { tells })) ?? conversationNotFound(),
        );
        return { document: JSON.stringify({ id, object: "conversation.deleted", deleted: true }) };
      },
    }),

    route({
      ...keyed,
      operationId: "listItems",
      method: "GET",
      path: "/v1/conversations/{id}/items",
      summary: "List the items on a conversation's current path, newest first",
      scope: "read_only",
      query: itemsQuerySchema,
      success: { status: 200, description: "A page of items." },
      async handle(call, context) {
        await requireConversation(context.store, call.caller.reach, call.params.id);
        return { document: jsonPieces(await listItems(call, context)) };
      },
    }),

    route({
      ...keyed,
      operationId: "createItems",
      method: "POST",
      path: "/v1/conversations/{id}/items",
      summary: "Add items to a conversation: what was said, and questions without a reply",
      scope: "full_access",
      readBody: readRequest,
      idempotency: "supported",
      success: { status: 200, description: "The items." },
      async handle(call, context) {
        const { items } = call.body;
        if (items.length === 0) refuseParam("items", "must have a message of the role user or assistant");
        const { id } = await requireConversation(context.store, call.caller.reach, call.params.id);
        const stored = await storeItems(id, items, call, context);
        return { document: jsonPieces(listOf(stored, false)) };
      },
    }),

    route({
      ...keyed,
      operationId: "getItem",
      method: "GET",
      path: "/v1/conversations/{id}/items/{messageId}",
      summary: "Read an item",
      scope: "read_only",
      success: { status: 200, description: "The item." },
      async handle({ caller: { reach }, params, memory }, { store }) {
        const named = { conversationId: params.id, id: params.messageId };
        const message = await requireMessage(store, reach, named, mostCharactersRead);
        hold(memory, [message]);
        return { document: jsonPieces(itemOf(message)) };
      },
    }),

    route({
      ...keyed,
      operationId: "deleteItem",
      method: "DELETE",
      path: "/v1/conversations/{id}/items/{messageId}",
      summary: "Refused: items are deleted with their conversation",
      scope: "full_access",
      success: { status: 200, description: "Never." },
      async handle({ caller: { reach }, params }, { store }) {
        await requireMessage(store, reach, { conversationId: params.id, id: params.messageId }, 0);
        return refuseParam("item_id", "cannot be deleted by itself; items go with their conversation");
      },
    }),
  ];
}

/** An app's own pairs. Null: none. */
function readMetadata(metadata: unknown): ConversationRecord["metadata"] | undefined {
  if (metadata === undefined) return undefined;
  requireValid(updateConversationSchema, { metadata });
  return { ...(metadata as ConversationRecord["metadata"] | null) };
}

async function create(call: Call<undefined, ConversationRequest>, context: HandlerContext): Promise<Result> {
  const { fields, body } = call;
  const { store } = context;
  const reach = reachOf(call, { user: { path: "user", value: undefined } });
  requireMayPost(call, body.items);
  const claim = claimOf({ fields, reach, body: body.sent }, "/v1/conversations", context);
  const made = claim && (await store.findClaim(claim));
  if (made) requireSameFields(claim, made);
  const id = made?.resourceId ?? (await createConversation(context, reach, "", { ...body, claim }));
  const conversation = await requireConversation(store, reach, id);
  const send = () => storeItems(id, body.items, call, context, reach);
  // With a key, it goes on when the request comes again: the first one may have ended in between.
  await (claim ? send() : sendIntoMade(context, reach, id, send));
  return { ...told(conversation), headers: made ? replayedHeaders : {} };
}

/** Only who owns a conversation says something in the twin's place, or stores a question without a reply. */
function requireMayPost({ caller }: Call, items: readonly PostedItem[]): void {
  if (items.length > 0 && caller.reach.endUser !== undefined)
    throw keyRequired("no end user may store a message without a reply");
}

/** Stores items one after the other, each at most once for an `Idempotency-Key`. */
async function storeItems(
  conversationId: string,
  items: readonly PostedItem[],
  call: Call<undefined, ConversationRequest>,
  context: HandlerContext,
  reach: Reach = call.caller.reach,
): Promise<MessageRecord[]> {
  requireMayPost(call, items);
  const stored: MessageRecord[] = [];
  for (const [index, item] of items.entries()) {
    const request = { fields: call.fields, reach, body: item };
    const whole = claimOf(request, messagesPath(conversationId), context); // it goes with the conversation
    const claim = whole && { ...whole, key: `${index}\n${whole.key}` }; // no client's key has a line end
    const message = { conversationId, author: null, claim, ...item, ...reach };
    const said = await context.replies.say(message);
    if ("claim" in said) requireSameFields(claim, said.claim);
    const { store } = context;
    const options = { conversationId, characters: mostCharactersRead };
    const found =
      "message" in said ? said.message : await store.getMessage(reach, said.claim.resourceId, options);
    stored.push(found ?? conversationNotFound());
  }
  return stored;
}

/** A conversation, as OpenAI has it. */
function told({ id, createdAt, metadata }: ConversationRecord): Result {
  const object = "conversation";
  return { document: JSON.stringify({ id, object, created_at: Math.floor(createdAt / 1000), metadata }) };
}
