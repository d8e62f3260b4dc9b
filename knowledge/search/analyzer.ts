/**
 * Turns texts into the terms that they are found by: words without their endings, and pairs of characters where a script
 * has no spaces.
 *
 * @module
 */

import { frequentWordsOf, type Language, languageOf, splitWords } from "../languages/mod.ts";
import { normalize } from "./normalize.ts";

/** The weight of a word that helps to rank, but says too little for an answer to depend on. Others have 1. */
export const vagueWeight = 0.2;
/** The weight of a question word, such as "when", which asks for a kind of section. */
const questionWordWeight = 0.4;

const noTerms: ReadonlySet<string> = new Set();

/** Questions have no longer words, and comparing spellings needs time for each letter. */
const longestWord = 40;

const words = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*/gu;

// Scripts that put no spaces between words.
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const eastAsian = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々]/u;
// The parts of a text in such scripts: each is written in one of them.
const runs =
  /[\p{Script=Han}々]+|\p{Script=Hiragana}+|[\p{Script=Katakana}ー]+|[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{M}]+|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;

// A letter or two, and a number: a code, which people write in one word or two.
const code = /(?<![\p{L}\p{N}])(\p{L}{1,3})[-‐‑–_. ]?(\d{1,6})(?![\p{L}\p{N}])/gu;

/** A text's words in order, in their normal form. */
export function wordsOf(text: string): string[] {
  return (normalize(text).match(words) ?? []).map((word) => word.slice(0, longestWord));
}

const analyzers = new Map<Language, Analyzer>();

/** The analyzer of a language. */
export function analyzerFor(language: Language): Analyzer {
  const analyzer = analyzers.get(language) ?? new Analyzer(language);
  analyzers.set(language, analyzer);
  return analyzer;
}

/** How many words an analyzer remembers, before it begins anew. */
const mostKnownWords = 200_000;

/** Reads texts of one language. Words in other scripts are treated as their most frequent language's. */
export class Analyzer {
  readonly language: Language;
  readonly #segmenter: Intl.Segmenter;
  readonly #frequent: ReadonlySet<string>;
  readonly #vague: ReadonlySet<string>;
  /** For each term of a group of synonyms, the others. */
  readonly #synonyms: ReadonlyMap<string, ReadonlySet<string>>;
  /** Terms of groups of synonyms that have a question word. */
  readonly #questionWords: ReadonlySet<string>;
  /** Synonyms in scripts without spaces, which are found wherever they are. */
  readonly #unspacedSynonyms: readonly string[];
  /** Each word's term, "" for words that say nothing. A text repeats its words. */
  readonly #terms = new Map<string, string>();

  constructor(language: Language) {
    this.language = language;
    this.#segmenter = new Intl.Segmenter(language.code, { granularity: "word" });
    this.#frequent = new Set(
      [...frequentWordsOf(language)].flatMap((word) => [normalize(word), ...wordsOf(word)]),
    );
    this.#vague = new Set(wordsOf(language.vagueWords ?? "").map((word) => this.#stem(word)));
    const groups = (language.synonyms ?? "").split(";").map((group) => splitWords(normalize(group)));
    this.#synonyms = this.#readSynonyms(groups);
    const asking = groups.filter((group) => group.some((word) => this.#frequent.has(word)));
    this.#questionWords = new Set(asking.flat().map((word) => this.#stem(word)));
    this.#unspacedSynonyms = groups.flat().filter((word) => unspaced.test(word));
  }

  /** A word for what many questions ask for, "costs" or "open", says little by itself: it goes with every section. */
  #weightOf(term: string): number {
    if (this.#vague.has(term)) return vagueWeight;
    return this.#questionWords.has(term) ? questionWordWeight : 1;
  }

  /** Other terms for the same thing. */
  synonyms(term: string): ReadonlySet<string> {
    return this.#synonyms.get(term) ?? noTerms;
  }

  #readSynonyms(groups: readonly (readonly string[])[]): Map<string, ReadonlySet<string>> {
    const synonyms = new Map<string, Set<string>>();
    for (const group of groups) {
      const terms = new Set(
        group.flatMap((word) => (unspaced.test(word) ? this.#unspacedTerms(word) : this.#stem(word))),
      );
      for (const key of [...terms, ...group])
        synonyms.set(key, new Set([...(synonyms.get(key) ?? []), ...terms]));
    }
    return synonyms;
  }

  /** The terms of a text in order, for an index. */
  terms(text: string): string[] {
    const normal = normalize(text);
    const mayBeUnspaced = unspaced.test(normal);
    const terms = codesOf(normal);
    for (const word of normal.match(words) ?? []) {
      if (mayBeUnspaced && unspaced.test(word)) {
        for (const term of this.#unspacedTerms(word)) if (term !== "") terms.push(term);
      } else {
        const term = this.#term(word);
        if (term !== "") terms.push(term);
      }
    }
    return terms;
  }

  /** The terms of a question, each with its weight. */
  query(text: string): Map<string, number> {
    const found = new Map<string, number>();
    const add = (term: string, weight: number) => {
      if (term !== "") found.set(term, Math.max(weight, found.get(term) ?? 0));
    };
    const normal = normalize(text);
    for (const word of normal.match(words) ?? []) {
      if (unspaced.test(word)) this.#addUnspaced(word, add);
      else if (this.#term(word) !== "") add(this.#term(word), this.#weightOf(this.#term(word)));
      else if (this.#synonyms.has(this.#stem(word))) add(this.#stem(word), questionWordWeight);
    }
    for (const term of codesOf(normal)) add(term, 1);
    return found;
  }

  /** The words of a text in normal form, cut where a script has no spaces. `pattern` is what a word may be. */
  split(text: string, pattern: RegExp): string[] {
    const found = normalize(text).match(pattern) ?? [];
    return found.flatMap((word) => (unspaced.test(word) ? this.#segments(word) : word));
  }

  /** Whether a word says nothing by itself. */
  isFrequent(word: string): boolean {
    return this.#frequent.has(word);
  }

  /** Whether a term is a pair of characters, which may not be a word. */
  isPair(term: string): boolean {
    return eastAsian.test(term);
  }

  #term(word: string): string {
    const known = this.#terms.get(word);
    if (known !== undefined) return known;
    const cut = word.slice(0, longestWord);
    const term = this.#frequent.has(cut) || /^\p{Script=Latin}$/u.test(cut) ? "" : this.#stem(cut);
    if (this.#terms.size >= mostKnownWords) this.#terms.clear();
    this.#terms.set(word, term);
    return term;
  }

  #stem(word: string): string {
    return /\d/u.test(word) ? word : stemmerFor(word, this.language)(word) || word;
  }

  /** Characters of East Asian scripts go in pairs, because where a word ends is a guess; other scripts are cut into words. */
  #unspacedTerms(text: string): string[] {
    return (text.match(runs) ?? []).flatMap((run) => {
      if (!unspaced.test(run)) return this.#term(run);
      if (!eastAsian.test(run)) return this.#segments(run).map((word) => this.#term(word));
      return /^[\p{Script=Katakana}ー]/u.test(run) ? run.slice(0, longestWord) : pairsOf(run);
    });
  }

  /** In a question, words that say nothing are left out before the characters are paired. */
  #addUnspaced(text: string, add: (term: string, weight: number) => void): void {
    const segments = this.#segments(text);
    const words = new Set(segments);
    const inWords = new Set(segments.flatMap(partsOf));
    const isLoose = (pair: string) => [...pair].every((character) => words.has(character));
    const kept = segments.map((segment) => (this.#frequent.has(segment) ? " " : segment)).join("");
    for (const part of kept.split(" ")) {
      for (const term of this.#unspacedTerms(part)) {
        const isEnding = /^\p{Script=Hiragana}/u.test(term) && part.length < 3;
        // The end of a word and the beginning of the next one are no word.
        add(
          term,
          !isEnding && (!eastAsian.test(term) || inWords.has(term) || isLoose(term)) ? 1 : vagueWeight,
        );
      }
    }
    for (const synonym of this.#unspacedSynonyms)
      if (text.includes(synonym)) add(synonym, questionWordWeight);
  }

  #segments(text: string): string[] {
    return [...this.#segmenter.segment(text)].map(({ segment }) => segment);
  }
}

function codesOf(normal: string): string[] {
  if (!/\d/u.test(normal)) return [];
  return [...normal.matchAll(code)].flatMap(([whole, letters, digits]) =>
    /^[\p{L}\d]+$/u.test(whole) ? [] : `${letters}${digits}`,
  );
}

/** All that a term without spaces can be of a word: a character, a pair, a part in one script. */
function partsOf(word: string): string[] {
  const inOneScript = (word.match(runs) ?? []).map((run) => run.slice(0, longestWord));
  return [...word, ...pairsOf(word), ...inOneScript];
}

function pairsOf(run: string): string[] {
  const characters = [...run];
  if (characters.length < 2) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

const foreignStemmers: readonly (readonly [RegExp, string])[] = [
  [/\p{Script=Latin}/u, "en"],
  [/\p{Script=Cyrillic}/u, "ru"],
  [/\p{Script=Arabic}/u, "ar"],
  [/\p{Script=Devanagari}/u, "hi"],
  [/\p{Script=Greek}/u, "el"],
  [/\p{Script=Hangul}/u, "ko"],
  [/\p{Script=Hebrew}/u, "he"],
];

const ownScripts = new Map<Language, RegExp>();

/** The language's own stemmer for words in its script, else that of the script's most frequent language. */
function stemmerFor(word: string, language: Language): (word: string) => string {
  const own = ownScripts.get(language) ?? scriptOf(language);
  ownScripts.set(language, own);
  if (own.test(word)) return language.stem;
  const foreign = foreignStemmers.find(([script]) => script.test(word));
  return foreign ? languageOf(foreign[1]).stem : (same) => same;
}

function scriptOf({ phrases }: Language): RegExp {
  const sample = phrases.unknown;
  return foreignStemmers.find(([script]) => script.test(sample))?.[0] ?? unspaced;
}
