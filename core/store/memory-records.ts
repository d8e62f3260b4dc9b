/**
 * The memory store's records, and how they are found.
 *
 * @module
 */

import type { Branch, MessagePath } from "./path.ts";
import {
  type ApiKeyRecord,
  type ClientTokenRecord,
  type ConversationRecord,
  type Decisions,
  type IdempotencyClaim,
  type MadeClaim,
  type MessageRecord,
  messagesPath,
  type OwnTwinRecord,
  type PendingCalls,
  type PersonMemory,
  type TwinPart,
  type TwinVersionRecord,
} from "./records.ts";
import type { Lease, Listing, Reach, Slice } from "./store.ts";
import type { TokenReservation } from "./token-budgets.ts";
import type { DeliveryRecord, EventSubject, WebhookRecord } from "./webhooks.ts";

/** An API key. */
export interface KeyEntry {
  record: ApiKeyRecord;
}

/** A conversation. */
export interface ConversationEntry {
  record: ConversationRecord;
  /** The log: question, reply, question, reply … in the order they were stored. */
  readonly messages: MessageEntry[];
  path: MessagePath;
  /** The questions that do not follow the message before them in the log, in its order. */
  readonly branches: Branch[];
}

/** A message of a conversation. */
export interface MessageEntry {
  record: MessageRecord;
  readonly conversation: ConversationEntry;
  /** Undefined unless it is a reply in progress. */
  lease: Lease | undefined;
  cancelRequested: boolean;
  /** Whether it is cancelled for a message that comes in its place. */
  yieldRequested?: boolean;
  /** Whether its engine must not be asked again. */
  lastAttempt?: boolean | undefined;
  /** What equal questions without an answer have in common. */
  unanswered?: string | undefined;
  /** Of a question: what histories have in its place. Empty: neither it nor its reply. */
  told?: string | undefined;
  /** The calls with which a reply has ended. */
  pending?: PendingCalls | undefined;
  /** What a question has decided of those of the reply before. */
  decisions?: Decisions | undefined;
}

/** An idempotency claim. */
export interface ClaimEntry extends MadeClaim, IdempotencyClaim {}

/** The sums of one end user, twin and day. */
export interface UsageEntry {
  readonly owner: string;
  readonly endUser: string | null;
  readonly twin: string;
  readonly day: string;
  readonly replies: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
}

/** What is gone of a budget of tokens in a day or month. */
export interface TokenSumEntry {
  readonly owner: string;
  readonly endUser: string | null;
  readonly endsAt: number;
  limit: number;
  used: number;
  reserved: number;
  /** The last part of it that was told, in percent. */
  told: number;
}

/** A delivery, and what it tells. */
export interface DeliveryEntry {
  record: DeliveryRecord;
  readonly webhook: WebhookRecord["id"];
  readonly owner: string;
  readonly subject: EventSubject;
  /** Who tries it. Undefined: nobody. */
  holder: string | undefined;
  /** When it is tried, or the lease ends under which it is tried. */
  dueAt: number;
  triedAt: number | null;
}

/** What one owner has. Every look-up begins here, which hides the records of other owners. */
export interface OwnerRecords {
  readonly keys: Map<string, KeyEntry>;
  readonly conversations: Map<string, ConversationEntry>;
  readonly messages: Map<string, MessageEntry>;
  /** The same entries, oldest first, so that a page is a slice of an array. */
  readonly keysByAge: KeyEntry[];
  readonly conversationsByAge: ConversationEntry[];
  readonly conversationsByTwin: Map<string, ConversationEntry[]>;
  readonly conversationsByEndUser: Map<string, ConversationEntry[]>;
  /** Those that have a name, by {@link nameOf}. */
  readonly conversationsByName: Map<string, ConversationEntry>;
  /** What twins know of people, by {@link memoryName}. */
  readonly memories: Map<string, PersonMemory>;
  /** Twins that the owner made, also deleted ones, by their ids. */
  readonly twins: Map<string, OwnTwinEntry>;
  /** What the twins' files and documents are, by digest. */
  readonly contents: Map<string, ContentEntry>;
}

/** A file or document of a twin, or what it was read as. */
export interface ContentEntry {
  readonly parts: Uint8Array[];
  /** When it was last added. */
  at: number;
}

/** A twin that its owner made, or that was deleted. */
export interface OwnTwinEntry {
  /** Undefined: it was deleted. */
  record: OwnTwinRecord | undefined;
  lastVersion: number;
  textBytes: number;
  /** Oldest first, each with its parts by path. */
  versions: { readonly record: TwinVersionRecord; readonly parts: ReadonlyMap<string, TwinPart> }[];
}

/** Everything in a memory store. */
export interface MemoryRecords {
  readonly owners: Map<string, OwnerRecords>;
  readonly keysByHash: Map<string, KeyEntry>;
  /** The replies in progress. */
  readonly running: Set<MessageEntry>;
  /** By hash. */
  readonly clientTokens: Map<string, ClientTokenRecord>;
  /** By owner, end user, twin and day. */
  readonly usage: Map<string, UsageEntry>;
  /** By owner, end user, path and key. */
  readonly claims: Map<string, ClaimEntry>;
  /** By budget and period. */
  readonly tokenSums: Map<string, TokenSumEntry>;
  /** By the work. */
  readonly leases: Map<string, Lease>;
  /** By the reply's id. */
  readonly reservations: Map<string, TokenReservation>;
  /** By id. */
  readonly webhooks: Map<string, WebhookRecord>;
  readonly deliveries: Map<string, DeliveryEntry>;
}

/** An empty store's records. */
export function newRecords(): MemoryRecords {
  return {
    owners: new Map(),
    keysByHash: new Map(),
    running: new Set(),
    clientTokens: new Map(),
    usage: new Map(),
    claims: new Map(),
    tokenSums: new Map(),
    reservations: new Map(),
    leases: new Map(),
    webhooks: new Map(),
    deliveries: new Map(),
  };
}

/** An owner's records, to add to: made empty for a new owner. */
export function recordsOf({ owners }: MemoryRecords, owner: string): OwnerRecords {
  const records = owners.get(owner) ?? newOwnerRecords();
  owners.set(owner, records);
  return records;
}

/** A conversation within reach. */
export function findConversation(
  { owners }: MemoryRecords,
  reach: Reach,
  id: string,
): ConversationEntry | undefined {
  const entry = owners.get(reach.owner)?.conversations.get(id);
  return entry && isWithin(reach, entry) ? entry : undefined;
}

/** A conversation's name among its owner's. */
export function nameOf(
  endUser: string | null | undefined,
  { twinId, name }: { readonly twinId: string; readonly name: string | null },
): string {
  return JSON.stringify([twinId, endUser ?? null, name]);
}

/** Whose memory it is, among its owner's. */
export function memoryName({ endUser, twinId }: Pick<PersonMemory, "endUser" | "twinId">): string {
  return JSON.stringify([endUser, twinId]);
}

/** A message within reach, in any conversation. */
export function findMessage({ owners }: MemoryRecords, reach: Reach, id: string): MessageEntry | undefined {
  const entry = owners.get(reach.owner)?.messages.get(id);
  return entry && isWithin(reach, entry.conversation) ? entry : undefined;
}

function isWithin({ endUser }: Reach, { record }: ConversationEntry): boolean {
  return endUser === undefined || endUser === record.endUser;
}

function newOwnerRecords(): OwnerRecords {
  return {
    keys: new Map(),
    conversations: new Map(),
    messages: new Map(),
    keysByAge: [],
    conversationsByAge: [],
    conversationsByTwin: new Map(),
    conversationsByEndUser: new Map(),
    conversationsByName: new Map(),
    memories: new Map(),
    twins: new Map(),
    contents: new Map(),
  };
}

/** An entry whose record does not change its id or age. */
export interface Aged {
  readonly record: { readonly id: string; readonly createdAt: number };
}

/** Whether `a` is listed after `b`: created earlier, or at the same time with a smaller id. */
export function isOlder(a: Aged, b: Aged): boolean {
  if (a.record.createdAt !== b.record.createdAt) return a.record.createdAt < b.record.createdAt;
  return a.record.id < b.record.id;
}

/** Where `entry` is, or belongs, in a list kept oldest first. Tries the end first, where new entries belong. */
function placeByAge<Entry extends Aged>(list: readonly Entry[], entry: Entry): number {
  let [low, high] = [0, list.length];
  let middle = high - 1;
  while (low < high) {
    const probe = list[middle];
    if (probe && isOlder(probe, entry)) low = middle + 1;
    else high = middle;
    middle = (low + high) >>> 1;
  }
  return low;
}

/** Puts an entry into its place in a list kept oldest first. */
export function insertByAge<Entry extends Aged>(list: Entry[], entry: Entry): void {
  list.splice(placeByAge(list, entry), 0, entry);
}

/** Takes an entry out of a list kept oldest first. It must be in there. */
export function removeByAge<Entry extends Aged>(list: Entry[], entry: Entry): void {
  list.splice(placeByAge(list, entry), 1);
}

/** A page, newest first, of a list kept oldest first. */
export function newestFirst<Item>(
  list: readonly { record: Item }[],
  { offset, limit }: Slice,
): Listing<Item> {
  const end = Math.max(0, list.length - offset);
  const page = list.slice(Math.max(0, end - limit), end);
  return { items: page.map(({ record }) => record).reverse(), total: list.length };
}

/** Some entries after one of them, by the texts that say where they are; and the last of these, if there are more. */
export function portionOf<Entry extends Place, Place>(
  all: readonly Entry[],
  placeOf: (place: Place) => string,
  after: Place | undefined,
  limit: number,
): { readonly looked: readonly Entry[]; readonly next: Entry | undefined } {
  const from = after === undefined ? "" : placeOf(after);
  const rest = all
    .filter((entry) => placeOf(entry) > from)
    .sort((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1));
  const looked = rest.slice(0, limit);
  return { looked, next: rest.length > limit ? looked.at(-1) : undefined };
}

/** Adds an entry to the list of this name, or makes that list. */
export function addToList<Entry extends Aged>(lists: Map<string, Entry[]>, name: string, entry: Entry): void {
  const list = lists.get(name) ?? [];
  lists.set(name, list);
  insertByAge(list, entry);
}

/** Takes an entry out of the list of this name, which ends with its last entry. */
export function removeFromList<Entry extends Aged>(
  lists: Map<string, Entry[]>,
  name: string,
  entry: Entry,
): void {
  const list = lists.get(name) ?? [];
  removeByAge(list, entry);
  if (list.length === 0) lists.delete(name);
}

/** The equal claim that was made before this one and has not expired. */
export function madeBefore(
  { claims }: MemoryRecords,
  claim: IdempotencyClaim | undefined,
): MadeClaim | undefined {
  const entry = claim && claims.get(claimId(claim));
  if (!entry || entry.expiresAt <= claim.createdAt) return undefined;
  return { fingerprint: entry.fingerprint, resourceId: entry.resourceId };
}

/** Makes a claim, if there is one to make. */
export function keepClaim(
  { claims }: MemoryRecords,
  claim: IdempotencyClaim | undefined,
  resourceId: string,
): void {
  if (!claim) return;
  claims.set(claimId(claim), { ...claim, resourceId });
}

/** Deletes the claims on a conversation's messages, which are of no use without it. */
export function dropClaimsOn({ claims }: MemoryRecords, conversation: ConversationRecord): void {
  const { owner, id } = conversation;
  for (const [name, claim] of claims) {
    if (claim.owner === owner && claim.path === messagesPath(id)) claims.delete(name);
  }
}

function claimId({ owner, endUser, path, key }: IdempotencyClaim): string {
  return JSON.stringify([owner, endUser, path, key]);
}
