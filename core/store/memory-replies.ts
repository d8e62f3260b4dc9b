/**
 * The life of a reply in memory, and the sums of what replies took.
 *
 * @module
 */

import { compareTexts } from "../base/order.ts";
import {
  addToList,
  type ConversationEntry,
  findConversation,
  findMessage,
  keepClaim,
  type MemoryRecords,
  type MessageEntry,
  madeBefore,
  memoryName,
  type OwnerRecords,
  recordsOf,
  removeFromList,
  type UsageEntry,
} from "./memory-records.ts";
import { reserveInstead, type Settlement, settle } from "./memory-token-budgets.ts";
import { subjectIn, tell, tellReached } from "./memory-webhooks.ts";
import { lengthOf, pathTo, withMessages } from "./path.ts";
import {
  type Answerer,
  type CountedReply,
  dayOf,
  type EndReply,
  ended,
  eventOfEnd,
  leavesUnanswered,
  type MessageRecord,
  mostAnswered,
  mostBranches,
  nobody,
} from "./records.ts";
import type {
  AbandonedReply,
  AddMessage,
  AddResult,
  BeginReply,
  BeginResult,
  NotStored,
  Reach,
  ReplyStore,
  SaveResult,
  TakeOverStore,
  UsageStore,
  UsageSum,
} from "./store.ts";
import type { ReachedBudget, TokenReservation } from "./token-budgets.ts";

/** The store's methods about replies in progress. */
export function replyMethods(records: MemoryRecords): ReplyStore {
  return {
    async beginReply(begin) {
      return beginReply(records, begin);
    },

    async addMessage(add) {
      return addMessage(records, add);
    },

    async saveReply({ owner, id, content, sources, lastAttempt, yields, lease }): Promise<SaveResult> {
      const entry = findRunning(records, { owner }, id);
      if (entry?.lease?.holder !== lease.holder) return "lost";
      if (content !== undefined && content.length < entry.record.content.length) return "lost";
      entry.lease = yields ? { ...lease, holder: nobody } : lease;
      entry.lastAttempt ||= lastAttempt;
      entry.record = {
        ...entry.record,
        ...(content !== undefined && { content }),
        ...(sources && { sources }),
      };
      if (entry.yieldRequested) return "yield_requested";
      return entry.cancelRequested ? "cancel_requested" : "saved";
    },

    async endReply(end) {
      const entry = findRunning(records, { owner: end.owner }, end.id);
      if (!entry || entry.record.conversationId !== end.conversationId) return false;
      const { leaseExpiredBefore = Number.POSITIVE_INFINITY } = end;
      if (!entry.lease || entry.lease.until >= leaseExpiredBefore) return false;
      if (end.holder !== undefined && entry.lease.holder !== end.holder) return false;
      const reached = endRunning(records, entry, end);
      return reached.length > 0 ? reached : true;
    },

    async replaceQuestion({ owner, conversationId, id, told }) {
      const entry = findMessage(records, { owner }, id);
      if (entry?.record.conversationId === conversationId) entry.told = told;
    },

    async readCalls(owner, id) {
      const entry = findMessage(records, { owner }, id);
      if (!entry) return undefined;
      const { record, pending, decisions } = entry;
      return { pending, isOpen: record.pendingCalls !== undefined, decisions };
    },

    async requestCancel(reach, id) {
      const entry = findRunning(records, reach, id);
      if (entry) entry.cancelRequested = true;
    },

    async requestYield(owner, id) {
      const entry = findRunning(records, { owner }, id);
      if (!entry) return "over";
      entry.cancelRequested = entry.yieldRequested = true;
      return entry.lease?.holder === nobody ? "yielded" : "asked";
    },
  };
}

/** The store's methods about replies whose lease ran out. */
export function takeOverMethods(records: MemoryRecords): TakeOverStore {
  return {
    async findAbandonedReplies(expiredBefore) {
      const abandoned: AbandonedReply[] = [];
      for (const { record, conversation, lease, cancelRequested, lastAttempt = false } of records.running) {
        if (!lease || lease.until >= expiredBefore) continue;
        const { owner, id: conversationId } = conversation.record;
        const { id, attempt } = record;
        const reserved = records.reservations.has(id);
        abandoned.push({ owner, conversationId, id, lease, attempt, cancelRequested, lastAttempt, reserved });
      }
      return abandoned;
    },

    async takeOverReply(found, lease, from) {
      const entry = findRunning(records, { owner: found.owner }, found.id);
      if (entry?.record.conversationId !== found.conversationId) return false;
      if (entry.lease?.holder !== found.lease.holder || entry.lease.until !== found.lease.until) return false;
      if (entry.record.attempt !== found.attempt || entry.cancelRequested) return false;
      entry.lease = lease;
      entry.record = { ...entry.record, attempt: found.attempt + 1, continuedFrom: from };
      return true;
    },
  };
}

function findRunning(records: MemoryRecords, reach: Reach, id: string): MessageEntry | undefined {
  const entry = findMessage(records, reach, id);
  return entry?.record.status === "in_progress" ? entry : undefined;
}

function beginReply(records: MemoryRecords, begin: BeginReply): BeginResult {
  const { question, reply, lease, lastAttempt, reserves, decides, choosesTwin } = begin;
  const isUndecided = !decides;
  const needs = { resourceId: reply.id, answeredBy: "twin", reserves, isUndecided, choosesTwin } as const;
  const place = takePlace(records, begin, question, needs);
  if ("result" in place) return place;
  const { owned, conversation, reached } = place;
  if (choosesTwin !== undefined) chooseTwin(owned, conversation, choosesTwin);
  const asked = decides && findMessage(records, { owner: begin.owner }, decides.replyId);
  if (asked) {
    const { pendingCalls: _, ...record } = asked.record;
    asked.record = record;
  }
  const entry = { record: reply, conversation, lease, cancelRequested: false, lastAttempt };
  const { decisions } = decides ?? {};
  store(
    owned,
    { record: question, conversation, lease: undefined, cancelRequested: false, decisions },
    entry,
  );
  conversation.record = { ...conversation.record, replyId: reply.id };
  records.running.add(entry);
  const { endUser: person, twinId } = conversation.record;
  const memory = person === null ? undefined : owned.memories.get(memoryName({ endUser: person, twinId }));
  return { result: "begun", memory: memory?.content ?? null, ...reachedIn(reached) };
}

function chooseTwin({ conversationsByTwin }: OwnerRecords, entry: ConversationEntry, twinId: string): void {
  removeFromList(conversationsByTwin, entry.record.twinId, entry);
  entry.record = { ...entry.record, twinId };
  addToList(conversationsByTwin, twinId, entry);
}

function addMessage(records: MemoryRecords, add: AddMessage): AddResult {
  const { owner, message, answeredBy, waits = false, tells } = add;
  const needed = waits ? "person" : undefined;
  const place = takePlace(records, add, message, { resourceId: message.id, answeredBy: needed });
  if ("result" in place) return place;
  const { owned, conversation, reached } = place;
  store(owned, { record: message, conversation, lease: undefined, cancelRequested: false });
  const { record, messages } = conversation;
  const isAnswer = message.role === "assistant";
  const waitingSince = waits ? (record.waitingSince ?? message.createdAt) : record.waitingSince;
  conversation.record = {
    ...record,
    answeredBy: answeredBy ?? record.answeredBy,
    waitingSince: isAnswer ? null : waitingSince,
  };
  if (isAnswer) {
    const before = messages.slice(Math.max(0, message.seq - mostAnswered), message.seq);
    const last = before.findLastIndex(({ record }) => record.alone && record.role === "assistant");
    for (const entry of before.slice(last + 1)) entry.unanswered = undefined;
  }
  const told = { owner, at: message.createdAt, subject: subjectIn(conversation, message.id) };
  if (isAnswer) tell(records, tells, { ...told, event: "message.said" });
  if (waits && record.waitingSince === null) tell(records, tells, { ...told, event: "conversation.waiting" });
  return { result: "added", ...reachedIn(reached) };
}

/** The member of a result that has what was reached, if anything was. */
export function reachedIn(reached: readonly ReachedBudget[]) {
  return reached.length > 0 ? { reached } : {};
}

interface Room {
  readonly owned: OwnerRecords;
  readonly conversation: ConversationEntry;
  /** What the reply that it replaces has used up. */
  readonly reached: readonly ReachedBudget[];
}

/** Makes room for a message at the end of a conversation's path, or says why there is none. */
function takePlace(
  records: MemoryRecords,
  { owner, endUser, claim, forkAt, replaces }: BeginReply | AddMessage,
  { conversationId, seq, after }: MessageRecord,
  { resourceId, answeredBy, reserves, isUndecided = false, choosesTwin }: Needs,
): Room | NotStored {
  const made = claim?.replaces ? undefined : madeBefore(records, claim);
  if (made) return { result: "claimed", claim: made };
  const conversation = findConversation(records, { owner, endUser }, conversationId);
  if (!conversation) return { result: "not_found" };
  const { replyId, logLength, lastMessageId, answeredBy: who, twinId } = conversation.record;
  if (choosesTwin !== undefined && ![choosesTwin, ""].includes(twinId)) return { result: "other_twin" };
  const found = replaces?.id === replyId ? findRunning(records, { owner }, replaces.id) : undefined;
  const { holder = found?.lease?.holder } = replaces ?? {};
  const running = found?.lease?.holder === holder ? found : undefined;
  if (replyId !== null && !running) return { result: "busy", replyId };
  if (answeredBy !== undefined && who !== answeredBy) return { result: "answered_by", answeredBy: who };
  const isEnd = forkAt !== undefined || after === lastMessageId;
  if (seq !== logLength || !isEnd) return { result: "moved", end: { logLength, lastMessageId } };
  const owned = recordsOf(records, owner);
  const before = owned.messages.get(after ?? "")?.record;
  if (isUndecided && before?.pendingCalls) return { result: "undecided" };
  const { branches, path } = conversation;
  const from = forkAt ?? before?.seq ?? -1;
  const isBranch = from !== seq - 1;
  if (isBranch && branches.length >= mostBranches) return { result: "too_many_branches" };
  const ending = running && replaces && settlementOf(running, replaces);
  const reserved = reserveInstead(records, reserves, ending);
  if ("spent" in reserved) return { result: "over_budget", spent: reserved.spent };
  if (isBranch) branches.push({ seq, from });
  if (forkAt !== undefined) conversation.path = pathTo(forkAt, path, branches);
  keepClaim(records, claim, resourceId);
  if (running && replaces) endRunning(records, running, replaces, reserved.reached);
  return { owned, conversation, reached: reserved.reached };
}

/** What a message needs besides its place. `answeredBy`: who has to answer. */
interface Needs {
  readonly resourceId: string;
  readonly answeredBy: Answerer | undefined;
  readonly reserves?: TokenReservation | undefined;
  /** Whether no calls may wait with the message that it goes on from. Default: they may. */
  readonly isUndecided?: boolean;
  /** The twin that the conversation has, or is to have. Default: any. */
  readonly choosesTwin?: string | undefined;
}

/** Stores messages at the end of a conversation's path. */
function store(owned: OwnerRecords, ...entries: [MessageEntry, ...MessageEntry[]]): void {
  const [{ conversation }] = entries;
  const { record, messages, path } = conversation;
  messages.push(...entries);
  for (const entry of entries) owned.messages.set(entry.record.id, entry);
  conversation.path = withMessages(path, record.logLength, messages.length);
  const { id, createdAt } = (entries.at(-1) ?? entries[0]).record;
  conversation.record = {
    ...record,
    messageCount: lengthOf(conversation.path, messages.length),
    logLength: messages.length,
    lastMessageId: id,
    lastMessageAt: createdAt,
    updatedAt: createdAt,
  };
}

/** Ends a reply in progress. Returns what it has used up. `reached`: that, if it is settled already. */
export function endRunning(
  records: MemoryRecords,
  entry: MessageEntry,
  end: EndReply,
  reached: readonly ReachedBudget[] = settle(records, settlementOf(entry, end)),
): readonly ReachedBudget[] {
  const { conversation, record } = entry;
  const { owner, completedAt: at, usage, status, handsOver, tells } = end;
  const { endUser, twinId, waitingSince } = conversation.record;
  tellReached(records, tells, { owner, at, endUser, reached });
  endEntry(entry, end);
  addUsage(records, { owner, endUser, twinId, completedAt: at, usage });
  records.running.delete(entry);
  const event = eventOfEnd(status);
  tell(records, tells, { owner, event, at, subject: subjectIn(conversation, record.id) });
  const question = subjectIn(conversation, record.after ?? record.id);
  if (handsOver && waitingSince === null)
    tell(records, tells, { owner, event: "conversation.waiting", at, subject: question });
  return reached;
}

function settlementOf({ record }: MessageEntry, { content, usage }: EndReply): Settlement {
  return { id: record.id, tokens: usage?.totalTokens, text: content ?? record.content };
}

function endEntry(entry: MessageEntry, end: EndReply): void {
  const { content = entry.record.content, sources = entry.record.sources, completedAt } = end;
  entry.record = ended(entry.record, end, { content, sources }, completedAt);
  entry.lease = undefined;
  entry.pending = end.pending;
  entry.unanswered = leavesUnanswered(entry.record) ? end.unanswered : undefined;
  const { conversation } = entry;
  const { answeredBy, waitingSince } = conversation.record;
  conversation.record = {
    ...conversation.record,
    replyId: null,
    updatedAt: completedAt,
    answeredBy: end.handsOver ? "person" : answeredBy,
    waitingSince: end.handsOver ? (waitingSince ?? entry.record.createdAt) : waitingSince,
  };
}

/** Adds a reply that has ended. */
function addUsage(
  records: MemoryRecords,
  { owner, endUser, twinId: twin, completedAt, usage }: CountedReply,
): void {
  const day = dayOf(completedAt);
  add(records, {
    owner,
    endUser,
    twin,
    day,
    replies: 1,
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    cachedInputTokens: usage?.cachedInputTokens ?? 0,
  });
}

/** Lets an end user's sums count under no end user. */
export function forgetUsage(records: MemoryRecords, owner: string, endUser: string): void {
  for (const [name, entry] of [...records.usage]) {
    if (entry.owner !== owner || entry.endUser !== endUser) continue;
    records.usage.delete(name);
    add(records, { ...entry, endUser: null });
  }
}

function add({ usage }: MemoryRecords, more: UsageEntry): void {
  const name = JSON.stringify([more.owner, more.endUser, more.twin, more.day]);
  const known = usage.get(name);
  usage.set(name, known ? { ...more, ...sumOf(known, more) } : more);
}

type Counts = Omit<UsageSum, "group">;

const noCounts: Counts = { replies: 0, inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };

function sumOf(one: Counts, other: Counts): Counts {
  return {
    replies: one.replies + other.replies,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
  };
}

/** The store's methods about usage. */
export function usageMethods(records: MemoryRecords): UsageStore {
  const { usage } = records;
  return {
    async countReply({ reserved, tells, ...reply }) {
      addUsage(records, reply);
      if (!reserved) return [];
      const { owner, endUser, completedAt: at, usage } = reply;
      const reached = settle(records, { ...reserved, tokens: usage?.totalTokens });
      tellReached(records, tells, { owner, at, endUser, reached });
      return reached;
    },

    async listUsage(owner, { from, to, groupBy, offset, limit }) {
      const sums = new Map<string, UsageSum>();
      for (const entry of usage.values()) {
        if (entry.owner !== owner || entry.day < from || entry.day > to) continue;
        const group: string | null = entry[groupBy];
        sums.set(group ?? "", { group, ...sumOf(sums.get(group ?? "") ?? noCounts, entry) });
      }
      const names = [...sums.keys()].sort(compareTexts);
      const items = names.slice(offset, offset + limit).flatMap((name) => sums.get(name) ?? []);
      return { items, total: sums.size };
    },
  };
}
