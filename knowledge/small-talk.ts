/**
 * Small talk: greetings, thanks, "tell me more", and the phrases for them.
 *
 * Recognition is strict: a message counts as small talk only if nothing else is in it. Greetings and the like are
 * recognized in all languages, whichever the twin speaks.
 *
 * @module
 */

import { languages, type Phrases, type SmallTalkPhrases, splitWords } from "./languages/mod.ts";
import { fold, normalize } from "./search/normalize.ts";
import type { Occasion, Voice } from "./text/sections.ts";

/** The kinds of small talk. */
export type SmallTalk = Exclude<keyof SmallTalkPhrases, "fillers"> | "private";

/** Longer messages are no small talk. */
const longest = 120;

// A message may be of several kinds: "thanks, bye". The first one counts.
const kinds = ["goodbye", "thanks", "about", "wellbeing", "topics", "more", "greeting"] as const;

interface Vocabulary {
  readonly phrases: readonly { readonly kind: (typeof kinds)[number]; readonly key: string }[];
  readonly fillers: readonly string[];
}

/** What people say in each language, longest phrases first. */
const vocabularies: readonly Vocabulary[] = languages.map(({ smallTalk }) => ({
  phrases: kinds
    .flatMap((kind) => splitPhrases(smallTalk[kind]).map((key) => ({ kind, key })))
    .sort((one, other) => other.key.length - one.key.length),
  fillers: smallTalk.fillers.includes(";")
    ? splitPhrases(smallTalk.fillers)
    : splitWords(smallTalk.fillers).map(toKey),
}));

function splitPhrases(list: string): string[] {
  return list.split(";").map(toKey);
}

/** The words of a text between spaces, without accents. Scripts without spaces are one word. */
function toKey(text: string): string {
  return ` ${(fold(normalize(text)).match(/[\p{L}\p{N}][\p{L}\p{M}\p{N}]*/gu) ?? []).join(" ")} `;
}

/** The kind of small talk that a message is. Undefined: it asks for something. */
export function recognizeSmallTalk(message: string, name: string): SmallTalk | undefined {
  const key = toKey(message.slice(0, 4 * longest));
  if (asksForInstructions.some((pattern) => pattern.test(key))) return "private";
  if (message.length > longest) return undefined;
  for (const vocabulary of vocabularies) {
    const found = recognize(key, toKey(name), vocabulary);
    if (found) return found;
  }
  return undefined;
}

function recognize(message: string, name: string, { phrases, fillers }: Vocabulary): SmallTalk | undefined {
  const found = new Set<SmallTalk>();
  let rest = message;
  for (const { kind, key } of phrases) {
    const without = remove(rest, key);
    if (without !== rest) found.add(kind);
    rest = without;
  }
  if (found.size === 0) return undefined;
  for (const filler of [name, ...splitWords(name).map(toKey), ...fillers]) rest = remove(rest, filler);
  return rest.trim() === "" ? kinds.find((kind) => found.has(kind)) : undefined;
}

const spaceless = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** Removes a phrase where it is a word by itself; in a script without spaces, wherever it is. */
function remove(text: string, phrase: string): string {
  const part = spaceless.test(phrase) ? phrase.trim() : phrase;
  let rest = text;
  while (part.trim() !== "" && rest.includes(part)) rest = rest.replace(part, " ");
  return rest;
}

/** Whether a message refers to the one before: "and how much?", "is it sweet?". English only. */
export function refersBack(message: string): boolean {
  const words = toKey(message).trim().split(" ");
  return backwardStart.test(words.join(" ")) || words.some((word) => backwardWords.has(word));
}

/** Whether a phrase stands for an earlier subject: "it", "more". */
export function pointsBack(phrase: string): boolean {
  const key = phrase.toLowerCase();
  return key === "more" || backwardWords.has(key);
}

const numberQuestions =
  /\s(?:how (?:much|many|long|hot|old|big|far|often|fast|high|large)|when|what (?:year|temperature|ratio|price|limit)|wie ?viele?|wie (?:lange|oft|hoch|teuer)|wann|combien|quand|cuant[oa]s?|cuando|quanti?|quant[oae]s?|quando|hoeveel|wanneer|hur (?:mycket|manga|lange)|сколько|когда|скільки|ile|kiedy|kolik|kdy|kac|متي|كم|얼마|몇|कितन[ाीे]|कब)\s/u;

/** Whether a message asks for a number. */
export function asksForNumber(message: string): boolean {
  return (
    numberQuestions.test(toKey(message)) ||
    /いくら|何[時日円年分秒度人個]|いつ|多少|几|多久|เท่า(?:ไหร่|ไร)|กี่/u.test(message)
  );
}

/**
 * A phrase for an occasion: one of the twin's own, which take turns, or its language's. `{topics}` in it is replaced.
 * `turn` is the number of earlier questions.
 */
export function phraseFor(
  occasion: Occasion,
  voice: Voice,
  phrases: Phrases,
  turn: number,
  topics: string,
): string {
  const own = voice.get(occasion) ?? [];
  const plain = occasion === "answer" ? "" : phrases[occasion];
  return (own[turn % own.length] ?? plain).replaceAll("{topics}", () => topics);
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
  splitWords(
    "it its that this they them their those these one ones he she him her his there same instead former latter either both",
  ),
);
