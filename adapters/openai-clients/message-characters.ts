/**
 * How many characters a message of OpenAI's clients may have: for the option, and for the server's setting.
 *
 * @module
 */

/** The least and the most that may be set. */
export const messageCharactersRange = [1, 4_194_304] as const;

/** What is usual. */
export const defaultMessageCharacters = 131_072;
