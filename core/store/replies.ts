/**
 * How replies begin, are saved and end, and how messages without one are stored.
 *
 * @module
 */

import type { IdempotencyClaim, Lease, MadeClaim } from "./claims.ts";
import type { Answerer, ConversationEnd } from "./conversations.ts";
import type {
  Decisions,
  FinishReason,
  MessageRecord,
  MessageStatus,
  PendingCalls,
  ReplyFailure,
  Source,
  StoredCalls,
  Usage,
} from "./messages.ts";
import type { Reach } from "./slices.ts";
import type { ReachedBudget, TokenBudgetState, TokenReservation } from "./token-budgets.ts";
import type { TellingWrite, WebhookEvent } from "./webhooks.ts";

/** A reply's one way out of `in_progress`. */
export interface EndReply extends TellingWrite {
  readonly owner: string;
  readonly conversationId: string;
  readonly id: string;
  readonly status: Exclude<MessageStatus, "in_progress">;
  readonly finishReason: FinishReason;
  readonly usage: Usage | null;
  readonly error: ReplyFailure | null;
  readonly completedAt: number;
  /** The whole text. Absent: the last saved text stays. */
  readonly content?: string;
  /** What the engine named. Absent: the last saved sources stay. */
  readonly sources?: readonly Source[];
  /** The calls with which it ends. Absent: none. */
  readonly pending?: PendingCalls | undefined;
  /**
   * What equal questions have in common ({@link questionKey}): its question is listed as unanswered if the reply, as it is
   * stored at its end, {@link leavesUnanswered}. Absent: it is not.
   */
  readonly unanswered?: string | undefined;
  /** Its question now waits for a person, who answers from now on. */
  readonly handsOver?: true;
  /** Tokens may be reserved for it, and are settled. Absent: none are. */
  readonly reserved?: true | undefined;
  /** End it only if this holder has its lease. Absent: any holder. */
  readonly holder?: string;
  /** End it only if its lease ran out before this moment. Absent: with any lease. */
  readonly leaseExpiredBefore?: number;
}

/** What webhooks are told of a reply that ended like this. */
export function eventOfEnd(status: EndReply["status"]): WebhookEvent {
  return `reply.${status}`;
}

/** How a reply has ended, once and for all. Its text, sources and time are stored with it. */
export type FinalState = Pick<EndReply, "status" | "finishReason" | "usage" | "error" | "pending">;

/** A reply in progress, as it has ended. Named one by one: V8 can be slow where a literal goes on after a spread. */
export function ended(
  { id, conversationId, role, seq, after, twinRevision, attempt, continuedFrom, createdAt }: MessageRecord,
  { status, finishReason, usage, error, pending }: FinalState,
  { content, sources }: Pick<MessageRecord, "content" | "sources">,
  completedAt: number,
) {
  const message = {
    id,
    conversationId,
    role,
    alone: false,
    author: null,
    content,
    status,
    finishReason,
    seq,
    after,
    usage,
    error,
    sources,
    twinRevision,
    attempt,
    continuedFrom,
    feedback: null,
    createdAt,
    completedAt,
  };
  return pending ? { ...message, pendingCalls: pending.calls } : message;
}

/** How a reply begins: what {@link Store.beginReply} stores in one transaction. */
export interface BeginReply extends Reach {
  /** The user's message, completed. */
  readonly question: MessageRecord;
  /** The reply, empty and in progress. */
  readonly reply: MessageRecord;
  readonly lease: Lease;
  readonly claim?: IdempotencyClaim;
  /** The twin that it chooses for a conversation that has none yet; one that has another refuses it. Absent: it has one. */
  readonly choosesTwin?: string | undefined;
  /** Whether no other process can begin the reply again, as not all that its engine is told is stored. Default false. */
  readonly lastAttempt?: boolean | undefined;
  /** What it decides of the calls that wait with the reply that it goes on from, which must be open. Absent: none may wait there. */
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
  /** Calls wait with the reply that the question goes on from, and it decides nothing of them: to be tried again. */
  | { readonly result: "undecided" }
  /** It would be another branch of a conversation that has {@link mostBranches}. */
  | { readonly result: "too_many_branches" }
  /** These budgets of tokens have no room. */
  | { readonly result: "over_budget"; readonly spent: readonly TokenBudgetState[] }
  | { readonly result: "claimed"; readonly claim: MadeClaim }
  /** The conversation is with another twin than the one that it would choose. */
  | { readonly result: "other_twin" }
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
  /** From now on nobody holds it: it waits for the message that comes in its place. Absent: it is held as before. */
  readonly yields?: true;
  readonly lease: Lease;
}

/** What {@link Store.saveReply} found. `lost`: the reply is gone or has ended, or has another holder or more text. */
export type SaveResult = "saved" | "cancel_requested" | "yield_requested" | "lost";

/** What {@link Store.requestYield} found. `over`: the reply is gone or has ended. */
export type YieldResult = "asked" | "yielded" | "over";

/** The holder of a reply that its process has yielded. */
export const nobody = "";

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

/** The store's methods about what is written: replies, and messages without one. */
export interface ReplyStore {
  /**
   * Stores a question and its reply as the end of the conversation's path, and takes the conversation for it: its `replyId`
   * and `lastMessageId` are the reply's, its `logLength` two more, its `lastMessageAt` and `updatedAt` the reply's
   * `createdAt`. A claim that was made before, unless this one replaces it, comes first, then a missing conversation, a busy
   * one, one in which a person answers, one that has moved, calls that are left undecided, too many branches, and budgets of
   * tokens without room.
   * What it reserves of these is settled in the transaction that ends it, whoever does that.
   */
  beginReply(begin: BeginReply): Promise<BeginResult>;
  /**
   * Stores a message alone as the end of the conversation's path: its `lastMessageId` is the message's, its `logLength` one
   * more, its `lastMessageAt` and `updatedAt` the message's `createdAt`. What a person says answers all that waits and the
   * questions since a person spoke last, on any branch, which are then not unanswered: those among the 200
   * messages before. Refused as {@link beginReply}, but in which a twin answers.
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
  /** Asks the holder of a reply in progress to cancel it. Does not affect other messages. */
  requestCancel(reach: Reach, id: string): Promise<void>;
  /**
   * Asks the holder of a reply in progress to stop it, to save all of its text, and to yield it to the message that comes in its
   * place. Says whether it has; nobody takes such a reply over. Comes before a request to cancel it.
   */
  requestYield(owner: string, id: string): Promise<YieldResult>;
  /** From now on, histories have `told` in a question's place. If it is empty, they have neither the question nor its reply. */
  replaceQuestion(
    question: Pick<MessageRecord, "id" | "conversationId"> & {
      readonly owner: string;
      readonly told: string;
    },
  ): Promise<void>;
  /** What is stored of calls with a message. Undefined: there is no such message. */
  readCalls(owner: string, id: string): Promise<StoredCalls | undefined>;
}

/** The store's methods about replies whose process has ended. */
export interface TakeOverStore {
  /** Replies in progress whose lease ran out before `expiredBefore`, of any holder. */
  findAbandonedReplies(expiredBefore: number): Promise<readonly AbandonedReply[]>;
  /**
   * Gives an abandoned reply to another holder as its next attempt, which goes on from the length `from` of its text
   * (`continuedFrom`). False if the reply is not as it was found any more (`lease` and `attempt` are compared), or if
   * it is to be cancelled.
   */
  takeOverReply(found: AbandonedReply, lease: Lease, from: number): Promise<boolean>;
}
