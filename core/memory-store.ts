/**
 * The store that keeps everything in this process's memory: for tests, for trying things out, and as the
 * plainest reading of the port.
 *
 * @module
 */

import { insertByAge, newestFirst, removeByAge } from "./newest-first.ts";
import type {
  AbandonedReply,
  ApiKeyRecord,
  BeginOutcome,
  BeginReply,
  ConversationRecord,
  EndReply,
  IdempotencyClaim,
  Lease,
  Listing,
  MadeClaim,
  MessageRecord,
  MessageSlice,
  SaveOutcome,
  SaveReply,
  Store,
} from "./store.ts";

interface KeyEntry {
  record: ApiKeyRecord;
}

interface ConversationEntry {
  record: ConversationRecord;
  /** Question, reply, question, reply … in the order they were stored. */
  readonly messages: MessageEntry[];
}

interface MessageEntry {
  record: MessageRecord;
  readonly conversation: ConversationEntry;
  /** Its place in the conversation's messages. */
  readonly seq: number;
  /** Undefined unless it is a reply in progress. */
  lease: Lease | undefined;
  cancelRequested: boolean;
}

/** What one owner has. Looking in here first is what hides everybody else's records. */
interface Possessions {
  readonly keys: Map<string, KeyEntry>;
  readonly conversations: Map<string, ConversationEntry>;
  readonly messages: Map<string, MessageEntry>;
  /** The same entries in the order that lists have them, oldest first, so that a page is an array's slice. */
  readonly keysByAge: KeyEntry[];
  readonly conversationsByAge: ConversationEntry[];
  readonly conversationsByTwin: Map<string, ConversationEntry[]>;
}

interface ClaimEntry extends MadeClaim {
  readonly expiresAt: number;
}

/**
 * Makes an empty store. What it keeps ends with the process.
 *
 * @example
 * ```ts
 * import { createMemoryStore } from "twin-service";
 *
 * const store = createMemoryStore();
 * ```
 */
export function createMemoryStore(): Store {
  const owners = new Map<string, Possessions>();
  const keysByHash = new Map<string, KeyEntry>();
  const running = new Map<MessageEntry, string>(); // reply in progress → its owner
  const claims = new Map<string, ClaimEntry>();

  function ownedBy(owner: string): Possessions {
    const possessions = owners.get(owner) ?? newPossessions();
    owners.set(owner, possessions);
    return possessions;
  }

  function findConversation(owner: string, id: string): ConversationEntry | undefined {
    return owners.get(owner)?.conversations.get(id);
  }

  function findRunning(owner: string, id: string): MessageEntry | undefined {
    const entry = owners.get(owner)?.messages.get(id);
    return entry?.record.status === "in_progress" ? entry : undefined;
  }

  function standingClaim(owner: string, path: string, key: string, at: number): MadeClaim | undefined {
    const entry = claims.get(claimId(owner, path, key));
    if (!entry || entry.expiresAt <= at) return undefined;
    return { fingerprint: entry.fingerprint, resourceId: entry.resourceId };
  }

  function madeBefore(claim: IdempotencyClaim | undefined): MadeClaim | undefined {
    return claim && standingClaim(claim.owner, claim.path, claim.key, claim.createdAt);
  }

  function keepClaim(claim: IdempotencyClaim | undefined, resourceId: string): void {
    if (!claim) return;
    const { owner, path, key, fingerprint, expiresAt } = claim;
    claims.set(claimId(owner, path, key), { fingerprint, resourceId, expiresAt });
  }

  return {
    exclusive: true,

    async createKey(key, maxLive) {
      const { keys, keysByAge } = ownedBy(key.owner);
      const live = keysByAge.filter(({ record }) => isLive(record, key.createdAt));
      if (live.length >= maxLive) return "limit_reached";
      const entry = { record: key };
      keys.set(key.id, entry);
      keysByHash.set(key.hash, entry);
      insertByAge(keysByAge, entry);
      return "created";
    },

    async listKeys(owner, slice) {
      return newestFirst(owners.get(owner)?.keysByAge ?? [], slice);
    },

    async revokeKey(owner, id, at) {
      const entry = owners.get(owner)?.keys.get(id);
      if (entry) entry.record = { ...entry.record, revokedAt: entry.record.revokedAt ?? at };
      return entry?.record;
    },

    async findKey(hash) {
      return keysByHash.get(hash)?.record;
    },

    async touchKey(owner, id, at) {
      const entry = owners.get(owner)?.keys.get(id);
      if (!entry || at <= (entry.record.lastUsedAt ?? -1)) return;
      entry.record = { ...entry.record, lastUsedAt: at };
    },

    async createConversation(conversation, claim) {
      const made = madeBefore(claim);
      if (made) return made;
      keepClaim(claim, conversation.id);
      const { conversations, conversationsByAge, conversationsByTwin } = ownedBy(conversation.owner);
      const entry: ConversationEntry = { record: conversation, messages: [] };
      conversations.set(conversation.id, entry);
      insertByAge(conversationsByAge, entry);
      const ofTwin = conversationsByTwin.get(conversation.twinId) ?? [];
      conversationsByTwin.set(conversation.twinId, ofTwin);
      insertByAge(ofTwin, entry);
      return undefined;
    },

    async getConversation(owner, id) {
      return findConversation(owner, id)?.record;
    },

    async listConversations(owner, { twinId, ...slice }) {
      const possessions = owners.get(owner);
      const entries =
        twinId === undefined ? possessions?.conversationsByAge : possessions?.conversationsByTwin.get(twinId);
      return newestFirst(entries ?? [], slice);
    },

    async renameConversation(owner, id, title, at) {
      const entry = findConversation(owner, id);
      if (entry) entry.record = { ...entry.record, title, updatedAt: at };
      return entry?.record;
    },

    async deleteConversation(owner, id) {
      const entry = findConversation(owner, id);
      if (!entry) return undefined;
      const { conversations, conversationsByAge, conversationsByTwin, messages } = ownedBy(owner);
      conversations.delete(id);
      removeByAge(conversationsByAge, entry);
      const ofTwin = conversationsByTwin.get(entry.record.twinId) ?? [];
      removeByAge(ofTwin, entry);
      if (ofTwin.length === 0) conversationsByTwin.delete(entry.record.twinId);
      for (const message of entry.messages) {
        messages.delete(message.record.id);
        running.delete(message);
      }
      return entry.record;
    },

    async getMessage(owner, conversationId, id) {
      const record = owners.get(owner)?.messages.get(id)?.record;
      return record?.conversationId === conversationId ? record : undefined;
    },

    async readOn(owner, conversationId, id, skip) {
      const record = owners.get(owner)?.messages.get(id)?.record;
      if (record?.conversationId !== conversationId) return undefined;
      return { ...record, content: Array.from(record.content).slice(skip).join("") };
    },

    async listMessages(owner, conversationId, slice) {
      const entry = findConversation(owner, conversationId);
      if (!entry) return undefined;
      if (slice.after === undefined) return listMessages(entry.messages, slice, undefined);
      const after = ownedBy(owner).messages.get(slice.after);
      return after?.conversation === entry ? listMessages(entry.messages, slice, after.seq) : undefined;
    },

    async readHistory(owner, conversationId, exchanges) {
      return readHistory(findConversation(owner, conversationId)?.messages ?? [], exchanges);
    },

    async beginReply(begin): Promise<BeginOutcome> {
      const { owner, question, reply, claim } = begin;
      const made = madeBefore(claim);
      if (made) return { outcome: "claimed", claim: made };
      const conversation = findConversation(owner, question.conversationId);
      if (!conversation) return { outcome: "not_found" };
      if (conversation.record.replyId !== null) {
        return { outcome: "busy", replyId: conversation.record.replyId };
      }
      keepClaim(claim, reply.id);
      const position = conversation.messages.length;
      running.set(storeExchange(ownedBy(owner), conversation, begin), owner);
      return { outcome: "begun", position };
    },

    async saveReply({ owner, id, content, lease }: SaveReply): Promise<SaveOutcome> {
      const entry = findRunning(owner, id);
      if (entry?.lease?.holder !== lease.holder) return "lost";
      entry.lease = lease;
      if (content !== undefined) entry.record = { ...entry.record, content };
      return entry.cancelRequested ? "cancel_requested" : "saved";
    },

    async endReply(end) {
      const entry = findRunning(end.owner, end.id);
      if (!entry || entry.record.conversationId !== end.conversationId) return false;
      const { leaseExpiredBefore = Number.POSITIVE_INFINITY } = end;
      if (!entry.lease || entry.lease.until >= leaseExpiredBefore) return false;
      endEntry(entry, end);
      running.delete(entry);
      return true;
    },

    async requestCancel(owner, id) {
      const entry = findRunning(owner, id);
      if (entry) entry.cancelRequested = true;
    },

    async findAbandonedReplies(expiredBefore) {
      const abandoned: AbandonedReply[] = [];
      for (const [{ record, lease }, owner] of running) {
        if (!lease || lease.until >= expiredBefore) continue;
        abandoned.push({ owner, conversationId: record.conversationId, id: record.id });
      }
      return abandoned;
    },

    async findClaim(owner, path, key, at) {
      return standingClaim(owner, path, key, at);
    },

    async sweepClaims(at) {
      for (const [id, entry] of claims) if (entry.expiresAt <= at) claims.delete(id);
    },

    async ping() {},
    async close() {},
  };
}

function newPossessions(): Possessions {
  return {
    keys: new Map(),
    conversations: new Map(),
    messages: new Map(),
    keysByAge: [],
    conversationsByAge: [],
    conversationsByTwin: new Map(),
  };
}

function claimId(owner: string, path: string, key: string): string {
  return JSON.stringify([owner, path, key]);
}

function isLive(key: ApiKeyRecord, at: number): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > at);
}

/** Stores a question and its reply, takes the conversation for it, and returns the reply's entry. */
function storeExchange(owned: Possessions, conversation: ConversationEntry, begin: BeginReply): MessageEntry {
  const { question, reply, lease } = begin;
  const seq = conversation.messages.length;
  const asked = { record: question, conversation, seq, lease: undefined, cancelRequested: false };
  const answer = { record: reply, conversation, seq: seq + 1, lease, cancelRequested: false };
  conversation.messages.push(asked, answer);
  owned.messages.set(question.id, asked);
  owned.messages.set(reply.id, answer);
  conversation.record = {
    ...conversation.record,
    replyId: reply.id,
    messageCount: conversation.messages.length,
    lastMessageAt: reply.createdAt,
    updatedAt: reply.createdAt,
  };
  return answer;
}

function endEntry(entry: MessageEntry, end: EndReply): void {
  const { status, finishReason, usage, error, completedAt, content = entry.record.content } = end;
  entry.record = { ...entry.record, status, finishReason, usage, error, completedAt, content };
  entry.lease = undefined;
  const { conversation } = entry;
  conversation.record = { ...conversation.record, replyId: null, updatedAt: completedAt };
}

/** A page by arithmetic on `seq`: nothing in front of it is walked. `after` is a place in `messages`. */
function listMessages(
  messages: readonly MessageEntry[],
  { offset, limit, order }: MessageSlice,
  after: number | undefined,
): Listing<MessageRecord> {
  if (order === "asc") {
    const from = (after ?? -1) + 1;
    const page = messages.slice(from + offset, from + offset + limit);
    return { items: page.map(({ record }) => record), total: messages.length - from };
  }
  const total = after ?? messages.length;
  const { items } = newestFirst(messages, { offset: messages.length - total + offset, limit });
  return { items, total };
}

function readHistory(messages: readonly MessageEntry[], exchanges: number) {
  const history: Pick<MessageRecord, "role" | "content">[] = [];
  for (let index = messages.length - 1; index > 0 && history.length < 2 * exchanges; index -= 2) {
    const [question, reply] = [messages[index - 1]?.record, messages[index]?.record];
    if (!question || (reply?.status !== "completed" && reply?.status !== "cancelled")) continue;
    history.push(reply, question);
  }
  return history.reverse().map(({ role, content }) => ({ role, content }));
}
