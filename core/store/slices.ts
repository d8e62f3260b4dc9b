/**
 * Whose records a caller may find, and how much of them is read at once.
 *
 * @module
 */

/** How many characters of messages are read at once: as a page, or for a model. */
export const mostCharactersRead: number = 8 * 1024 * 1024;

/** The first messages that have so many characters together; at least one. */
export function upTo<Message extends { readonly content: string }>(
  messages: readonly Message[],
  characters: number,
): readonly Message[] {
  if (messages.reduce((sum, { content }) => sum + content.length, 0) <= characters) return messages;
  let left = characters;
  const end = messages.findIndex(({ content }, index) => {
    for (let at = 0; at < content.length; at += isPairAt(content, at) ? 2 : 1) left--; // an array of them would be 16 MB
    return left < 0 && index > 0;
  });
  return end === -1 ? messages : messages.slice(0, end);
}

/** The first characters (Unicode code points) of a text. */
export function firstCharacters(text: string, characters: number): string {
  if (text.length <= characters) return text;
  let end = 0;
  for (let left = characters; left > 0 && end < text.length; left--) end += isPairAt(text, end) ? 2 : 1;
  return text.slice(0, end);
}

function isPairAt(text: string, index: number): boolean {
  return (text.codePointAt(index) ?? 0) > 0xffff;
}

/** Whose records a caller may find: an owner's, of one end user or of any. All others do not exist for it. */
export interface Reach {
  readonly owner: string;
  /** Absent: any, and conversations without one. */
  readonly endUser?: string | undefined;
  /** The hash of the client token that the caller has. Absent: another credential. */
  readonly clientToken?: string | undefined;
}

/** A slice of a list: skip `offset` items, then at most `limit`. Both are whole and not negative. */
export interface Slice {
  readonly offset: number;
  readonly limit: number;
}

/** The items of a slice, and the length of the whole list. */
export interface Listing<Item> {
  readonly items: readonly Item[];
  readonly total: number;
}

/** Which records to look at for those that were not used since a moment: some, in an order of the store's own. */
export interface IdleSlice<After> {
  /** Those that were last used before this moment, in milliseconds since the epoch. */
  readonly before: number;
  /** Start after this one. Absent: at the beginning. */
  readonly after?: After | undefined;
  /** How many records to look at, whether they are among them or not. */
  readonly limit: number;
}

/** Those that were found, and where to go on. */
export interface IdleListing<Item, After> {
  readonly items: readonly Item[];
  /** Undefined: there are no more. */
  readonly next: After | undefined;
}
