/**
 * The port of stores, which keep the records of the service.
 *
 * Times in records are whole milliseconds since the epoch; `resources.ts` turns them into ISO 8601 for clients.
 * Everything belongs to an owner: another owner's object does not exist for a query.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type {
  Answerer,
  ApiKeyRecord,
  ClientTokenRecord,
  ConversationRecord,
  CountedReply,
  Decisions,
  EndReply,
  Feedback,
  IdempotencyClaim,
  KeyRotation,
  MadeClaim,
  MessageRecord,
  OwnTwinRecord,
  PersonMemory,
  RatedReply,
  Source,
  StoredCalls,
  TwinPart,
  TwinVersionRecord,
  UnansweredQuestion,
} from "./records.ts";
import type { ReachedBudget, TokenBudget, TokenBudgetState, TokenReservation } from "./token-budgets.ts";
import type {
  DeliveryRecord,
  ListedWebhook,
  TakenDeliveries,
  Telling,
  TellingWrite,
  TriedDelivery,
  WebhookRecord,
} from "./webhooks.ts";

/** Whose records a caller may find: an owner's, of one end user or of any. All others do not exist for it. */
export interface Reach {
  readonly owner: string;
  /** Absent: any, and conversations without one. */
  readonly endUser?: string | undefined;
  /** The hash of the client token that the caller has. Absent: another credential. */
  readonly clientToken?: string | undefined;
}

/** A slice of a list: skip `offset` items, then at most `limit`. Both are whole and not negative. */
export interface Slice {
  readonly offset: number;
  readonly limit: number;
}

/** The items of a slice, and the length of the whole list. */
export interface Listing<Item> {
  readonly items: readonly Item[];
  readonly total: number;
}

/** How a reply begins: what {@link Store.beginReply} stores in one transaction. */
export interface BeginReply extends Reach {
  /** The user's message, completed. */
  readonly question: MessageRecord;
  /** The reply, empty and in progress. */
  readonly reply: MessageRecord;
  readonly lease: Lease;
  readonly claim?: IdempotencyClaim;
  /** Whether no other process can begin the reply again, as its history is not stored. Default false. */
  readonly lastAttempt?: boolean | undefined;
  /** What it decides of the calls that wait with a reply, which must be open. Absent: nothing. */
  readonly decides?: { readonly replyId: string; readonly decisions: Decisions } | undefined;
  /** What it is expected to take of budgets of tokens, all of which must have room. Absent: it counts towards none. */
  readonly reserves?: TokenReservation | undefined;
  /**
   * The number of the message that the question goes on from, instead of from the end of the current path; -1: from the
   * beginning. What stands behind it on the path stays stored, as another branch.
   */
  readonly forkAt?: number | undefined;
  /** How the reply in progress ends, in whose place the question comes. Without effect on any other, or on one that has ended. */
  readonly replaces?: EndReply | undefined;
}

/** A message that {@link Store.addMessage} stores in one transaction, without a reply. */
export interface AddMessage extends Reach, TellingWrite {
  /** Completed, and alone: what a person has said in the twin's place, which answers what waits; or a question. */
  readonly message: MessageRecord;
  readonly claim?: IdempotencyClaim | undefined;
  /** As {@link BeginReply.forkAt}. */
  readonly forkAt?: number | undefined;
  /** As {@link BeginReply.replaces}. */
  readonly replaces?: EndReply | undefined;
  /** Who answers from now on. Absent: as before. */
  readonly answeredBy?: Answerer | undefined;
  /** Whether it is a question that waits for a person: it is stored only while a person answers. Default false. */
  readonly waits?: boolean | undefined;
}

/** Where a conversation goes on. */
export type ConversationEnd = Pick<ConversationRecord, "logLength" | "lastMessageId">;

/** Who produces a reply, and until when no other process may end it or take it over. */
export interface Lease {
  /** The producer: an id of its own for each attempt at each reply. */
  readonly holder: string;
  /** Moment of expiry, milliseconds since the epoch. Renewed by each save. */
  readonly until: number;
}

/** The result of {@link Store.beginReply}. In all cases but `begun`, nothing was stored. */
export type BeginResult =
  | {
      readonly result: "begun";
      /** What the twin knows of the conversation's person. Null: nothing. Absent: it was not read. */
      readonly memory?: string | null;
      /** What the reply that it replaces has used up. */
      readonly reached?: readonly ReachedBudget[] | undefined;
    }
  | NotStored;

/** The result of {@link Store.addMessage}. In all cases but `added`, nothing was stored. */
export type AddResult =
  | { readonly result: "added"; readonly reached?: readonly ReachedBudget[] | undefined }
  | NotStored;

/** Why a message was not stored. */
export type NotStored =
  /** It is for a twin, and a person answers, or the other way round. */
  | { readonly result: "answered_by"; readonly answeredBy: Answerer }
  /** The message's `seq` is not the conversation's `logLength`, or its `after` not the path's end: to be tried again. */
  | { readonly result: "moved"; readonly end: ConversationEnd }
  | { readonly result: "busy"; readonly replyId: string }
  /** It would be another branch of a conversation that has {@link mostBranches}. */
  | { readonly result: "too_many_branches" }
  /** These budgets of tokens have no room. */
  | { readonly result: "over_budget"; readonly spent: readonly TokenBudgetState[] }
  | { readonly result: "claimed"; readonly claim: MadeClaim }
  | { readonly result: "not_found" };

/** A reply's progress, saved while it runs. */
export interface SaveReply {
  readonly owner: string;
  readonly id: string;
  /** The whole text so far. Absent: it has not changed since the last save. */
  readonly content?: string;
  /** What the engine named. Absent: as at the last save. */
  readonly sources?: readonly Source[];
  /** From now on, no other process may begin the reply again. Absent: as before. */
  readonly lastAttempt?: true;
  readonly lease: Lease;
}

/** What {@link Store.saveReply} found. `lost`: the reply is gone or has ended, or has another holder or more text. */
export type SaveResult = "saved" | "cancel_requested" | "lost";

/** A reply in progress whose lease ran out. */
export interface AbandonedReply {
  readonly owner: string;
  readonly conversationId: string;
  readonly id: string;
  readonly lease: Lease;
  /** Its record's `attempt`. */
  readonly attempt: number;
  readonly cancelRequested: boolean;
  /** Whether its engine must not be asked again: only its client has the history, or it has begun to act. */
  readonly lastAttempt: boolean;
  /** Whether tokens are reserved for it. */
  readonly reserved: boolean;
}

/** Which conversations to list. */
export interface ConversationSlice extends Slice {
  /** With one of these twins, at most 51; an empty one is none yet. Absent: any. */
  readonly twinIds?: readonly string[] | undefined;
  /** In which this one answers. Absent: any. */
  readonly answeredBy?: Answerer | undefined;
  /** Only those that have all of these pairs. Absent: any. */
  readonly metadata?: ConversationRecord["metadata"] | undefined;
  /** Only those in which a question waits for a person, by `waitingSince`, then `id`: the longest first. Default: all. */
  readonly waiting?: boolean | undefined;
  /** By `createdAt`, then `id`: the newest first (`desc`, the default), or the oldest. */
  readonly order?: "asc" | "desc";
  /** Start after this one, in that order. The total still counts all. */
  readonly after?: Pick<ConversationRecord, "createdAt" | "id"> | undefined;
}

/** Which part of a message to read. */
export interface MessageOptions {
  /** Only as a message of this conversation. Default: of any. */
  readonly conversationId?: string | undefined;
  /** How many characters (Unicode code points) of the content to leave out, for a follower that has them. Default 0. */
  readonly skip?: number | undefined;
  /** How many characters of the content to read after that, at most. */
  readonly characters: number;
}

/** What changes in a key. Each happens once: an earlier `revokedAt` and a later `lastUsedAt` stay. */
export type KeyChange = { readonly revokedAt: number } | { readonly lastUsedAt: number };

/** A part of an owner's replies, summed up. */
export interface UsageSlice extends Slice {
  /** The first day and the last one, `YYYY-MM-DD` in UTC. */
  readonly from: string;
  readonly to: string;
  readonly groupBy: UsageGroup;
}

/** What replies are summed by. */
export type UsageGroup = "day" | "twin" | "endUser";

/** The sums of a group. */
export interface UsageSum {
  /** A day, a twin's id, or an end user; null: no end user, or one that was erased. */
  readonly group: string | null;
  readonly replies: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** A model that does not say so counts as one without a cache. */
  readonly cachedInputTokens: number;
}

/** Which of an owner's rated replies, or unanswered questions, to list. */
export interface ReviewSlice extends Slice {
  /** Those of this twin. Absent: of any. */
  readonly twinId?: string | undefined;
  /** From this moment, inclusive, to that one, exclusive. Absent: at any time. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** How many characters (Unicode code points) to read of each question and reply, at most. */
  readonly charactersOfEach: number;
}

/** Which history to read. */
export interface HistorySlice {
  /** That before the question with this number. */
  readonly seq: number;
  /** How many characters (Unicode code points) it may have together. */
  readonly characters: number;
}

/** Which of a person's memories to list. */
export interface MemorySlice {
  /** That of this twin. Absent: of any. */
  readonly twinId?: string | undefined;
  /** Start after this twin's. */
  readonly after?: string | undefined;
  readonly limit: number;
  /** How many characters (Unicode code points) to read of each, at most. */
  readonly charactersOfEach: number;
}

/** Which messages to list: from the start (`asc`) or the end (`desc`), optionally after a certain message. */
export interface MessageSlice extends Slice {
  readonly order: "asc" | "desc";
  /** Start after this message, in the given order. `total` then counts the messages after it. */
  readonly after?: string;
  /**
   * `current`: the messages of the current path, the default. `all`: the log, all messages in the order they were stored.
   * With `all` and `asc`, `offset` is the number (`seq`) of the first message: so the log is read on.
   */
  readonly path?: "current" | "all" | undefined;
  /** Whether questions have, as their content, what a model is told in their place ({@link Store.replaceQuestion}). */
  readonly asTold?: boolean | undefined;
  /**
   * How many characters (Unicode code points) the messages may have together: those that would be more are left out, but
   * never the first one.
   */
  readonly characters: number;
}

/** Which records to look at for those that were not used since a moment: some, in an order of the store's own. */
export interface IdleSlice<After> {
  /** Those that were last used before this moment, in milliseconds since the epoch. */
  readonly before: number;
  /** Start after this one. Absent: at the beginning. */
  readonly after?: After | undefined;
  /** How many records to look at, whether they are among them or not. */
  readonly limit: number;
}

/** Those that were found, and where to go on. */
export interface IdleListing<Item, After> {
  readonly items: readonly Item[];
  /** Undefined: there are no more. */
  readonly next: After | undefined;
}

/** A conversation that was not used for long. */
export type IdleConversation = Pick<ConversationRecord, "owner" | "id" | "logLength">;

/** What a twin knows of a person who has no conversation. */
export type IdleMemory = Pick<PersonMemory, "owner" | "endUser" | "twinId">;

/** A condition of a deletion, and what it tells. */
export interface Deletion extends TellingWrite {
  /** Only if it was not used since this moment. Absent: in any case. */
  readonly idleSince?: number | undefined;
}

/** A conversation that has a name. */
export interface NamedConversation {
  readonly twinId: string;
  readonly name: string;
}

/** What changes in a conversation: all, or nothing. */
export interface ConversationChange {
  /** Absent: it stays. */
  readonly title?: string | null | undefined;
  /** A message of the conversation, on any branch, whose path becomes the current one. Absent: it stays. */
  readonly last?: Pick<MessageRecord, "id" | "seq"> | undefined;
  /** Who answers. `twin`: what waits for a person stays unanswered. Absent: it stays. */
  readonly answeredBy?: Answerer | undefined;
  /** In place of what was there. Absent: it stays. */
  readonly metadata?: ConversationRecord["metadata"] | undefined;
}

/** Some of an owner's twins. */
export interface OwnTwinListing extends Listing<OwnTwinRecord> {
  /** The ids that were excepted, and that there are. */
  readonly excepted: readonly string[];
}

/** Which of an owner's twins to list. */
export interface OwnTwinSlice extends Slice {
  /** Without those with one of these ids. */
  readonly except: readonly string[];
}

/** A version of a twin: what {@link Store.putTwinVersion} stores in one transaction. */
export interface PutTwinVersion {
  /** The twin as it is then. Its `version` is not read: the store gives the next number. `createdAt`: if it is new. */
  readonly twin: OwnTwinRecord;
  /** The version that it replaces. Null: there is no such twin. */
  readonly replaces: number | null;
  readonly note: string | null;
  /** The parts that change, by their paths. Null: it has no such part any more. Others stay. */
  readonly changes: ReadonlyMap<string, TwinPart | null>;
  /** The length of all its texts, in bytes. */
  readonly textBytes: number;
  /** How many twins the owner may have. */
  readonly maxTwins: number;
  /** How long the texts of all of the owner's twins may be, in bytes. */
  readonly maxTextBytes: number;
}

/** The result of {@link Store.putTwinVersion}. In all cases but `put`, nothing was stored. */
export type PutTwinResult =
  | { readonly result: "put"; readonly version: number }
  /** Another version is the current one, or there is none: to be tried again. */
  | { readonly result: "moved" }
  /** A part's content is not stored, or not any more: to be stored again. */
  | { readonly result: "content_missing" }
  | { readonly result: "too_many_twins" }
  | { readonly result: "texts_too_long" };

/** A version of a twin with all of its parts. */
export interface StoredTwinVersion {
  readonly version: TwinVersionRecord;
  /** The current one. */
  readonly current: number;
  /** The file, then its documents by path, in binary order. */
  readonly parts: readonly TwinPart[];
}

/** The store's methods about webhooks, and what they are told. */
export interface WebhookStore {
  /** Stores a webhook unless its owner has `most`. */
  createWebhook(webhook: WebhookRecord, most: number): Promise<"created" | "limit_reached">;
  /** The owner's webhooks, newest first. */
  listWebhooks(owner: string, slice: Slice): Promise<Listing<ListedWebhook>>;
  getWebhook(owner: string, id: string): Promise<ListedWebhook | undefined>;
  /** Gives a webhook another secret, and enables it. Returns it as it is then, or undefined if there is none. */
  rotateWebhook(
    owner: string,
    id: string,
    rotation: { readonly secret: string; readonly previousUntil: number },
  ): Promise<ListedWebhook | undefined>;
  /** Deletes a webhook and its deliveries. If these are many, some go later: when they are due, or with their age. */
  deleteWebhook(owner: string, id: string): Promise<void>;
  /** The deliveries to a webhook, newest first. */
  listDeliveries(owner: string, webhookId: string, slice: Slice): Promise<Listing<DeliveryRecord>>;
  /**
   * Has a delivery tried at `at`, unless it is being tried, and returns it as it is then. Undefined: there is none, or its
   * webhook is disabled.
   */
  retryDelivery(
    owner: string,
    webhookId: string,
    id: string,
    at: number,
  ): Promise<DeliveryRecord | undefined>;

  /** The active webhooks that have something to be told, of any owner, and from when on. A lease that runs lasts until then. */
  findWaitingWebhooks(): Promise<readonly { readonly id: string; readonly dueAt: number }[]>;
  /**
   * Takes the deliveries of a webhook that have been due longest at `at`, at most `limit`, for as long as the lease says.
   * Undefined: the webhook is gone or disabled. Of one that is gone, some of what is left is deleted.
   */
  takeDeliveries(
    webhookId: string,
    lease: Lease,
    at: number,
    limit: number,
  ): Promise<TakenDeliveries | undefined>;
  /** Stores how a try ended, if the delivery is still there, and its lease the holder's. */
  settleDelivery(tried: TriedDelivery): Promise<void>;
  /** Ends the leases of a holder, or of all: their deliveries are due at `at`. */
  releaseDeliveries(holder: string | undefined, at: number): Promise<void>;
  /** Deletes deliveries that were created before `before`. If there are many, it leaves some for the next call. */
  sweepDeliveries(before: number): Promise<void>;
  /** How many deliveries are pending, of any owner. */
  countPendingDeliveries(): Promise<number>;
}

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
export interface Store extends WebhookStore {
  /**
   * Whether only this process uses the store. If so, a reply that is in progress when the process starts is an orphan,
   * and is ended immediately instead of when its lease runs out.
   */
  readonly exclusive: boolean;

  /** Stores a key unless its owner has `maxLive` that are neither revoked nor expired at `key.createdAt`. */
  createKey(key: ApiKeyRecord, maxLive: number): Promise<"created" | "limit_reached">;
  /** The owner's keys, including revoked and expired ones, newest first. */
  listKeys(owner: string, slice: Slice): Promise<Listing<ApiKeyRecord>>;
  /** Revokes a key, or notes its use, and returns the key as it is then, or undefined if there is none. */
  updateKey(owner: string, id: string, change: KeyChange): Promise<ApiKeyRecord | undefined>;
  /**
   * Gives a key that is live at `at` another secret, and returns it as it is then, or undefined if there is none. The secret
   * that it had is the previous one, in place of the one before.
   */
  rotateKey(owner: string, id: string, rotation: KeyRotation, at: number): Promise<ApiKeyRecord | undefined>;
  /** The owner's key, revoked or not. */
  getKey(owner: string, id: string): Promise<ApiKeyRecord | undefined>;
  /** The key with this hash, or whose previous secret has it, of any owner, revoked or not. */
  findKey(hash: string): Promise<ApiKeyRecord | undefined>;
  /** The keys with this id, or with this prefix, of any owner, revoked or not: for operators. */
  findKeys(by: Pick<ApiKeyRecord, "id"> | Pick<ApiKeyRecord, "prefix">): Promise<readonly ApiKeyRecord[]>;

  /** Stores a client token. Others of its key and end user get its `requestsPerHour`. */
  createClientToken(token: ClientTokenRecord): Promise<void>;
  /** The client token with this hash, expired or not. */
  findClientToken(hash: string): Promise<ClientTokenRecord | undefined>;
  /** Deletes an end user's client tokens, and returns how many had not expired at `at`. */
  deleteClientTokens(owner: string, endUser: string, at: number): Promise<number>;

  /**
   * Stores a conversation, unless the claim was made before; in that case, returns that claim. If its name is taken, returns
   * one on the conversation that has it. `clientToken`: the hash of one that must exist, so that nothing comes after the
   * erasure of its end user, which begins with the tokens.
   */
  createConversation(
    conversation: ConversationRecord,
    claim?: IdempotencyClaim,
    clientToken?: string,
  ): Promise<MadeClaim | "token_ended" | undefined>;
  /** A conversation by its id, or by its name and twin: then of exactly this end user, or of none. */
  getConversation(reach: Reach, which: string | NamedConversation): Promise<ConversationRecord | undefined>;
  listConversations(reach: Reach, slice: ConversationSlice): Promise<Listing<ConversationRecord>>;
  /**
   * Changes a conversation and returns it as it is then, or undefined if there is none. While a reply runs, no path
   * changes: the conversation is then returned as it is, with its `replyId`.
   */
  updateConversation(
    reach: Reach,
    id: string,
    change: ConversationChange,
    at: number,
  ): Promise<ConversationRecord | undefined>;
  /**
   * Chooses the twin of a conversation that has none yet, and returns the twin that it has then, or undefined if there is no
   * such conversation.
   */
  chooseTwin(reach: Reach, id: string, twinId: string): Promise<string | undefined>;
  /**
   * Deletes a conversation, its messages and the claims on these, and returns it as it was, or undefined if there was
   * none. A reply in progress is counted as one that ended at `at`, and told as cancelled. The messages of a long conversation may
   * go in portions, so that nothing else has to wait for long; a sweep deletes what a process has left that ended meanwhile. With
   * `idleSince`, one with a message since then, or a reply in progress, stays, and is as none.
   */
  deleteConversation(
    reach: Reach,
    id: string,
    at: number,
    how?: Deletion,
  ): Promise<ConversationRecord | undefined>;
  /** Conversations of all owners whose last message, or beginning, is before a moment, and in which no reply is in progress. */
  findIdleConversations(
    slice: IdleSlice<Pick<IdleConversation, "owner" | "id">>,
  ): Promise<IdleListing<IdleConversation, Pick<IdleConversation, "owner" | "id">>>;

  getMessage(reach: Reach, id: string, options: MessageOptions): Promise<MessageRecord | undefined>;
  /** A conversation's messages. Undefined if there is no such conversation, or the list has no such message to start after. */
  listMessages(
    reach: Reach,
    conversationId: string,
    slice: MessageSlice,
  ): Promise<Listing<MessageRecord> | undefined>;
  /**
   * What a model sees before a question: the last questions on its path with their completed or
   * cancelled replies, oldest first, as many as `questionsSeen` says of all of these. Those whose reply failed are neither
   * seen nor counted. The oldest are left out where all have more than so many characters together. Only role and content
   * are read.
   */
  readHistory(
    reach: Reach,
    conversationId: string,
    slice: HistorySlice,
  ): Promise<readonly Pick<MessageRecord, "role" | "content">[]>;

  /**
   * Stores a question and its reply as the end of the conversation's path, and takes the conversation for it: its `replyId`
   * and `lastMessageId` are the reply's, its `logLength` two more, its `lastMessageAt` and `updatedAt` the reply's
   * `createdAt`. A claim that was made before, unless this one replaces it, comes first, then a missing conversation, a busy
   * one, one in which a person answers, one that has moved, one that has too many branches, and budgets of tokens without room.
   * What it reserves of these is settled in the transaction that ends it, whoever does that.
   */
  beginReply(begin: BeginReply): Promise<BeginResult>;
  /**
   * Stores a message alone as the end of the conversation's path: its `lastMessageId` is the message's, its `logLength` one
   * more, its `lastMessageAt` and `updatedAt` the message's `createdAt`. What a person says answers all that waits and the
   * questions on the path before it, which are then not unanswered. Refused as {@link beginReply}, but in which a twin answers.
   */
  addMessage(add: AddMessage): Promise<AddResult>;
  /**
   * Saves a running reply's text and renews its lease, if the holder still has it. A text only grows: a save with a
   * shorter one was given up, and arrives after a later one, which it must not undo.
   */
  saveReply(save: SaveReply): Promise<SaveResult>;
  /**
   * Ends a reply in progress and frees its conversation, whose `updatedAt` is then the reply's `completedAt`. False if
   * it was not in progress, or no longer, or if its lease is not as `end` asks for. What was reserved for it is settled: by
   * the tokens of its usage; if that is not known, by what its model was told and its text, and by nothing if that is empty.
   * True, or the budgets of which a part was used up just now; each part is told once.
   */
  endReply(end: EndReply): Promise<boolean | readonly ReachedBudget[]>;
  /**
   * Counts a reply that has ended, and that is not stored itself. If several processes use the store,
   * it counts under no end user if its own was erased after it began (`beganAt`), or less than a second before.
   * `reserved`: what to settle, as {@link endReply} does.
   */
  countReply(
    reply: CountedReply & {
      readonly beganAt: number;
      readonly reserved?: { readonly id: string; readonly text: string } | undefined;
    } & TellingWrite,
  ): Promise<readonly ReachedBudget[]>;
  /** Reserves what a reply that is not stored is expected to take, or returns the budgets that have no room. */
  reserveTokens(reservation: TokenReservation): Promise<readonly TokenBudgetState[]>;
  /** What is gone of budgets of tokens in the day or month of a moment, in their order. */
  readTokenBudgets(budgets: readonly TokenBudget[], at: number): Promise<readonly TokenBudgetState[]>;
  /**
   * What an owner's replies took, by group in ascending order. Each is counted as it ends, by end user, twin and day,
   * and stays counted when its conversation is deleted.
   */
  listUsage(owner: string, slice: UsageSlice): Promise<Listing<UsageSum>>;
  /** Stores what is thought of a reply that has ended. Null takes it back. Other messages stay as they are. */
  rateReply(reach: Reach, id: string, feedback: Feedback | null, tells?: Telling): Promise<void>;
  /** Rated replies, newest `updatedAt` first, then the greatest id. */
  listFeedback(
    owner: string,
    slice: ReviewSlice & { readonly rating?: Feedback["rating"] | undefined },
  ): Promise<Listing<RatedReply>>;
  /** Questions that ended as `unanswered`, equal ones as one, those asked most often first, then the newest. */
  listUnanswered(owner: string, slice: ReviewSlice): Promise<Listing<UnansweredQuestion>>;
  /** What twins know of a person, or what one does, by the twins' ids in ascending order. */
  listMemories(owner: string, endUser: string, slice: MemorySlice): Promise<readonly PersonMemory[]>;
  /**
   * Stores what a twin knows of a person, in place of what it knew. Null: nothing any more; with `idleSince`, only if it was
   * not changed since then, and the person has no conversation. False if nothing was to be changed.
   */
  setMemory(
    of: Pick<PersonMemory, "owner" | "endUser" | "twinId">,
    memory: Pick<PersonMemory, "content" | "updatedAt"> | null,
    how?: Deletion,
  ): Promise<boolean>;
  /** What twins know of people of all owners who have no conversation, if it was last changed before a moment. */
  findIdleMemories(slice: IdleSlice<IdleMemory>): Promise<IdleListing<IdleMemory, IdleMemory>>;
  /** From now on, histories have `told` in a question's place. If it is empty, they have neither the question nor its reply. */
  replaceQuestion(
    question: Pick<MessageRecord, "id" | "conversationId"> & {
      readonly owner: string;
      readonly told: string;
    },
  ): Promise<void>;
  /** An owner's twin, as it is now. */
  getOwnTwin(owner: string, id: string): Promise<OwnTwinRecord | undefined>;
  /** An owner's twins by name, then id, in binary order. */
  listOwnTwins(owner: string, slice: OwnTwinSlice): Promise<OwnTwinListing>;
  /** A version of a twin, or its current one. Undefined: there is no such twin, or the version is not kept. */
  getTwinVersion(owner: string, id: string, version?: number): Promise<StoredTwinVersion | undefined>;
  /** A twin's versions, newest first. Undefined: there is no such twin. */
  listTwinVersions(
    owner: string,
    id: string,
    slice: Slice,
  ): Promise<(Listing<TwinVersionRecord> & { readonly current: number }) | undefined>;
  /**
   * Stores a part of a content, of `contentPartBytes` unless it is the last one, before a version has it: the first one first.
   * What no version has within an hour may be swept.
   */
  addTwinContent(owner: string, digest: string, part: number, bytes: Uint8Array, at: number): Promise<void>;
  /** A part of a content of an owner's twins, by its number, from 0. */
  readTwinContent(owner: string, digest: string, part: number): Promise<Uint8Array | undefined>;
  /** Stores a version of a twin, whose contents were added before. Versions before the last 50 go. */
  putTwinVersion(put: PutTwinVersion): Promise<PutTwinResult>;
  /** Deletes a twin with all its versions, and returns the one that was current. Undefined: there is no such twin. */
  deleteOwnTwin(owner: string, id: string, at: number): Promise<number | undefined>;
  /** What is stored of calls with a message. Undefined: there is no such message. */
  readCalls(owner: string, id: string): Promise<StoredCalls | undefined>;
  /** Asks the holder of a reply in progress to cancel it. Does not affect other messages. */
  requestCancel(reach: Reach, id: string): Promise<void>;
  /** Replies in progress whose lease ran out before `expiredBefore`, of any holder. */
  findAbandonedReplies(expiredBefore: number): Promise<readonly AbandonedReply[]>;
  /**
   * Gives an abandoned reply to another holder as its next attempt, which goes on from the length `from` of its text
   * (`continuedFrom`). False if the reply is not as it was found any more (`lease` and `attempt` are compared), or if
   * it is to be cancelled.
   */
  takeOverReply(found: AbandonedReply, lease: Lease, from: number): Promise<boolean>;

  /** Gives a lease on work that one process does at a time. False: another holder has it at `at`. */
  takeLease(work: string, lease: Lease, at: number): Promise<boolean>;
  /** The equal claim that was made before this one and has not expired when this one was created. */
  findClaim(claim: IdempotencyClaim): Promise<MadeClaim | undefined>;
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
  /** Calls back with the subject of each signal on a topic. Returns a function that stops this. */
  listen(topic: SignalTopic, heard: (subject: string) => void): () => void;
}

/** The store cannot be reached right now; trying again later makes sense. Answered with 503 `unavailable`. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}
