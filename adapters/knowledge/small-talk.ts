/**
 * Small talk: greetings, thanks, "tell me more", and the phrases for them.
 *
 * Recognition is English, and strict: a message counts as small talk only if nothing else is in it.
 *
 * @module
 */

import type { Occasion, Voice } from "./markdown.ts";
import { wordSet, wordsOf } from "./words.ts";

/** The kinds of small talk. */
export type SmallTalk =
  | "greeting"
  | "wellbeing"
  | "thanks"
  | "goodbye"
  | "private"
  | "about"
  | "topics"
  | "more";

/** The kind of small talk that a message is. Undefined: it asks for something. */
export function recognizeSmallTalk(message: string, name: string): SmallTalk | undefined {
  const names = new Set(wordsOf(name));
  const words = wordsOf(message);
  const phrase = words.join(" ");
  const known = patterns.find(([, pattern]) => pattern.test(phrase));
  if (known) return known[0];
  const rest = words.filter((word) => !names.has(word) && !fillers.has(word));
  if (rest.length > 8) return undefined;
  return vocabularies.find(([, own, cue]) => isOnly(rest, own) && cue.test(phrase))?.[0];
}

function isOnly(words: readonly string[], vocabulary: ReadonlySet<string>): boolean {
  return words.length > 0 && words.every((word) => vocabulary.has(word));
}

/** Whether a message refers to the one before: "and how much?", "is it sweet?". */
export function refersBack(message: string): boolean {
  const words = wordsOf(message);
  return backwardStart.test(words.join(" ")) || words.some((word) => backwardWords.has(word));
}

/** Whether a phrase stands for an earlier subject: "it", "more". */
export function pointsBack(phrase: string): boolean {
  const key = phrase.toLowerCase();
  return key === "more" || backwardWords.has(key);
}

/** Whether a message asks for a number. */
export function asksForNumber(message: string): boolean {
  return /\b(?:how (?:much|many|long|hot|old|big|far|often|fast|high|large)|when|what (?:year|temperature|ratio|price|limit))\b/u.test(
    wordsOf(message).join(" "),
  );
}

/**
 * A phrase for an occasion: one of the twin's own, which take turns, or a plain one. `{topics}` in it is replaced.
 * `turn` is the number of earlier exchanges.
 */
export function phraseFor(occasion: Occasion, voice: Voice, turn: number, topics: string): string {
  const own = voice.get(occasion) ?? [];
  const phrase = own[turn % own.length] ?? plainPhrases[occasion];
  return phrase.replaceAll("{topics}", () => topics);
}

const plainPhrases: Readonly<Record<Occasion, string>> = {
  answer: "",
  related: "I can also tell you about {topics}.",
  nearest: "I'm not sure about that, but this may help:",
  unknown: "I don't know; nothing I have learned covers that.",
  finished: "That is all I know about it.",
  topics: "You can ask me about {topics}.",
  thanks: "You're welcome.",
  goodbye: "Goodbye, and come back any time.",
  private: "How I was set up is not something I share.",
};

const patterns: readonly (readonly [SmallTalk, RegExp])[] = [
  [
    "private",
    /\b(?:your|previous|prior|hidden|initial|secret|original) (?:\w+ )?(?:instructions?|prompts?|persona)\b/u,
  ],
  [
    "private",
    /\b(?:system|developer) (?:prompts?|messages?|instructions?)\b|\bignore (?:all|the|any) (?:\w+ )?instructions\b/u,
  ],
  [
    "private",
    /\b(?:rules|instructions|prompt) (?:were you|you were|have you been|you have been) (?:given|told)\b/u,
  ],
  ["wellbeing", /^(?:(?:hi|hello|hey)\b.{0,30})?how (?:are|r) (?:you|things)(?: doing)?(?: today)?$/u],
  ["about", /^(?:(?:hi|hello|hey|so|and|ok|well)\b.{0,30} )?who (?:are|r) you\b.{0,12}$|^what are you$/u],
  ["about", /^(?:please )?introduce yourself$|^what (?:is|s) your name$/u],
  [
    "about",
    /^(?:please |can you |could you )*tell me (?:something |a bit |a little |more )?about (?:yourself|you)$/u,
  ],
  [
    "topics",
    /^(?:(?:hi|hello|hey|so|and|ok|well) )?what (?:can|could) you (?:do|tell me|help me with|help with|talk about|answer)\b.{0,12}$/u,
  ],
  [
    "topics",
    /^what (?:else )?do you know(?: about)?$|^what (?:else )?(?:can|could|should|may) i ask(?: you)?(?: about)?$/u,
  ],
  [
    "topics",
    /^(?:please )?(?:can you |could you )?help(?: me)?(?: please)?$|^(?:what|which) (?:topics|subjects)\b.{0,30}$/u,
  ],
  [
    "goodbye",
    /^(?:ok |okay |well |thanks |thank you )*(?:see you|see ya|good night|have a (?:nice|good|great) (?:day|evening|one|weekend))\b.{0,20}$/u,
  ],
];

// A kind of small talk, the words that it may consist of, and what it must contain.
const vocabularies: readonly (readonly [SmallTalk, ReadonlySet<string>, RegExp])[] = [
  [
    "thanks",
    wordSet(
      "thanks thank thx ty cheers appreciated appreciate grateful helpful useful lovely great perfect wonderful brilliant awesome",
    ),
    /\b(?:thanks|thank|thx|ty|cheers|appreciated?|grateful|(?:very|so|really) helpful)\b/u,
  ],
  [
    "goodbye",
    wordSet("bye goodbye farewell cya ciao thanks thank thx cheers ok okay"),
    /\b(?:bye|goodbye|farewell|cya|ciao)\b/u,
  ],
  [
    "greeting",
    wordSet(
      "hi hello hey hiya howdy greetings good morning afternoon evening day hallo bonjour hola salut moin meet pleased nice",
    ),
    /\b(?:hi|hello|hey|hiya|howdy|greetings|hallo|bonjour|hola|salut|moin|good (?:morning|afternoon|evening|day)|to meet you)\b/u,
  ],
  [
    "more",
    wordSet(
      "yes yeah yep yup sure more go on continue else elaborate expand further next please tell anything something would like hear keep going again",
    ),
    /./u,
  ],
  [
    "topics",
    wordSet(
      "ok okay cool no nope nah alright right fine see got understood interesting wow ah oh hm hmm haha lol makes sense nice good great amazing true fair enough really lovely perfect wonderful brilliant awesome",
    ),
    /./u,
  ],
];

// Words that may occur in small talk of any kind.
const fillers = wordSet(
  "a about all am an and are bit by can could do dear did everyone folks for friend from help how i in indeed is it its little lot m me much my now of s so some such that the then there this to too us very was we well what will with you your",
);

const backwardStart =
  /^(?:and|but|also|or|then|which|what about|how about|why|how so|how come|in that case)\b/u;

const backwardWords = wordSet(
  "it its that this they them their those these one ones he she him her his there same instead former latter either both",
);
