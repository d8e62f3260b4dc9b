/**
 * What the simulation's store was told, noted as each call takes effect, so that every promise can be checked against it.
 */

import type {
  AbandonedReply,
  AddMessage,
  BeginReply,
  ConversationChange,
  ConversationRecord,
  EndReply,
  Lease,
  MessageRecord,
  SaveReply,
  SaveResult,
  Store,
} from "../../core/store/mod.ts";
import { Answering } from "./answering.ts";
import { Versions } from "./versions.ts";
import type { World } from "./world.ts";

/** A message as the store knows it. */
export interface StoredMessage {
  readonly id: string;
  /** The last text that was stored. */
  readonly text: string;
}

/** One that was stored without an engine: a question, or what a person said. */
export interface StoredAlone extends StoredMessage {
  readonly record: MessageRecord;
  /** Whether it was stored to wait for a person. */
  readonly waits: boolean;
}

/** A reply, and what became of it. */
export interface StoredReply extends StoredMessage {
  readonly owner: string;
  readonly conversationId: string;
  readonly question: MessageRecord;
  readonly begunAt: number;
  /** Of the twin that it began with. */
  readonly twinRevision: string | null;
  /** Whether the process that produces it, or did last, is alive. */
  holder: () => boolean;
  leaseUntil: number;
  attempt: number;
  /** The text that was saved when it was taken over. */
  takenOver: string | undefined;
  text: string;
  /** When its producers were last told to stop, because it is cancelled or no longer their own. By lease holder. */
  readonly stopToldAt: Map<string, number>;
  /** Its stored end; undefined while it is in progress. */
  end: EndReply | undefined;
  /** The message that came in its place. */
  replacedBy: string | undefined;
  /** Whether its holder has saved it, and whether it has then left it, with all that was told, to what comes in its place. */
  saved: boolean;
  yielded: boolean;
  deleted: boolean;
}

/** How long a process may take to leave a reply to what comes in its place, in milliseconds. */
const yieldMs = 5_000;

/** Whether a process ended a reply that another one still produced: what its producer had not saved is lost. */
export function isEndedElsewhere(reply: StoredReply | undefined): boolean {
  return reply?.end !== undefined && reply.end.holder === undefined && !reply.yielded;
}

export class Ledger {
  readonly replies = new Map<string, StoredReply>();
  /** The messages that were stored without an engine. */
  readonly alone = new Map<string, StoredAlone>();
  /** All messages of each conversation, in the order stored. */
  readonly logs = new Map<string, StoredMessage[]>();
  readonly answering: Answering;
  readonly versions: Versions;
  /** The conversations that were deleted. */
  readonly gone = new Set<string>();
  /** The end of each conversation's path. */
  readonly pathEnds = new Map<string, string>();
  /** The replies in progress. */
  readonly busy = new Set<StoredReply>();
  /** What is stored, read without delay or failure. */
  readonly truth: Store;
  /** When the last call that fails or takes long is over: nothing need be in time until shortly after. */
  lastTrouble = 0;
  readonly #world: World;
  readonly #exclusive: boolean;

  constructor(world: World, truth: Store, exclusive: boolean) {
    this.#world = world;
    this.answering = new Answering(world);
    this.versions = new Versions(world);
    this.truth = truth;
    this.#exclusive = exclusive;
  }

  /** A process's calls, whose effects are noted at the same moment. */
  effectsOf(process: () => boolean): Partial<Store> {
    const { truth } = this;
    return {
      ...this.versions.effectsOn(truth),
      beginReply: async (begin) => {
        const result = await truth.beginReply(begin);
        if (result.result === "begun") this.#noteBegin(begin, process);
        return result;
      },
      addMessage: async (add) => {
        const result = await truth.addMessage(add);
        if (result.result === "added") this.#noteAlone(add);
        return result;
      },
      saveReply: async (save) => {
        const result = await truth.saveReply(save);
        this.#noteSave(save, result);
        return result;
      },
      takeOverReply: async (found, lease, from) => {
        const taken = await truth.takeOverReply(found, lease, from);
        if (taken) this.#noteTakeOver(found, lease, process);
        return taken;
      },
      endReply: async (end) => {
        const ended = await truth.endReply(end);
        if (ended) this.#noteEnd(end);
        return ended;
      },
      updateConversation: async (reach, id, change, at) => {
        const changed = await truth.updateConversation(reach, id, change, at);
        if (changed) this.#noteChange(changed, change);
        return changed;
      },
      deleteConversation: async (reach, id, at, how) => {
        const deleted = await truth.deleteConversation(reach, id, at, how);
        if (deleted) this.#noteDeletion(id);
        return deleted;
      },
    };
  }

  /** Something is in trouble until then. */
  noteTrouble(until: number): void {
    this.lastTrouble = Math.max(this.lastTrouble, until);
  }

  /** The replies, and the messages without an engine, on the path that ends with this one, oldest first. */
  pathTo(id: string | null): (StoredReply | StoredAlone)[] {
    const alone = this.alone.get(id ?? "");
    if (alone) return [...this.pathTo(alone.record.after), alone];
    const reply = this.replies.get(id ?? "");
    return reply ? [...this.pathTo(reply.question.after), reply] : [];
  }

  #noteChange(changed: ConversationRecord, { last, answeredBy }: ConversationChange): void {
    const { id, replyId } = changed;
    if (last && replyId !== null) return; // all or nothing
    if (last) this.#noteSwitch(id, last.id);
    if (answeredBy) this.answering.settle(id, answeredBy);
    this.answering.require(changed);
  }

  #noteSwitch(conversationId: string, id: string): void {
    for (const running of this.busy) {
      if (running.conversationId === conversationId)
        this.#world.violate(`the path changed while ${running.id} was running`);
    }
    if (!this.#logOf(conversationId).some((message) => message.id === id))
      this.#world.violate(`${id} is the end of a path in another conversation`);
    this.pathEnds.set(conversationId, id);
  }

  #logOf(conversationId: string): StoredMessage[] {
    const log = this.logs.get(conversationId) ?? [];
    this.logs.set(conversationId, log);
    return log;
  }

  /** A message takes its place behind another one, and perhaps that of a running reply. */
  #notePlace(message: MessageRecord, { forkAt, replaces }: Pick<BeginReply, "forkAt" | "replaces">): void {
    const { id, conversationId, seq, after, content } = message;
    const log = this.#logOf(conversationId);
    const replaced = this.replies.get(replaces?.id ?? "");
    if (replaces && replaced && this.busy.has(replaced)) {
      this.#noteEnd(replaces);
      replaced.replacedBy = id;
      const mayBeLost = !replaced.holder() || this.lastTrouble > this.#world.now() - 2 * yieldMs;
      if (isEndedElsewhere(replaced) && replaced.saved && !mayBeLost)
        this.#world.violate(`${replaced.id} was ended without the text of its process, which lives`);
      if (after !== replaced.id || log.at(-1) !== replaced)
        this.#world.violate(`${id} is not directly behind ${replaced.id}, in whose place it came`);
    }
    for (const running of this.busy) {
      if (running.conversationId === conversationId)
        this.#world.violate(`${id} was stored while ${running.id} was running`);
    }
    if (seq !== log.length) this.#world.violate(`${id} has a wrong number`);
    const before = this.alone.get(after ?? "") ?? this.replies.get(after ?? "");
    const isEnded = before && ("record" in before || before.end);
    if (after !== null && !(isEnded && log.includes(before)))
      this.#world.violate(`${id} goes on from nothing that has ended in its conversation`);
    if (forkAt === undefined && after !== (this.pathEnds.get(conversationId) ?? null))
      this.#world.violate(`${id} goes on from another message than the path's end`);
    if (log.some(({ text }) => text === content)) this.#world.violate(`"${content}" is stored twice`);
    log.push({ id, text: content });
    this.pathEnds.set(conversationId, id);
  }

  #noteAlone(add: AddMessage): void {
    const { message, waits = false, answeredBy } = add;
    const { id, conversationId, role, content, createdAt } = message;
    this.#notePlace(message, add);
    const stored = { id, text: content, record: message, waits };
    this.#logOf(conversationId).splice(-1, 1, stored);
    this.alone.set(id, stored);
    if (role === "assistant") this.answering.answer(conversationId, answeredBy);
    else if (waits) this.answering.ask(conversationId, "person", createdAt);
  }

  #noteBegin(begin: BeginReply, holder: () => boolean): void {
    const { owner, question, reply, lease } = begin;
    const { conversationId, seq, createdAt } = question;
    this.#notePlace(question, begin);
    this.answering.ask(conversationId, "twin", createdAt);
    if (reply.seq !== seq + 1) this.#world.violate(`${reply.id} has a wrong number`);
    this.pathEnds.set(conversationId, reply.id);
    const stored: StoredReply = {
      owner,
      conversationId,
      id: reply.id,
      question,
      begunAt: this.#world.now(),
      twinRevision: reply.twinRevision,
      holder,
      stopToldAt: new Map(),
      leaseUntil: lease.until,
      attempt: 1,
      takenOver: undefined,
      text: "",
      end: undefined,
      replacedBy: undefined,
      saved: false,
      yielded: false,
      deleted: false,
    };
    this.replies.set(reply.id, stored);
    this.#logOf(conversationId).push(stored);
    this.busy.add(stored);
  }

  #noteEnd(end: EndReply): void {
    const stored = this.replies.get(end.id);
    if (!stored || stored.end) this.#world.violate(`a reply was ended that was not in progress: ${end.id}`);
    const { leaseExpiredBefore: before = Number.MAX_SAFE_INTEGER } = end;
    if (before < Number.MAX_SAFE_INTEGER && stored.leaseUntil >= before)
      this.#world.violate("a lease was ignored");
    this.#noteText(stored, end.content);
    stored.end = end;
    this.busy.delete(stored);
    if (end.handsOver) this.answering.handOver(stored.conversationId, stored.question.createdAt);
  }

  /** Saved text only grows, until the reply ends. */
  #noteText(stored: StoredReply, text = stored.text): void {
    if (stored.end) this.#world.violate(`text of ${stored.id} was stored after its end`);
    if (!text.startsWith(stored.text)) this.#world.violate(`the saved text of ${stored.id} was changed`);
    stored.text = text;
  }

  #noteTakeOver({ id, lease, attempt }: AbandonedReply, next: Lease, holder: () => boolean): void {
    const stored = this.replies.get(id);
    if (!stored || stored.end || stored.deleted)
      this.#world.violate(`a reply was taken over that is not in progress: ${id}`);
    if (attempt >= 2) this.#world.violate(`${id} was taken over twice`);
    if (stored.leaseUntil !== lease.until) this.#world.violate("a renewed lease was ignored");
    if (!this.#exclusive && lease.until >= this.#world.now()) this.#world.violate("a lease was ignored");
    stored.holder = holder;
    stored.saved = false;
    stored.leaseUntil = next.until;
    stored.attempt = attempt + 1;
    stored.takenOver = stored.text;
  }

  #noteDeletion(conversationId: string): void {
    this.gone.add(conversationId);
    for (const stored of this.replies.values()) {
      if (stored.conversationId !== conversationId) continue;
      stored.deleted = true;
      this.busy.delete(stored);
    }
  }

  #noteSave(save: SaveReply, result: SaveResult): void {
    const stored = this.replies.get(save.id) ?? this.#world.violate("a reply was saved that nobody began");
    if (result !== "lost") {
      stored.leaseUntil = save.lease.until;
      stored.saved = true;
      stored.yielded = save.yields === true;
      this.#noteText(stored, save.content);
    }
    if (result === "saved" || save.yields) return;
    // It may not have heard that it must stop; if it has, it must not save again.
    const { holder } = save.lease;
    const toldAt = stored.stopToldAt.get(holder);
    if (toldAt !== undefined && toldAt > this.lastTrouble)
      this.#world.violate(`${save.id} was told to stop, but continues`);
    stored.stopToldAt.set(holder, this.#world.now());
  }
}
