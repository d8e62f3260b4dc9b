/**
 * Messages: as they are stored, and the store's methods that read them.
 *
 * @module
 */

import type { Listing, Reach, Slice } from "./slices.ts";

/** The state of a message. `in_progress` changes once, to one of the others, which are final. */
export type MessageStatus = "in_progress" | "completed" | "cancelled" | "failed";

/** Why a reply ended. */
export type FinishReason = "stop" | "length" | "content_filter" | "tool_calls" | "cancelled" | "error";

/** A call of a tool that runs only once the person who asked has allowed it. */
export interface PendingCall {
  /** The model's id for it, unique in the reply. */
  readonly callId: string;
  /** Such as `orders/cancel`. */
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** The calls with which a reply has ended, and what its engine needs to go on behind them, as it likes. */
export interface PendingCalls {
  readonly calls: readonly PendingCall[];
  readonly state: string;
}

/** What a person may say of a call. */
export const decisions = ["approve", "deny"] as const;

/** What a person has said of calls, by their ids. */
export type Decisions = Readonly<Record<string, (typeof decisions)[number]>>;

/** What is stored of calls with a message. */
export interface StoredCalls {
  /** Those with which a reply has ended. */
  readonly pending: PendingCalls | undefined;
  /** Whether they still wait for a decision. */
  readonly isOpen: boolean;
  /** What a question has decided of those of the reply before it. */
  readonly decisions: Decisions | undefined;
}

/** Tokens as the model counted them. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  /** Those of the input that the model had in its cache from an earlier request. Null: it does not say. */
  readonly cachedInputTokens: number | null;
}

export const mostCharactersAsked: number = 2 * 1024 * 1024;

/** Why a reply failed: the model's error, its time limit, or the end of the process that produced it. */
export interface ReplyFailure {
  readonly code: "model_error" | "model_timeout" | "interrupted";
  readonly message: string;
}

/** A section of the twin's knowledge that a reply was made of. */
export interface Source {
  readonly heading: string;
  /** The path of the document in the twin's folder that the section is of. Null: the twin's own file, or not known. */
  readonly document: string | null;
  /** How well it fits the question, from 0 to 1. */
  readonly score: number;
}

/** What a person thinks of a reply. */
export interface Feedback {
  readonly rating: "up" | "down";
  readonly comment: string | null;
  readonly updatedAt: number;
}

/** A user's message, a twin's reply, or what a person has said in the twin's place. */
export interface MessageRecord {
  readonly id: string;
  readonly conversationId: string;
  readonly role: "user" | "assistant";
  /** Whether it was stored without an engine: a question that has no reply of a twin, or what a person has said. */
  readonly alone: boolean;
  /** Who said it, as an app names them. Null for all else, and where none was named. */
  readonly author: string | null;
  readonly content: string;
  readonly status: MessageStatus;
  /** Null for a user's message and while a reply is in progress. */
  readonly finishReason: FinishReason | null;
  /** Its number in the conversation's log, which has all messages in the order they were stored: from 0, without gaps. */
  readonly seq: number;
  /** The message that it follows: a reply's question; what another message goes on from, or null at the beginning. */
  readonly after: string | null;
  readonly usage: Usage | null;
  readonly error: ReplyFailure | null;
  /** What the engine named. Empty: nothing fits. Null for a user's message, and if the engine names none. */
  readonly sources: readonly Source[] | null;
  /** The revision of the twin that a reply was begun with (`twinRevision`). Null for a user's message. */
  readonly twinRevision: string | null;
  /** 1, and one more each time that another process takes the reply over. */
  readonly attempt: number;
  /** The length of the text, in UTF-16 code units, from which the last attempt went on. Null for the first one. */
  readonly continuedFrom: number | null;
  /** Null: none was given, and for a user's message. */
  readonly feedback: Feedback | null;
  readonly createdAt: number;
  readonly completedAt: number | null;
  /** The calls with which a reply has ended, and which wait for the person's decision. Absent: none do. */
  readonly pendingCalls?: readonly PendingCall[];
}

/** A message of a history. */
export interface SeenMessage extends Pick<MessageRecord, "role" | "content"> {
  /** A question that was stored alone: no guard has judged it. Absent: it is none. */
  readonly isUnjudged?: true;
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

/** Which history to read. */
export interface HistorySlice {
  /** The id of the last message, which any branch may have. */
  readonly after: string;
  /** How many characters (Unicode code points) it may have together. */
  readonly characters: number;
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
  /**
   * How many characters (Unicode code points) the messages may have together: those that would be more are left out, but
   * never the first one.
   */
  readonly characters: number;
}

/** The store's methods that read messages. */
export interface MessageStore {
  getMessage(reach: Reach, id: string, options: MessageOptions): Promise<MessageRecord | undefined>;
  /** A conversation's messages. Undefined if there is no such conversation, or the list has no such message to start after. */
  listMessages(
    reach: Reach,
    conversationId: string,
    slice: MessageSlice,
  ): Promise<Listing<MessageRecord> | undefined>;
  /**
   * What a model sees before a question behind a message, stored or not: the last questions on the path to that message with
   * their completed or cancelled replies, oldest first, as many as `questionsSeen` says of all of these. Those whose reply
   * failed are neither seen nor counted, and questions have as their content what is told in their place
   * ({@link Store.replaceQuestion}). The oldest are left out where all have more than so many characters together.
   */
  readHistory(reach: Reach, conversationId: string, slice: HistorySlice): Promise<readonly SeenMessage[]>;
}
