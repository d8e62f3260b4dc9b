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
  ReplyFailure,
  Scope,
  Source,
  Usage,
} from "./records.ts";
export {
  type AbandonedReply,
  type BeginReply,
  type BeginResult,
  type ConversationSlice,
  type Lease,
  type Listing,
  type MessageSlice,
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
} from "./store.ts";
