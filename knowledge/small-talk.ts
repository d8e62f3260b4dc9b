/**
 * Small talk: greetings, thanks, "tell me more".
 *
 * Recognition is strict: a message counts as small talk only if nothing else is in it. Greetings and the like are
 * recognized in all languages, whichever the twin speaks.
 *
 * @module
 */

import { languages, type SmallTalkKind, smallTalkKinds } from "./languages/mod.ts";
import { fold, normalize } from "./search/normalize.ts";
import { isSpaced, word } from "./search/terms.ts";

/** The kinds of small talk. */
export type SmallTalk = SmallTalkKind | "private";

/** Longer messages are no small talk. */
const longest = 120;

/** How many sentences before a question, and behind it, may be small talk. To recognize one takes 0.2 ms. */
const mostAround = 10;

/** What people say in each language, longest phrases first. */
const vocabularies = languages.map(({ smallTalk, fillers }) => ({
  phrases: smallTalk
    .map(({ kind, phrase }) => ({ kind, key: toKey(phrase) }))
    .sort((one, other) => other.key.length - one.key.length),
  fillers: fillers.map(toKey),
}));

/** The words of a text between spaces, without accents. Scripts without spaces are one word. */
export function toKey(text: string): string {
  return ` ${(fold(normalize(text)).match(word) ?? []).join(" ")} `;
}

/** The kind of small talk that a message is. Undefined: it asks for something. */
export function recognizeSmallTalk(message: string, name: string): SmallTalk | undefined {
  const key = toKey(message.slice(0, 4 * longest));
  if (asksForInstructions.some((pattern) => pattern.test(key))) return "private";
  if (message.length > longest) return undefined;
  if (key.trim() === "") return "topics"; // an emoji, or a question mark
  for (const vocabulary of vocabularies) {
    const found = recognize(key, toKey(name), vocabulary);
    if (found) return found;
  }
  return undefined;
}

/** A message without the sentences around its question that are small talk: greetings, thanks, a signature. */
export function withoutSmallTalk(message: string, name: string): string {
  const sentences = message
    .split(/(?<=[.!…\n,;，。！])\s*(?!\d)/u)
    .filter((sentence) => sentence.trim() !== "");
  const isSmall = sentences.map((sentence, at) => {
    if (at >= mostAround && at < sentences.length - mostAround) return false;
    const kind = recognizeSmallTalk(sentence, name);
    return kind !== undefined && kind !== "private";
  });
  const first = isSmall.indexOf(false);
  if (first === -1) return message;
  // What follows the thanks is a name, unless it asks something.
  const thanks = isSmall.indexOf(true, first);
  const signature = thanks === -1 ? "" : sentences.slice(thanks).join("");
  const isSigned = (signature.match(/\p{L}+/gu) ?? []).length <= 6 && !/[?？؟]/u.test(signature);
  const end = thanks !== -1 && isSigned ? thanks : sentences.length;
  return sentences.filter((_, at) => at >= first && at < end && !isSmall[at]).join(" ");
}

function recognize(
  message: string,
  name: string,
  { phrases, fillers }: (typeof vocabularies)[number],
): SmallTalk | undefined {
  const found = new Set<SmallTalkKind>();
  let rest = message;
  for (const { kind, key } of phrases) {
    const without = remove(rest, key);
    if (without !== rest) found.add(kind);
    rest = without;
  }
  for (const filler of [name, ...name.trim().split(" ").map(toKey), ...fillers]) rest = remove(rest, filler);
  if (rest.trim() !== "") return undefined;
  const kind = smallTalkKinds.find((each) => found.has(each));
  return kind ?? (refersBack(message) ? undefined : "topics");
}

/** Removes a phrase where it is a word by itself; in a script without spaces, wherever it is. */
function remove(text: string, phrase: string): string {
  const part = isSpaced(phrase) ? phrase : phrase.trim();
  let rest = text;
  while (part.trim() !== "" && rest.includes(part)) rest = rest.replace(part, " ");
  return rest;
}

/** Whether a message refers to the one before: "and how much?", "is it sweet?". English only. */
export function refersBack(message: string): boolean {
  const words = toKey(message).trim().split(" ");
  return backwardStart.test(words.join(" ")) || words.some((each) => backwardWords.has(each));
}

/** Whether a phrase stands for an earlier subject: "it", "more". */
export function pointsBack(phrase: string): boolean {
  const key = phrase.toLowerCase();
  return key === "more" || backwardWords.has(key);
}

const asksForInstructions: readonly RegExp[] = [
  /\b(?:your|previous|prior|hidden|initial|secret|original) (?:\w+ )?(?:instructions?|prompts?|persona)\b/u,
  /\b(?:system|developer) (?:prompts?|messages?|instructions?)\b|\bignore (?:all|the|any) (?:\w+ )?instructions\b/u,
  /\b(?:rules|instructions|prompt) (?:were you|you were|have you been|you have been) (?:given|told)\b/u,
  /\b(?:deine|ihre) (?:anweisungen|instruktionen)\b|\b(?:tes|vos) instructions\b|\btus instrucciones\b/u,
];

const backwardStart =
  /^(?:and|but|also|or|then|which|what about|how about|why|how so|how come|in that case)\b/u;

const backwardWords: ReadonlySet<string> = new Set(
  "it its that this they them their those these one ones he she him her his there same instead former latter either both".split(
    " ",
  ),
);
