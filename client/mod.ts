/**
 * A typed client of the service: `new TwinClient({ baseUrl, apiKey })`.
 *
 * It resumes replies by itself, sends each message once however often it has to try, and needs nothing but `fetch`.
 *
 * @module
 */

export type { ErrorCode, ErrorObject } from "../core/wire/errors.ts";
export type {
  ApiKeyResource as ApiKey,
  ClientTokenResource as ClientToken,
  ConversationResource as Conversation,
  CreatedApiKeyResource as CreatedApiKey,
  ErasedResource as Erasure,
  ExportLine,
  FeedbackResource,
  MemoryResource as Memory,
  MessageResource as Message,
  Pagination,
  RatedReplyResource as RatedReply,
  StreamEventData,
  TwinResource as Twin,
  UnansweredQuestionResource as UnansweredQuestion,
  UsageResource,
  UsageSumResource as UsageSum,
} from "../core/wire/schemas.ts";
export { TwinClient, type TwinClientOptions } from "./client.ts";
export type {
  ConversationState,
  OpenConversation,
  OpenConversationOptions,
  SendMessageOptions,
  UnsentMessage,
} from "./conversation/mod.ts";
export {
  AuthenticationError,
  BadRequestError,
  ConflictError,
  ConnectionError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  ReplyError,
  TwinServiceError,
  type TwinServiceErrorCode,
  type TwinServiceErrorOptions,
  UnprocessableEntityError,
} from "./http/errors.ts";
export type { List, Page, PageQuery } from "./http/pages.ts";
export type { CreateOptions, RequestOptions } from "./http/requests.ts";
export type {
  MessageBody,
  Messages,
  ResumeOptions,
  SaidMessageBody,
  SendOptions,
} from "./messages.ts";
export type { ClientTokenRequest, ClientTokens, EndUsers, Memories, Questions, Usage } from "./people.ts";
export type { ConversationEvent, FollowConversationOptions } from "./reply/conversation.ts";
export type { Reply, SentMessage, StreamEvent, WaitingQuestion } from "./reply/events.ts";
export type { OnBusy } from "./reply/following.ts";
export type { ReplyStream } from "./reply/reply-stream.ts";
export type { Conversations, KeyOptions, Keys, Twins } from "./resources.ts";
export type { Feedback, ReviewQuery } from "./review.ts";
