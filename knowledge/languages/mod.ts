/**
 * The languages that the knowledge engine knows, and how it guesses which one a text is in.
 *
 * @module
 */

import { normalize } from "../search/normalize.ts";
import { hears, phraseNames, says, smallTalkKinds, stopWords } from "./texts.ts";

export { smallTalkKinds };

/** What the engine says by itself, where the twin has no phrase of its own. */
export type Phrases = Readonly<Record<(typeof phraseNames)[number], string>>;

/** A kind of small talk. */
export type SmallTalkKind = (typeof smallTalkKinds)[number];

/** A language. */
export interface Language {
  /** The primary subtag of BCP 47. */
  readonly code: string;
  /** Words that say nothing by themselves, in their normal form. */
  readonly stopWords: ReadonlySet<string>;
  /** The letters of its words, but for those from a to z, which tell nothing. */
  readonly letters: ReadonlySet<string>;
  readonly smallTalk: readonly { readonly kind: SmallTalkKind; readonly phrase: string }[];
  /** What may be said besides small talk. */
  readonly fillers: readonly string[];
  readonly phrases: Phrases;
}

/** All languages. */
export const languages: readonly Language[] = Object.keys(hears).map((code) => {
  const heard = (hears[code] ?? "").split(" | ");
  const said = (says[code] ?? "").split(" | ");
  const fillers = heard.at(-1)?.split(/[ ;]/u) ?? [];
  const listed = stopWords[code] ?? [];
  const silent = [...(typeof listed === "string" ? listed.split(" ") : listed), ...fillers];
  const words = silent.flatMap((word) => normalize(word).split(/[\s']/u));
  return {
    code,
    stopWords: new Set(words.filter((word) => word !== "")),
    letters: new Set(
      [...words, heard, said]
        .join()
        .toLowerCase()
        .match(/(?![a-z])\p{L}/gu),
    ),
    smallTalk: smallTalkKinds.flatMap(
      (kind, at) => heard[at]?.split(";").map((phrase) => ({ kind, phrase })) ?? [],
    ),
    fillers,
    phrases: Object.fromEntries(phraseNames.map((name, at) => [name, said[at] ?? ""])) as Phrases,
  };
});

const byCode = new Map(languages.map((language) => [language.code, language]));
const otherCodes: Readonly<Record<string, string>> = { nb: "no", nn: "no", iw: "he", in: "id" };

/** The language of a BCP 47 tag. English stands for those that are not known. */
export function languageOf(tag: string): Language {
  const [code = ""] = tag.toLowerCase().split(/[-_]/u);
  const found = byCode.get(otherCodes[code] ?? code) ?? byCode.get("en");
  if (!found) throw new Error("English is missing.");
  return found;
}

// Scripts with more letters than anyone lists, in which one language is written, or far more text than in any other.
const scripts: readonly (readonly [script: RegExp, code: string])[] = [
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/gu, "ja"],
  [/\p{Script=Hangul}/gu, "ko"],
  [/\p{Script=Han}/gu, "zh"],
];

/** How much of a text is looked at, in code units. */
const sample = 20_000;

/** The language that a text is most likely written in: by its script, then its letters and stop words. */
export function guessLanguage(text: string): Language {
  const beginning = text.slice(0, sample);
  const count = beginning.match(/\p{L}/gu)?.length ?? 0;
  for (const [script, code] of scripts) {
    // A fifth: a Japanese text may consist mostly of Han characters, and a Thai one have many Latin names.
    if ((beginning.match(script)?.length ?? 0) > count / 5) return languageOf(code);
  }
  const lower = beginning.normalize("NFC").toLowerCase();
  const words = normalize(lower).match(/[\p{L}\p{M}]+/gu) ?? [];
  const counts = new Map<string, number>();
  for (const [letter] of lower.matchAll(/(?![a-z])\p{L}/gu))
    counts.set(letter, (counts.get(letter) ?? 0) + 1);
  let [best, most] = [languageOf("en"), 0];
  for (const language of languages) {
    let score = words.filter((word) => language.stopWords.has(word)).length;
    for (const [letter, count] of counts) if (language.letters.has(letter)) score += count / 2;
    if (score > most) [best, most] = [language, score];
  }
  return best;
}
