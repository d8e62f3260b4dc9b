/**
 * Finds the terms of a text that may stand for another one: other spellings and forms, and compounds.
 *
 * @module
 */

import { fold } from "./normalize.ts";

// How alike terms are: the same but for accents, one the beginning of the other, a part of a compound, misspelt.
const likeness = { folded: 0.95, beginning: 0.9, part: 0.8, misspelt: 0.8, form: 0.7 } as const;
/** The maximum number of terms that may stand for one. */
const mostVariants = 8;
// Shorter terms are similar to too many others.
const shortestGuess = 4;
const shortestMisspelt = 5;
const shortestPart = 4;
// Scripts whose letters are few enough for a misspelling to be told from another word.
const alphabetic =
  /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Arabic}\p{Script=Hebrew}\p{M}]+$/u;
const arabic = /^\p{Script=Arabic}{4,}$/u;
const syllabic = /^[\p{Script=Devanagari}\p{Script=Thai}\p{Script=Hangul}\p{Script=Katakana}ー\p{M}]+$/u;

/** The vocabulary of a text. */
export class Spelling {
  readonly #terms: readonly string[];
  readonly #folded: ReadonlyMap<string, readonly number[]>;
  readonly #grams: ReadonlyMap<string, Uint32Array>;
  readonly #compounds: boolean;

  /** `compounds`: whether the language joins words without a space. */
  constructor(terms: Iterable<string>, compounds: boolean) {
    this.#terms = [...terms];
    this.#compounds = compounds;
    this.#folded = groupBy(this.#terms, fold);
    this.#grams = indexGrams(this.#terms);
  }

  /** The terms that differ from one only in accents. */
  folded(term: string): ReadonlyMap<string, number> {
    const same = this.#folded.get(fold(term)) ?? [];
    return new Map(same.map((id) => [this.#terms[id] ?? "", likeness.folded]));
  }

  /** The terms that may stand for one that the text does not contain, each with its likeness. */
  variants(term: string): ReadonlyMap<string, number> {
    const folded = this.folded(term);
    if (folded.size > 0) return folded;
    if (/\d/u.test(term)) return new Map(); // another number is another thing
    const candidates = this.#similar(fold(term))
      .flatMap(([id, shared]): [string, number, number][] => {
        const candidate = this.#terms[id] ?? "";
        const like = this.#compare(fold(term), fold(candidate));
        return like > 0 ? [[candidate, like, shared]] : [];
      })
      .sort(([, one, shared], [, other, more]) => other - one || more - shared);
    const best = candidates[0]?.[1] ?? 0;
    const near = candidates.filter(([, like]) => like >= best - 0.1).slice(0, mostVariants);
    return new Map(near.map(([candidate, like]) => [candidate, like]));
  }

  /** The compounds that a term is a part of, and the terms that are parts of it. */
  parts(term: string): ReadonlyMap<string, number> {
    if (!this.#compounds || [...term].length < shortestPart) return new Map();
    const found = this.#similar(fold(term)).flatMap(([id]): [string, number][] => {
      const candidate = this.#terms[id] ?? "";
      return candidate !== term && isPartOf(term, candidate) ? [[candidate, likeness.part]] : [];
    });
    return new Map(found.slice(0, mostVariants));
  }

  #compare(term: string, candidate: string): number {
    if (candidate.startsWith(term) && term.length >= shortestGuess) return likeness.beginning;
    if (term.startsWith(candidate) && candidate.length >= shortestGuess) return likeness.form;
    const alphabet = alphabetic.test(term);
    if (alphabet && term.length >= shortestMisspelt && isMisspelling(term, candidate))
      return likeness.misspelt;
    if (syllabic.test(term) && term.length >= 6 && distance(term, candidate, 1) <= 1)
      return likeness.misspelt;
    if (this.#compounds && (isPartOf(term, candidate) || isPartOf(candidate, term))) return likeness.form;
    if (arabic.test(term) && skeletonOf(term) === skeletonOf(candidate)) return likeness.form;
    return alphabet && haveSameStem(term, candidate) ? likeness.form : 0;
  }

  /** Terms that share the most triples of letters with one. */
  #similar(term: string): [id: number, shared: number][] {
    const counts = new Map<number, number>();
    for (const gram of gramsOf(term)) {
      for (const id of this.#grams.get(gram) ?? []) counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return [...counts].sort(([, one], [, other]) => other - one).slice(0, 200);
  }
}

/** At the beginning or end of a compound, with enough left to be another word. */
function isPartOf(part: string, whole: string): boolean {
  if (part.length === shortestPart - 1)
    return joined.test(whole.slice(part.length)) && whole.startsWith(part);
  if (part.length < shortestPart || whole.length < part.length + 3) return false;
  return whole.startsWith(part) || whole.endsWith(part);
}

/** What follows a short word in a compound, as "Rat" in "Ratenzahlung": a letter or two that join, and another word. */
const joined = /^(?:en|er|es|n|s)\p{L}{4}/u;

function isMisspelling(term: string, candidate: string): boolean {
  const most = term.length >= 8 ? 2 : 1;
  return candidate.length >= shortestGuess && distance(term, candidate, most) <= most;
}

/** The consonants of an Arabic word, which its forms share: without the letters that mark a form. */
function skeletonOf(term: string): string {
  const consonants = term.replace(/^[يتنام](?=...)/u, "").replace(/[اويه]/gu, "");
  return consonants.length >= 3 ? consonants : term;
}

/** Whether two forms of a word have the same beginning, which a stemmer did not find: "toimituks", "toimitus". */
function haveSameStem(one: string, other: string): boolean {
  const longest = Math.max(one.length, other.length);
  let same = 0;
  while (same < longest && one[same] === other[same]) same++;
  return same >= 5 && same >= longest - 3 && same / longest >= 0.65;
}

/** The number of letters to insert, remove, replace or swap, at most `most` + 1 (Damerau-Levenshtein). */
function distance(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) > most) return most + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1];
      const swapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    if (Math.min(...current) > most) return most + 1;
    [beforeLast, last] = [last, current];
  }
  return last[other.length] ?? most + 1;
}

function groupBy(terms: readonly string[], keyOf: (term: string) => string): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  for (const [id, term] of terms.entries()) {
    const key = keyOf(term);
    const group = groups.get(key);
    if (group) group.push(id);
    else groups.set(key, [id]);
  }
  return groups;
}

function indexGrams(terms: readonly string[]): Map<string, Uint32Array> {
  const lists = new Map<string, number[]>();
  for (const [id, term] of terms.entries()) {
    for (const gram of gramsOf(fold(term))) {
      const list = lists.get(gram);
      if (list) list.push(id);
      else lists.set(gram, [id]);
    }
  }
  return new Map([...lists].map(([gram, list]) => [gram, Uint32Array.from(list)]));
}

/** The triples of letters of a term, with its first two letters marked; the letters of a short one. */
function gramsOf(term: string): Set<string> {
  const letters = [...term];
  if (letters.length < 3) return new Set(letters);
  const triples = letters.slice(2).map((letter, index) => `${letters[index]}${letters[index + 1]}${letter}`);
  return new Set([`^${letters[0]}${letters[1]}`, ...triples]);
}
