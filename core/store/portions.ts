/**
 * Lists that are read on in portions, so that no more of them is in memory than what follows needs.
 *
 * @module
 */

import type { MessageRecord } from "./records.ts";
import type { IdleConversation, IdleMemory, Listing, MessageSlice, Reach, Store } from "./store.ts";

/** How many characters are read at once, if a message has no more by itself, and how many messages. */
const charactersAtOnce = 256 * 1024;
const messagesAtOnce = 20;

/** How many messages to ask for after so many were read: where these were long, a database need not measure twenty. */
export function messagesAfter(read: number, most: number): number {
  return Math.min(2 * read + 1, most);
}

/**
 * Reads the messages of a slice, a portion at a time, until they have all its characters together. Nothing if there is no such
 * list, or the conversation is deleted meanwhile.
 */
export async function* readPortions(
  store: Pick<Store, "listMessages">,
  reach: Reach,
  conversationId: string,
  slice: MessageSlice,
): AsyncGenerator<Listing<MessageRecord>> {
  let rest = slice;
  let most = messagesAtOnce;
  for (let left = slice.characters; ; ) {
    const portion = await store.listMessages(reach, conversationId, {
      ...rest,
      limit: Math.min(rest.limit, most),
      characters: Math.min(left, charactersAtOnce),
    });
    if (!portion) return;
    const { items, total } = portion;
    const length = items.reduce((sum, { content }) => sum + content.length, 0);
    if (length > left && rest !== slice) return; // only the first of all may have more
    yield portion;
    left -= length;
    most = messagesAfter(items.length, messagesAtOnce);
    const after = items.at(-1)?.id;
    const limit = Math.min(rest.limit, total - rest.offset) - items.length;
    if (after === undefined || limit <= 0 || left <= 0) return;
    rest = { ...slice, offset: 0, limit, after };
  }
}

/** How many records are looked at at once for those that were not used for long. */
const lookedAtAtOnce = 1000;

/** Conversations of all owners whose last message, or beginning, is before a moment, and in which no reply runs; in portions. */
export async function* idleConversations(
  store: Pick<Store, "findIdleConversations">,
  before: number,
): AsyncGenerator<readonly IdleConversation[]> {
  let after: Pick<IdleConversation, "owner" | "id"> | undefined;
  do {
    const { items, next } = await store.findIdleConversations({ before, after, limit: lookedAtAtOnce });
    if (items.length > 0) yield items;
    after = next;
  } while (after);
}

/** What twins know of people who have no conversation, if it was not changed since a moment; in portions. */
export async function* idleMemories(
  store: Pick<Store, "findIdleMemories">,
  before: number,
): AsyncGenerator<readonly IdleMemory[]> {
  let after: IdleMemory | undefined;
  do {
    const { items, next } = await store.findIdleMemories({ before, after, limit: lookedAtAtOnce });
    if (items.length > 0) yield items;
    after = next;
  } while (after);
}
