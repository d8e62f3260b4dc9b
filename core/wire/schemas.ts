/**
 * The JSON Schemas (2020-12) of all requests and answers. Each is the single source of its TypeScript type, its
 * validation and its component in the OpenAPI document. Each subject has a file in `schemas/`.
 *
 * @module
 */

import {
  conversationStreamQuerySchema,
  conversationsQuerySchema,
  createConversationSchema,
  messagesQuerySchema,
  rateMessageSchema,
  sendMessageSchema,
  streamQuerySchema,
  updateConversationSchema,
} from "./schemas/conversations.ts";
import {
  clientTokensQuerySchema,
  createApiKeySchema,
  createClientTokenSchema,
  rotateApiKeySchema,
  usageQuerySchema,
} from "./schemas/keys.ts";
import { askTwinSchema, itemsQuerySchema, responseQuerySchema } from "./schemas/other-protocols.ts";
import { endUserParamsSchema, writeMemorySchema } from "./schemas/people.ts";
import { feedbackQuerySchema, unansweredQuerySchema } from "./schemas/review.ts";
import type { InputSchema } from "./schemas/schema.ts";
import {
  changeTwinQuerySchema,
  checkTwinQuerySchema,
  documentParamsSchema,
  readFileQuerySchema,
  teachTwinSchema,
  twinsQuerySchema,
  twinVersionParamsSchema,
} from "./schemas/twins.ts";
import { pageQuerySchema } from "./schemas/values.ts";
import { createWebhookSchema } from "./schemas/webhooks.ts";

export * from "./schemas/conversations.ts";
export * from "./schemas/keys.ts";
export * from "./schemas/other-protocols.ts";
export * from "./schemas/people.ts";
export * from "./schemas/review.ts";
export {
  type FromSchema,
  type InputSchema,
  type JsonType,
  record,
  type Schema,
  type ValueSchema,
  type ValueType,
} from "./schemas/schema.ts";
export * from "./schemas/twins.ts";
export {
  addressPattern,
  anyTextPattern,
  dayPattern,
  endUserPattern,
  endUserRule,
  healthSchema,
  type Pagination,
  pageQuerySchema,
  paginationSchema,
  textOrNonePattern,
  textPattern,
} from "./schemas/values.ts";
export * from "./schemas/webhooks.ts";

/**
 * All bodies and queries, by the names of their validators in `validators.ts`. After a change here, that file is made
 * anew with `npm run validators`.
 */
export const inputSchemas = {
  createConversation: createConversationSchema,
  updateConversation: updateConversationSchema,
  sendMessage: sendMessageSchema,
  createApiKey: createApiKeySchema,
  rotateApiKey: rotateApiKeySchema,
  createWebhook: createWebhookSchema,
  createClientToken: createClientTokenSchema,
  clientTokensQuery: clientTokensQuerySchema,
  endUserParams: endUserParamsSchema,
  writeMemory: writeMemorySchema,
  changeTwinQuery: changeTwinQuerySchema,
  checkTwinQuery: checkTwinQuerySchema,
  readFileQuery: readFileQuerySchema,
  twinVersionParams: twinVersionParamsSchema,
  documentParams: documentParamsSchema,
  teachTwin: teachTwinSchema,
  pageQuery: pageQuerySchema,
  twinsQuery: twinsQuerySchema,
  conversationsQuery: conversationsQuerySchema,
  usageQuery: usageQuerySchema,
  rateMessage: rateMessageSchema,
  feedbackQuery: feedbackQuerySchema,
  unansweredQuery: unansweredQuerySchema,
  messagesQuery: messagesQuerySchema,
  streamQuery: streamQuerySchema,
  askTwin: askTwinSchema,
  conversationStreamQuery: conversationStreamQuerySchema,
  responseQuery: responseQuerySchema,
  itemsQuery: itemsQuerySchema,
} as const satisfies Readonly<Record<string, InputSchema>>;
