/**
 * Messages as items of OpenAI's conversations and of what a response was made of: one, a list of them, and those that are
 * posted.
 *
 * @module
 */

import { hold } from "../../core/api/lookup.ts";
import type { Call, HandlerContext } from "../../core/http/route.ts";
import { readPortions } from "../../core/store/portions.ts";
import type { MessageRecord } from "../../core/store/records.ts";
import { messageNotFound } from "../../core/wire/errors.ts";
import type { FromSchema, itemsQuerySchema } from "../../core/wire/schemas.ts";
import { outputText, responseStatus } from "./response-object.ts";

export type ItemsQuery = FromSchema<typeof itemsQuerySchema>;

/** How many characters a list of items has: those that would be more are on the next page. */
const charactersListed = 1024 * 1024;

/** A message as an item. */
export function itemOf(message: MessageRecord): object {
  const { id, role, content, status } = message;
  const text = role === "user" ? { type: "input_text", text: content } : outputText(content);
  const state = responseStatus(message);
  const isWhole = state === "completed" || state === "in_progress";
  return { id, type: "message", status: isWhole ? status : "incomplete", role, content: [text] };
}

/** A list of items, and whether there are more behind it. */
export function listOf(messages: readonly MessageRecord[], hasMore: boolean): object {
  return {
    object: "list",
    data: messages.map(itemOf),
    first_id: messages[0]?.id ?? null,
    last_id: messages.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}

/** The items on a conversation's current path. */
export async function listItems(
  { caller: { reach }, params: { id }, query, memory }: Call<ItemsQuery>,
  { store }: HandlerContext,
): Promise<object> {
  const { order, after, limit } = query;
  const slice = { order, offset: 0, limit, characters: charactersListed, ...(after && { after }) };
  const items: MessageRecord[] = [];
  let total: number | undefined;
  for await (const portion of readPortions(store, reach, id, slice)) {
    hold(memory, portion.items);
    items.push(...portion.items);
    total ??= portion.total;
  }
  return listOf(items, (total ?? messageNotFound()) > items.length);
}
