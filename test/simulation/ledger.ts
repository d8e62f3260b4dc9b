/**
 * What the simulation's store was told, noted as each call takes effect, so that every promise can be checked against it.
 */

import type {
  AbandonedReply,
  BeginReply,
  EndReply,
  Lease,
  MessageRecord,
  SaveReply,
  SaveResult,
  Store,
} from "../../core/store/mod.ts";
import type { World } from "./world.ts";

/** A reply as the store knows it, and what became of it. */
export interface StoredReply {
  readonly owner: string;
  readonly conversationId: string;
  readonly id: string;
  readonly question: MessageRecord;
  readonly begunAt: number;
  /** Whether the process that produces it, or did last, is alive. */
  holder: () => boolean;
  leaseUntil: number;
  attempt: number;
  /** The text that was saved when it was taken over. */
  takenOver: string | undefined;
  /** The last saved text. */
  text: string;
  /** When its producers were last told to stop, because it is cancelled or no longer their own. By lease holder. */
  readonly stopToldAt: Map<string, number>;
  /** Its stored end; undefined while it is in progress. */
  end: EndReply | undefined;
  deleted: boolean;
}

export class Ledger {
  readonly replies = new Map<string, StoredReply>();
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
    this.truth = truth;
    this.#exclusive = exclusive;
  }

  /** A process's calls, whose effects are noted at the same moment. */
  effectsOf(process: () => boolean): Partial<Store> {
    const { truth } = this;
    return {
      beginReply: async (begin) => {
        const result = await truth.beginReply(begin);
        if (result.result === "begun") this.#noteBegin(begin, process);
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
        if (changed?.replyId === null && change.last) this.#noteSwitch(id, change.last.id);
        return changed;
      },
      deleteConversation: async (owner, id, at) => {
        const deleted = await truth.deleteConversation(owner, id, at);
        if (deleted) this.#noteDeletion(id);
        return deleted;
      },
    };
  }

  /** Something is in trouble until then. */
  noteTrouble(until: number): void {
    this.lastTrouble = Math.max(this.lastTrouble, until);
  }

  /** The replies on the path that ends with this one, oldest first. */
  pathTo(replyId: string | null): StoredReply[] {
    const reply = this.replies.get(replyId ?? "");
    return reply ? [...this.pathTo(reply.question.after), reply] : [];
  }

  #noteSwitch(conversationId: string, replyId: string): void {
    for (const running of this.busy) {
      if (running.conversationId === conversationId)
        this.#world.violate(`the path changed while ${running.id} was running`);
    }
    if (this.replies.get(replyId)?.conversationId !== conversationId)
      this.#world.violate(`${replyId} is the end of a path in another conversation`);
    this.pathEnds.set(conversationId, replyId);
  }

  #noteBegin({ owner, question, reply, lease, forkAt }: BeginReply, holder: () => boolean): void {
    const { conversationId, seq, after } = question;
    const others = [...this.replies.values()].filter((each) => each.conversationId === conversationId);
    if (seq !== 2 * others.length || reply.seq !== seq + 1)
      this.#world.violate(`${reply.id} has a wrong number`);
    if (after !== null && !others.some(({ id, end }) => id === after && end))
      this.#world.violate(`${reply.id} goes on from no ended reply of its conversation`);
    if (forkAt === undefined && after !== (this.pathEnds.get(conversationId) ?? null))
      this.#world.violate(`${reply.id} goes on from another message than the path's end`);
    this.pathEnds.set(conversationId, reply.id);
    for (const running of this.busy) {
      if (running.conversationId === conversationId)
        this.#world.violate("a conversation has two replies at once");
    }
    const stored: StoredReply = {
      owner,
      conversationId,
      id: reply.id,
      question,
      begunAt: this.#world.now(),
      holder,
      stopToldAt: new Map(),
      leaseUntil: lease.until,
      attempt: 1,
      takenOver: undefined,
      text: "",
      end: undefined,
      deleted: false,
    };
    this.replies.set(reply.id, stored);
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
  }

  /** Saved text only grows. */
  #noteText(stored: StoredReply, text = stored.text): void {
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
    stored.leaseUntil = next.until;
    stored.attempt = attempt + 1;
    stored.takenOver = stored.text;
  }

  #noteDeletion(conversationId: string): void {
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
      this.#noteText(stored, save.content);
    }
    if (result === "saved") return;
    // It may not have heard that it must stop; if it has, it must not save again.
    const { holder } = save.lease;
    const toldAt = stored.stopToldAt.get(holder);
    if (toldAt !== undefined && toldAt > this.lastTrouble)
      this.#world.violate(`${save.id} was told to stop, but continues`);
    stored.stopToldAt.set(holder, this.#world.now());
  }
}
