/**
 * What a client says was said before, compared with what is stored: the client goes on where most of it agrees.
 *
 * @module
 */

import { hold } from "../../core/api/lookup.ts";
import type { HandlerContext } from "../../core/http/route.ts";
import { readPortions } from "../../core/store/portions.ts";
import { type ConversationRecord, type MessageRecord, mostCharactersRead } from "../../core/store/records.ts";
import type { Reach } from "../../core/store/store.ts";
import type { HistoryMessage } from "../../core/twins/engine.ts";

/** How many messages are compared at most, from the last one back: 500 replies and their questions. */
const mostCompared = 1000;

/** A stored message, without its text. */
interface Compared extends Pick<MessageRecord, "id" | "after"> {
  /** Whether a message may go on behind it. */
  readonly isPlace: boolean;
  /** Failed and cancelled replies may have no words: clients leave them out. */
  readonly isBlank: boolean;
  /** Equal for equal messages. Undefined: the client has none that equals. */
  readonly number: number | undefined;
}

/** Whether two texts say the same: clients trim them, and change their line ends. */
export function isSame(one: string, other: string): boolean {
  return essence(one) === essence(other);
}

/** Whether a message is one of a twin, or of who answers in its place, and has words. */
export function isReply({ role, content }: HistoryMessage): boolean {
  return role === "assistant" && content.trim() !== "";
}

/** By how many characters at its beginning a message is known where it is quoted: front ends cut long ones. */
const quotedCharacters = 50;

/** What stands before a quoted question: a label, a mark or a heading. Before one that was edited, other words do. */
const setsOff = /[:：>\p{Ps}\p{Pi}"'`]$|(?:^|\n)#.*$/u;

/** How many characters before a quoted question are looked at. */
const lookedAt = 100;

/** How many places of a quoted question are looked at: a text may repeat it at each of its letters. */
const mostPlaces = 100;

/** Whether a text quotes the last reply of a conversation or, set off as prompts do it, its question. */
export async function quotesEnd(
  { id }: Pick<ConversationRecord, "id">,
  text: string,
  { store, memory }: HandlerContext,
  reach: Reach,
): Promise<boolean> {
  const slice = { order: "desc", offset: 0, limit: 2, characters: mostCharactersRead } as const;
  const { items = [] } = (await store.listMessages(reach, id, slice)) ?? {};
  const held = memory.hold(reach);
  try {
    hold(held, items);
    return items.some(({ role, content }) =>
      quotes(essence(text), essence(content).slice(0, quotedCharacters), role === "user"),
    );
  } finally {
    held.release();
  }
}

/** Whether a text has another one in it as words of their own, behind its beginning. `isSetOff`: as prompts quote it. */
function quotes(text: string, quoted: string, isSetOff: boolean): boolean {
  if (quoted === "") return false;
  let left = mostPlaces;
  for (let at = text.indexOf(quoted, 1); at !== -1 && left > 0; at = text.indexOf(quoted, at + 1)) {
    const around = text.slice(at - 1, at) + text.slice(at + quoted.length, at + quoted.length + 1);
    const isWhole = quoted.length === quotedCharacters || !/[\p{L}\p{N}]/u.test(around);
    if (!isWhole) continue;
    left--;
    const before = text.slice(Math.max(0, at - lookedAt), at).trimEnd();
    if (!isSetOff || setsOff.test(before)) return true;
  }
  return false;
}

function essence(text: string): string {
  const trimmed = text.trim();
  return trimmed.includes("\r") ? trimmed.replaceAll("\r\n", "\n") : trimmed;
}

/**
 * The message behind which a client goes on: one that equals its last reply, on the branch with which most of its messages
 * agree, from the last one back. Of several alike, one on the current path, then the newest. Undefined: none equals.
 *
 * @throws {ApiError} `unavailable`: what is compared would be too much.
 */
export async function findPlace(
  { id, lastMessageId }: Pick<ConversationRecord, "id" | "lastMessageId">,
  history: readonly HistoryMessage[],
  { store, memory }: HandlerContext,
  reach: Reach,
): Promise<string | undefined> {
  const said = new ToldHistory(history);
  const stored = new Map<string, Compared>();
  const held = memory.hold(reach);
  const slice = { order: "desc", offset: 0, limit: mostCompared, path: "all" } as const;
  try {
    for await (const { items, total } of readPortions(store, reach, id, {
      ...slice,
      characters: mostCharactersRead,
    })) {
      hold(held, items);
      for (const message of items) stored.set(message.id, said.compare(message));
      held.release();
      // Most clients go on at the end, and many send the last messages only: no need to read all.
      const end = lastMessageId === null ? undefined : stored.get(lastMessageId);
      if (items.length < total && end?.isPlace && said.agreement(end, stored) >= said.length) return end.id;
    }
  } finally {
    held.release();
  }
  const current = new Set<Compared>();
  for (let message = lastMessageId; message !== null; ) {
    const found = stored.get(message);
    if (found) current.add(found);
    message = found?.after ?? null;
  }
  let best: Compared | undefined;
  let most = 0;
  for (const message of stored.values()) {
    if (!message.isPlace) continue;
    const agreed = said.agreement(message, stored) + (current.has(message) ? 0.5 : 0);
    if (agreed >= 1 && agreed > most) [best, most] = [message, agreed];
  }
  return best?.id;
}

/** What a client says was said before. */
class ToldHistory {
  /** The numbers of its messages, from the last one back. */
  readonly #numbers: readonly number[];
  /** How many questions come after its last reply: those that had no reply. -1: there is no reply. */
  readonly #unanswered: number;
  readonly #known = { user: new Map<string, number>(), assistant: new Map<string, number>() };

  constructor(history: readonly HistoryMessage[]) {
    const messages = history.filter(({ content }) => content.trim() !== "").slice(-mostCompared);
    messages.reverse();
    this.#unanswered = messages.findIndex(isReply);
    this.#numbers = messages.map(({ role, content }, index) => {
      const text = essence(content);
      const number = this.#known[role].get(text) ?? index;
      this.#known[role].set(text, number);
      return number;
    });
  }

  /** How many messages there are. */
  get length(): number {
    return this.#numbers.length;
  }

  compare({ id, after, role, alone, status, content }: MessageRecord): Compared {
    const text = essence(content);
    return {
      ...{ id, after, isBlank: text === "", number: this.#known[role].get(text) },
      isPlace: status !== "in_progress" && (role === "assistant" || alone),
    };
  }

  /**
   * How many messages agree with the branch that ends with a stored one; one more if both begin there. 0: not even the
   * last reply.
   */
  agreement(end: Compared, stored: ReadonlyMap<string, Compared>): number {
    const all = this.#agreementFrom(0, end, stored);
    return all > this.#unanswered ? all : this.#agreementFrom(this.#unanswered, end, stored);
  }

  #agreementFrom(first: number, end: Compared, stored: ReadonlyMap<string, Compared>): number {
    let agreed = 0;
    let message: Compared | undefined = end;
    for (let last = end; message; message = last.after === null ? undefined : stored.get(last.after)) {
      last = message;
      if (message.isBlank) continue;
      if (message.number === undefined || message.number !== this.#numbers[first + agreed]) return agreed;
      agreed++;
      if (last.after === null && first + agreed === this.#numbers.length) return agreed + 1;
    }
    return agreed;
  }
}
