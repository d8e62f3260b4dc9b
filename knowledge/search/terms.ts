/**
 * Turns texts into the terms that they are found by, for all languages alike: words, and the n-grams of their characters,
 * which inflected, compound and misspelt words share.
 *
 * @module
 */

import type { Language } from "../languages/mod.ts";
import { normalize } from "./normalize.ts";

/** A word in normal form: letters or digits, and the marks on them. */
export const word = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*/gu;
const eastAsian = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々]/u;
const southEastAsian = /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
// A letter or two, and a number: a code, which people write in one word or two.
const code = /(?<![\p{L}\p{N}])(\p{L}{1,3})[-‐‑–_. ](\d{1,6})(?![\p{L}\p{N}])/gu;

const hangul = /\p{Script=Hangul}/u;

// In Korean, particles.
const koreanParticle =
  /(?<=\p{Script=Hangul}{2})(?:에서는|에서|에게|에는|으로|까지|부터|이나|라도|처럼|보다|하고|이란|[은는이가을를에의로와과도])$/u;
const arabic = /\p{Script=Arabic}/u;
// In Arabic, the article, "and" and prepositions are written onto the word. (Without them: right first 1.9 % more often.)
const arabicPrefix = /^(?:[وف]?[بك]?ال|[وف]?لل|و(?=.{4}))(?=.{2})/u;

/** Questions have no longer words. */
const longestWord = 40;

/** A text's words in order, in their normal form. Codes are joined: "E 21" is "e21". */
export function wordsOf(text: string): string[] {
  const normal = normalize(text);
  const words = (/\d/u.test(normal) ? normal.replace(code, "$1$2") : normal).match(word) ?? [];
  if (hangul.test(normal)) return words.map(withoutParticle);
  return arabic.test(normal) ? words.map((each) => each.replace(arabicPrefix, "")) : words;
}

/** A Korean word without its particle. Others stay as they are. */
export function withoutParticle(word: string): string {
  return word.replace(koreanParticle, "");
}

/** Whether a word is of a script that has spaces between words. */
export function isSpaced(word: string): boolean {
  return !eastAsian.test(word) && !southEastAsian.test(word);
}

/** What a word is found by, as numbers. */
export interface Terms {
  /** The word. Undefined where words have no spaces between them: no word is known. */
  readonly whole: number | undefined;
  /** Its n-grams, which are about as long as a stem. */
  readonly grams: readonly number[];
  /** Shorter ones. */
  readonly short: readonly number[];
}

/** The terms of a word in normal form. */
export function termsOf(word: string): Terms {
  // Two or three characters are about a word.
  if (eastAsian.test(word)) {
    const pairs = gramsOf(word, 2);
    return {
      whole: undefined,
      grams: word.length === 1 ? pairs : [...gramsOf(word, 1), ...pairs],
      short: pairs,
    };
  }
  if (southEastAsian.test(word)) {
    return { whole: undefined, grams: gramsOf(word, 3), short: gramsOf(word, 2) };
  }
  const cut = word.slice(0, longestWord);
  const whole = wholeOf(word);
  // Of a number or a code, a part is another one.
  if (word.length === 1 || /\p{Nd}/u.test(word)) return { whole, grams: [], short: [] };
  const pairs = hangul.test(word) ? gramsOf(cut, 2) : undefined;
  return { whole, grams: pairs ?? gramsOf(`^${cut}$`, 4), short: pairs ?? gramsOf(`^${cut}$`, 3) };
}

/** What a word of a script with spaces is found by as a whole. */
export function wholeOf(word: string): number {
  return numberOf(`${word.slice(0, longestWord)}_`);
}

function gramsOf(text: string, length: number): number[] {
  if (text.length <= length) return [numberOf(text)];
  const grams: number[] = [];
  for (let at = 0; at + length <= text.length; at++) grams.push(numberOf(text, at, at + length));
  return grams;
}

/** A number of 30 bits for a text. Two terms of a twin have the same one once in thousands. */
export function numberOf(text: string, from = 0, to = text.length): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash >>> 2;
}

/** What two syllables of Vietnamese, which are one word, are found by. */
export function pairOf(first: string, second: string): number {
  return numberOf(`${first} ${second}`);
}

/** The terms of a text in order, for an index. */
export function textTerms(text: string, language: Language): { terms: number[]; short: number[] } {
  const terms: number[] = [];
  const short: number[] = [];
  let last = "";
  for (const word of wordsOf(text)) {
    const { whole, grams, short: shorter } = termsOf(word);
    if (whole !== undefined) terms.push(whole);
    if (whole !== undefined) short.push(whole);
    for (const gram of grams) terms.push(gram);
    for (const gram of shorter) short.push(gram);
    if (language.code === "vi" && last !== "") terms.push(pairOf(last, word));
    last = word;
  }
  return { terms, short };
}
