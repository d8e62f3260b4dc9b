/**
 * A cache of the conversations that a process used last: which twin they are with, and the history that a model sees.
 * Neither can become outdated: a conversation's twin never changes, and a history is stored with the number of its
 * messages, all of which have ended.
 *
 * @module
 */

import { LRUCache } from "lru-cache";
import { type MessageRecord, windowOf } from "../store/records.ts";
import type { Reach, Store } from "../store/store.ts";
import type { HistoryMessage } from "../twins/engine.ts";

/** The size of the cache, in UTF-16 code units of text, or bytes of what holds it. */
const maxRemembered = 32_000_000;

/** The size of a conversation besides its history. */
const entrySize = 500;

/** What is known of a conversation: how many messages it has may be out of date. */
export type KnownConversation = Pick<Entry, "id" | "twinId" | "position">;

/** What is remembered of a conversation. */
interface Entry {
  /** The store's own string. The one from the request may be a slice of its whole URL, and would keep that in memory. */
  readonly id: string;
  readonly owner: string;
  readonly endUser: string | null;
  readonly twinId: string;
  /** How many messages it had when last seen. */
  readonly position: number;
  /** What a model sees of these, oldest first. Undefined: not read yet. */
  readonly history: readonly HistoryMessage[] | undefined;
}

/** Answers from the cache if it can, or else asks the store. Errors of the store are passed on. */
export class ConversationCache {
  readonly #store: Pick<Store, "getConversation" | "readHistory">;
  readonly #entries = new LRUCache<string, Entry>({ maxSize: maxRemembered, sizeCalculation: sizeOf });

  constructor(store: Pick<Store, "getConversation" | "readHistory">) {
    this.#store = store;
  }

  /**
   * The twin that a conversation is with, and how many messages it has, which may be out of date. Undefined: there is no
   * such conversation within reach.
   */
  async find(reach: Reach, id: string): Promise<KnownConversation | undefined> {
    const known = this.#entries.get(id);
    if (known && isWithin(reach, known)) return known;
    const conversation = await this.#store.getConversation(reach, id);
    if (!conversation) return undefined;
    const { owner, endUser, twinId, messageCount } = conversation;
    const history = messageCount === 0 ? [] : undefined;
    const entry = { id: conversation.id, owner, endUser, twinId, position: messageCount, history };
    this.#entries.set(entry.id, entry);
    return entry;
  }

  /** What a model sees of a conversation's first `position` messages, oldest first: the caller's own copy. */
  async historyOf(owner: string, id: string, position: number): Promise<readonly HistoryMessage[]> {
    const known = this.#entries.get(id);
    if (known?.position === position && known.history) return copyWithWords(known.history);
    const history = await this.#store.readHistory({ owner }, id);
    this.#update(id, position, history);
    return copyWithWords(history);
  }

  /** Adds the question and reply after the first `position` messages, as the reply has ended. */
  add(position: number, question: MessageRecord, reply: MessageRecord): void {
    const id = question.conversationId;
    const added = reply.status === "failed" ? [] : [asModelSees(question), asModelSees(reply)];
    const known = this.#entries.get(id);
    const before = known?.position === position ? known.history : undefined;
    this.#update(id, position + 2, before && windowOf([...before, ...added]));
  }

  /** The conversation was deleted, or another process has ended its reply. */
  forget(id: string): void {
    this.#entries.delete(id);
  }

  #update(id: string, position: number, history: Entry["history"]): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    const { id: ownId, owner, endUser, twinId } = entry;
    this.#entries.set(ownId, { id: ownId, owner, endUser, twinId, position, history }); // a spread would be slow here
  }
}

function isWithin(reach: Reach, { owner, endUser }: Entry): boolean {
  return reach.owner === owner && (reach.endUser === undefined || reach.endUser === endUser);
}

function asModelSees({ role, content }: MessageRecord): HistoryMessage {
  return { role, content };
}

/**
 * Leaves out questions whose reply was stopped before its first word, because some models accept no empty message. A
 * copy, because engines in plain JavaScript may change it, for example to add the question.
 */
function copyWithWords(history: readonly HistoryMessage[]): HistoryMessage[] {
  const hasWords = (message: HistoryMessage, index: number) => {
    const reply = message.role === "assistant" ? message : history[index + 1];
    return reply?.content.trim() !== "";
  };
  return history.filter(hasWords).map(({ role, content }) => ({ role, content }));
}

/** A message takes 56 bytes besides its text on Node: more than the text, if that is short. */
function sizeOf({ history = [] }: Entry): number {
  return history.reduce((size, { content }) => size + content.length + 56, entrySize);
}
