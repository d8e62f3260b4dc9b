/**
 * A cache of the conversations that a process used last: which twin they are with, and the history that a model sees.
 * Neither can become outdated: a conversation's twin never changes, and a history is stored with the reply that it ends
 * with, to which one path leads.
 *
 * @module
 */

import { LRUCache } from "lru-cache";
import { historySeen, type MessageRecord, mostCharactersAsked, type SeenMessage } from "../store/records.ts";
import type { ConversationEnd, Reach, Store } from "../store/store.ts";
import type { HistoryMessage } from "../twins/engine.ts";

/** The size of the cache, in UTF-16 code units of text, or bytes of what holds it. */
const maxRemembered = 16_000_000;

/** The size of a conversation besides its history. */
const entrySize = 500;

/** What is known of a conversation, and does not change. */
export type KnownConversation = Pick<Entry, "id" | "twinId">;

/** What a model sees before a question. */
interface SeenHistory {
  /** Oldest first: the caller's own copy. */
  readonly history: readonly SeenMessage[];
  /** Whether it ends with the message right before the question: that may have no words. */
  readonly isWhole: boolean;
}

/** What is remembered of a conversation. */
interface Entry extends ConversationEnd {
  /** The store's own string. The one from the request may be a slice of its whole URL, and would keep that in memory. */
  readonly id: string;
  readonly owner: string;
  readonly endUser: string | null;
  readonly twinId: string;
  /** What a model sees of its path when its end was last seen, oldest first. Undefined: not read yet. */
  readonly history: readonly SeenMessage[] | undefined;
}

/** Answers from the cache if it can, or else asks the store. Errors of the store are passed on. */
export class ConversationCache {
  readonly #store: Pick<Store, "getConversation" | "readHistory">;
  readonly #isGuarded: boolean;
  readonly #entries = new LRUCache<string, Entry>({
    maxSize: maxRemembered,
    // A message takes 56 bytes besides its text on Node: more than the text, if that is short.
    sizeCalculation: ({ history = [] }) =>
      history.reduce((size, { content }) => size + content.length + 56, entrySize),
  });

  /** `isGuarded`: whether a guard is to judge what is unjudged. Else, histories do not say so. */
  constructor(store: Pick<Store, "getConversation" | "readHistory">, isGuarded: boolean) {
    this.#store = store;
    this.#isGuarded = isGuarded;
  }

  /** The twin that a conversation is with. Undefined: there is no such conversation within reach. */
  async find(reach: Reach, id: string): Promise<KnownConversation | undefined> {
    const known = this.#entries.get(id);
    if (known?.owner === reach.owner && (reach.endUser ?? known.endUser) === known.endUser) return known;
    const conversation = await this.#store.getConversation(reach, id);
    if (!conversation) return undefined;
    const { owner, endUser, twinId, logLength, lastMessageId } = conversation;
    const history = logLength === 0 ? [] : undefined;
    const entry = { id: conversation.id, owner, endUser, twinId, logLength, lastMessageId, history };
    if (twinId !== "") this.#entries.set(entry.id, entry); // it is chosen by another request, on any process
    return entry;
  }

  /** Where a conversation goes on, as far as is known: a new one at its beginning. */
  endOf(id: string): ConversationEnd {
    return this.#entries.get(id) ?? { logLength: 0, lastMessageId: null };
  }

  /** The conversation goes on elsewhere than was known. */
  moved(id: string, end: ConversationEnd): void {
    this.#update(id, end, undefined);
  }

  /** Whose conversation it is. Null: its owner named nobody. */
  async endUserOf(owner: string, id: string): Promise<string | null> {
    const known = this.#entries.get(id) ?? (await this.#store.getConversation({ owner }, id));
    return known?.endUser ?? null;
  }

  /** What a model sees before a question that was stored. */
  async historyOf(owner: string, question: MessageRecord): Promise<SeenHistory> {
    const { conversationId, seq, after } = question;
    if (after === null) return { history: [], isWhole: true };
    const known = this.#knownBehind(conversationId, after);
    const history = known ?? (await this.#read(owner, conversationId, after));
    if (!known) this.#update(conversationId, { logLength: seq, lastMessageId: after }, history);
    return {
      history: copyWithWords(history, this.#isGuarded),
      isWhole: (history.at(-1)?.content ?? "").trim() !== "",
    };
  }

  /** What a model would see before a question that is not stored, behind a message. */
  async historyBehind(
    owner: string,
    conversationId: string,
    after: string | null,
  ): Promise<readonly SeenMessage[]> {
    if (after === null) return [];
    const known = this.#knownBehind(conversationId, after);
    return copyWithWords(known ?? (await this.#read(owner, conversationId, after)), this.#isGuarded);
  }

  #knownBehind(conversationId: string, after: string): Entry["history"] {
    const known = this.#entries.get(conversationId);
    return known?.lastMessageId === after ? known.history : undefined;
  }

  #read(owner: string, conversationId: string, after: string): Promise<readonly SeenMessage[]> {
    return this.#store.readHistory({ owner }, conversationId, { after, characters: mostCharactersAsked });
  }

  /**
   * Adds a question and its reply, which has ended. `told`: what a model is told in the question's place. Empty: neither the
   * question nor the reply.
   */
  add(question: MessageRecord, reply: MessageRecord, told?: string): void {
    const id = question.conversationId;
    const isSeen = reply.status !== "failed" && told !== "";
    const added = isSeen
      ? [asModelSees({ ...question, content: told ?? question.content }), asModelSees(reply)]
      : [];
    const known = this.#entries.get(id);
    const isEnd = known?.lastMessageId === question.after;
    const before = question.after === null ? [] : isEnd ? known?.history : undefined;
    const end = { logLength: question.seq + 2, lastMessageId: reply.id };
    this.#update(id, end, before && historySeen([...before, ...added], mostCharactersAsked));
  }

  /** The conversation was deleted, or another process has ended its reply. */
  forget(id: string): void {
    this.#entries.delete(id);
  }

  #update(id: string, { logLength, lastMessageId }: ConversationEnd, history: Entry["history"]): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    const { id: ownId, owner, endUser, twinId } = entry;
    this.#entries.set(ownId, { id: ownId, owner, endUser, twinId, logLength, lastMessageId, history }); // a spread would be slow
  }
}

function asModelSees({ role, content }: MessageRecord): HistoryMessage {
  return { role, content };
}

/**
 * Leaves out questions whose reply was stopped before its first word, because some models accept no empty message. A
 * copy, because engines in plain JavaScript may change it, for example to add the question.
 */
function copyWithWords(history: readonly SeenMessage[], isGuarded: boolean): SeenMessage[] {
  const hasWords = (message: SeenMessage, index: number) => {
    const reply = message.role === "assistant" ? message : history[index + 1];
    return message.content.trim() !== "" && reply?.content.trim() !== ""; // a question may decide of calls alone
  };
  return history.filter(hasWords).map(({ role, content, isUnjudged }) => {
    return isGuarded && isUnjudged ? { role, content, isUnjudged } : { role, content };
  });
}
