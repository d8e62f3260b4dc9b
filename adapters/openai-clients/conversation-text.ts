/**
 * What a client says in its messages: the question, and what was said before.
 *
 * @module
 */

import { isJsonObject, isString } from "../../core/base/json.ts";
import { windowOf } from "../../core/store/records.ts";
import type { HistoryMessage } from "../../core/twins/engine.ts";
import { refuseParam } from "./errors.ts";
import { isId } from "./parameters.ts";

/** A question, and the messages before it. */
export interface Spoken {
  readonly question: string;
  readonly history: readonly HistoryMessage[];
}

/** The message of a response, which a client names instead of repeating it. */
export interface MessageReference {
  readonly messageId: string;
  /** The parameter that names it. */
  readonly path: string;
}

/** A question, and what is said or named before it. */
export interface SpokenInput {
  readonly question: string;
  readonly history: readonly (HistoryMessage | MessageReference)[];
}

/**
 * The last message of a completion, which must be the user's, and those before it. Messages of other roles are left out: the persona is the operator's. `path`: the parameter that the messages are in.
 *
 * @throws {ApiError} `validation_error` for what is no conversation in text.
 */
export function readMessages(messages: unknown, path: string): Spoken {
  const spoken = readItems(messages, path).filter((item) => "content" in item);
  const last = spoken.pop();
  if (last?.role !== "user") return refuseParam(path, "must end with a message of the role user");
  return { question: questionIn(last, path), history: toldOf(spoken) };
}

/** Like {@link readMessages}, of a response's input: its last user message counts, whatever comes after it. */
export function readInput(input: unknown, path: string): SpokenInput {
  const spoken = readItems(input, path);
  const at = spoken.findLastIndex((item) => "role" in item && item.role === "user");
  const last = spoken[at];
  if (!last || !("content" in last)) return refuseParam(path, "must have a message of the role user");
  const seen = windowOf(toldOf(spoken.slice(0, at)));
  if (seen.filter((item) => "messageId" in item).length > mostReferences) {
    return refuseParam(path, `must refer to at most ${mostReferences} messages before the question`);
  }
  return { question: questionIn(last, path), history: seen };
}

/** How many messages of a history may be named by their ids: each is read. */
const mostReferences = 100;

/** A message, and the first of its parts that is no text: earlier messages are told without it, the question is refused. */
interface ReadMessage extends HistoryMessage {
  readonly unread: string | undefined;
}

/** What a model is told of earlier messages: those without words are left out, as some models accept none. */
function toldOf<Item extends ReadMessage | MessageReference>(items: readonly Item[]) {
  return items
    .filter((item) => !("content" in item) || item.content.trim() !== "")
    .map((item) => ("content" in item ? { role: item.role, content: item.content } : item));
}

function questionIn({ content, unread }: ReadMessage, path: string): string {
  if (unread !== undefined) return refuseParam(unread, "must be a part of text; twins read nothing else");
  return requireQuestion(content, path);
}

/** A message that is stored without a reply. */
export type PostedItem = HistoryMessage;

/** How many items are posted at once. */
const mostItems = 20;

/**
 * The messages among items that are to be stored, of users and assistants; others are left out, as everywhere.
 *
 * @throws {ApiError} `validation_error` for what is no message in text.
 */
export function readPostedItems(items: unknown, path: string, mostCharacters: number): PostedItem[] {
  if (!Array.isArray(items) || items.length > mostItems) {
    return refuseParam(path, `must be a list of at most ${mostItems} items`);
  }
  return items.flatMap((item: unknown, index) => {
    const place = `${path}[${index}]`;
    return readItem(item, place).map((read) => {
      if (!("content" in read)) return refuseParam(place, "must be a message; it is no place for references");
      const content = questionIn(read, `${place}.content`);
      requireShortQuestion(content, `${place}.content`, mostCharacters);
      return { role: read.role, content };
    });
  });
}

/** How many messages a body may have. A model sees 50 questions at most, and reading 100,000 messages would hold up everybody. */
const mostMessages = 20_000;

function readItems(input: unknown, path: string): (ReadMessage | MessageReference)[] {
  if (!Array.isArray(input) || input.length === 0 || input.length > mostMessages) {
    return refuseParam(path, `must be a list of 1 to ${mostMessages} messages`);
  }
  return input.flatMap((item: unknown, index) => readItem(item, `${path}[${index}]`));
}

/** A question as it can be stored: it has words, and no characters that databases refuse. */
export function requireQuestion(text: string, path: string): string {
  const isSpoken = text.trim() !== "" && !text.includes("\0") && text.isWellFormed();
  return isSpoken ? text : refuseParam(path, "must have text, without NUL and lone surrogates");
}

/** Refuses a question that is longer than a message may be. */
export function requireShortQuestion(text: string, path: string, mostCharacters: number): void {
  if (text.length <= mostCharacters) return;
  let characters = 0;
  for (const _ of text.slice(0, 2 * mostCharacters + 1)) characters++; // one has up to two code units
  if (characters > mostCharacters) refuseParam(path, `must end with up to ${mostCharacters} characters`);
}

export function refuseReference(path: string): never {
  return refuseParam(path, "must be the id of a response's message");
}

const ignoredRoles = new Set<unknown>(["system", "developer", "tool", "function"]);

function readItem(item: unknown, path: string): (ReadMessage | MessageReference)[] {
  if (!isJsonObject(item)) return refuseParam(path, "must be an object");
  const { role, content, id, type = "message" } = item;
  if (type === "item_reference" && isString(id) && id.startsWith("msg_")) {
    return isId(id) ? [{ messageId: id, path }] : refuseReference(path);
  }
  if (type !== "message" || ignoredRoles.has(role)) return []; // such as calls of tools, and what they returned
  if (role !== "user" && role !== "assistant") {
    return refuseParam(`${path}.role`, "must be user or assistant; system, developer and tool are ignored");
  }
  // Most are one text: a body may have a hundred thousand.
  if (isString(content)) {
    return role === "assistant" && content === "" ? [] : [{ role, content, unread: undefined }];
  }
  const texts = readContent(content, `${path}.content`);
  const text = texts.join(""); // of undefined, nothing
  const at = texts.indexOf(undefined);
  const unread = at === -1 ? undefined : `${path}.content[${at}]`;
  return role === "assistant" && text === "" ? [] : [{ role, content: text, unread }];
}

/** The texts of a message's parts. Undefined: one is no text. */
function readContent(content: unknown, path: string): (string | undefined)[] {
  if (content === null || content === undefined) return [];
  if (!Array.isArray(content)) return refuseParam(path, "must be a string or a list of parts");
  return content.map(textOf);
}

const textTypes = new Set<unknown>(["text", "input_text", "output_text"]);

function textOf(part: unknown): string | undefined {
  if (!isJsonObject(part)) return undefined;
  if (textTypes.has(part.type)) return isString(part.text) ? part.text : undefined;
  return part.type === "refusal" && isString(part.refusal) ? part.refusal : undefined;
}
