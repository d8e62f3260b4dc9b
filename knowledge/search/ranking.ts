/**
 * Ranks passages for a query.
 *
 * @module
 */

import type { Passage } from "../text/passages.ts";
import { type Analyzer, vagueWeight } from "./analyzer.ts";
import type { Postings } from "./postings.ts";
import type { Spelling } from "./spelling.ts";

/** A passage that was found for a question. */
export interface Finding {
  readonly passage: Passage;
  /** How much of the question the passage covers, 0 to 1. */
  readonly coverage: number;
  /** The same, or more if all of what the passage is called is in the question. */
  readonly confidence: number;
  /** Terms of the question that the passage contains. */
  readonly terms: ReadonlySet<string>;
  /** Whether a heading, a title or an `asked as` has one of these terms. */
  readonly titled: boolean;
  /** How much of its own heading, title or one `asked as` is in the question, 0 to 1. */
  readonly fit: number;
  /** How well it matches, compared with the best finding, which has 1. */
  readonly rank: number;
}

/** A question's terms, each with its relative weight. */
export type Query = ReadonlyMap<string, number>;

/** A term of the query with what stands for it in the text. */
interface Asked {
  readonly term: string;
  /** Its weight in the query, times how much it says. */
  readonly weight: number;
  readonly full: boolean;
  /** Whether it says what is asked for: it is no vague word. */
  readonly asks: boolean;
  /** Terms of the text, each with its likeness, 0 to 1. */
  readonly variants: ReadonlyMap<string, number>;
  /** Those that are the same word, without its synonyms. */
  readonly spellings: ReadonlyMap<string, number>;
}

// How many terms are searched for in other spellings. With more unknown ones, nothing answers the question anyway.
const mostGuesses = 12;
// How many occurrences are looked at, of rare terms first: some milliseconds. Frequent ones hardly change the order.
const mostVisits = 200_000;
// How many passages are looked at closely.
const mostCandidates = 60;
// Of a section's many `asked as` phrases, how many are compared with the question.
const mostPhrases = 200;
// How much the text's rarest term says, in comparison: one of two words that the text does not contain is never enough.
const unknownRarity = 1.25;
const synonymLikeness = 0.7;
const unknownPair = 0.5;
// What the passage that stands for its section is ahead of the section's other ones, if all else is equal.
const firstAdvantage = 1.05;

/** Ranks the passages of a text. */
export class Ranking {
  readonly #passages: readonly Passage[];
  readonly #postings: Postings;
  readonly #spelling: Spelling;
  readonly #analyzer: Analyzer;

  constructor(passages: readonly Passage[], postings: Postings, spelling: Spelling, analyzer: Analyzer) {
    this.#passages = passages;
    this.#postings = postings;
    this.#spelling = spelling;
    this.#analyzer = analyzer;
  }

  /** Passages that are related to the query, best first. */
  find(query: Query): Finding[] {
    const asked = this.#expand(query);
    const total = asked.reduce((sum, { weight }) => sum + weight, 0);
    const full = asked.filter((one) => one.full);
    const spoken = new Set(full.flatMap(({ spellings }) => [...spellings.keys()]));
    const meant = new Set(full.flatMap(({ variants }) => [...variants.keys()]));
    const ranked = this.#details(asked, this.#candidates(asked)).map(({ position, score, met, ...rest }) => {
      const passage = this.#passages[position] as Passage;
      // A heading such as "Prices" is a synonym of too much: what a cinema costs is no question to a bakery.
      const fit = this.#fit(passage, passage.title ? meant : spoken);
      const coverage = total > 0 ? met / total : 0;
      const confidence = confidenceOf(coverage, fit);
      const isFirst = this.#passages[position - 1]?.section !== passage.section;
      const rank = score * (0.3 + confidence) * (1 + fit / 2) * (isFirst ? firstAdvantage : 1);
      return { passage, ...rest, fit, coverage, confidence, rank };
    });
    const sorted = ranked.sort((one, other) => other.rank - one.rank);
    const best = sorted[0]?.rank ?? 1;
    return sorted.map((finding) => ({ ...finding, rank: finding.rank / best }));
  }

  /** The query's terms with what stands for them, without vague ones that the text does not contain. */
  #expand(query: Query): Asked[] {
    const hasSubject = [...query.values()].includes(1);
    let guesses = 0;
    return [...query]
      .sort(([, one], [, other]) => other - one)
      .flatMap(([term, weight]): Asked[] => {
        const isKnown = this.#postings.has(term);
        const mayGuess = isKnown || guesses++ < mostGuesses;
        const spellings = isKnown
          ? new Map([...this.#spelling.parts(term), [term, 1]])
          : mayGuess
            ? this.#spelling.variants(term)
            : new Map<string, number>();
        const variants = new Map([...this.#synonyms(term), ...spellings]);
        const isNoise = variants.size === 0 && weight < 0.5 && hasSubject;
        return isNoise ? [] : [{ ...this.#asked(term, weight, variants), spellings }];
      });
  }

  #synonyms(term: string): [string, number][] {
    const others = [...this.#analyzer.synonyms(term)].filter((other) => this.#postings.has(other));
    return others.map((other) => [other, synonymLikeness]);
  }

  #asked(term: string, weight: number, variants: ReadonlyMap<string, number>): Omit<Asked, "spellings"> {
    const rarity = Math.max(0, ...[...variants.keys()].map((variant) => this.#postings.rarity(variant)));
    const unknown =
      this.#postings.greatestRarity * (this.#analyzer.isPair(term) ? unknownPair : unknownRarity);
    return {
      term,
      weight: weight * (rarity || unknown),
      full: weight === 1,
      asks: weight > vagueWeight,
      variants,
    };
  }

  /** The passages with the highest scores (BM25F), with their scores. */
  #candidates(asked: readonly Asked[]): Map<number, number> {
    const scores = new Float64Array(this.#passages.length);
    let visits = 0;
    for (const { weight, variants } of asked.toSorted((one, other) => other.weight - one.weight)) {
      if (visits > mostVisits) break;
      for (const [variant, likeness] of variants) {
        visits += this.#postings.count(variant);
        this.#postings.visit(variant, (passage, frequency) => {
          scores[passage] = (scores[passage] ?? 0) + weight * likeness * frequency;
        });
      }
    }
    const found: [passage: number, score: number][] = [];
    for (const [passage, score] of scores.entries()) if (score > 0) found.push([passage, score]);
    return new Map(found.sort(([, one], [, other]) => other - one).slice(0, mostCandidates));
  }

  /** What of the query is in each candidate. */
  #details(asked: readonly Asked[], candidates: ReadonlyMap<number, number>) {
    return [...candidates].map(([position, score]) => {
      const terms = new Set<string>();
      let met = 0;
      let titled = false;
      for (const { term, weight, variants, asks } of asked) {
        let best = 0;
        for (const [variant, likeness] of variants) {
          const place = this.#postings.placeOf(variant, position);
          if (!place) continue;
          best = Math.max(best, likeness);
          titled ||= asks && place === "title";
        }
        if (best > 0) terms.add(term);
        met += weight * best;
      }
      return { position, score, met, terms, titled };
    });
  }

  /** How much of what a passage is called is among the query's terms. */
  #fit({ heading, title, askedAs }: Passage, known: ReadonlySet<string>): number {
    const phrases = title ? [title] : [heading, ...askedAs.slice(0, mostPhrases)];
    return Math.max(
      0,
      ...phrases.map((phrase) => {
        const terms = [...new Set(this.#analyzer.terms(phrase))];
        const all = terms.reduce((sum, term) => sum + this.#postings.rarity(term), 0);
        const met = terms.reduce((sum, term) => sum + (known.has(term) ? this.#postings.rarity(term) : 0), 0);
        return all > 0 ? met / all : 0;
      }),
    );
  }
}

/** A passage whose name is in the question is about it, even if the question mentions other things. */
function confidenceOf(coverage: number, fit: number): number {
  return fit > 0.99 ? Math.max(coverage, 0.5 + coverage / 2) : coverage;
}
