/**
 * Conversations: as they are stored, and the store's methods about them.
 *
 * @module
 */

import type { IdempotencyClaim, MadeClaim } from "./claims.ts";
import type { MessageRecord } from "./messages.ts";
import type { IdleListing, IdleSlice, Listing, Reach, Slice } from "./slices.ts";
import type { ReachedBudget } from "./token-budgets.ts";
import type { TellingWrite } from "./webhooks.ts";

/** Who answers in a conversation. */
export const answerers = ["twin", "person"] as const;

/** Who answers in a conversation. */
export type Answerer = (typeof answerers)[number];

/** A conversation between its owner and a twin. */
export interface ConversationRecord {
  readonly id: string;
  readonly owner: string;
  /** Empty: none yet. It is chosen once, and never changes. */
  readonly twinId: string;
  /** The owner's own name for the person who talks. Null: none was named. Never changes. */
  readonly endUser: string | null;
  readonly title: string | null;
  /** What a client of OpenAI calls it: unique for its owner, end user and twin. Null: it has no name. Never changes. */
  readonly name: string | null;
  /** The reply in progress, which makes the conversation busy. Null: idle. */
  readonly replyId: string | null;
  /** How many messages are on its current path. */
  readonly messageCount: number;
  /** How many are stored, on all branches: the number of the next one. */
  readonly logLength: number;
  /** The end of its current path, which may be in progress. Null: it has no message. */
  readonly lastMessageId: string | null;
  readonly lastMessageAt: number | null;
  /**
   * While a person answers, questions are stored alone. The transaction that stores a question decides by it
   * ({@link Store.beginReply}, {@link Store.addMessage}); `sendOrWait` in `core/replies/send.ts` tries one, then the other.
   */
  readonly answeredBy: Answerer;
  /** When the oldest question was stored that waits for a person. Null: none does. */
  readonly waitingSince: number | null;
  /** An app's own pairs of names and values, by which it finds the conversation. Empty: none. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** When a conversation was last used: its last message, or its beginning. */
export function lastUseOf({
  lastMessageAt,
  createdAt,
}: Pick<ConversationRecord, "lastMessageAt" | "createdAt">): number {
  return lastMessageAt ?? createdAt;
}

/** What may be long of a conversation: the pairs of its metadata, which may have 18,000 characters, as one text. */
export function pairsOf({ metadata }: ConversationRecord): { readonly content: string } {
  return { content: Object.entries(metadata).flat().join("") };
}

/** A conversation, as it begins. */
export function newConversation(
  fields: Pick<ConversationRecord, "id" | "owner" | "twinId" | "endUser" | "title"> &
    Partial<Pick<ConversationRecord, "name" | "metadata">>,
  now: number,
): ConversationRecord {
  return {
    name: null,
    replyId: null,
    messageCount: 0,
    logLength: 0,
    lastMessageId: null,
    lastMessageAt: null,
    answeredBy: "twin",
    waitingSince: null,
    metadata: {},
    createdAt: now,
    updatedAt: now,
    ...fields,
  };
}

/** How many branches a conversation has at most, besides its first one. */
export const mostBranches = 1000;

/** Where a conversation goes on. */
export type ConversationEnd = Pick<ConversationRecord, "logLength" | "lastMessageId">;

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

/** A conversation that was not used for long. */
export type IdleConversation = Pick<ConversationRecord, "owner" | "id" | "logLength">;

/** A conversation as it was when it was deleted. */
export interface DeletedConversation extends ConversationRecord {
  /** What its reply in progress has used up. Absent: nothing. */
  readonly reached?: readonly ReachedBudget[] | undefined;
}

/** A condition of a deletion, and what it tells. */
export interface Deletion extends TellingWrite {
  /** Only if it was not used since this moment. Absent: in any case. */
  readonly idleSince?: number | undefined;
  /** Only if it has no more messages, on all branches. Absent: in any case. */
  readonly mostMessages?: number | undefined;
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
  /** Who answers. `twin`: what waits for a person gets no reply. Absent: it stays. */
  readonly answeredBy?: Answerer | undefined;
  /** In place of what was there. Absent: it stays. */
  readonly metadata?: ConversationRecord["metadata"] | undefined;
}

/** In how many conversations of all owners a question waits for a person. */
export interface WaitingPeople {
  readonly count: number;
  /** Since when the first of them does. Null: none waits. */
  readonly since: number | null;
}

/** The store's methods about conversations. */
export interface ConversationStore {
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
  /** The conversations of all owners in which a question waits for a person. */
  countWaiting(): Promise<WaitingPeople>;
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
   * Deletes a conversation, its messages and the claims on these, and returns it as it was, or undefined if there was
   * none. A reply in progress is counted as one that ended at `at`, and told as cancelled. The messages of a long conversation may
   * go in portions, so that nothing else has to wait for long; a sweep deletes what a process has left that ended meanwhile. With
   * `idleSince`, one with a message since then, or a reply in progress, stays, and is as none; with `mostMessages`, one with
   * more.
   */
  deleteConversation(
    reach: Reach,
    id: string,
    at: number,
    how?: Deletion,
  ): Promise<DeletedConversation | undefined>;
  /** Conversations of all owners whose last message, or beginning, is before a moment, and in which no reply is in progress. */
  findIdleConversations(
    slice: IdleSlice<Pick<IdleConversation, "owner" | "id">>,
  ): Promise<IdleListing<IdleConversation, Pick<IdleConversation, "owner" | "id">>>;
}
