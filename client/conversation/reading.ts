/**
 * Reads what is seen of a conversation: a page of its path, and what stands beside it.
 *
 * @module
 */

import type { ConversationResource, MessageResource } from "../../core/wire/schemas.ts";
import type { Page } from "../http/pages.ts";
import { type ConversationClient, put, type SeenConversation, tell } from "./state.ts";

/** How many messages are read at once, and how often that is done to find all branches. */
const pageLength = 100;
const mostPages = 10;

/** The newest messages, first: of all branches, before a message or at the end, or those on the path. */
export function newestOf(
  { messages }: ConversationClient,
  id: string,
  of: { readonly after?: string; readonly path?: "all" } = { path: "all" },
): Promise<Page<MessageResource>> {
  return messages.list(id, { order: "desc", limit: pageLength, ...of });
}

/** The conversation is as it is told, with another path perhaps. */
export async function takeConversation(
  seen: SeenConversation,
  conversation: ConversationResource,
): Promise<void> {
  seen.conversation = conversation;
  seen.end = conversation.lastMessageId;
  if (isThin(seen)) await fill(seen, await newestOf(seen.client, seen.id));
  tell(seen);
}

/** Takes the newest messages, and what else there is to know of the path: a page of it, and what stands beside. */
export async function fill(seen: SeenConversation, newest: Page<MessageResource>): Promise<void> {
  const { client, id, conversation } = seen;
  takePage(seen, newest);
  if (newest.pagination.total === conversation.messageCount) return;
  if (isThin(seen)) takePage(seen, await newestOf(client, id, {}));
  for (let page = newest, read = 1; page.hasNextPage && read < mostPages; read++) {
    page = await page.getNextPage();
    takePage(seen, page);
  }
}

/** Takes messages that were read. What is newer than `newest`, the newest that was known, was said meanwhile. */
export function takePage(
  seen: SeenConversation,
  { data }: Page<MessageResource>,
  newest = seen.known.newest,
): void {
  for (const message of data.toReversed()) put(seen, message, message.id > newest);
}

/** Whether less is known of the path than a page of it. */
function isThin({ known, end }: SeenConversation): boolean {
  const path = known.pathTo(end);
  return path.length < pageLength && (path[0] ? path[0].after : end) !== null;
}
