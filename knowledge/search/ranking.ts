/**
 * Ranks passages for a question, and says how certain it is that the best one answers it.
 *
 * @module
 */

import { guessLanguage, type Language } from "../languages/mod.ts";
import type { Passage } from "../text/passages.ts";
import type { Postings, TermList } from "./postings.ts";
import { isSpaced, numberOf, pairOf, type Terms, termsOf, textTerms, wholeOf, wordsOf } from "./terms.ts";

/** A term of a question. */
interface QuestionTerm {
  /** How much it counts in the ranking. Stop words count little, and not at all for the certainty. */
  readonly weight: number;
  /** Its weight, the more the rarer it is. */
  readonly worth: number;
  readonly stop: boolean;
  /** Whether it is of a script with spaces between words. */
  readonly spaced: boolean;
  /** Whether it is from an earlier question, which helps to rank, but makes nothing certain. */
  readonly earlier: boolean;
}

/** A question, ready to be searched for. */
export interface Question {
  /** Words, and n-grams about as long as a stem, which the index has. */
  readonly terms: ReadonlyMap<number, QuestionTerm>;
  /** Words and shorter n-grams, which candidates are ranked by, too. What each is worth. */
  readonly short: ReadonlyMap<number, number>;
  /** Its words that say something, with their terms. */
  readonly words: ReadonlyMap<string, Terms>;
}

/** A passage that shares something with a question. */
export interface Finding {
  readonly passage: Passage;
  /** How certain it is that the passage answers the question, 0 to 1: by what is offered, and what needs no caveat. */
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
/** How many words are read for those, as they may be repeated: as many as fit into what is read of a question. */
const mostRead = 2_000;
const mostTerms = 240;
/** What a part of a section is worth, compared with all of it, if the question does not name it. */
const partWeight = 0.8;
/** How many passages are looked at more closely. */
const mostCandidates = 16;
/** What all words of an earlier question are worth, compared with the question's. */
const earlierWeight = 0.6;
const latin = "abcdefghijklmnopqrstuvwxyz";
/** Beyond it, a passage is a table or a list, in which no sentence is looked for. */
const longestPassage = 4_000;
/** How long the names of a passage may be with what it is asked as, in UTF-16 code units, and how long those of any. */
const longestNames = 2_000;
const leastNames = 200;
/** A passage has a word if it has this share of its n-grams. */
const enoughOfWord = 0.4;

/**
 * The certainty's logistic regression, fitted on the tuning halves of the questions in bench/knowledge.md: what each feature
 * adds. The bias is less than the fit's: of people's questions, more have no answer.
 */
export const coefficients = {
  bias: -5,
  /** How far the rank is ahead of what else there is. */
  lead: 2.81,
  /** How much of the question is in one sentence: the logarithm of what its terms are worth, the rarest possible one being 1. */
  said: 1.77,
  /** How many of all terms the passage has, those of stop words included. */
  shared: 1.03,
  /** How many of the words that say something it has: the logarithm of their number, and their share. */
  words: 1.84,
  wordShare: 0.29,
  /** How long the question is: the logarithm of the number of terms that say something. */
  length: -1.23,
  /** How much a heading, title or listed question is the same as the question: the harmonic mean of what each has of the other. */
  heading: 0.59,
  /** How many of the terms are of scripts without spaces, in which few n-grams are words. */
  unspaced: 2.15,
};

/** One of the features. */
export type Features = Readonly<Record<Exclude<keyof typeof coefficients, "bias">, number>>;

/** How certain an answer with these features is. */
function certaintyOf(features: Features): number {
  let sum = coefficients.bias;
  for (const name of Object.keys(features) as (keyof Features)[]) sum += coefficients[name] * features[name];
  return 1 / (1 + Math.exp(-sum));
}

/** The terms of a passage's names, and of each of its sentences. */
interface PassageRead {
  readonly names: readonly TermList[];
  readonly sentences: readonly TermList[];
}

/** What was read for a message, whose parts are asked again and again. */
export interface Remembered {
  readonly passages: Map<Passage, PassageRead>;
  /** Words that the twin does not know, with the terms of what they may mean. */
  readonly respelt: Map<string, readonly number[]>;
}

/** How many passages are remembered: one takes up to some 60 KB. */
const mostPassagesRead = 64;
/** How many words are respelt for a message: one is compared with two thousand others. */
const mostRespelt = 8;

export function rememberNothing(): Remembered {
  return { passages: new Map(), respelt: new Map() };
}

interface Candidate {
  readonly passage: Passage;
  readonly rank: number;
  /** The worth of the question's terms in its best sentence. */
  readonly sentence: number;
  readonly heading: ReadonlySet<number>;
  readonly all: ReadonlySet<number>;
}

/** Finds passages by what their words share with a question's. */
export class Ranking {
  readonly #passages: readonly Passage[];
  /** @internal */
  readonly postings: Postings;
  readonly #language: Language;
  readonly #silent: ReadonlySet<string>;

  /** `name`: the twin's, whose words say nothing. */
  constructor(passages: readonly Passage[], postings: Postings, language: Language, name: string) {
    this.#passages = passages;
    this.postings = postings;
    this.#language = language;
    this.#silent = new Set(wordsOf(name));
  }

  /** Reads a question. `earlier`: what was asked before, of which the words together count about half of the question's. */
  read(text: string, earlier = "", remembered = rememberNothing()): Question {
    const terms = new Map<number, QuestionTerm>();
    const short = new Map<number, number>();
    const words = new Map<string, Terms>();
    const spoken = guessLanguage(text);
    const isStop = (word: string) => this.#isSilent(word) || spoken.stopWords.has(word);
    const silent = [this.#language, spoken].map(stopTermsOf);
    const add = (term: number, weight: number, stop: boolean, spaced = true) => {
      if (terms.has(term) || terms.size === mostTerms) return;
      terms.set(term, { weight, stop, spaced, earlier: false, worth: weight * this.postings.rarity(term) });
    };
    const respelt = new Set<string>();
    let last = "";
    for (const word of wordsOf(text).slice(0, mostRead)) {
      if (words.size === mostWords) break;
      const [stop, spaced] = [isStop(word), isSpaced(word)];
      const read = termsOf(word);
      const own = {
        ...read,
        grams: read.grams.slice(0, mostTerms).filter((term) => !silent.some((terms) => terms.has(term))),
      };
      const weight = stop ? stopWordWeight : 1;
      for (const term of allOf(own)) add(term, weight, stop, spaced);
      for (const term of read.whole === undefined ? read.short : [read.whole, ...read.short])
        if (short.size < mostTerms)
          short.set(term, (short.get(term) ?? 0) + weight * this.postings.rarity(term));
      if (this.#language.code === "vi" && last !== "") {
        const pair = pairOf(last, word);
        add(pair, pairWeight, false);
        if (!stop && !isStop(last)) words.set(`${last} ${word}`, { whole: pair, grams: [], short: [] });
      }
      if (!stop && allOf(own).length > 0) words.set(word, own);
      if (!stop && !respelt.has(word))
        for (const term of this.#respell(word, spoken, remembered)) add(term, respeltWeight, false);
      respelt.add(word);
      last = word;
    }
    if (earlier !== "") this.#addEarlier(this.read(earlier, "", remembered), terms, short);
    return { terms, short, words };
  }

  #addEarlier(before: Question, terms: Map<number, QuestionTerm>, short: Map<number, number>): void {
    const others = [...before.terms].filter(([term]) => !terms.has(term));
    const otherShort = [...before.short].filter(([term]) => !short.has(term));
    const share = (own: Iterable<number>, other: readonly number[]) =>
      Math.min(0.5, (earlierWeight * sum([...own])) / (sum(other) || 1));
    const worths = [...terms.values()].map(({ worth }) => worth);
    const part = share(
      worths,
      others.map(([, { worth }]) => worth),
    );
    const shortPart = share(
      short.values(),
      otherShort.map(([, worth]) => worth),
    );
    for (const [term, each] of others)
      terms.set(term, {
        ...each,
        weight: each.weight * part,
        worth: each.worth * part,
        stop: true,
        earlier: true,
      });
    for (const [term, worth] of otherShort) short.set(term, worth * shortPart);
  }

  /** Passages that share something with the question, best first. */
  find(question: Question, remembered = rememberNothing()): Finding[] {
    const { terms } = question;
    const worths = [...terms].map(([term, { worth }]) => [term, worth] as const);
    const ranks = this.postings.rank(worths, mostCandidates);
    const looks = ranks.map(([at, rank]) => this.#look(at, rank, question, remembered));
    const [most, mostShort] = [
      Math.max(...looks.map(({ rank }) => rank)),
      Math.max(...looks.map((one) => one.short)),
    ];
    const candidates = looks
      .map(({ short, ...look }) => ({ ...look, rank: look.rank / (most || 1) + short / (mostShort || 1) }))
      .sort((one, other) => other.rank - one.rank);
    preferNamedPart(candidates, terms);
    const own = [...terms].filter(([, { earlier }]) => !earlier);
    const telling = own.filter(([, { stop }]) => !stop);
    const total = sum(telling.map(([, { worth }]) => worth)) || 1;
    const rarest = Math.log(1 + this.#passages.length / 1.5);
    const findings = candidates.map((candidate) => {
      const cover = this.#cover(candidate, question);
      const features = {
        lead: this.#lead(candidate, candidates),
        said: Math.log(1 + candidate.sentence / rarest),
        shared: own.filter(([term]) => candidate.all.has(term)).length / (own.length || 1),
        words: Math.log(1 + cover.words.size),
        wordShare: cover.words.size / (question.words.size || 1),
        length: Math.log(1 + telling.length),
        heading: this.#compareHeading(candidate, question, total),
        unspaced: own.filter(([, { spaced }]) => !spaced).length / (own.length || 1),
      };
      return { passage: candidate.passage, score: certaintyOf(features), features, ...cover };
    });
    const [first, ...others] = findings;
    if (first?.passage.title === undefined) return findings;
    // A row or an item that is asked for by its name is as certain as the section around it.
    const around = others.find(
      ({ passage: { section, title }, score }) =>
        section === first.passage.section && title === undefined && score > first.score,
    );
    return [{ ...first, ...around, passage: first.passage }, ...others];
  }

  #isSilent(word: string): boolean {
    return this.#language.stopWords.has(word) || this.#silent.has(word) || /^\p{Script=Latin}$/u.test(word);
  }

  /** The terms of a word that the twin knows, for one that it doesn't and that differs in a letter. */
  #respell(word: string, { letters }: Language, { respelt }: Remembered): readonly number[] {
    const isKnown = (other: string) => this.postings.has(wholeOf(other));
    if (word.length < shortestRespelt || word.length > 20 || !isSpaced(word) || isKnown(word)) return [];
    if (/[\p{Nd}\p{Script=Hangul}]/u.test(word)) return [];
    const known = respelt.get(word);
    if (known || respelt.size === mostRespelt) return known ?? [];
    const alphabet = new Set([...(/[a-z]/u.test(word) ? latin : ""), ...letters, ...this.#language.letters]);
    let terms: readonly number[] = [];
    for (const other of variantsOf(word, alphabet)) {
      if (!isKnown(other)) continue;
      terms = allOf(termsOf(other));
      break;
    }
    respelt.set(word, terms);
    return terms;
  }

  /** Looks at a passage's own words: what its heading has of the question, its best sentence, and its shorter n-grams. */
  #look(at: number, rank: number, { terms, short }: Question, { passages }: Remembered) {
    const passage = this.#passages[at];
    if (!passage) throw new Error(`There is no passage ${at}.`);
    const { names, sentences } = passages.get(passage) ?? this.#readPassage(passage);
    if (passages.size < mostPassagesRead) passages.set(passage, { names, sentences });
    const inNames = new Map<number, number>();
    const inText = new Map<number, number>();
    const count = (counts: Map<number, number>, found: readonly number[]) => {
      for (const term of found) if (short.has(term)) counts.set(term, (counts.get(term) ?? 0) + 1);
    };
    const heading = new Set<number>();
    for (const name of names) {
      for (const term of name.terms) heading.add(term);
      count(inNames, name.short);
    }
    const worthOf = (term: number) => {
      const asked = terms.get(term);
      return asked && !asked.stop ? asked.worth : 0;
    };
    const inHeading = sum([...heading].map(worthOf));
    const all = new Set(heading);
    let sentence = 0;
    for (const words of sentences) {
      let said = inHeading;
      for (const term of new Set(words.terms.filter((each) => terms.has(each)))) {
        all.add(term);
        if (!heading.has(term)) said += worthOf(term);
      }
      sentence = Math.max(sentence, said);
      count(inText, words.short);
    }
    let shortRank = 0;
    for (const [term, worth] of short)
      shortRank += worth * this.postings.count(at, inText.get(term) ?? 0, inNames.get(term) ?? 0);
    const weight = this.#isNamed(passage, terms) ? 1 : partWeight;
    return {
      passage,
      rank: (rank + sentenceWeight * sentence) * weight,
      short: shortRank * weight,
      sentence,
      heading,
      all,
    };
  }

  #readPassage(passage: Passage): PassageRead {
    const { text, indexed = text } = passage;
    const read = (part: string) => textTerms(part, this.#language);
    return {
      names: namesOf(passage).map(read),
      sentences: sentencesOf(indexed.slice(0, longestPassage)).map(read),
    };
  }

  /** Whether a question has most words of an item's, a row's or a question's title. */
  #isNamed({ title }: Passage, terms: Question["terms"]): boolean {
    if (title === undefined) return true;
    const isAsked = (term: number) => terms.get(term)?.stop === false;
    const words = wordsOf(title).filter((word) => !this.#isSilent(word));
    return 2 * words.filter((word) => shareOf(termsOf(word), isAsked) >= enoughOfWord).length > words.length;
  }

  /** How far a passage is ahead of the next best that says something else. */
  #lead({ passage, rank }: Candidate, candidates: readonly Candidate[]): number {
    const next = candidates.find((other) => isOther(other.passage, passage))?.rank ?? 0;
    return Math.max(-1, (rank - next) / (rank || 1));
  }

  /** How much of a passage's best name is the question's, and of the question the name's: their harmonic mean. */
  #compareHeading({ passage }: Candidate, { terms }: Question, total: number): number {
    const { heading, askedAs, text, title = "" } = passage;
    const likeness = cutTogether([heading, title], askedAs, text).map((name) => {
      let [all, shared] = [0, 0];
      for (const term of new Set(textTerms(name, this.#language).terms)) {
        const asked = terms.get(term);
        all += this.postings.rarity(term) * (asked?.weight ?? 1);
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
      const worth = allOf(own).reduce((sum, term) => sum + (terms.get(term)?.worth ?? 0), 0);
      total += worth;
      had += worth * share;
    }
    return { words: found, coverage: total === 0 ? 0 : had / total };
  }
}

/** Whether passages say different things: the parts of a long section do, but not what is in one of them. */
function isOther(one: Passage, other: Passage): boolean {
  // What introduces other sections repeats them.
  if (one.indexed !== undefined && other.parents.includes(one.heading)) return false;
  if (one.section !== other.section) return true;
  return one !== other && one.title === undefined && other.title === undefined;
}

const stopTerms = new WeakMap<Language, ReadonlySet<number>>();

/** The terms of a language's stop words, which are no n-grams of a word that says something. */
function stopTermsOf(language: Language): ReadonlySet<number> {
  const terms = stopTerms.get(language) ?? new Set([...language.stopWords].map((word) => numberOf(word)));
  stopTerms.set(language, terms);
  return terms;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function allOf({ whole, grams }: Terms): readonly number[] {
  return whole === undefined ? grams : [whole, ...grams];
}

/** How much of a word there is, by its terms. */
function shareOf({ whole, grams }: Terms, has: (term: number) => boolean): number {
  if (whole !== undefined && has(whole)) return 1;
  return grams.filter(has).length / (grams.length || 1);
}

/** Puts an item, a row or an answer of the best section first if the question has all of its title, as "E21". */
function preferNamedPart(candidates: Candidate[], terms: Question["terms"]): void {
  const section = candidates[0]?.passage.section;
  const named = candidates.findIndex(({ passage: { section: own, title = "" } }) => {
    const words = wordsOf(title);
    return (
      own === section && words.length > 0 && words.every((word) => terms.has(allOf(termsOf(word))[0] ?? -1))
    );
  });
  if (named > 0) candidates.unshift(...candidates.splice(named, 1));
}

/**
 * What a passage is called: its own names, and those of the sections that it is in. They are no longer than a few times its
 * text: those of a section are read with each of its items.
 */
export function namesOf({ heading, parents, askedAs, text, title = "" }: Passage): readonly string[] {
  return cutTogether([heading, title, ...parents], askedAs, text);
}

/** Names, and as many further ones as a passage of this text may have. */
function cutTogether(names: readonly string[], askedAs: readonly string[], text: string): readonly string[] {
  const all = [...names];
  let left = Math.min(longestNames, leastNames + 4 * text.length);
  for (const name of names) left -= name.length;
  for (const phrase of askedAs) {
    left -= phrase.length + 1;
    if (left < 0) break;
    all.push(phrase);
  }
  return all;
}

/** The sentences of a text. Thai ends them with a space. */
function sentencesOf(text: string): string[] {
  return text.split(/(?<=[.!?…]["»”’)]?)\s+|(?<=[。！？।؟])|\n+|(?<=\p{Script=Thai})\s+/u);
}

/** The words that differ from a word in a letter, or in the order of two. */
function* variantsOf(word: string, alphabet: Iterable<string>): Generator<string> {
  for (let at = 0; at <= word.length; at++) {
    const [before, after] = [word.slice(0, at), word.slice(at + 1)];
    yield before + after;
    yield before + word.charAt(at + 1) + word.charAt(at) + word.slice(at + 2);
    for (const letter of alphabet) {
      yield before + letter + word.slice(at);
      yield before + letter + after;
    }
  }
}
