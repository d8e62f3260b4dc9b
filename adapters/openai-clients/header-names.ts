/**
 * The header fields by which clients say who talks in which conversation. LibreChat has none of its own: it sends those that
 * its operator writes down.
 *
 * @module
 */

/** What a route reads, by the names that handlers use. */
export const clientHeaders = {
  conversation: "X-Conversation-Id",
  openWebUIChat: "X-OpenWebUI-Chat-Id",
  endUser: "X-End-User",
  openWebUIUser: "X-OpenWebUI-User-Id",
  retryCount: "X-Stainless-Retry-Count",
} as const;

type Fields = Readonly<Record<string, string | null>>;

/** What a field says, and its name. */
export interface NamedField {
  readonly header: string;
  readonly value: string;
}

/** The field that names the conversation. Undefined: none does; an empty one names none. */
export function conversationField(fields: Fields): NamedField | undefined {
  return firstOf(fields, ["conversation", "openWebUIChat"]);
}

/** The field that names the end user. Undefined: none does; an empty one names none. */
export function endUserField(fields: Fields): NamedField | undefined {
  return firstOf(fields, ["endUser", "openWebUIUser"]);
}

/** Whether the client tells all of a chat in each of its requests, but in those that it makes for itself. */
export function tellsAll({ openWebUIChat = null }: Fields): boolean {
  return openWebUIChat !== null;
}

function firstOf(fields: Fields, names: readonly (keyof typeof clientHeaders)[]): NamedField | undefined {
  for (const name of names) {
    const value = fields[name] ?? "";
    if (value !== "") return { header: clientHeaders[name], value };
  }
  return undefined;
}
