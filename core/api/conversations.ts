/**
 * The endpoints of conversations.
 *
 * @module
 */

import { keyRequired, readApiKey } from "../auth/credentials.ts";
import { invalidApiKey } from "../auth/key-lookup.ts";
import { claimOf, replayedHeaders, requireSameFields } from "../http/idempotency.ts";
import { type CallerReach, type HandlerContext, route } from "../http/route.ts";
import {
  type Answerer,
  type ConversationRecord,
  type MessageRecord,
  newConversation,
  pairsOf,
} from "../store/records.ts";
import type { TwinSource } from "../twins/twins.ts";
import { conversationBusy, conversationNotFound, requirePlace, validationError } from "../wire/errors.ts";
import { headerNames } from "../wire/request.ts";
import { conversationResource } from "../wire/resources.ts";
import {
  conversationSchema,
  conversationStreamQuerySchema,
  conversationsQuerySchema,
  createConversationSchema,
  updateConversationSchema,
} from "../wire/schemas.ts";
import { findTwin, hold, isTwinInReach, requireConversation, requireMessage, requireTwin } from "./lookup.ts";
import { pageOf, sliceOf } from "./pagination.ts";

export const conversationRoutes = [
  route({
    operationId: "createConversation",
    method: "POST",
    path: "/api/v1/conversations",
    summary: "Begin a conversation with a twin",
    credential: "api_key",
    scope: "full_access",
    body: createConversationSchema,
    idempotency: "supported",
    success: { status: 201, description: "The conversation.", schema: conversationSchema, location: true },
    errors: ["twin_not_found", "conversation_not_found"],
    async handle({ caller, fields, body }, context) {
      const { store, twins, clock, newId } = context;
      const { owner, reach } = caller;
      const now = clock.now();
      const endUser = endUserOf(reach, body.endUser);
      const of = { owner, endUser: endUser ?? undefined };
      const claim = claimOf({ fields, reach: of, body }, "/conversations", context);
      const created = await context.keyed.once(claim, async () => {
        await requireTwin(twins, reach, body.twinId);
        const { twinId, title = null } = body;
        const metadata = { ...body.metadata };
        const fields = { id: newId("conv"), owner, twinId, endUser, title, metadata };
        const conversation = newConversation(fields, now);
        const found = await store.createConversation(conversation, claim, reach.clientToken);
        if (found === "token_ended") throw invalidApiKey({ reason: "revoked" });
        return found ? { claim: found } : { conversation };
      });
      if ("conversation" in created) return located(context, created.conversation);
      requireSameFields(claim, created.claim);
      const conversation = await requireConversation(store, reach, created.claim.resourceId);
      return located(context, conversation, replayedHeaders);
    },
  }),

  route({
    operationId: "listConversations",
    method: "GET",
    path: "/api/v1/conversations",
    summary: "List your conversations, newest first; metadata.<name>=<value>: those with this pair",
    credential: "api_key",
    scope: "read_only",
    query: conversationsQuerySchema,
    success: { status: 200, description: "A page of conversations.", schema: conversationSchema, list: true },
    async handle({ caller: { reach }, query, memory }, { store, retentionDays }) {
      const { owner } = reach;
      const { twinId, endUser = reach.endUser, answeredBy, waiting, metadata } = query;
      const twinIds = twinId === undefined ? reach.twinIds && [...reach.twinIds, ""] : [twinId];
      const isOutOfReach =
        (reach.endUser !== undefined && endUser !== reach.endUser) ||
        (reach.twinIds && twinId !== undefined && !reach.twinIds.includes(twinId));
      const list = isOutOfReach
        ? { items: [], total: 0 }
        : await store.listConversations(
            { owner, endUser },
            { twinIds, answeredBy, metadata, waiting: waiting !== undefined, ...sliceOf(query) },
          );
      hold(memory, list.items.map(pairsOf));
      return pageOf(query, list, (conversation) => conversationResource(conversation, retentionDays));
    },
  }),

  route({
    operationId: "getConversation",
    method: "GET",
    path: "/api/v1/conversations/{id}",
    summary: "Read one conversation",
    credential: "api_key",
    scope: "read_only",
    success: { status: 200, description: "The conversation.", schema: conversationSchema },
    errors: ["conversation_not_found"],
    async handle({ caller: { reach }, params }, { store, retentionDays }) {
      const conversation = await requireConversation(store, reach, params.id);
      return { data: conversationResource(conversation, retentionDays) };
    },
  }),

  route({
    operationId: "followConversation",
    method: "GET",
    path: "/api/v1/conversations/{id}/stream",
    summary: "Follow all that happens in a conversation, from now on or from any event",
    credential: "api_key",
    scope: "read_only",
    query: conversationStreamQuerySchema,
    queryHeaders: { after: "lastEventId" },
    success: { status: 200, description: "The conversation as Server-Sent Events.", events: "conversation" },
    errors: ["conversation_not_found", "too_many_streams", "shutting_down"],
    async handle(call, { store, replies }) {
      const { caller, params, query, fields, requestId, recheck, memory } = call;
      const { reach, key } = caller;
      const conversation = await requireConversation(store, reach, params.id);
      const isHeader = fields.lastEventId !== null;
      const path = isHeader ? headerNames.lastEventId : "after";
      if (isHeader && !query.after?.includes(".")) {
        throw validationError([{ path, message: "must be the id of an event of this stream" }]);
      }
      const { owner, endUser } = reach;
      const events = await replies.streamConversation({
        ...{ reach, conversation, after: query.after, path, requestId, recheck, memory },
        isInReach: (now) => isTwinInReach(reach, now),
        credential: key ? readApiKey(fields) : requestId, // a host's user is known by the request alone
        caller: JSON.stringify(endUser === undefined && key ? [key.id] : [owner, endUser]),
      });
      return { events };
    },
  }),

  route({
    operationId: "updateConversation",
    method: "PATCH",
    path: "/api/v1/conversations/{id}",
    summary: "Change a conversation's title, metadata, current path, or who answers",
    credential: "api_key",
    scope: "full_access",
    body: updateConversationSchema,
    success: { status: 200, description: "The conversation as it is now.", schema: conversationSchema },
    errors: ["conversation_not_found", "message_not_found", "conversation_busy"],
    async handle({ caller: { reach }, params, body }, { store, clock, replies, twins, retentionDays }) {
      const { title, lastMessageId, answeredBy, metadata } = body;
      if ([title, lastMessageId, answeredBy, metadata].every((member) => member === undefined)) {
        const message = "is required, or lastMessageId, or answeredBy, or metadata, or several of them";
        throw validationError([{ path: "title", message }]);
      }
      const isChecked =
        reach.twinIds !== undefined || (answeredBy !== undefined && reach.endUser !== undefined);
      const found = isChecked ? await requireConversation(store, reach, params.id) : undefined;
      if (found && answeredBy !== undefined) await requireMayHandOver(twins, reach, found.twinId, answeredBy);
      let last: MessageRecord | undefined;
      if (lastMessageId !== undefined) {
        const of = { conversationId: params.id, id: lastMessageId };
        last = requirePlace(await requireMessage(store, reach, of, 0), "lastMessageId");
      }
      const change = {
        title,
        last,
        answeredBy,
        metadata: metadata === undefined ? undefined : { ...metadata },
      };
      const conversation =
        (await store.updateConversation(reach, params.id, change, clock.now())) ?? conversationNotFound();
      if (last && conversation.replyId !== null) throw conversationBusy(conversation.replyId);
      replies.changed(conversation.id);
      return { data: conversationResource(conversation, retentionDays) };
    },
  }),

  route({
    operationId: "deleteConversation",
    method: "DELETE",
    path: "/api/v1/conversations/{id}",
    summary: "Delete a conversation with its messages; a running reply is cancelled",
    credential: "api_key",
    scope: "full_access",
    success: { status: 204, description: "The conversation is deleted." },
    errors: ["conversation_not_found"],
    async handle({ caller: { reach }, params }, { store, clock, replies, tells }) {
      if (reach.twinIds) await requireConversation(store, reach, params.id);
      const conversation =
        (await store.deleteConversation(reach, params.id, clock.now(), { tells })) ?? conversationNotFound();
      replies.drop(conversation);
      return {};
    },
  }),
];

/** The end user of a new conversation: the caller's, or else the one that the body names. */
function endUserOf({ endUser }: CallerReach, named: string | undefined): string | null {
  if (endUser === undefined) return named ?? null;
  if (named === undefined || named === endUser) return endUser;
  throw validationError([
    { path: "endUser", message: "must be the one that the credential names, or absent" },
  ]);
}

function located(
  { api, retentionDays }: Pick<HandlerContext, "api" | "retentionDays">,
  conversation: ConversationRecord,
  headers?: Readonly<Record<string, string>>,
) {
  return {
    data: conversationResource(conversation, retentionDays),
    headers: { Location: `${api.root}/conversations/${conversation.id}`, ...headers },
  };
}

/** An end user may ask for a person, where the twin hands over; only the owner decides everything else. */
async function requireMayHandOver(
  twins: TwinSource,
  reach: CallerReach,
  twinId: string,
  answeredBy: Answerer,
): Promise<void> {
  if (reach.endUser === undefined) return;
  if (answeredBy === "twin") throw keyRequired("an end user may only ask for a person");
  const twin = await findTwin(twins, reach, twinId);
  if (!twin?.handover) throw keyRequired("this twin does not hand over to a person");
}
