/**
 * The languages that the knowledge engine knows, and how it guesses which one a text is in.
 *
 * @module
 */

import { chinese, hindi, indonesian, japanese, korean, thai, vietnamese } from "./asian.ts";
import { danish, dutch, english, german, norwegian, swedish } from "./germanic.ts";
import { type Language, splitWords } from "./language.ts";
import { arabic, greek, hebrew, persian, turkish } from "./mediterranean.ts";
import { french, italian, portuguese, romanian, spanish } from "./romance.ts";
import { bulgarian, czech, polish, russian, ukrainian } from "./slavic.ts";
import { finnish, hungarian } from "./uralic.ts";

export type { Language, Phrases, SmallTalkPhrases } from "./language.ts";
export { splitWords } from "./language.ts";

/** All languages. */
export const languages: readonly Language[] = [
  ...[english, german, dutch, swedish, danish, norwegian],
  ...[french, spanish, italian, portuguese, romanian],
  ...[russian, ukrainian, bulgarian, polish, czech],
  ...[arabic, greek, hebrew, persian, turkish],
  ...[finnish, hungarian],
  ...[japanese, chinese, korean, hindi, thai, vietnamese, indonesian],
];

const byCode = new Map(languages.map((language) => [language.code, language]));
const otherCodes: Readonly<Record<string, Language>> = {
  nb: norwegian,
  nn: norwegian,
  iw: hebrew,
  in: indonesian,
};

/** The language of a BCP 47 tag. English stands for those that are not known. */
export function languageOf(tag: string): Language {
  const [code = ""] = tag.toLowerCase().split(/[-_]/u);
  return byCode.get(code) ?? otherCodes[code] ?? english;
}

// Scripts in which one language is written, or far more text than in any other.
const scripts: readonly (readonly [RegExp, Language])[] = [
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/gu, japanese],
  [/\p{Script=Hangul}/gu, korean],
  [/\p{Script=Han}/gu, chinese],
  [/\p{Script=Thai}/gu, thai],
  [/\p{Script=Devanagari}/gu, hindi],
  [/\p{Script=Greek}/gu, greek],
  [/\p{Script=Hebrew}/gu, hebrew],
];

/** How much of a text is looked at, in code units. */
const sample = 20_000;

/** The language that a text is most likely written in: by its script, else by its stop words. */
export function guessLanguage(text: string): Language {
  const beginning = text.slice(0, sample);
  const letters = beginning.match(/\p{L}/gu)?.length ?? 0;
  for (const [script, language] of scripts) {
    // A fifth: a Japanese text may consist mostly of Han characters, and a Thai one have many Latin names.
    if ((beginning.match(script)?.length ?? 0) > letters / 5) return language;
  }
  return guessByStopWords(beginning);
}

function guessByStopWords(text: string): Language {
  const words = text.toLowerCase().match(/[\p{L}\p{M}]+/gu) ?? [];
  let best: Language = english;
  let most = 0;
  for (const language of languages) {
    const known = frequentWordsOf(language);
    const count = words.filter((word) => known.has(word)).length;
    if (count > most) [best, most] = [language, count];
  }
  return best;
}

const frequentWords = new Map<Language, ReadonlySet<string>>();

/** A language's stop words and asking words. */
export function frequentWordsOf(language: Language): ReadonlySet<string> {
  const known = frequentWords.get(language);
  if (known) return known;
  const words = new Set([...language.stopWords, ...splitWords(language.askingWords)]);
  frequentWords.set(language, words);
  return words;
}
