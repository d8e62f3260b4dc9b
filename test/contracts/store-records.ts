/**
 * Records for tests of a store: complete, with new ids, and with any fields that a test overrides.
 *
 * @module
 */

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { sha256 } from "../../core/base/ids.ts";
import type {
  ApiKeyRecord,
  ClientTokenRecord,
  ConversationRecord,
  EndReply,
  IdempotencyClaim,
  MessageRecord,
  OwnTwinRecord,
  TwinPart,
} from "../../core/store/records.ts";
import type { AddMessage, BeginReply, ConversationEnd, Listing, Store } from "../../core/store/store.ts";
import type { Telling, WebhookRecord } from "../../core/store/webhooks.ts";
import { whole } from "./whole.ts";

/** When the tests' records were created. */
export const start = Date.UTC(2030, 0, 1);
export const day = 86_400_000;

let lastId = 0;
/** An id that sorts after earlier ones, and differs from those of other runs. */
function newId(prefix: string): string {
  lastId++;
  return `${prefix}_${lastId.toString().padStart(8, "0")}_${randomBytes(6).toString("hex")}`;
}

/** An owner that no other test uses. */
export function newOwner(): string {
  return `owner ${randomUUID()}`;
}

/** A live key of an owner. */
export function key(owner: string, fields: Partial<ApiKeyRecord> = {}): ApiKeyRecord {
  return {
    id: newId("key"),
    owner,
    name: "laptop",
    scope: "read_only",
    prefix: "twin_0123456",
    hash: randomBytes(32).toString("hex"),
    createdAt: start,
    expiresAt: null,
    requestsPerHour: null,
    tokensPerDay: null,
    tokensPerMonth: null,
    ownerTokensPerDay: null,
    lastUsedAt: null,
    revokedAt: null,
    previousHash: null,
    previousUntil: null,
    ...fields,
  };
}

/** A live client token of the end user "ann". */
export function clientToken(owner: string, fields: Partial<ClientTokenRecord> = {}): ClientTokenRecord {
  return {
    hash: randomBytes(32).toString("hex"),
    owner,
    keyId: "key_1",
    keyHash: "the key's",
    endUser: "ann",
    twinIds: null,
    scope: "full_access",
    requestsPerHour: 100,
    tokensPerDay: null,
    tokensPerMonth: null,
    createdAt: start,
    expiresAt: start + 600_000,
    ...fields,
  };
}

/** A webhook that is told of everything. */
export function webhook(owner: string, fields: Partial<WebhookRecord> = {}): WebhookRecord {
  return {
    id: newId("hook"),
    owner,
    url: "https://hooks.example.com/twins",
    events: null,
    description: null,
    secret: "whsec_c2VjcmV0",
    previousSecret: null,
    previousUntil: null,
    status: "active",
    createdAt: start,
    ...fields,
  };
}

/** What lets writes tell webhooks, and whom they told. */
export function telling(): { readonly tells: Telling; readonly told: (readonly string[])[] } {
  const told: (readonly string[])[] = [];
  return { tells: { newId: () => newId("dlv"), told: (webhookIds) => void told.push(webhookIds) }, told };
}

/** A conversation, new and idle. */
export function conversation(owner: string, fields: Partial<ConversationRecord> = {}): ConversationRecord {
  return {
    id: newId("conv"),
    owner,
    twinId: "ada",
    endUser: null,
    title: null,
    name: null,
    replyId: null,
    messageCount: 0,
    logLength: 0,
    lastMessageId: null,
    lastMessageAt: null,
    answeredBy: "twin",
    waitingSince: null,
    metadata: {},
    createdAt: start,
    updatedAt: start,
    ...fields,
  };
}

/** A claim that is valid for a day. */
export function claim(owner: string, fields: Partial<IdempotencyClaim> = {}): IdempotencyClaim {
  return {
    owner,
    endUser: null,
    path: "/conversations",
    key: randomUUID(),
    fingerprint: "fields",
    createdAt: start,
    expiresAt: start + day,
    ...fields,
  };
}

/** Options of {@link toBegin}. */
export interface BeginFields {
  readonly at?: number;
  readonly content?: string;
  readonly holder?: string;
  readonly leaseUntil?: number;
  readonly claim?: IdempotencyClaim;
  /** Where the conversation goes on. Default: at its beginning. */
  readonly end?: ConversationEnd;
  /** An ended reply from which it goes on instead; null: from its beginning. */
  readonly fork?: Pick<MessageRecord, "id" | "seq"> | null;
}

/** A question and its reply, as they begin. */
export function toBegin(owner: string, conversationId: string, fields: BeginFields = {}): BeginReply {
  const { at = start, content = "Why?", holder = "here", leaseUntil = at + 30_000, fork } = fields;
  const { logLength, lastMessageId } = fields.end ?? { logLength: 0, lastMessageId: null };
  const after = fork === undefined ? lastMessageId : (fork?.id ?? null);
  const question: MessageRecord = {
    id: newId("msg"),
    conversationId,
    role: "user",
    alone: false,
    author: null,
    content,
    status: "completed",
    finishReason: null,
    seq: logLength,
    after,
    usage: null,
    error: null,
    sources: null,
    twinRevision: null,
    attempt: 1,
    continuedFrom: null,
    feedback: null,
    createdAt: at,
    completedAt: at,
  };
  const reply: MessageRecord = {
    ...question,
    id: newId("msg"),
    role: "assistant",
    content: "",
    status: "in_progress",
    seq: logLength + 1,
    after: question.id,
    createdAt: at + 1,
    completedAt: null,
  };
  const lease = { holder, until: leaseUntil };
  const forkAt = fork === undefined ? undefined : (fork?.seq ?? -1);
  return { owner, question, reply, lease, forkAt, ...(fields.claim && { claim: fields.claim }) };
}

/** A message of a colleague, or a question, as it is stored alone where a conversation goes on. */
export async function nextAlone(
  store: Store,
  owner: string,
  conversationId: string,
  fields: Partial<AddMessage> &
    Partial<Pick<MessageRecord, "role" | "content" | "author" | "createdAt">> = {},
): Promise<AddMessage> {
  const { role = "assistant", content = "Hello.", author = null, createdAt = start, ...add } = fields;
  const { question } = await nextToBegin(store, owner, conversationId, { at: createdAt, content });
  const finishReason = role === "assistant" ? "stop" : null;
  return { owner, message: { ...question, role, alone: true, author, finishReason }, ...add };
}

/** Stores a message alone, and returns what was stored. */
export async function addAlone(...given: Parameters<typeof nextAlone>): Promise<MessageRecord> {
  const [store] = given;
  const added = await nextAlone(...given);
  assert.deepEqual(await store.addMessage(added), { result: "added" });
  return added.message;
}

/** The end of a reply that was begun. */
export function toEnd({ owner, reply }: BeginReply, fields: Partial<EndReply> = {}): EndReply {
  return {
    owner,
    conversationId: reply.conversationId,
    id: reply.id,
    status: "completed",
    finishReason: "stop",
    usage: null,
    error: null,
    completedAt: reply.createdAt + 1,
    content: "Because.",
    ...fields,
  };
}

/** How a failed reply ends. */
export const failure = {
  status: "failed",
  finishReason: "error",
  error: { code: "model_error", message: "The model failed." },
} as const;

/** Stores a conversation, of a new owner unless one is given, and returns it. */
export async function newConversation(
  store: Store,
  owner: string = newOwner(),
  fields: Partial<ConversationRecord> = {},
) {
  const record = conversation(owner, fields);
  assert.equal(await store.createConversation(record), undefined);
  return record;
}

/** A question and its reply, as they begin where a conversation goes on. */
export async function nextToBegin(
  store: Store,
  owner: string,
  conversationId: string,
  fields: BeginFields = {},
): Promise<BeginReply> {
  const end = await store.getConversation({ owner }, conversationId);
  return toBegin(owner, conversationId, end ? { end, ...fields } : fields);
}

/** Begins a reply and returns what was begun. */
export async function begin(store: Store, owner: string, conversationId: string, fields: BeginFields = {}) {
  const begun = await nextToBegin(store, owner, conversationId, fields);
  assert.equal((await store.beginReply(begun)).result, "begun");
  return begun;
}

/** A question and its ended reply. */
export async function converse(
  store: Store,
  owner: string,
  conversationId: string,
  fields: Partial<EndReply> & Pick<BeginFields, "at" | "fork"> = {},
) {
  const { at, fork, ...end } = fields;
  const beginning = { ...(at !== undefined && { at }), ...(fork !== undefined && { fork }) };
  const begun = await begin(store, owner, conversationId, beginning);
  assert.equal(await store.endReply(toEnd(begun, end)), true);
  return begun;
}

/** All messages of a conversation, oldest first. */
export async function messagesOf(
  store: Store,
  owner: string,
  conversationId: string,
): Promise<Listing<MessageRecord>> {
  const listing = await store.listMessages({ owner }, conversationId, {
    ...whole,
    offset: 0,
    limit: 100,
    order: "asc",
  });
  assert.ok(listing);
  return listing;
}

/** A listing's ids, in its order. */
export function ids(listing: Listing<{ id: string }> | undefined): string[] | undefined {
  return listing?.items.map(({ id }) => id);
}

/** A twin that its owner made. */
export function ownTwin(owner: string, id: string, more: Partial<OwnTwinRecord>): OwnTwinRecord {
  return {
    owner,
    id,
    name: id,
    description: null,
    avatarUrl: null,
    greeting: "Hello.",
    tags: ["a", "b"],
    handover: false,
    version: 1,
    revision: "0123456789abcdef",
    createdAt: start,
    updatedAt: start,
    ...more,
  };
}

/** A part of a twin that is a text. */
export function partOf(path: string, text: string, updatedAt: number): TwinPart {
  const [digest, bytes] = [sha256(text), new TextEncoder().encode(text).length];
  return { path, digest, bytes, textDigest: digest, textBytes: bytes, updatedAt };
}

/** Stores a short text as what a twin contains. */
export function storeContent(store: Store, owner: string, text: string, at: number = start): Promise<void> {
  return store.addTwinContent(owner, sha256(text), 0, new TextEncoder().encode(text), at);
}
