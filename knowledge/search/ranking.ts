/**
 * Ranks passages for a question, and says how certain it is that the best one answers it.
 *
 * @module
 */

import { guessLanguage, type Language } from "../languages/mod.ts";
import type { Passage } from "../text/passages.ts";
import type { Postings } from "./postings.ts";
import { isSpaced, termsOf, textTerms, wordsOf } from "./terms.ts";

/** A term of a question. */
interface QuestionTerm {
  /** How much it counts in the ranking. Stop words count little, and not at all for the certainty. */
  readonly weight: number;
  /** Its weight, the more the rarer it is. */
  readonly worth: number;
  readonly stop: boolean;
}

/** A question, ready to be searched for. */
export interface Question {
  readonly terms: ReadonlyMap<string, QuestionTerm>;
  /** Its words that say something, with their terms. */
  readonly words: ReadonlyMap<string, readonly string[]>;
}

/** A passage that shares something with a question. */
export interface Finding {
  readonly passage: Passage;
  /** How probable it is that the passage answers the question, 0 to 1. */
  readonly score: number;
  /** The words of the question that the passage has, in some form. */
  readonly words: ReadonlySet<string>;
  /** How much of what the question's words say is in the passage, 0 to 1. */
  readonly coverage: number;
  /** What the score is made of, for fitting its coefficients. */
  readonly features?: Features;
}

const stopWordWeight = 0.3;
const pairWeight = 0.5;
/** A guess at what a misspelt word means. It helps to find a passage, not to be certain: "hostel" is another word than "hotel". */
const respeltWeight = 0.5;
const shortestRespelt = 5;
/** What a sentence that has the question's words is worth, beside the passage. */
const sentenceWeight = 0.4;
/** Longer questions repeat themselves. */
const mostWords = 40;
const mostTerms = 240;
/** What a part of a section is worth, compared with all of it, if the question does not name it. */
const partWeight = 0.8;
/** How many passages are looked at more closely. */
const mostCandidates = 16;
/** Beyond it, a passage is a table or a list, in which no sentence is looked for. */
const longestPassage = 4_000;
/** A passage has a word if it has this share of its n-grams. */
const enoughOfWord = 0.4;

/**
 * The certainty's logistic regression, fitted with `npm run knowledge -- --fit` on the tuning half of XQuAD and on 600
 * colloquial questions of strangers: what each feature adds.
 */
export const coefficients = {
  bias: -9.68,
  /** How much a heading, title or listed question is the same as the question: the harmonic mean of what each has of the other. */
  heading: 3.95,
  /** How far the rank is ahead of the next section's. */
  lead: 4.12,
  /** How far the best sentence is ahead of the next section's. */
  sentenceLead: 5.2,
  /** How much of what the question says is in one sentence. */
  inSentence: -2.02,
  /** How many of the terms that say something the twin knows at all. */
  known: 5.23,
  /** How many of all terms the passage has, those of stop words included. */
  shared: 4.31,
  /** How long the question is: the logarithm of the number of terms that say something. */
  length: 1.76,
  /** How much it says: the logarithm of what its terms are worth. */
  weight: -1.11,
  /** How many of the terms are of scripts without spaces, in which few n-grams are words. */
  unspaced: 1.5,
};

/** One of the features. */
export type Features = Readonly<Record<Exclude<keyof typeof coefficients, "bias">, number>>;

/** How certain an answer with these features is. */
function certaintyOf(features: Features): number {
  let sum = coefficients.bias;
  for (const name of Object.keys(features) as (keyof Features)[]) sum += coefficients[name] * features[name];
  return 1 / (1 + Math.exp(-sum));
}

interface Candidate {
  readonly passage: Passage;
  readonly rank: number;
  /** The worth of the question's terms in its best sentence. */
  readonly sentence: number;
  readonly heading: ReadonlySet<string>;
  readonly all: ReadonlySet<string>;
}

/** Finds passages by what their words share with a question's. */
export class Ranking {
  readonly #passages: readonly Passage[];
  readonly #postings: Postings;
  readonly #language: Language;
  readonly #silent: ReadonlySet<string>;
  readonly #letters: readonly string[];

  /** `name`: the twin's, whose words say nothing. */
  constructor(passages: readonly Passage[], postings: Postings, language: Language, name: string) {
    this.#passages = passages;
    this.#postings = postings;
    this.#language = language;
    this.#silent = new Set(wordsOf(name));
    this.#letters = postings.letters();
  }

  /** Reads a question. */
  read(text: string): Question {
    const terms = new Map<string, QuestionTerm>();
    const words = new Map<string, readonly string[]>();
    const add = (term: string, weight: number, stop: boolean) => {
      if (terms.has(term) || terms.size === mostTerms) return;
      terms.set(term, { weight, stop, worth: weight * this.#postings.rarity(term) });
    };
    const spoken = guessLanguage(text).stopWords;
    const isStop = (word: string) => this.#isSilent(word) || spoken.has(word);
    let last = "";
    for (const word of wordsOf(text)) {
      if (words.size === mostWords) break;
      const stop = isStop(word);
      const own = termsOf(word)
        .slice(0, mostTerms)
        .filter((term) => term === word || !isStop(term));
      for (const term of own) add(term, stop ? stopWordWeight : 1, stop);
      if (this.#language.code === "vi" && last !== "") {
        add(`${last} ${word}`, pairWeight, false);
        if (!stop && !isStop(last)) words.set(`${last} ${word}`, [`${last} ${word}`]);
      }
      if (!stop && own.length > 0) words.set(word, own);
      if (!stop) for (const term of this.#respell(word)) add(term, respeltWeight, false);
      last = word;
    }
    return { terms, words };
  }

  /** Passages that share something with the question, best first. */
  find(question: Question): Finding[] {
    const { terms } = question;
    const ranks = this.#postings.rank([...terms].map(([term, { weight }]) => [term, weight] as const));
    const candidates = ranks
      .sort(([, one], [, other]) => other - one)
      .slice(0, mostCandidates)
      .map(([at, rank]) => this.#look(at, rank, question))
      .sort((one, other) => other.rank - one.rank);
    preferNamedPart(candidates, terms);
    const telling = [...terms.values()].filter(({ stop }) => !stop);
    const total = telling.reduce((sum, { worth }) => sum + worth, 0) || 1;
    const known = [...terms].filter(([term, { stop }]) => !stop && this.#postings.has(term)).length;
    return candidates.map((candidate) => {
      const features = {
        ...this.#compare(candidate, candidates, total),
        heading: this.#compareHeading(candidate, question, total),
        known: known / (telling.length || 1),
        shared: [...terms.keys()].filter((term) => candidate.all.has(term)).length / (terms.size || 1),
        length: Math.log(1 + telling.length),
        weight: Math.log(1 + total),
        unspaced: [...terms.keys()].filter((term) => !isSpaced(term)).length / (terms.size || 1),
      };
      const { passage } = candidate;
      return { passage, score: certaintyOf(features), features, ...this.#cover(candidate, question) };
    });
  }

  #isSilent(word: string): boolean {
    return this.#language.stopWords.has(word) || this.#silent.has(word) || /^\p{Script=Latin}$/u.test(word);
  }

  /** The terms of a word that the twin knows, for one that it doesn't and that differs in a letter. */
  #respell(word: string): readonly string[] {
    const isKnown = (other: string) => this.#postings.has(`${other}_`);
    if (word.length < shortestRespelt || word.length > 20 || !isSpaced(word) || isKnown(word)) return [];
    if (/\p{Nd}/u.test(word)) return [];
    for (let at = 0; at <= word.length; at++) {
      const [before, after] = [word.slice(0, at), word.slice(at + 1)];
      const swapped = before + word.charAt(at + 1) + word.charAt(at) + word.slice(at + 2);
      const others = this.#letters.flatMap((letter) => [
        before + letter + word.slice(at),
        before + letter + after,
      ]);
      const found = [before + after, swapped, ...others].find(isKnown);
      if (found !== undefined) return termsOf(found);
    }
    return [];
  }

  /** Looks at a passage's own words: what its heading has of the question, and its best sentence. */
  #look(at: number, rank: number, { terms }: Question): Candidate {
    const passage = this.#passages[at];
    if (!passage) throw new Error(`There is no passage ${at}.`);
    const { text, indexed = text } = passage;
    const heading = new Set(namesOf(passage).flatMap((name) => [...textTerms(name, this.#language)]));
    const all = new Set(heading);
    let sentence = 0;
    for (const words of sentencesOf(indexed.slice(0, longestPassage))) {
      const seen = new Set([...textTerms(words, this.#language)].filter((term) => terms.has(term)));
      for (const term of seen) all.add(term);
      let sum = 0;
      for (const [term, { worth, stop }] of terms)
        if (!stop && (seen.has(term) || heading.has(term))) sum += worth;
      sentence = Math.max(sentence, sum);
    }
    const whole = rank + sentenceWeight * sentence;
    const weight = this.#isNamed(passage, terms) ? 1 : partWeight;
    return { passage, rank: whole * weight, sentence, heading, all };
  }

  /** Whether a question has most words of an item's, a row's or a question's title. */
  #isNamed({ title }: Passage, terms: Question["terms"]): boolean {
    if (title === undefined) return true;
    const isAsked = (term: string) => terms.get(term)?.stop === false;
    const words = wordsOf(title).filter((word) => !this.#isSilent(word));
    return 2 * words.filter((word) => shareOf(termsOf(word), isAsked) >= enoughOfWord).length > words.length;
  }

  /** How far a passage is ahead of the next best section. */
  #compare(candidate: Candidate, candidates: readonly Candidate[], total: number) {
    const others = candidates.filter(({ passage }) => passage.section !== candidate.passage.section);
    const next = others[0]?.rank ?? 0;
    const nextSentence = others.reduce((most, { sentence }) => Math.max(most, sentence), 0);
    return {
      lead: Math.max(-1, (candidate.rank - next) / (candidate.rank || 1)),
      sentenceLead: (candidate.sentence - nextSentence) / total,
      inSentence: candidate.sentence / total,
    };
  }

  /** How much of a passage's best name is the question's, and of the question the name's: their harmonic mean. */
  #compareHeading({ passage }: Candidate, { terms }: Question, total: number): number {
    const likeness = [passage.heading, passage.title ?? "", ...passage.askedAs].map((name) => {
      let [all, shared] = [0, 0];
      for (const term of new Set(textTerms(name, this.#language))) {
        const asked = terms.get(term);
        all += this.#postings.rarity(term) * (asked?.weight ?? 1);
        if (asked && !asked.stop) shared += asked.worth;
      }
      return shared === 0 ? 0 : (2 * shared) / (all + total);
    });
    return Math.max(...likeness);
  }

  /** The question's words that a passage has, and how much of what they say that is. */
  #cover({ all }: Candidate, { words, terms }: Question): Pick<Finding, "words" | "coverage"> {
    const found = new Set<string>();
    let [total, had] = [0, 0];
    for (const [word, own] of words) {
      const share = shareOf(own, (term) => all.has(term));
      if (share >= enoughOfWord) found.add(word);
      const worth = own.reduce((sum, term) => sum + (terms.get(term)?.worth ?? 0), 0);
      total += worth;
      had += worth * share;
    }
    return { words: found, coverage: total === 0 ? 0 : had / total };
  }
}

/** How much of a word there is, by its terms. */
function shareOf([whole = "", ...grams]: readonly string[], has: (term: string) => boolean): number {
  if (has(whole) && whole.endsWith("_")) return 1;
  const parts = whole.endsWith("_") ? grams : [whole, ...grams];
  return parts.filter(has).length / (parts.length || 1);
}

/** Puts an item, a row or an answer of the best section first if the question has all of its title, as "E21". */
function preferNamedPart(candidates: Candidate[], terms: Question["terms"]): void {
  const section = candidates[0]?.passage.section;
  const named = candidates.findIndex(({ passage: { section: own, title = "" } }) => {
    const words = wordsOf(title);
    return own === section && words.length > 0 && words.every((word) => terms.has(termsOf(word)[0] ?? ""));
  });
  if (named > 0) candidates.unshift(...candidates.splice(named, 1));
}

/** What a passage is called: its own names, and those of the sections that it is in. */
export function namesOf({ heading, parents, askedAs, title = "" }: Passage): readonly string[] {
  return [heading, title, ...parents, ...askedAs];
}

/** The sentences of a text. Thai ends them with a space. */
function sentencesOf(text: string): string[] {
  return text.split(/(?<=[.!?…]["»”’)]?)\s+|(?<=[。！？।؟])|\n+|(?<=\p{Script=Thai})\s+/u);
}
