/**
 * The port of stores, which keep the records of the service.
 *
 * Times in records are whole milliseconds since the epoch; `resources.ts` turns them into ISO 8601 for clients.
 * Everything belongs to an owner: another owner's object does not exist for a query.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { IdempotencyClaim, Lease, MadeClaim } from "./claims.ts";
import type { ConversationStore } from "./conversations.ts";
import type { ClientTokenStore, KeyStore } from "./keys.ts";
import type { MessageStore } from "./messages.ts";
import type { OwnTwinStore } from "./own-twins.ts";
import type { PeopleStore } from "./people.ts";
import type { ReplyStore, TakeOverStore } from "./replies.ts";
import type { ReviewStore } from "./review.ts";
import type { TokenBudgetStore } from "./token-budgets.ts";
import type { UsageStore } from "./usage.ts";
import type { Telling, WebhookStore } from "./webhooks.ts";

export type { Lease } from "./claims.ts";
export type {
  ConversationChange,
  ConversationEnd,
  ConversationSlice,
  ConversationStore,
  DeletedConversation,
  Deletion,
  IdleConversation,
  NamedConversation,
} from "./conversations.ts";
export type { ClientTokenStore, KeyChange, KeyStore } from "./keys.ts";
export type { HistorySlice, MessageOptions, MessageSlice, MessageStore } from "./messages.ts";
export type {
  OwnTwinListing,
  OwnTwinSlice,
  OwnTwinStore,
  PutTwinResult,
  PutTwinVersion,
  StoredTwinVersion,
} from "./own-twins.ts";
export type { IdleMemory, MemorySlice, PeopleStore } from "./people.ts";
export type {
  AbandonedReply,
  AddMessage,
  AddResult,
  BeginReply,
  BeginResult,
  NotStored,
  ReplyStore,
  SaveReply,
  SaveResult,
  TakeOverStore,
  YieldResult,
} from "./replies.ts";
export type { ReviewSlice, ReviewStore } from "./review.ts";
export type { IdleListing, IdleSlice, Listing, Reach, Slice } from "./slices.ts";
export type { TokenBudgetStore } from "./token-budgets.ts";
export type { UsageGroup, UsageSlice, UsageStore, UsageSum } from "./usage.ts";
export type { WebhookStore } from "./webhooks.ts";

/**
 * Stores keys, conversations, messages, idempotency claims, twins that their owners make, and what webhooks are told.
 *
 * Every method that returns texts is told how many characters to read at most, so that nobody can have all of them by mistake:
 * the memory that they take is the caller's to count.
 *
 * Every method is one transaction, and durable when its promise resolves. A method rejects only if the store cannot do
 * its work (lost connection, full disk): with a {@link StoreUnavailable} if trying again later makes sense. A write
 * that was rejected may have taken effect nevertheless.
 *
 * Ids of messages are unique among all owners. Those of conversations and keys need not be: an owner's record is found
 * by owner and id, and another owner's is one that does not exist.
 */
export interface Store
  extends KeyStore,
    ClientTokenStore,
    ConversationStore,
    MessageStore,
    ReplyStore,
    TakeOverStore,
    UsageStore,
    TokenBudgetStore,
    ReviewStore,
    PeopleStore,
    OwnTwinStore,
    WebhookStore {
  /**
   * Whether only this process uses the store. If so, a reply that is in progress when the process starts is an orphan:
   * it is taken over, or ended, at once instead of when its lease runs out.
   */
  readonly exclusive: boolean;

  /** The equal claim that was made before this one and has not expired when this one was created. */
  findClaim(claim: IdempotencyClaim): Promise<MadeClaim | undefined>;
  /** Gives a lease on work that one process does at a time. False: another holder has it at `at`. */
  takeLease(work: string, lease: Lease, at: number): Promise<boolean>;
  /**
   * Deletes the last data of an end user, whose conversations and client tokens are deleted before: its claims, what twins
   * know of it, its name in the sums of usage, which then count under no end user, and what webhooks are told of it. Then they
   * are told that it was erased. `at`: now.
   */
  forgetEndUser(owner: string, endUser: string, at: number, tells?: Telling): Promise<void>;
  /**
   * Deletes claims and client tokens that expired at or before `at`, what is not needed of budgets of tokens, and contents that
   * no version of a twin has. If there are many, it may do so in several
   * transactions and leave some for the next call, so that nothing else has to wait for long.
   */
  sweep(at: number): Promise<void>;

  /**
   * The time that all processes on the store go by, who compare each other's moments: of leases, claims, and what expires.
   * It is the service's clock, unless that is given one. Absent: the process's own.
   */
  readonly clock?: Clock;

  /** Wakes other processes on the same store. Absent: they poll. */
  readonly signals?: StoreSignals;

  /** Resolves if the store can do its work now. */
  ping(): Promise<void>;
  /** Waits for running operations, then releases files and connections. */
  close(): Promise<void>;
}

/**
 * What a signal is about. `follow`: a reply has a follower on a process that does not produce it. `text`: more of a
 * followed reply is stored, or its end. `stop`: a reply is to be cancelled, or was deleted. `conversation`: a message was
 * sent into one, or it was changed or deleted. `revoked`: a key, or its secret by a rotation. `erased`: an end user.
 */
export type SignalTopic = "follow" | "text" | "stop" | "conversation" | "revoked" | "erased";

/**
 * Signals to all processes on a store, including the sender. They only save time: a signal may get lost, so a
 * process that waits for one also polls the store.
 */
export interface StoreSignals {
  /** Sends a signal about a reply's or conversation's id, a key's id, or an end user's hash. Does not wait, never throws. */
  notify(topic: SignalTopic, subject: string): void;
  /**
   * Calls back with the subject of each signal on a topic; with an empty one where some were lost, which may have had any.
   * Returns a function that stops this.
   */
  listen(topic: SignalTopic, heard: (subject: string) => void): () => void;
  /** Whether those that others send arrive here now. Absent: they do. */
  readonly areHeard?: boolean;
}

/** Whether signals tell this process of changes, so that it need not look for them as often. */
export function hearsSignals({ signals }: Pick<Store, "signals">): boolean {
  return signals !== undefined && signals.areHeard !== false;
}

/** The store cannot be reached right now; trying again later makes sense. Answered with 503 `unavailable`. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}
