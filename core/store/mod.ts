/**
 * The store's port, for whoever keeps keys and conversations in a database of their own.
 *
 * @module
 */

export { createMemoryStore } from "./memory.ts";
export type {
  ApiKeyRecord,
  ClientTokenRecord,
  ConversationRecord,
  CountedReply,
  EndReply,
  FinishReason,
  IdempotencyClaim,
  MadeClaim,
  MessageRecord,
  MessageStatus,
  PersonMemory,
  ReplyFailure,
  Scope,
  Source,
  Usage,
} from "./records.ts";
export {
  type AbandonedReply,
  type AddMessage,
  type AddResult,
  type BeginReply,
  type BeginResult,
  type ConversationChange,
  type ConversationEnd,
  type ConversationSlice,
  type KeyChange,
  type Lease,
  type Listing,
  type MessageOptions,
  type MessageSlice,
  type NamedConversation,
  type Reach,
  type SaveReply,
  type SaveResult,
  type SignalTopic,
  type Slice,
  type Store,
  type StoreSignals,
  StoreUnavailable,
  type UsageGroup,
  type UsageSlice,
  type UsageSum,
  type WebhookStore,
  type YieldResult,
} from "./store.ts";
export type { ReachedBudget, TokenBudget, TokenBudgetState, TokenReservation } from "./token-budgets.ts";
export type {
  DeliveryRecord,
  DeliveryStatus,
  EventSubject,
  ListedWebhook,
  TakenDeliveries,
  TakenDelivery,
  Telling,
  TellingWrite,
  TriedDelivery,
  WebhookEvent,
  WebhookRecord,
  WebhookSecrets,
} from "./webhooks.ts";
