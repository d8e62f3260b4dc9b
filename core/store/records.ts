/**
 * Records as they are stored, and the pure functions on them.
 *
 * @module
 */

import type { Sha256 } from "../base/ids.ts";
import type { TellingWrite, WebhookEvent } from "./webhooks.ts";

/** Whether a key can be used at a moment, being neither revoked nor expired. */
export function isLiveKey({ revokedAt, expiresAt }: ApiKeyRecord, at: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > at);
}

/** What a caller may do, from the least to the most: `full_access` includes all that `read_only` may. */
export const scopes = ["read_only", "full_access"] as const;

/** What a caller may do. */
export type Scope = (typeof scopes)[number];

/** An API key as it is stored: never the secret itself, only its SHA-256. */
export interface ApiKeyRecord {
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly scope: Scope;
  /** The first 12 characters of the secret, for recognizing the key. */
  readonly prefix: string;
  /** SHA-256 of the secret, in lower-case hexadecimal. Unique. */
  readonly hash: string;
  /** The size of its bucket. Null: its scope's. */
  readonly requestsPerHour: number | null;
  /** How many tokens its replies may take in a day and a month of UTC. Null: as many as others allow. */
  readonly tokensPerDay: number | null;
  readonly tokensPerMonth: number | null;
  /** How many tokens all replies of its owner may take in a day, while it is live, where that is limited. Null: it says nothing. */
  readonly ownerTokensPerDay: number | null;
  readonly createdAt: number;
  /** When the key expires. Null: never. */
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
  /** The hash of the secret before the last rotation. Null: the key was never rotated. */
  readonly previousHash: string | null;
  /** Until when that secret works as well. Null if there is none. */
  readonly previousUntil: number | null;
}

/** What a rotation changes in a key: its secret, and nothing else. */
export interface KeyRotation extends Pick<ApiKeyRecord, "prefix" | "hash"> {
  /** Until when the secret before this one works as well. */
  readonly previousUntil: number;
}

/** A client token as it is stored: for one end user's device, made with a key. Never the secret itself, only its hash. */
export interface ClientTokenRecord {
  /** SHA-256 of the secret, in lower-case hexadecimal. Unique. */
  readonly hash: string;
  readonly owner: string;
  /** The key that it was made with, and ends with. */
  readonly keyId: string;
  /** The key's hash when the token was made. Processes before version 104 of the tables find the key by it. */
  readonly keyHash: string;
  readonly endUser: string;
  /** The twins that it may use. Null: all that the owner may use. */
  readonly twinIds: readonly string[] | null;
  readonly scope: Scope;
  /** The capacity of the end user's bucket, in requests per hour: what the latest token of this key and end user was given. */
  readonly requestsPerHour: number;
  /** How many tokens the end user's replies may take in a day and a month of UTC: as the latest token says. Null: no limit. */
  readonly tokensPerDay: number | null;
  readonly tokensPerMonth: number | null;
  readonly createdAt: number;
  readonly expiresAt: number;
}

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
  /** While a person answers, questions are stored alone. */
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

/**
 * How many of a conversation's last questions a model sees of so many with replies that did not fail: from a multiple of 25
 * on, so that what it is told begins alike 25 times in a row, and its cache serves.
 */
export function questionsSeen(answered: number): number {
  return answered < 50 ? answered : 25 + (answered % 25);
}

/** How many characters of messages are read at once: as a page, or for a model. */
export const mostCharactersRead: number = 8 * 1024 * 1024;
export const mostCharactersAsked: number = 2 * 1024 * 1024;

/** How many characters a twin knows of a person at most. */
export const mostCharactersRemembered = 4000;

/** How many branches a conversation has at most, besides its first one. */
export const mostBranches = 1000;

/** The last questions of a history that a model sees, with what follows them. */
export function windowOf<Message extends object>(history: readonly Message[]): readonly Message[] {
  let before = history.reduce((count, message) => count + Number(isQuestion(message)), 0);
  before -= questionsSeen(before);
  if (before === 0) return history; // also what was said before the first question
  return history.slice(history.findIndex((message) => isQuestion(message) && before-- === 0));
}

function isQuestion(message: object): boolean {
  return "role" in message && message.role === "user";
}

/**
 * The messages of a path, oldest first, without those of exchanges whose reply failed, or runs, and those of which nothing is
 * told. `told`: what is told in a question's place; null: the question.
 */
export function withoutFailed<
  Message extends Pick<MessageRecord, "role" | "status" | "alone"> & { readonly told: string | null },
>(path: readonly Message[]): readonly Message[] {
  return path.filter((message, index) => {
    const { alone, role } = message;
    const isQuestion = !alone && role === "user";
    const { status } = (isQuestion ? path[index + 1] : message) ?? {};
    const question = alone || isQuestion ? message : path[index - 1];
    return (status === "completed" || status === "cancelled") && question?.told !== "";
  });
}

/**
 * Decides the history that a model sees, oldest first: the window of {@link questionsSeen}, and no more characters than that.
 * The in-memory store and `ConversationCache` ask this; SQL reads by the same rules (`readHistory` in
 * `adapters/sql/messages.ts`). Failed replies are left out before that, and questions whose reply has no words after it
 * (`ConversationCache`).
 */
export function historySeen<Message extends { readonly role: string; readonly content: string }>(
  history: readonly Message[],
  characters: number,
): readonly Message[] {
  const seen = windowOf(history);
  const { length } = upTo([...seen].reverse(), characters);
  if (length === seen.length) return seen;
  const newest = seen.slice(-length);
  const first = newest.findIndex(isQuestion); // no reply without its question
  return first === -1 ? [] : newest.slice(first);
}

/** The first messages that have so many characters together; at least one. */
export function upTo<Message extends { readonly content: string }>(
  messages: readonly Message[],
  characters: number,
): readonly Message[] {
  if (messages.reduce((sum, { content }) => sum + content.length, 0) <= characters) return messages;
  let left = characters;
  const end = messages.findIndex(({ content }, index) => {
    left -= Array.from(content).length;
    return left < 0 && index > 0;
  });
  return end === -1 ? messages : messages.slice(0, end);
}

/** The first characters (Unicode code points) of a text. */
export function firstCharacters(text: string, characters: number): string {
  if (text.length <= characters) return text;
  let end = 0;
  for (let left = characters; left > 0 && end < text.length; left--) end += isPairAt(text, end) ? 2 : 1;
  return text.slice(0, end);
}

function isPairAt(text: string, index: number): boolean {
  return (text.codePointAt(index) ?? 0) > 0xffff;
}

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

/** What a twin knows of a person, as an app wrote it. Times are milliseconds since the epoch. */
export interface PersonMemory {
  readonly owner: string;
  readonly endUser: string;
  readonly twinId: string;
  readonly content: string;
  readonly updatedAt: number;
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

/** The columns of {@link Feedback} in an owner's list: a reply, what was asked, and what is thought of it. */
export interface RatedReply extends Feedback {
  readonly messageId: string;
  readonly conversationId: string;
  readonly twinId: string;
  readonly endUser: string | null;
  readonly question: string;
  readonly content: string;
  readonly sources: readonly Source[] | null;
  readonly twinRevision: string | null;
}

/** Equal questions that the twin's knowledge had nothing for. The other fields are those of the newest one. */
export interface UnansweredQuestion {
  readonly question: string;
  readonly count: number;
  readonly lastAskedAt: number;
  readonly conversationId: string;
  /** The reply. */
  readonly messageId: string;
}

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
  /** What equal questions have in common ({@link questionKey}), if the knowledge had nothing for this one. */
  readonly unanswered?: string;
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

/** What equal questions have in common: their words, apart from case, space and end marks. */
export function questionKey(question: string, sha256: Sha256): string {
  const words = question.normalize("NFC").toLowerCase().trim().split(/\s+/).join(" ");
  // From the end: a pattern with $ would begin anew at each mark in the midst of a long text.
  let end = words.length;
  while (end > 0 && endMark.test(lastCharacter(words, end))) end -= lastCharacter(words, end).length;
  return sha256(words.slice(0, end));
}

const endMark = /[\p{Sentence_Terminal}\u2026\s]/u;

function lastCharacter(text: string, end: number): string {
  const isPair = (text.charCodeAt(end - 1) & 0xfc00) === 0xdc00 && end > 1;
  return text.slice(end - (isPair ? 2 : 1), end);
}

/** What is counted of a reply that is not stored itself. */
export interface CountedReply {
  readonly owner: string;
  readonly endUser: string | null;
  readonly twinId: string;
  readonly completedAt: number;
  readonly usage: Usage | null;
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

/** A claim that several equal requests have at most one effect (the `Idempotency-Key` header). */
export interface IdempotencyClaim {
  readonly owner: string;
  /** Whose request it is, as equal keys of different end users are different claims. Null: none was named. */
  readonly endUser: string | null;
  /** What the key is for, such as `/conversations`. */
  readonly path: string;
  readonly key: string;
  /** A digest of the request's fields: equal fields, equal fingerprint. */
  readonly fingerprint: string;
  readonly createdAt: number;
  /** When the claim expires: then a new one can be made. */
  readonly expiresAt: number;
  /** Whether it takes the place of an equal one, so that the newest request is found. Default: the first one is. */
  readonly replaces?: true;
}

/** The `path` of claims on a conversation's messages. */
export function messagesPath(conversationId: string): string {
  return `/conversations/${conversationId}/messages`;
}

/** A claim that an earlier request made: its fields, and what it created. */
export interface MadeClaim {
  readonly fingerprint: string;
  /** The conversation or reply that the first request created. It may have been deleted since. */
  readonly resourceId: string;
}

/** A day, in milliseconds. */
export const dayMs: number = 24 * 3600 * 1000;

/** The day of a moment, `YYYY-MM-DD` in UTC. */
export function dayOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 10);
}

/** How many versions of a twin are kept. */
export const mostTwinVersions = 50;

/** The length of a part of what is stored of twins, in bytes, but for the last one. */
export const contentPartBytes: number = 512 * 1024;

/** How long what no version of a twin has yet is kept, in milliseconds. */
export const looseMs = 3_600_000;

/** What clients see of a twin besides its id, name and times. */
export interface TwinFeatures {
  readonly description: string | null;
  readonly avatarUrl: string | null;
  readonly greeting: string | null;
  readonly tags: readonly string[];
  readonly handover: boolean;
}

/** A twin that its owner made, as it is now. */
export interface OwnTwinRecord extends TwinFeatures {
  readonly owner: string;
  readonly id: string;
  readonly name: string;
  /** The current version, from 1. Never given twice, also after the twin was deleted. */
  readonly version: number;
  /** 16 hexadecimal digits, which change with its file and its documents. */
  readonly revision: string;
  readonly createdAt: number;
  /** When the current version was made. */
  readonly updatedAt: number;
}

/** A version of a twin that its owner made. */
export interface TwinVersionRecord {
  readonly version: number;
  readonly revision: string;
  /** What its author says of it. */
  readonly note: string | null;
  readonly createdAt: number;
}

/** A twin's file, or one of its documents. */
export interface TwinPart {
  /** Empty: the file. */
  readonly path: string;
  /** The SHA-256 of its bytes, in hexadecimal. */
  readonly digest: string;
  readonly bytes: number;
  /** The SHA-256 of what it was read as, in UTF-8, and the length of that. */
  readonly textDigest: string;
  readonly textBytes: number;
  readonly updatedAt: number;
}

/** The number of parts that so many bytes are stored in: at least one. */
export function contentParts(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / contentPartBytes));
}
