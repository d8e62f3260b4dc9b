/**
 * The endpoints of conversations.
 *
 * @module
 */

import { claimOf, replayedHeaders, requireSameFields } from "../http/idempotency.ts";
import { route } from "../http/route.ts";
import type { ConversationRecord } from "../store/records.ts";
import { conversationNotFound } from "../wire/errors.ts";
import { conversationResource } from "../wire/resources.ts";
import {
  conversationSchema,
  conversationsQuerySchema,
  createConversationSchema,
  updateConversationSchema,
} from "../wire/schemas.ts";
import { requireConversation, requireTwin } from "./lookup.ts";
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
    async handle(call, { store, twins, clock, sha256, newId, root }) {
      const { owner, body } = call;
      const now = clock.now();
      const claim = claimOf(call, "/conversations", now, sha256);
      let made = claim && (await store.findClaim(owner, claim.path, claim.key, now));
      if (!made) {
        await requireTwin(twins, owner, body.twinId);
        const conversation = newConversation(newId("conv"), owner, body.twinId, body.title ?? null, now);
        made = await store.createConversation(conversation, claim);
        if (!made) return located(root, conversation);
      }
      requireSameFields(claim, made);
      const conversation = await requireConversation(store, owner, made.resourceId);
      return located(root, conversation, replayedHeaders);
    },
  }),

  route({
    operationId: "listConversations",
    method: "GET",
    path: "/api/v1/conversations",
    summary: "List your conversations, newest first",
    credential: "api_key",
    scope: "read_only",
    query: conversationsQuerySchema,
    success: { status: 200, description: "A page of conversations.", schema: conversationSchema, list: true },
    async handle({ owner, query }, { store }) {
      const { twinId } = query;
      const list = await store.listConversations(owner, { ...sliceOf(query), ...(twinId && { twinId }) });
      return pageOf(query, list, conversationResource);
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
    async handle({ owner, params }, { store }) {
      return { data: conversationResource(await requireConversation(store, owner, params.id)) };
    },
  }),

  route({
    operationId: "updateConversation",
    method: "PATCH",
    path: "/api/v1/conversations/{id}",
    summary: "Give a conversation another title, or none",
    credential: "api_key",
    scope: "full_access",
    body: updateConversationSchema,
    success: { status: 200, description: "The conversation as it is now.", schema: conversationSchema },
    errors: ["conversation_not_found"],
    async handle({ owner, params, body }, { store, clock }) {
      const conversation = await store.renameConversation(owner, params.id, body.title, clock.now());
      return { data: conversationResource(conversation ?? conversationNotFound()) };
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
    async handle({ owner, params }, { store, memory, replies }) {
      const conversation = (await store.deleteConversation(owner, params.id)) ?? conversationNotFound();
      memory.forget(conversation.id);
      if (conversation.replyId !== null) replies.drop(conversation.replyId);
      return {};
    },
  }),
];

function newConversation(
  id: string,
  owner: string,
  twinId: string,
  title: string | null,
  now: number,
): ConversationRecord {
  return {
    id,
    owner,
    twinId,
    title,
    replyId: null,
    messageCount: 0,
    lastMessageAt: null,
    createdAt: now,
    updatedAt: now,
  };
}

function located(root: string, conversation: ConversationRecord, headers?: Readonly<Record<string, string>>) {
  return {
    data: conversationResource(conversation),
    headers: { Location: `${root}/conversations/${conversation.id}`, ...headers },
  };
}
